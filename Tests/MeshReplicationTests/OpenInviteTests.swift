import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// The fate of accounts that joined with an invite for any number of accounts.
@Suite struct OpenInviteTests {
  @Test("what an account wrote before it was removed stays, however it came")
  func whatAnAccountWroteBeforeItWasRemovedStaysHoweverItCame() throws {
    for uses in [UInt64?.some(1), nil] {
      let mesh = try TestMesh([1, 1])
      let zone = try mesh.share()
      #expect(try mesh.join(1, mesh.invite(zone, uses: uses), at: 0) == .done)
      try mesh.meet(1, 0)
      try mesh.write(1, "a", "accepted", in: zone)
      try mesh.meet(1, 0)
      #expect(mesh.title(0, "a") == .text("accepted"))
      try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
      try mesh.pump()
      #expect(mesh.permission(0, zone, of: 1) == nil)
      #expect(
        mesh.title(0, "a") == .text("accepted"), "by an invite with \(uses.map { "\($0)" } ?? "any number of") uses")
    }
  }

  @Test("who has left, and whom the removed let in, keep what they wrote when the invite is revoked")
  func whoHasLeftAndWhomTheRemovedLetInKeepWhatTheyWroteWhenTheInviteIsRevoked() throws {
    let mesh = try TestMesh([1, 1, 1, 1])
    let zone = try mesh.share()
    let share = try mesh.invite(zone, uses: nil)
    // Node 1 admits node 2, and node 3 leaves.
    #expect(try mesh.join(1, share, at: 0) == .done)
    try mesh.meet(1, 0)
    #expect(try mesh.join(2, share, at: 1) == .done)
    #expect(try mesh.join(3, share, at: 0) == .done)
    for node in [1, 2, 3] {
      try mesh.meet(node, 0)
      try mesh.write(node, "by \(node)", "accepted", in: zone)
      try mesh.meet(node, 0)
    }
    try mesh.nodes[3].replica.shares.leave(zone, now: mesh.now)
    try mesh.meet(3, 0)
    try mesh.meet(1, 0)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
    try mesh.pump()
    #expect((1...3).map { mesh.permission(0, zone, of: $0) } == [nil, .readWrite, nil])
    for node in [1, 2, 3] { #expect(mesh.title(0, "by \(node)") == .text("accepted")) }
    guard case .refused = try mesh.join(3, share, at: 0) else {
      Issue.record("it was revoked")
      return
    }
  }

  @Test("invented accounts keep no account from joining")
  func madeUpAccounts() throws {
    let mesh = try TestMesh([1, 1, 1, 1])
    let zone = try mesh.share()
    let share = try mesh.invite(zone, uses: nil)
    #expect(try mesh.join(1, share, at: 0) == .done)
    try mesh.meet(1, 0)
    let member = mesh.accounts[1]
    let link = try mesh.admit(0, of: member, to: 0)
    var previous: ControlID?
    var heads = try #require(mesh.nodes[0].replica.shareState(zone)?.heads)
    var records: [[UInt8]] = []
    let count = Limits.participants + 56
    for index in 0..<count {
      let made = try TestAccount(devices: 1, seed: 10_000 + UInt64(index))
      let claim = ShareClaim(
        share.record, zone: zone, genesis: made.state.genesis,
        certificate: try #require(made.state.certificate(made.device(0))), seed: share.seed, secrets: made.devices[0],
        mesh.cryptography)
      let record = try ControlRecord(
        zone: zone, parents: heads, number: UInt64(index) + 1, previous: previous, act: .admission(claim),
        secrets: member.devices[0], mesh.cryptography)
      (previous, heads) = (record.id, [record.id])
      records.append(record.encoded)
    }
    for start in stride(from: 0, to: count, by: 60) {
      try mesh.give(.controlRecords(zone, Array(records[start..<start + 60])), to: 0, link)
    }
    let invite = try mesh.invite(zone)
    #expect(try #require(mesh.nodes[0].replica.shareState(zone)).participants.count > Limits.participants)
    #expect(try mesh.join(2, invite, at: 0) == .done)
    #expect(try mesh.join(3, share, at: 0) == .done)
    try mesh.nodes[0].replica.shares.remove(member.state.id, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.permission(0, zone, of: 1) == nil)
  }

  @Test("what a device learns of a share by joining, those that are connected learn")
  func whatADeviceLearnsOfAShareByJoiningThoseThatAreConnectedLearn() throws {
    let mesh = try TestMesh([1, 2])
    let zone = try mesh.share()
    #expect(try mesh.join(1, mesh.invite(zone, uses: nil), at: 0) == .done)
    try mesh.meet(1, 0)
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.expectEqual([0, 1, 2], zone)
    // Its account already has the share. Joining again brings the records that were written in the meantime.
    #expect(try mesh.join(1, mesh.invite(zone, .readOnly, uses: nil), at: 0) == .done)
    try mesh.expectEqual([0, 1, 2], zone)
  }
}
