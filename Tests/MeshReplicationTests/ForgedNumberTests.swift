import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A member that shows a joiner a control record that other members refuse.
@Suite struct ForgedNumberTests {
  @Test("a joiner takes no record that does not continue its author's", arguments: [UInt64.max, 7])
  func aJoinerTakesNoRecordThatDoesNotContinueItsAuthors(number: UInt64)
    throws
  {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let invite = try mesh.invite(zone)
    let heads = try #require(mesh.nodes[0].replica.shareState(zone)?.heads)
    let last = try ControlRecord(
      zone: zone, parents: heads, number: number, previous: heads.first,
      act: .epoch(commitment: [UInt8](repeating: 1, count: 32)), secrets: mesh.accounts[1].devices[0], mesh.cryptography
    )
    // The member's record gets into the joiner's session with the owner.
    let keys = mesh.nodes[2].keys
    let (session, info) = try mesh.open(0, peer: keys.sessionKey)
    var joining = ShareJoining(
      invite: invite, account: mesh.nodes[2].replica.account, device: mesh.nodes[2].device,
      info: LinkInfo(
        role: .dialler, handshakeHash: info.handshakeHash, remoteStatic: mesh.nodes[0].keys.sessionKey, address: "test"),
      claims: true, secrets: keys, cryptography: mesh.cryptography)
    for case .send(let message) in joining.start() { try mesh.give(message, to: 0, session) }
    var isShown = false
    for message in mesh.nodes[0].sent[session] ?? [] where !isShown {
      if case .controlHeads = message {
        isShown = true
        let answer = joining.receive(.controlRecords(zone, [last.encoded]))
        guard case .refused? = answer.first else {
          Issue.record("it was taken")
          return
        }
      } else {
        #expect(joining.receive(message).isEmpty)
      }
    }
    #expect(isShown)
  }
}
