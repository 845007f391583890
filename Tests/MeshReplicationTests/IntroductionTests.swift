import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Accounts that show the devices of a share's owner who let them in.
@Suite struct IntroductionTests {
  @Test("an account shows the owner's other devices who let it in", arguments: [false, true], [false, true])
  func introduced(isRevoked: Bool, isKnown: Bool) throws {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    if isKnown {
      try joinAnotherShare(mesh)
    }
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    try mesh.meet(2, 1)
    try mesh.write(2, "a", "mine", in: zone)
    if isRevoked { try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now) }
    if !isKnown {
      try mesh.meet(2, 0)
      #expect(mesh.permission(0, zone, of: 1) == nil, "the first time, it is refused as unknown")
    }
    try mesh.meet(2, 0)
    #expect(mesh.permission(0, zone, of: 1) == (isRevoked ? nil : .readWrite))
    #expect(mesh.permission(2, zone, of: 1) == mesh.permission(0, zone, of: 1))
    let reason = mesh.nodes[2].replica.reasonOutside(zone)
    #expect(reason?.contains("ask the owner for a new invite") == (isRevoked ? true : nil))
    #expect(mesh.nodes[2].store.receipts(zone).map(\.record.key) == (isRevoked ? [.text("a")] : []))
    #expect(mesh.title(0, "a") == (isRevoked ? nil : .text("mine")))
    if !isRevoked { try mesh.expectEqual([0, 2], zone) }
  }

  /// Makes the second account known to the owner's first device.
  @discardableResult
  private func joinAnotherShare(_ mesh: TestMesh) throws -> ZoneID {
    let other = RecordName(table: "list", key: .text("other"))
    mesh.nodes[0].store.write(other, ["title": .text("other")])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let share = try mesh.nodes[0].replica.shares.create(of: other, title: "other", now: mesh.now)
    #expect(try mesh.join(2, mesh.invite(share), at: 0) == .done)
    try mesh.meet(2, 0)
    return share
  }

  @Test("an account that is out of another share is heard before its session ends", arguments: [false, true])
  func introducedByAFormerMember(isRevoked: Bool) throws {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    let other = try joinAnotherShare(mesh)
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    if isRevoked { try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now) }
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: other, now: mesh.now)
    try mesh.meet(2, 0)
    #expect(mesh.nodes[2].replica.reasonOutside(other)?.contains("removed") == true)
    #expect(mesh.permission(0, zone, of: 1) == (isRevoked ? nil : .readWrite))
    #expect(mesh.permission(2, zone, of: 1) == mesh.permission(0, zone, of: 1))
  }

  @Test(
    "an account that is let in during a session shows the owner's other devices who let it in",
    arguments: [false, true])
  func introducedDuringASession(isRevoked: Bool) throws {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    try joinAnotherShare(mesh)
    try mesh.connect(2, 0)
    mesh.part(0, 1)
    if isRevoked { try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now) }
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    try mesh.pump()
    #expect(mesh.permission(0, zone, of: 1) == (isRevoked ? nil : .readWrite))
    #expect(mesh.permission(2, zone, of: 1) == mesh.permission(0, zone, of: 1))
    let reason = mesh.nodes[2].replica.reasonOutside(zone)
    #expect(reason?.contains("ask the owner for a new invite") == (isRevoked ? true : nil))
    if !isRevoked { try mesh.expectEqual([0, 2], zone) }
  }

  @Test("what a member says of a share before the joiner knows that it was let in is said again")
  func metAgain() throws {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.write(0, "a", "first", in: zone)
    try joinAnotherShare(mesh)
    try mesh.connect(2, 0)
    #expect(try mesh.join(2, mesh.invite(zone), at: 0, isLate: true) == .done)
    let peer = try #require(mesh.nodes[2].replica.peerViews.all.first)
    #expect(peer.acknowledged[zone] == mesh.nodes[0].store.mergedVector(zone))
    try mesh.expectEqual([0, 2], zone)
  }

  @Test("an account that introduces itself with records whose parents are lacking is told nothing of the share")
  func introducedWithoutParents() throws {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    try joinAnotherShare(mesh)
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    let records = mesh.nodes[2].store.controlRecords(zone)
    let grant = try #require(
      try records.lastIndex {
        if case .participant = try ControlRecord($0, mesh.cryptography).act { true } else { false }
      })
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.controlRecords(zone, [records[grant]]), to: 0, link)
    let told = (mesh.nodes[0].sent[link] ?? []).filter { if case .controlHeads(zone, _) = $0 { true } else { false } }
    #expect(told.isEmpty)
    #expect(mesh.permission(0, zone, of: 1) == nil)
    try mesh.give(.controlRecords(zone, Array(records[...grant])), to: 0, link)
    #expect(mesh.permission(0, zone, of: 1) == .readWrite)
  }

  @Test("records before a hello that let in another account, or come from no device of the owner, are not kept")
  func falseIntroductions() throws {
    let mesh = try TestMesh([2, 1, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    let records = mesh.nodes[2].store.controlRecords(zone)
    let count = mesh.nodes[0].store.controlRecords(zone).count
    let stranger = mesh.accounts[2]
    for state in [stranger.state, mesh.accounts[1].state] {
      let (link, info) = try mesh.open(0, peer: mesh.nodes[3].keys.sessionKey)
      try mesh.give(.account(state.encoded), to: 0, link)
      try mesh.give(.controlRecords(zone, records), to: 0, link)
      let certificate = stranger.state.certificates[mesh.nodes[3].device]
      try mesh.give(.hello(mesh.hello(mesh.nodes[3].keys, certificate, info, to: 0)), to: 0, link)
      #expect(mesh.goodbye(0, link) == .notAdmitted)
    }
    #expect(mesh.nodes[0].store.controlRecords(zone).count == count)
  }

  @Test("a device of the owner that has refused an account is shown who let it in, and a revoked one nothing")
  func shownToDevicesThatCount() throws {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    /// Returns whether the participant introduces itself after the owner's second device has refused it.
    func isIntroduced() throws -> Bool {
      let key = mesh.nodes[1].keys.sessionKey
      let (refused, _) = try mesh.open(2, role: .dialler, peer: key)
      try mesh.give(.goodbye(.notAdmitted, text: "unknown"), to: 2, refused)
      let (link, _) = try mesh.open(2, role: .dialler, peer: key)
      try mesh.pump()
      let said = mesh.nodes[2].sent[link] ?? []
      #expect(!said.isEmpty)
      return said.contains { if case .controlRecords(zone, _) = $0 { true } else { false } }
    }
    #expect(try isIntroduced())
    try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now)
    try mesh.meet(2, 0)
    #expect(try !isIntroduced())
  }
}
