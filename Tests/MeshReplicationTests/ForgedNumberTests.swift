import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A member that shows a joiner a control record whose number is as high as there are numbers.
@Suite struct ForgedNumberTests {
  @Test func `a record after the last number that there is continues nothing`() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.invite(zone)
    let member = mesh.accounts[1].devices[0]
    let heads = try #require(mesh.nodes[0].replica.shareState(zone)?.heads)
    func record(_ number: UInt64, after previous: ControlID) throws -> ControlRecord {
      try ControlRecord(
        zone: zone, parents: [previous], number: number, previous: previous,
        act: .epoch(commitment: [UInt8](repeating: 1, count: 32)), secrets: member, mesh.cryptography)
    }
    let last = try record(.max, after: #require(heads.first))
    // The joiner's session with the owner, into which the member's record gets.
    let keys = mesh.nodes[2].keys
    let (session, info) = try mesh.open(0, peer: keys.sessionKey)
    var joining = ShareJoining(
      link: link, account: mesh.nodes[2].replica.account, device: mesh.nodes[2].device,
      info: LinkInfo(
        role: .dialler, handshakeHash: info.handshakeHash, remoteStatic: mesh.nodes[0].keys.sessionKey, address: "test"),
      claims: true, secrets: keys, cryptography: mesh.cryptography)
    var outputs = joining.start()
    var heard = 0
    var isShown = false
    for _ in 0..<100 {
      for output in outputs {
        switch output {
        case .send(let message): try mesh.give(message, to: 0, session)
        case .done(let joined): try mesh.nodes[2].replica.adopt(joined, now: mesh.now)
        default: continue
        }
      }
      let messages = mesh.nodes[0].sent[session] ?? []
      guard heard < messages.count else { break }
      if case .controlHeads = messages[heard], !isShown {
        isShown = true
        _ = joining.receive(.controlRecords(zone, [last.encoded]))
      }
      outputs = joining.receive(messages[heard])
      heard += 1
    }
    #expect(mesh.nodes[2].replica.shareState(zone)?.heads.contains(last.id) == true)
    let hostile = try mesh.admit(0, of: mesh.accounts[1], to: 2)
    try mesh.give(.controlRecords(zone, [record(1 << 40, after: last.id).encoded]), to: 2, hostile)
    #expect(mesh.goodbye(2, hostile) == .protocolViolation)
  }
}
