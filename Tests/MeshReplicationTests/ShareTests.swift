import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Shares among accounts. Node 0 is the owner's, and nodes 1 and 2 belong to two other accounts.
@Suite struct ShareTests {
  private func mesh() throws -> (TestMesh, ZoneID) {
    let mesh = try TestMesh([1, 1, 1])
    return (mesh, try mesh.share())
  }

  /// Creates three nodes that are all members, with the others connected to the owner.
  private func joined(_ permissions: [Permission] = [.readWrite, .readWrite]) throws -> (TestMesh, ZoneID) {
    let (mesh, zone) = try mesh()
    for (index, permission) in permissions.enumerated() {
      #expect(try mesh.join(index + 1, mesh.invite(zone, permission), at: 0) == .done)
      try mesh.connect(index + 1, 0)
    }
    try mesh.pump()
    return (mesh, zone)
  }

  @Test("a home refuses the file of another account that takes part in the same share")
  func fileOfAnotherMember() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    try mesh.meet(1, 0)
    let file = mesh.nodes[0].store.copy()
    #expect(file.accounts().contains(mesh.accounts[1].state.id), "each knows the other")
    let known = file.accountState(mesh.accounts[1].state.id)
    let before = try file.instance(#require(mesh.nodes[0].replica.privateZone))
    #expect {
      try mesh.restart(1, store: file)
    } throws: {
      guard case ReplicaError.foreignDatabase = $0 else { return false }
      return true
    }
    #expect(try file.instance(#require(mesh.nodes[0].replica.privateZone)) == before, "nothing was written to it")
    #expect(file.accountState(mesh.accounts[1].state.id) == known)
  }

  @Test("a share of which not all records can be kept is none", arguments: 0..<3)
  func aShareOfWhichNotAllRecordsCanBeKeptIsNone(room: Int) throws {
    struct DiskFull: Error {}
    let mesh = try TestMesh([1])
    let store = mesh.nodes[0].store
    store.write(TestMesh.root, ["title": .text("root")])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let zones = store.knownZones()
    store.controlFault = DiskFull()
    store.controlRoom = room
    #expect(throws: DiskFull.self) {
      try mesh.nodes[0].replica.shares.create(of: TestMesh.root, title: "list", now: mesh.now)
    }
    #expect(store.knownZones() == zones && mesh.nodes[0].replica.zoneIDs == zones)
    store.controlFault = nil
    let zone = try mesh.nodes[0].replica.shares.create(of: TestMesh.root, title: "list", now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[0].replica.shareState(zone)?.title == "list")
  }

  @Test("only the owner renames a share, and the last title stands")
  func onlyTheOwnerRenamesAShareAndTheLastTitleStands() throws {
    let (mesh, zone) = try joined()
    for (title, time) in [("second", mesh.now), ("third", Moment(wall: 1, steady: mesh.now.steady))] {
      try mesh.nodes[0].replica.shares.rename(zone, title, now: time)
      try mesh.pump()
      for node in 0...2 { #expect(mesh.nodes[node].replica.shareState(zone)?.title == title) }
    }
    #expect(throws: ShareError.self) { try mesh.nodes[1].replica.shares.rename(zone, "mine", now: mesh.now) }
    try mesh.nodes[0].replica.shares.stop(zone, now: mesh.now)
    #expect(throws: ShareError.self) { try mesh.nodes[0].replica.shares.rename(zone, "over", now: mesh.now) }
  }

  @Test("who joins sees the offer, and nothing is used before it is claimed")
  func whoJoinsSeesTheOfferAndNothingIsUsedBeforeItIsClaimed() throws {
    let (mesh, zone) = try mesh()
    let invite = try mesh.invite(zone, .readOnly)
    let offer = ShareJoining.Offer(
      title: "list", owner: mesh.account.state.id, permission: .readOnly, root: TestMesh.root)
    #expect(try mesh.join(1, invite, at: 0, claims: false) == .offered(offer))
    #expect(mesh.nodes[1].replica.shareState(zone) == nil && mesh.permission(0, zone, of: 1) == nil)
    #expect(try mesh.join(1, invite, at: 0) == .done)
    #expect(mesh.permission(0, zone, of: 1) == .readOnly && mesh.permission(1, zone, of: 1) == .readOnly)
  }

  @Test("members exchange the share, and nothing else") func membersExchangeTheShareAndNothingElse() throws {
    let (mesh, zone) = try joined()
    try mesh.write(0, "a", "owner's", in: zone)
    try mesh.write(1, "b", "first's", in: zone)
    try mesh.write(0, "private", "mine")
    for node in 0...2 {
      #expect(mesh.title(node, "a") == .text("owner's") && mesh.title(node, "b") == .text("first's"))
    }
    try mesh.write(2, "a", "second's", in: zone)
    #expect(mesh.title(0, "a") == .text("second's") && mesh.title(1, "a") == .text("second's"))
    for node in 1...2 {
      #expect(mesh.title(node, "private") == nil)
      #expect(mesh.nodes[node].store.knownZones().count == 2)
    }
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("a single-use invite lets in one account, and that again") func aSingleUseInviteLetsInOneAccountAndThatAgain()
    throws
  {
    let (mesh, zone) = try mesh()
    let invite = try mesh.invite(zone)
    #expect(try mesh.join(1, invite, at: 0) == .done)
    guard case .refused(let reason) = try mesh.join(2, invite, at: 0) else {
      Issue.record("it was used twice")
      return
    }
    #expect(reason.contains("used already"))
    #expect(try mesh.join(1, invite, at: 0) == .done)
    #expect(mesh.nodes[0].replica.shareState(zone)?.participants.count == 1)
  }

  @Test("only the device that made a limited invite lets in by it") func onlyTheDeviceThatMadeALimitedInviteLetsInByIt()
    throws
  {
    let mesh = try TestMesh([2, 1, 1])
    try mesh.meet(1, 0)
    let zone = try mesh.share()
    let invite = try mesh.invite(zone)
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    #expect(try mesh.join(3, invite, at: 1) == .wait)
    #expect(try mesh.join(3, invite, at: 2) == .wait)
    #expect(try mesh.join(3, invite, at: 0) == .done)
  }

  @Test("any member lets in by an open invite, and the owner hears of it")
  func anyMemberLetsInByAnOpenInviteAndTheOwnerHearsOfIt() throws {
    let (mesh, zone) = try mesh()
    let invite = try mesh.invite(zone, .readWrite, uses: nil)
    #expect(try mesh.join(1, invite, at: 0) == .done)
    try mesh.meet(1, 0)
    try mesh.write(0, "a", "before", in: zone)
    try mesh.meet(1, 0)
    #expect(try mesh.join(2, invite, at: 1) == .done)
    try mesh.connect(2, 1)
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("before"))
    try mesh.write(2, "b", "joiner's", in: zone)
    try mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.title(0, "b") == .text("joiner's"))
    let participant = mesh.nodes[0].replica.shareState(zone)?.participants[mesh.accounts[2].state.id]
    #expect(participant?.admittedBy == mesh.accounts[1].state.id)
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("whom a participant let in while it was being removed joins again with the same invite")
  func whomAParticipantLetInWhileItWasBeingRemovedJoinsAgainWithTheSameInvite() throws {
    let (mesh, zone) = try self.mesh()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let open = try mesh.invite(zone, uses: nil)
    try mesh.meet(0, 1)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
    #expect(try mesh.join(2, open, at: 1) == .done)
    try mesh.meet(1, 2)
    try mesh.write(2, "beside", "of no member", in: zone)
    try mesh.meet(0, 2)
    #expect(mesh.permission(2, zone, of: 2) == .readWrite, "nobody told it otherwise")
    #expect(mesh.permission(0, zone, of: 2) == nil)
    #expect(mesh.nodes[2].closed.contains { $0.contains("may join again with the invite") })

    #expect(try mesh.join(2, open, at: 0) == .done)
    try mesh.write(2, "again", "of a member", in: zone)
    try mesh.meet(0, 2)
    try mesh.expectEqual([0, 2], zone)
    #expect(mesh.title(0, "again") == .text("of a member") && mesh.title(0, "beside") == nil)
  }

  @Test("what somebody wrote whom an open invite let in stays when that is revoked")
  func whatSomebodyWroteWhomAnOpenInviteLetInStaysWhenThatIsRevoked() throws {
    let (mesh, zone) = try self.mesh()
    let open = try mesh.invite(zone, uses: nil)
    for node in 1...2 {
      #expect(try mesh.join(node, open, at: 0) == .done)
      try mesh.meet(0, node)
      try mesh.write(node, "\(node)", "of a member", in: zone)
      try mesh.meet(0, node)
    }
    try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    try mesh.meet(0, 1)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[2].state.id, from: zone, now: mesh.now)
    try mesh.meet(0, 2)
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    #expect(state.invites[open.record]?.isRevoked == true)
    #expect(state.participants[mesh.accounts[1].state.id]?.status == .left)
    #expect(state.participants[mesh.accounts[2].state.id]?.status == .removed)
    for node in 1...2 { #expect(mesh.title(0, "\(node)") == .text("of a member")) }
  }

  @Test("who has left comes back by an open invite", arguments: [true, false])
  func whoHasLeftComesBackByAnOpenInvite(isOpenFirst: Bool) throws {
    let (mesh, zone) = try self.mesh()
    let open = try mesh.invite(zone, uses: nil)
    #expect(try mesh.join(1, isOpenFirst ? open : mesh.invite(zone), at: 0) == .done)
    try mesh.meet(0, 1)
    for _ in 0..<2 {
      try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
      try mesh.meet(0, 1)
      #expect(mesh.permission(0, zone, of: 1) == nil)
      #expect(try mesh.join(1, open, at: 0) == .done)
      try mesh.meet(0, 1)
      #expect(mesh.permission(0, zone, of: 1) == .readWrite && mesh.permission(1, zone, of: 1) == .readWrite)
      try mesh.write(1, "again", "\(mesh.now)", in: zone)
      try mesh.meet(0, 1)
      try mesh.expectEqual([0, 1], zone)
    }
  }

  @Test("who was lowered and has left comes back by the owner's word alone, with no more than it had")
  func whoWasLoweredAndHasLeftComesBackByTheOwnersWordAloneWithNoMoreThanItHad() throws {
    let (mesh, zone) = try self.mesh()
    let open = try mesh.invite(zone, uses: nil)
    for node in 1...2 { #expect(try mesh.join(node, open, at: 0) == .done) }
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    for node in 1...2 { try mesh.meet(0, node) }
    try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    for node in 1...2 { try mesh.meet(0, node) }
    #expect(try mesh.join(1, open, at: 2) == .wait)
    #expect(try mesh.join(1, open, at: 0) == .done)
    #expect(mesh.permission(0, zone, of: 1) == .readOnly && mesh.permission(1, zone, of: 1) == .readOnly)
  }

  @Test("who comes back to read keeps what it wrote", arguments: [false, true], [false, true])
  func whoComesBackToReadKeepsWhatItWrote(isRemoved: Bool, isOpen: Bool) throws {
    let (mesh, zone) = try self.mesh()
    let other = mesh.accounts[1].state.id
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(0, 1)
    try mesh.write(1, "a", "of a member", in: zone)
    try mesh.meet(0, 1)
    if isRemoved {
      try mesh.nodes[0].replica.shares.remove(other, from: zone, now: mesh.now)
    } else {
      try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    }
    try mesh.meet(0, 1)
    #expect(try mesh.join(1, mesh.invite(zone, .readOnly, uses: isOpen ? nil : 1, for: other), at: 0) == .done)
    try mesh.meet(0, 1)
    #expect(mesh.permission(0, zone, of: 1) == .readOnly)
    #expect(mesh.title(0, "a") == .text("of a member") && mesh.title(1, "a") == .text("of a member"))
    try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: other, in: zone, now: mesh.now)
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: other, in: zone, now: mesh.now)
    try mesh.meet(0, 1)
    #expect(mesh.title(0, "a") == .text("of a member") && mesh.title(1, "a") == .text("of a member"))
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("invites that are over, revoked, for others or unknown are refused with the reason")
  func invitesThatAreOverRevokedForOthersOrUnknownAreRefusedWithTheReason() throws {
    let (mesh, zone) = try mesh()
    let expired = try mesh.invite(zone, expires: mesh.now.wall + 1_000)
    let bound = try mesh.invite(zone, for: mesh.accounts[2].state.id)
    let revoked = try mesh.invite(zone, uses: nil)
    try mesh.nodes[0].replica.shares.revokeInvite(revoked.record, of: zone, now: mesh.now)
    try mesh.wait(1_000)
    let unknown = ShareInviteContent(
      seed: [UInt8](repeating: 3, count: 32), zone: zone, owner: bound.owner, record: bound.record, addresses: [])
    for (invite, word) in [
      (expired, "expired"), (bound, "another account"), (revoked, "revoked"), (unknown, "not known"),
    ] {
      guard case .refused(let reason) = try mesh.join(1, invite, at: 0) else {
        Issue.record("\(word) was let in")
        continue
      }
      #expect(reason.contains(word), "\(reason)")
    }
    #expect(mesh.permission(0, zone, of: 1) == nil)
    #expect(try mesh.join(2, bound, at: 0) == .done)
  }

  @Test("an account's other devices have the share as well") func anAccountsOtherDevicesHaveTheShareAsWell() throws {
    let mesh = try TestMesh([1, 2])
    let zone = try mesh.share()
    try mesh.write(0, "a", "owner's", in: zone)
    try mesh.connect(2, 1)
    try mesh.pump()
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    try mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("owner's"))
    try mesh.write(2, "a", "mine", in: zone)
    #expect(mesh.title(0, "a") == .text("mine"))
    try mesh.expectEqual([0, 1, 2], zone)
  }

  // MARK: Reverting

  @Test("what a lowered member wrote meanwhile is refused everywhere and kept for it")
  func whatALoweredMemberWroteMeanwhileIsRefusedEverywhereAndKeptForIt() throws {
    let (mesh, zone) = try joined()
    try mesh.write(1, "a", "accepted", in: zone)
    let member = mesh.accounts[1].state.id
    let (away, _) = try mesh.connect(1, 2)
    try mesh.pump()
    mesh.part(1, 0)
    mesh.part(2, 0)
    try mesh.write(1, "a", "refused", in: zone)
    #expect(mesh.title(2, "a") == .text("refused"), "another member has merged it")
    mesh.disconnect(away)
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: member, in: zone, now: mesh.now)
    try mesh.connect(2, 0)
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("accepted"))
    try mesh.connect(1, 0)
    try mesh.pump()
    for node in 0...2 { #expect(mesh.title(node, "a") == .text("accepted")) }
    try mesh.expectEqual([0, 1, 2], zone)
    try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: member, in: zone, now: mesh.now)
    try mesh.pump()
    try mesh.write(1, "a", "again", in: zone)
    for node in 0...2 { #expect(mesh.title(node, "a") == .text("again")) }
    #expect(mesh.nodes[1].store.storedVector(zone).authors.filter { $0.device == mesh.nodes[1].device }.count == 2)
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("members list a write that a removal accepted and a concurrent change to read-only rejects, if they had it")
  func removedAndLowered() throws {
    let mesh = try TestMesh([2, 1, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    for node in [2, 3] {
      #expect(try mesh.join(node, mesh.invite(zone), at: 0) == .done)
      try mesh.connect(node, 0)
    }
    mesh.part(0, 1)
    try mesh.write(2, "a", "given", in: zone)
    for node in [0, 3] { #expect(mesh.title(node, "a") == .text("given")) }
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
    try mesh.nodes[1].replica.shares.setPermission(.readOnly, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.title(2, "a") == nil && mesh.nodes[2].store.receipts(zone).isEmpty, "it was accepted")
    try mesh.meet(0, 1)
    let name = RecordName(table: "list", key: .text("a"))
    for node in [0, 3] {
      #expect(mesh.title(node, "a") == nil)
      #expect(mesh.nodes[node].store.kept[name]?.last?.cells["title"]?.value == .text("given"))
    }
    try mesh.expectEqual([0, 1, 3], zone)
  }

  /// Account 1 writes in a share of account 0, whose second device then is away.
  private func writtenOnOneOfTwo() throws -> (TestMesh, ZoneID) {
    let mesh = try TestMesh([2, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    for owner in 0...1 { try mesh.connect(2, owner) }
    try mesh.write(2, "a", "everywhere", in: zone)
    for other in [0, 2] { mesh.part(1, other) }
    try mesh.write(2, "b", "on one", in: zone)
    #expect(mesh.title(0, "b") == .text("on one") && mesh.title(1, "b") == nil && mesh.title(1, "a") != nil)
    return (mesh, zone)
  }

  @Test("a removed account has a receipt for a write that only one device of the owner rejects")
  func removedByOneAndLoweredByTheOther() throws {
    let (mesh, zone) = try writtenOnOneOfTwo()
    let member = mesh.accounts[1].state.id
    try mesh.nodes[1].replica.shares.setPermission(.readOnly, of: member, in: zone, now: mesh.now)
    try mesh.nodes[0].replica.shares.remove(member, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[2].store.receipts(zone).map(\.record.key) == [.text("b")])
    try mesh.meet(0, 1)
    for owner in 0...1 { #expect(mesh.title(owner, "b") == nil && mesh.title(owner, "a") != nil) }
    let name = RecordName(table: "list", key: .text("b"))
    #expect(mesh.nodes[0].store.kept[name]?.last?.cells["title"]?.value == .text("on one"))
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("an account that is admitted again has what it wrote before, also what it has receipts for")
  func readmittedWithReceipts() throws {
    let (mesh, zone) = try writtenOnOneOfTwo()
    let member = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.remove(member, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[2].store.receipts(zone).map(\.record.key) == [.text("b")])
    try mesh.meet(0, 1)
    #expect(mesh.title(1, "b") == .text("on one"), "the share has it all the same")
    #expect(try mesh.join(2, mesh.invite(zone, for: member), at: 0) == .done)
    try mesh.connect(2, 0)
    try mesh.write(2, "c", "again", in: zone)
    try mesh.meet(0, 1)
    for node in 0...2 { #expect(mesh.title(node, "b") == .text("on one") && mesh.title(node, "c") == .text("again")) }
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("members don't list writes that a removal rejects, because their writer has a receipt")
  func removedBeforeItCame() throws {
    let (mesh, zone) = try joined()
    mesh.part(1, 0)
    mesh.part(2, 0)
    try mesh.write(1, "a", "rejected", in: zone)
    try mesh.meet(1, 2)
    #expect(mesh.title(2, "a") == .text("rejected"))
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
    try mesh.meet(2, 0)
    try mesh.meet(1, 0)
    #expect(mesh.title(2, "a") == nil && mesh.nodes[2].store.kept.isEmpty)
    #expect(mesh.nodes[1].store.receipts(zone).count == 1)
  }

  @Test("an account that leaves has receipts for writes that no device of the owner has acknowledged")
  func leftBesideAnotherParticipant() throws {
    let (mesh, zone) = try joined()
    try mesh.write(1, "a", "here", in: zone)
    mesh.part(1, 0)
    mesh.part(2, 0)
    try mesh.write(1, "b", "with another participant", in: zone)
    try mesh.connect(1, 2)
    try mesh.pump()
    #expect(mesh.title(2, "b") != nil)
    let participant = try #require(mesh.nodes[1].store.acknowledgements(zone)[mesh.nodes[2].device])
    var reader = ByteReader(participant)
    let acknowledged = try Acknowledgement(from: &reader).merged
    #expect(acknowledged == mesh.nodes[1].store.mergedVector(zone), "another participant has acknowledged it")
    try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[1].store.receipts(zone).map(\.record.key) == [.text("b")])
    #expect(mesh.title(1, "a") == nil && mesh.title(1, "b") == nil)
  }

  @Test("what follows on a lowered member's writes is merged by who never had them", arguments: [false, true])
  func whatFollowsOnALoweredMembersWritesIsMergedByWhoNeverHadThem(isGrantedAgain: Bool) throws {
    let (mesh, zone) = try joined()
    for node in [1, 2] { mesh.part(node, 0) }
    try mesh.write(1, "a", "lost", in: zone)
    try mesh.meet(1, 2)
    try mesh.write(2, "b", "after it", in: zone)
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    if isGrantedAgain {
      try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    }
    try mesh.meet(2, 0)
    #expect(mesh.title(0, "b") == .text("after it") && mesh.title(0, "a") == nil && mesh.title(2, "a") == nil)
    try mesh.expectEqual([0, 2], zone)
  }

  @Test("a share in which a device has used up its instances is read-only there, and others' writes come")
  func aShareInWhichADeviceHasUsedUpItsInstancesIsReadOnlyThereAndOthersWritesCome() throws {
    let (mesh, zone) = try joined()
    for life in 0..<Limits.instances {
      try mesh.write(2, "\(life)", "written", in: zone)
      mesh.nodes[2].vault.isFromElsewhere = true
      try mesh.restart(2)
      try mesh.connect(2, 0)
    }
    try mesh.write(0, "a", "comes", in: zone)
    let view = try #require(try mesh.nodes[2].replica.zoneViews.view(zone))
    #expect(view.refusesWrites && view.cannotWrite?.contains("VACUUM INTO") == true)
    #expect(mesh.nodes[2].store.standings.first { $0.zone == zone }?.role == .readOnly)
    #expect(mesh.title(2, "a") == .text("comes") && mesh.nodes[2].store.pendingCount() == 0)
    #expect(try mesh.nodes[0].replica.zoneViews.view(zone)?.refusesWrites == false)
  }

  @Test("who may only read writes nothing") func whoMayOnlyReadWritesNothing() throws {
    let (mesh, zone) = try joined([.readWrite, .readOnly])
    try mesh.write(0, "a", "owner's", in: zone)
    try mesh.write(2, "a", "mine", in: zone)
    for node in 0...2 { #expect(mesh.title(node, "a") == .text("owner's")) }
    #expect(mesh.nodes[2].store.receipts(zone).count == 1)
  }

  @Test("who is removed is told, loses its copy, and gets no key any more")
  func whoIsRemovedIsToldLosesItsCopyAndGetsNoKeyAnyMore() throws {
    let (mesh, zone) = try joined()
    try mesh.write(0, "a", "before", in: zone)
    #expect(mesh.title(2, "a") == .text("before"))
    let before = try #require(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[2].state.id, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[2].closed.contains { $0.contains("removed the account") })
    #expect(mesh.permission(2, zone, of: 2) == nil && mesh.title(2, "a") == nil)
    try mesh.write(0, "a", "after", in: zone)
    #expect(mesh.title(1, "a") == .text("after"))
    let epoch = try #require(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id)
    #expect(epoch != before && mesh.nodes[2].vault.epochKeys(zone)[epoch] == nil)
    let told = try mesh.nodes[2].store.controlRecords(zone).map { try ControlRecord($0, mesh.cryptography).id.bytes }
    #expect(!told.contains(epoch.bytes), "the epoch came after its removal")
    try mesh.connect(2, 0)
    try mesh.pump()
    #expect(mesh.nodes[2].vault.epochKeys(zone)[epoch] == nil && mesh.nodes[2].replica.peerViews.all.isEmpty)
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("who was removed comes back by an invite for it alone") func whoWasRemovedComesBackByAnInviteForItAlone() throws
  {
    let (mesh, zone) = try joined()
    let open = try mesh.invite(zone, uses: nil)
    let account = mesh.accounts[2].state.id
    try mesh.nodes[0].replica.shares.remove(account, from: zone, now: mesh.now)
    try mesh.pump()
    guard case .refused = try mesh.join(2, open, at: 1) else {
      Issue.record("it came back")
      return
    }
    #expect(try mesh.join(2, mesh.invite(zone, for: account), at: 0) == .done)
    try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.write(2, "a", "back", in: zone)
    #expect(mesh.title(0, "a") == .text("back"))
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("whose machine fails while its old rows go, when it is let in again, gets all rows after a start")
  func whoseMachineFailsWhileItsOldRowsGoWhenItIsLetInAgainGetsAllRowsAfterAStart() throws {
    struct DiskFailure: Error {}
    let (mesh, zone) = try joined()
    try mesh.write(0, "a", "before", in: zone)
    mesh.part(2, 0)
    let account = mesh.accounts[2].state.id
    try mesh.nodes[0].replica.shares.remove(account, from: zone, now: mesh.now)
    try mesh.pump()
    mesh.nodes[2].store.dropFault = DiskFailure()
    try mesh.connect(2, 0)
    #expect(throws: DiskFailure.self) { try mesh.pump() }
    mesh.part(2, 0)
    let half = mesh.nodes[2].store.copy()
    mesh.nodes[2].store.dropFault = nil
    #expect(try mesh.join(2, mesh.invite(zone, for: account), at: 0) == .done)
    // The machine stored the record that admits it, and got no further.
    let known = Set(half.controlRecords(zone))
    for bytes in mesh.nodes[2].store.controlRecords(zone) where !known.contains(bytes) {
      try half.insertControlRecord(bytes, id: try ControlRecord(bytes, mesh.cryptography).id, zone: zone)
    }
    try mesh.restart(2, store: half)
    #expect(mesh.title(2, "a") == nil)
    try mesh.connect(2, 0)
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("before"))
    try mesh.write(2, "a", "back", in: zone)
    #expect(mesh.title(0, "a") == .text("back"))
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("a device whose disk fails while it joins has the share's whole log when it joins again", arguments: 0...4)
  func joinsAgain(room: Int) throws {
    struct DiskFailure: Error {}
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    let invite = try mesh.invite(zone)
    mesh.nodes[1].store.controlFault = DiskFailure()
    mesh.nodes[1].store.controlRoom = room
    #expect(throws: DiskFailure.self) { try mesh.join(1, invite, at: 0) }
    mesh.nodes[1].store.controlFault = nil
    try mesh.restart(1)
    #expect(try mesh.join(1, invite, at: 0) == .done)
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("a share knows the new device of a participant whose state comes with another share")
  func stateComesWithAnotherShare() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    var grown = mesh.accounts[2].state
    let keys = DeviceKeys(randomness: SeededRandomness(seed: 77))
    let request = try #require(CertificateRequest(name: "new", for: grown.id, secrets: keys))
    grown.insert(
      Certificate(
        account: grown.id, request: request, serial: [UInt8](repeating: 1, count: 16), issued: VirtualClock.epoch,
        sign: mesh.accounts[2].key.sign), mesh.cryptography)
    let (_, link) = try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.give(.account(grown.encoded), to: 0, link)
    let other = RecordName(table: "list", key: .text("other"))
    mesh.nodes[0].store.write(other, ["title": .text("other")])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let second = try mesh.nodes[0].replica.shares.create(of: other, title: "other", now: mesh.now)
    #expect(try mesh.join(2, mesh.invite(second), at: 0) == .done)
    #expect(try mesh.join(1, mesh.invite(second), at: 0) == .done)
    try mesh.wait(1_000)
    let device = try #require(DeviceID(keys.signingKey))
    for share in [zone, second] {
      #expect(mesh.nodes[1].replica.shareState(share)?.account(of: device) == grown.id)
    }
  }

  @Test("a participant learns the devices of a new one that the owner's other device knows from another share")
  func knownAccountIsIntroduced() throws {
    let mesh = try TestMesh([2, 1, 1])
    let zone = try mesh.share()
    let other = RecordName(table: "list", key: .text("other"))
    mesh.nodes[0].store.write(other, ["title": .text("other")])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let second = try mesh.nodes[0].replica.shares.create(of: other, title: "other", now: mesh.now)
    #expect(try mesh.join(3, mesh.invite(second), at: 0) == .done)
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    for (dialler, listener) in [(1, 0), (2, 1)] {
      try mesh.connect(dialler, listener)
      try mesh.wait(1_000)
    }
    #expect(try mesh.join(3, mesh.invite(zone), at: 0) == .done)
    try mesh.wait(1_000)
    let state = try #require(mesh.nodes[2].replica.shareState(zone))
    #expect(state.permission(mesh.accounts[2].state.id) != nil)
    #expect(state.account(of: mesh.nodes[3].device) == mesh.accounts[2].state.id)
  }

  @Test("who leaves is out everywhere, and nothing it wrote before goes")
  func whoLeavesIsOutEverywhereAndNothingItWroteBeforeGoes() throws {
    let (mesh, zone) = try joined()
    try mesh.write(2, "a", "stays", in: zone)
    try mesh.nodes[2].replica.shares.leave(zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.title(0, "a") == .text("stays") && mesh.title(1, "a") == .text("stays") && mesh.title(2, "a") == nil)
    for node in 0...2 { #expect(mesh.permission(node, zone, of: 2) == nil) }
    let epoch = try #require(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id)
    #expect(mesh.nodes[2].vault.epochKeys(zone)[epoch] == nil)
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("when the owner stops the share nobody else is in it") func whenTheOwnerStopsTheShareNobodyElseIsInIt() throws {
    let (mesh, zone) = try joined()
    try mesh.write(1, "a", "shared", in: zone)
    try mesh.nodes[0].replica.shares.stop(zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.title(1, "a") == nil && mesh.title(2, "a") == nil && mesh.title(0, "a") == .text("shared"))
    #expect(mesh.nodes[1].closed.contains { $0.contains("stopped sharing") })
  }

  @Test("a participant's revoked device is cut in the shares of others")
  func aParticipantsRevokedDeviceIsCutInTheSharesOfOthers() throws {
    let mesh = try TestMesh([1, 2])
    let zone = try mesh.share()
    try mesh.connect(2, 1)
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    try mesh.connect(1, 0)
    try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.write(2, "a", "before", in: zone)
    let epoch = mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id
    try mesh.nodes[1].replica.administration.revoke(mesh.nodes[2].device, now: mesh.now)
    try mesh.pump()
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    #expect(state.cuts.keys.sorted() == [mesh.nodes[2].device])
    #expect(state.currentEpoch != nil && state.currentEpoch?.id != epoch)
    #expect(mesh.title(0, "a") == .text("before"))
    #expect(!mesh.nodes[0].replica.peerViews.all.contains { $0.device == mesh.nodes[2].device })
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("who was away through several epochs catches up") func whoWasAwayThroughSeveralEpochsCatchesUp() throws {
    let mesh = try TestMesh([1, 1, 1, 1])
    let zone = try mesh.share()
    for node in 1...3 {
      #expect(try mesh.join(node, mesh.invite(zone), at: 0) == .done)
      try mesh.meet(node, 0)
    }
    for (round, removed) in [3, 2].enumerated() {
      try mesh.nodes[0].replica.shares.remove(mesh.accounts[removed].state.id, from: zone, now: mesh.now)
      try mesh.pump()
      try mesh.write(0, "round \(round)", "under its own key", in: zone)
    }
    #expect(try #require(mesh.nodes[0].replica.shareState(zone)).epochs.count == 3)
    try mesh.meet(1, 0)
    for round in 0...1 { #expect(mesh.title(1, "round \(round)") == .text("under its own key")) }
    #expect(mesh.nodes[1].vault.epochKeys(zone).count == 3)
    #expect(mesh.nodes[3].vault.epochKeys(zone).count == 1)
    try mesh.write(1, "answer", "under the last", in: zone)
    try mesh.meet(1, 0)
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("a record that somebody wrote into the file gives no power")
  func aRecordThatSomebodyWroteIntoTheFileGivesNoPower() throws {
    let (mesh, zone) = try joined([.readOnly])
    let store = mesh.nodes[1].store
    let heads = try #require(mesh.nodes[1].replica.shareState(zone)).heads
    let grant = ControlAct.participant(mesh.accounts[1].state.id, .readWrite, invite: nil, cuts: [:])
    let own = try ControlRecord(
      zone: zone, parents: heads, number: 1, previous: nil, act: grant, secrets: mesh.accounts[1].devices[0],
      mesh.cryptography)
    var forged = try ControlRecord(
      zone: zone, parents: heads, number: 9, previous: heads[0], act: grant, secrets: mesh.accounts[0].devices[0],
      mesh.cryptography
    ).encoded
    forged[forged.count - 1] ^= 1
    try store.insertControlRecord(own.encoded, id: own.id, zone: zone)
    try store.insertControlRecord(forged, id: try ControlRecord(forged, mesh.cryptography).id, zone: zone)
    try mesh.restart(1)
    #expect(mesh.permission(1, zone, of: 1) == .readOnly)
  }

  @Test("a node that starts again knows its shares") func aNodeThatStartsAgainKnowsItsShares() throws {
    let (mesh, zone) = try joined()
    try mesh.write(1, "a", "kept", in: zone)
    for node in 0...2 { try mesh.restart(node) }
    try mesh.connect(1, 0)
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.write(2, "a", "on", in: zone)
    for node in 0...2 { #expect(mesh.title(node, "a") == .text("on")) }
    try mesh.expectEqual([0, 1, 2], zone)
  }

  @Test("who joins is shown what the log has grown by meanwhile") func whoJoinsIsShownWhatTheLogHasGrownByMeanwhile()
    throws
  {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    let invite = try mesh.invite(zone)
    let keys = mesh.nodes[1].keys
    let (session, info) = try mesh.open(0, peer: keys.sessionKey)
    let dialler = LinkInfo(
      role: .dialler, handshakeHash: info.handshakeHash, remoteStatic: mesh.nodes[0].keys.sessionKey, address: "test")
    var joining = mesh.nodes[1].replica.admission.joining(invite, dialler, claims: true)
    var (outputs, heard, isDone) = (joining.start(), 0, false)
    while !outputs.isEmpty {
      for output in outputs {
        if case .done = output { isDone = true }
        guard case .send(let message) = output else { continue }
        if case .shareClaim = message { _ = try mesh.invite(zone) }
        try mesh.give(message, to: 0, session)
      }
      outputs = []
      let messages = mesh.nodes[0].sent[session] ?? []
      while heard < messages.count, outputs.isEmpty {
        outputs = joining.receive(messages[heard])
        heard += 1
      }
    }
    #expect(isDone)
  }

  @Test(
    "what was written on top of what is taken back everywhere reaches who never met that", arguments: [false, true])
  func whatWasWrittenOnTopOfWhatIsTakenBackEverywhereReachesWhoNeverMetThat(isBack: Bool) throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    for node in [1, 2] {
      try mesh.join(node, mesh.invite(zone), at: 0)
      try mesh.meet(node, 0)
    }
    try mesh.meet(1, 0)
    try mesh.meet(1, 2)
    try mesh.write(1, "x", "gone", in: zone)
    try mesh.meet(1, 2)
    try mesh.write(2, "y", "on top", in: zone)
    let account = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: account, in: zone, now: mesh.now)
    if isBack { try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: account, in: zone, now: mesh.now) }
    try mesh.meet(2, 0)
    #expect(mesh.title(0, "x") == nil && mesh.title(2, "x") == nil)
    #expect(mesh.title(0, "y") == .text("on top"))
    try mesh.expectEqual([0, 2], zone)
  }

  @Test("a device that believes its account is out hears that it is in again", arguments: [0, 1])
  func aDeviceThatBelievesItsAccountIsOutHearsThatItIsInAgain(from other: Int) throws {
    let mesh = try TestMesh([1, 2])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(2, 1)
    try mesh.nodes[2].replica.shares.leave(zone, now: mesh.now)
    try mesh.meet(2, 1)
    try mesh.meet(1, 0)
    #expect(mesh.permission(0, zone, of: 1) == nil)
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    #expect(mesh.permission(2, zone, of: 1) == nil)
    try mesh.meet(2, other)
    #expect(mesh.permission(2, zone, of: 1) == .readWrite)
  }

  @Test("who joins later gets what a participant's device wrote before it was revoked")
  func whoJoinsLaterGetsWhatAParticipantsDeviceWroteBeforeItWasRevoked() throws {
    let mesh = try TestMesh([1, 2, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(2, 1)
    try mesh.meet(2, 0)
    try mesh.write(2, "x", "before", in: zone)
    try mesh.meet(2, 0)
    try mesh.meet(1, 0)
    try mesh.nodes[1].replica.administration.revoke(mesh.nodes[2].device, now: mesh.now)
    try mesh.meet(1, 0)
    try mesh.join(3, mesh.invite(zone), at: 0)
    try mesh.meet(3, 0)
    #expect(mesh.title(3, "x") == .text("before"))
    try mesh.expectEqual([0, 3], zone)
  }

  @Test("a joiner gives up a node that says something before its hello")
  func aJoinerGivesUpANodeThatSaysSomethingBeforeItsHello() throws {
    var joining = try joiningShare()
    let outputs = joining.receive(.ping(1))
    #expect(outputs.contains { if case .refused = $0 { true } else { false } })
  }

  @Test("a joiner tries again after a goodbye that says so", arguments: [Message.Goodbye.stalled, .elsewhere])
  func joinsAgain(code: Message.Goodbye) throws {
    var joining = try joiningShare()
    let outputs = joining.receive(.goodbye(code, text: "no hello in time"))
    #expect(outputs.contains { if case .wait("no hello in time") = $0 { true } else { false } })
  }

  /// Returns a joining device that has said its hello.
  private func joiningShare() throws -> ShareJoining {
    let mesh = try TestMesh([1, 1])
    let invite = try mesh.invite(try mesh.share())
    let node = mesh.nodes[1]
    let joining = ShareJoining(
      invite: invite, account: node.replica.account, device: node.device,
      info: mesh.info(.dialler, peer: mesh.nodes[0].keys.sessionKey, hash: [UInt8](repeating: 1, count: 64)),
      claims: true, secrets: node.keys, cryptography: mesh.cryptography)
    _ = joining.start()
    return joining
  }

  @Test("an account that a device admitted which is revoked meanwhile hears that it is no member, and why")
  func admittedByARevokedDevice() throws {
    let mesh = try TestMesh([2, 1, 1])
    try mesh.connect(0, 1)
    let zone = try mesh.share()
    #expect(try mesh.join(3, mesh.invite(zone), at: 0) == .done)
    try mesh.meet(3, 0)
    mesh.part(0, 1)
    #expect(try mesh.join(2, mesh.invite(zone, by: 1), at: 1) == .done)
    try mesh.meet(2, 1)
    try mesh.write(2, "a", "by an account that believes it is a member", in: zone)
    try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now)
    // Another participant has the record of the admission.
    try mesh.meet(3, 1)
    try mesh.meet(3, 0)
    #expect(mesh.permission(2, zone, of: 1) == .readWrite && mesh.permission(0, zone, of: 1) == nil)
    try mesh.meet(2, 0)
    #expect(mesh.permission(2, zone, of: 1) == nil)
    #expect(mesh.nodes[2].replica.reasonOutside(zone)?.contains("ask the owner for a new invite") == true)
    #expect(mesh.nodes[2].store.receipts(zone).map(\.record.key) == [.text("a")])
    #expect(mesh.title(0, "a") == nil && mesh.title(3, "a") == nil)
    try mesh.expectEqual([0, 3], zone)
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
    try mesh.meet(2, 0)
    try mesh.write(2, "b", "with the new invite", in: zone)
    try mesh.meet(2, 0)
    #expect(mesh.title(0, "b") == .text("with the new invite"))
    try mesh.expectEqual([0, 2], zone)
  }
}
