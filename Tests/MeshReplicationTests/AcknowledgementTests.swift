import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Acknowledgements that others bring. Node 0 is the owner's, and node 1 is the owner's other device.
@Suite struct AcknowledgementTests {
  private let mesh: TestMesh
  private let zone: ZoneID

  init() throws {
    mesh = try TestMesh([2, 1, 1])
    zone = try mesh.share()
    for node in 2...3 { try mesh.join(node, mesh.invite(zone), at: 0) }
    try mesh.meet(1, 0)
    try mesh.write(0, "a", "shared", in: zone)
  }

  /// Returns an acknowledgement of everything that node 0 has merged.
  private func acknowledgement(of account: Int, _ index: Int = 0) throws -> Acknowledgement {
    Acknowledgement(
      zone: zone, device: try mesh.accounts[account].device(index), time: HybridTime(milliseconds: mesh.now.wall),
      merged: mesh.nodes[0].store.mergedVector(zone), controlHeads: [], secrets: mesh.accounts[account].devices[index])
  }

  private func isKept(_ word: Acknowledgement) -> Bool {
    mesh.nodes[0].store.acknowledgements(zone)[word.device] == word.encoded
  }

  @Test("an acknowledgement that another device passes on is kept, and says nothing of who brings it")
  func broughtByAnother() throws {
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let word = try acknowledgement(of: 2)
    try mesh.give(.acknowledgement(word), to: 0, link)
    #expect(isKept(word) && mesh.isOpen(0, link))
    let carrier = try #require(mesh.nodes[0].replica.peerViews.all.first { $0.link == link })
    #expect(carrier.acknowledged[zone] == nil && carrier.merged[zone] == nil)
  }

  @Test("an acknowledgement that its device did not sign ends the session, and is not kept")
  func unsigned() throws {
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let word = try acknowledgement(of: 2)
    var altered = word.encoded
    altered[altered.count - 1] ^= 1
    var reader = ByteReader(altered)
    try mesh.give(.acknowledgement(Acknowledgement(from: &reader)), to: 0, link)
    #expect(!mesh.isOpen(0, link) && mesh.nodes[0].store.acknowledgements(zone)[word.device] == nil)
  }

  @Test("an acknowledgement of an account that was removed is not kept, whoever brings it")
  func removed() throws {
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[2].state.id, from: zone, now: mesh.now)
    try mesh.pump()
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let word = try acknowledgement(of: 2)
    try mesh.give(.acknowledgement(word), to: 0, link)
    #expect(!isKept(word) && mesh.isOpen(0, link))
  }

  @Test("an acknowledgement of a revoked device is not kept, whoever brings it")
  func revoked() throws {
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(1), now: mesh.now)
    try mesh.pump()
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let word = try acknowledgement(of: 0, 1)
    try mesh.give(.acknowledgement(word), to: 0, link)
    #expect(!isKept(word) && mesh.isOpen(0, link), "who brings it may not know of the revocation yet")
  }

  @Test("what a device has reaches the account's devices that never meet it")
  func relayed() throws {
    let mesh = try TestMesh(3)
    let zone = try mesh.zone
    try mesh.connect(0, 1)
    try mesh.connect(1, 2)
    try mesh.pump()
    func known(_ node: Int, of other: Int) throws -> VersionVector? {
      let kept = mesh.nodes[node].store.acknowledgements(zone)
      guard let bytes = try kept[mesh.account.device(other)] else { return nil }
      var reader = ByteReader(bytes)
      return try Acknowledgement(from: &reader).merged
    }
    for node in [0, 2, 1] {
      try mesh.write(node, "a\(node)", "title")
      try mesh.wait(2_000)
      try mesh.wait(2_000)
      let merged = mesh.nodes[0].store.mergedVector(zone)
      #expect(try known(0, of: 2) == merged && known(2, of: 0) == merged)
    }
    // Nothing new is passed on twice.
    func sent() -> Int {
      mesh.nodes[1].sent.values.joined().count { if case .acknowledgement = $0 { true } else { false } }
    }
    let before = sent()
    for _ in 0..<5 { try mesh.wait(2_000) }
    #expect(sent() == before)
    // A device that was away hears what the others acknowledged meanwhile.
    mesh.part(0, 1)
    try mesh.write(2, "b", "title")
    try mesh.connect(0, 1)
    try mesh.pump()
    try mesh.wait(2_000)
    #expect(try known(0, of: 2) == mesh.nodes[0].store.mergedVector(zone))
  }
}
