import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

@testable import MeshCore

/// Control records whose author has signed them, with proofs that others did not sign. Node 0 is the owner's, node 1 is an
/// honest participant, and the test plays the liar, who is the other participant.
@Suite struct ForgedProofTests {
  private let mesh: TestMesh
  private let zone: ZoneID
  private let openInvite: ShareInviteContent

  init() throws {
    mesh = try TestMesh([1, 1, 1, 1])
    zone = try mesh.share()
    for node in 1...2 { try mesh.join(node, mesh.invite(zone), at: 0) }
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "honest", in: zone)
    try mesh.meet(1, 0)
    openInvite = try mesh.invite(zone, uses: nil)
  }

  /// Gives the owner a record of the liar. Returns whether the owner took it.
  private func isTaken(_ act: ControlAct) throws -> Bool {
    let heads = try #require(mesh.nodes[0].replica.shareState(zone)?.heads)
    let record = try ControlRecord(
      zone: zone, parents: heads, number: 1, previous: nil, act: act, secrets: mesh.accounts[2].devices[0],
      mesh.cryptography)
    let link = try mesh.admit(0, of: mesh.accounts[2], to: 0)
    try mesh.give(.controlRecords(zone, [record.encoded]), to: 0, link)
    let isTaken = try #require(mesh.nodes[0].replica.shareState(zone)?.heads) != heads
    #expect(isTaken == mesh.isOpen(0, link), "what is no proof ends the session")
    return isTaken
  }

  @Test("a record that continues another device's ends the session") func anothersPredecessor() throws {
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let genesis = try ControlRecord(try #require(mesh.nodes[0].store.controlRecords(zone).first), mesh.cryptography)
    let record = try ControlRecord(
      zone: zone, parents: state.heads, number: genesis.number + 1, previous: genesis.id,
      act: .unknown(tag: 77, bytes: []), secrets: mesh.accounts[2].devices[0], mesh.cryptography)
    let link = try mesh.admit(0, of: mesh.accounts[2], to: 0)
    try mesh.give(.controlRecords(zone, [record.encoded]), to: 0, link)
    #expect(!mesh.isOpen(0, link))
    #expect(mesh.nodes[0].replica.shareState(zone)?.heads == state.heads)
  }

  // MARK: Claims

  /// A claim of the account that has not joined.
  private func claim(signedBy keys: DeviceKeys) throws -> ShareClaim {
    let invited = mesh.accounts[3]
    return ShareClaim(
      openInvite.record, zone: zone, genesis: invited.state.genesis,
      certificate: try #require(invited.state.certificate(invited.device(0))), seed: openInvite.seed, secrets: keys,
      mesh.cryptography)
  }

  @Test("nobody lets in an account whose device did not ask") func unaskedAccount() throws {
    let (lie, truth) = (
      try claim(signedBy: mesh.accounts[2].devices[0]), try claim(signedBy: mesh.accounts[3].devices[0])
    )
    #expect(try !isTaken(.admission(lie)))
    #expect(mesh.permission(0, zone, of: 3) == nil)
    #expect(try isTaken(.admission(truth)))
    #expect(mesh.permission(0, zone, of: 3) == .readWrite)
  }

  @Test("nobody lets in an account without the secret of the invite") func withoutTheSecret() throws {
    var writer = ByteWriter()
    try claim(signedBy: mesh.accounts[3].devices[0]).write(to: &writer)
    var bytes = writer.bytes
    // The signature by the invite comes before that of the device.
    bytes[bytes.count - 65] ^= 1
    var reader = ByteReader(bytes)
    let altered = try ShareClaim(from: &reader)
    #expect(try !isTaken(.admission(altered)))
    #expect(mesh.permission(0, zone, of: 3) == nil)
  }

  // MARK: Proofs against others

  /// Returns the first change set of an honest author, and one of another of its instances that the liar signed.
  private func beginnings() throws -> (honest: SignedHeader, forged: SignedHeader) {
    let author = try #require(try mesh.nodes[1].replica.zoneViews.view(zone)?.author)
    let honest = try #require(mesh.nodes[1].store.excerpt(zone, author, through: 1, count: 1).last)
    var header = honest.header
    header.author = Author(device: author.device, instance: InstanceID(.max))
    return (honest, try sign(header))
  }

  /// Returns a header that the liar signed, whoever its author is.
  private func sign(_ header: ChangeSetHeader) throws -> SignedHeader {
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[header.epoch])
    return try ChangeSet(header, body: [], key: key, secrets: mesh.accounts[2].devices[0], with: mesh.cryptography)
      .signedHeader
  }

  @Test("a proof of too many authors counts only if each of them signed") func forgedAuthors() throws {
    let (honest, forged) = try beginnings()
    #expect(honest.header.author < forged.header.author, "the honest one comes first")
    let (lie, truth) = (try #require(Excess([honest, forged])), try #require(Excess([honest])))
    #expect(try !isTaken(.excess(lie)))
    #expect(try isTaken(.excess(truth)))
  }

  @Test("a proof of too many authors is about one account") func authorsOfTwoAccounts() throws {
    var header = try beginnings().honest.header
    header.author = Author(device: try mesh.accounts[2].device(0), instance: InstanceID(1))
    let both = try #require(Excess([try beginnings().honest, try sign(header)]))
    #expect(try !isTaken(.excess(both)))
  }

  @Test("a proof of a fork counts only if both change sets are signed", arguments: [1, 2])
  func forgedFork(time: UInt64) throws {
    let honest = try beginnings().honest
    // Another time gives another id, so that each of the two comes first once.
    var header = honest.header
    var proof: ForkProof?
    while proof.map({ ($0.first == honest) == (time == 1) }) != true {
      header.time = header.time.next
      proof = ForkProof(honest, try sign(header))
    }
    let lie = try #require(proof)
    #expect(try !isTaken(.fork(lie)))
  }
}
