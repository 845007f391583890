import Testing

@testable import MeshCore
@testable import MeshTesting

/// Shares: account 0 owns the zone with devices 0 and 1, account 1 has 2 and 3, account 2 has 4, account 3 has 5.
@Suite struct ShareStateTests {
  private func share() throws -> ControlLog { try ControlLog([2, 2, 1, 1]) }

  private func permission(_ log: ControlLog, _ account: Int) -> Permission? { log.state.permission(log.ids[account]) }

  private func status(_ log: ControlLog, _ account: Int) -> Participant.Status? {
    log.state.participants[log.ids[account]]?.status
  }

  @Test("a share has a root and an owner with read-write permission") func aShareHasItsRootAndItsOwner() throws {
    let log = try share()
    #expect(log.state.root == ControlLog.root && log.state.owner == log.ids[0])
    #expect(permission(log, 0) == .readWrite && permission(log, 1) == nil)
    #expect(try ControlLog(devices: 1).state.root == nil)
    #expect(log.state.citation(log.ids[0]) == nil && log.state.citation(log.ids[1]) == nil)
  }

  @Test("the owner's latest decision sets a participant's permission") func theOwnersLastWordStands() throws {
    var log = try share()
    try log.set(0, 1, .readWrite)
    #expect(permission(log, 1) == .readWrite)
    try log.set(1, 1, .readOnly)
    #expect(permission(log, 1) == .readOnly)
    try log.set(0, 1, nil)
    #expect(permission(log, 1) == nil && status(log, 1) == .removed)
    #expect(log.state.accounts == [log.ids[0], log.ids[1]])
  }

  @Test("the more restrictive of two concurrent decisions about a participant wins")
  func ofTwoWordsThatDidNotSeeEachOtherTheMoreRestrictiveStands() throws {
    var log = try share()
    let grant = try log.set(0, 1, .readOnly)
    try log.set(0, 1, .readWrite, after: [grant])
    try log.set(1, 1, nil, after: [grant])
    #expect(status(log, 1) == .removed)
    try log.set(0, 1, .readWrite)
    #expect(permission(log, 1) == .readWrite)
  }

  @Test("a participant cannot change permissions or the title, or stop the share")
  func nobodyButTheOwnerDecides() throws {
    var log = try share()
    try log.set(0, 1, .readOnly)
    try log.set(2, 1, .readWrite)
    try log.set(2, 2, .readWrite)
    try log.set(2, 0, nil)
    try log.append(2, .stop)
    try log.append(2, .title("mine", time: HybridTime(9)))
    #expect(permission(log, 1) == .readOnly && permission(log, 2) == nil && permission(log, 0) == .readWrite)
    #expect(!log.state.isStopped && log.state.title == log.state.root?.table, "not what another called it")
  }

  @Test("a participant may write only if it cites its own account's grant")
  func aParticipantWritesByTheGrantItCites() throws {
    var log = try share()
    let grant = try log.set(0, 1, .readWrite)
    let state = log.state
    #expect(state.citation(log.ids[1]) == grant.id)
    #expect(state.limit(log.author(2, 1), citing: grant.id) == nil)
    #expect(state.limit(log.author(2, 1), citing: log.records[0].id) == 0)
    #expect(state.limit(log.author(2, 1), citing: nil) == 0)
    #expect(state.limit(log.author(4, 1), citing: grant.id) == 0, "a grant is its account's")
    #expect(state.limit(log.author(0, 1), citing: nil) == nil)
  }

  @Test("a new grant does not lift the cutoff of an earlier one")
  func whatWasLostStaysLostAndTheNextGrantBeginsAnew() throws {
    var log = try share()
    let first = try log.set(0, 1, .readWrite)
    try log.set(0, 1, .readOnly, cuts: [log.author(2, 1): 5])
    let second = try log.set(0, 1, .readWrite)
    let state = log.state
    #expect(permission(log, 1) == .readWrite && state.citation(log.ids[1]) == second.id)
    #expect(state.limit(log.author(2, 1), citing: first.id) == 5)
    #expect(state.limit(log.author(3, 1), citing: first.id) == 0)
    #expect(state.limit(log.author(2, 2), citing: second.id) == nil)
  }

  @Test("the lower of two cutoffs holds, and an author missing from one ends at zero")
  func ofTwoCutsTheLesserHoldsAndAnAuthorThatOneDoesNotNameEndsAtZero() throws {
    var log = try share()
    let grant = try log.set(0, 1, .readWrite)
    try log.set(0, 1, .readOnly, cuts: [log.author(2, 1): 5, log.author(3, 1): 2], after: [grant])
    try log.set(1, 1, .readOnly, cuts: [log.author(2, 1): 4], after: [grant])
    #expect(log.state.limit(log.author(2, 1), citing: grant.id) == 4)
    #expect(log.state.limit(log.author(3, 1), citing: grant.id) == 0)
  }

  @Test("a grant that loses to a concurrent removal never permits writes")
  func aGrantThatIsBeatenUnseenLetsNobodyWrite() throws {
    var log = try share()
    let first = try log.set(0, 1, .readOnly)
    let grant = try log.set(0, 1, .readWrite, after: [first])
    try log.set(1, 1, nil, after: [first])
    #expect(log.state.limit(log.author(2, 1), citing: grant.id) == 0)
    let again = try log.set(0, 1, .readWrite)
    #expect(log.state.limit(log.author(2, 1), citing: grant.id) == 0)
    #expect(log.state.limit(log.author(2, 2), citing: again.id) == nil)
  }

  // MARK: Invites

  @Test("any member admits accounts by an open invite, even a read-only one")
  func anyMemberLetsInByAnOpenInviteThatItKnows() throws {
    var log = try share()
    let invite = try log.invite(0, .readOnly)
    try log.set(0, 1, .readWrite)
    let admission = try log.admit(2, 4, by: invite)
    #expect(permission(log, 2) == .readOnly)
    #expect(log.state.participants[log.ids[2]]?.admittedBy == log.ids[1])
    #expect(log.state.participants[log.ids[2]]?.grant == admission.id)
    #expect(log.state.invites[invite.id]?.accounts == [log.ids[2]])
    try log.admit(4, 5, by: invite)
    #expect(permission(log, 3) == .readOnly, "who only reads lets in too")
  }

  @Test("an admission fails if its device is a stranger, lacks the secret or breaks the terms")
  func strangersAndWhoeverLacksTheSecretLetNobodyIn() throws {
    var log = try share()
    let invite = try log.invite(0)
    let single = try log.invite(0, use: .limited(1, by: log.device(0)))
    let bound = try log.invite(0, for: 3)
    try log.set(0, 1, .readWrite)
    try log.admit(4, 4, by: invite)
    try log.admit(2, 4, by: invite, seed: fill(8))
    try log.admit(2, 4, by: single)
    try log.admit(2, 4, by: bound)
    #expect(permission(log, 2) == nil)
    try log.admit(2, 5, by: bound)
    #expect(permission(log, 3) == .readWrite)
  }

  @Test("a removed member's admissions count only if the removal has seen them")
  func aRemovedMemberLetsNobodyInAnyMore() throws {
    var log = try share()
    let invite = try log.invite(0)
    let grant = try log.set(0, 1, .readWrite)
    let seen = try log.admit(2, 4, by: invite)
    try log.set(0, 1, nil, after: [seen])
    try log.admit(3, 5, by: invite, after: [grant])
    #expect(permission(log, 2) == .readWrite, "the removal has seen it")
    #expect(permission(log, 3) == nil, "it was made up beside the removal")
  }

  @Test("a revoked invite admits only the accounts that every revocation lists")
  func aRevokedInviteLetsInNobodyButThoseWhoStay() throws {
    var log = try share()
    let invite = try log.invite(0)
    try log.set(0, 1, .readWrite)
    try log.admit(2, 4, by: invite)
    let before = log.records
    try log.append(0, .revokeInvite(invite.id, standing: [log.ids[2]]))
    try log.admit(2, 5, by: invite, after: [before[before.count - 1]])
    #expect(permission(log, 2) == .readWrite && permission(log, 3) == nil)
    #expect(log.state.invites[invite.id]?.isRevoked == true)
    try log.append(1, .revokeInvite(invite.id, standing: []), after: before.suffix(1))
    #expect(permission(log, 2) == nil, "it stays where all revocations list it")
  }

  @Test("an account that has left doesn't come back by a revoked invite, though its first admission stands")
  func revokedInviteLetsNobodyBackIn() throws {
    var log = try share()
    let invite = try log.invite(0)
    try log.set(0, 1, .readWrite)
    try log.admit(2, 4, by: invite)
    try log.append(0, .revokeInvite(invite.id, standing: [log.ids[2]]))
    try log.append(4, .leave(cuts: [:]))
    let late = try log.admit(2, 4, by: invite)
    #expect(status(log, 2) == .left && permission(log, 2) == nil)
    #expect(log.state.limit(log.author(4, 1), citing: late.id) == 0)
  }

  @Test("an open invite does not readmit a removed account, but the owner can")
  func whomTheOwnerRemovedNoOpenInviteLetsInAgain() throws {
    var log = try share()
    let invite = try log.invite(0)
    try log.admit(1, 4, by: invite)
    try log.set(0, 2, nil)
    let late = try log.admit(1, 4, by: invite)
    #expect(status(log, 2) == .removed)
    #expect(log.state.limit(log.author(4, 1), citing: late.id) == 0, "nor does it write by that word")
    try log.set(0, 2, .readOnly)
    #expect(permission(log, 2) == .readOnly)
  }

  // MARK: Leaving, stopping, revoked devices

  @Test("a participant that left stays out until a grant that has seen its leave")
  func whoLeavesIsOutUntilAGrantThatHasSeenIt() throws {
    var log = try share()
    let invite = try log.invite(0)
    let grant = try log.admit(0, 2, by: invite)
    try log.append(3, .leave(cuts: [log.author(2, 1): try ControlLog.point(7)]))
    #expect(status(log, 1) == .left && permission(log, 1) == nil)
    #expect(log.state.limit(log.author(2, 1), citing: grant.id) == 7)
    #expect(log.state.limit(log.author(3, 1), citing: grant.id) == 0)
    try log.set(0, 1, .readWrite, after: [grant])
    #expect(status(log, 1) == .left, "nobody is made to stay by who did not know")
    try log.admit(0, 2, by: invite, after: [grant])
    #expect(status(log, 1) == .left)
    try log.set(0, 1, .readOnly)
    #expect(permission(log, 1) == .readOnly)
  }

  @Test("a participant that left can come back by an open invite") func whoLeftComesBackByAnOpenInvite() throws {
    var log = try share()
    let invite = try log.invite(0)
    let first = try log.admit(0, 2, by: invite)
    try log.append(2, .leave(cuts: [:]))
    let second = try log.admit(0, 2, by: invite)
    #expect(permission(log, 1) == .readWrite && log.state.citation(log.ids[1]) == second.id)
    #expect(log.state.limit(log.author(2, 1), citing: first.id) == 0)
    #expect(log.state.limit(log.author(2, 2), citing: second.id) == nil)
  }

  @Test("a stopped share keeps its owner as the only member") func whenTheOwnerStopsNobodyElseIsAMember() throws {
    var log = try share()
    try log.set(0, 1, .readWrite)
    try log.append(1, .stop)
    #expect(log.state.isStopped && permission(log, 1) == nil && permission(log, 0) == .readWrite)
    #expect(log.state.accounts.contains(log.ids[1]), "it may have the log")
  }

  @Test("decisions of a revoked device after its cutoff have no effect")
  func whatAStolenDeviceSaidBeyondItsCutDoesNotCount() throws {
    var log = try share()
    let last = try log.set(1, 1, .readOnly)
    let known = log.records
    try log.set(1, 1, .readWrite)
    try log.set(1, 2, .readWrite)
    log.revoke(1)
    #expect(permission(log, 2) == .readWrite, "until the cut is here")
    try log.cut(0, 1, [:], last: last, after: known.suffix(1))
    try log.set(1, 2, .readWrite)
    #expect(permission(log, 1) == .readOnly && permission(log, 2) == nil)
  }

  @Test("a revoked device's record on another branch than its cutoff has no effect")
  func anotherBranchOfAStolenDevicesRecordsDoesNotCount() throws {
    var log = try share()
    var thief = log
    let last = try log.set(1, 1, .readOnly)
    let forged = try thief.set(1, 1, .readWrite)
    log.revoke(1)
    try log.cut(0, 1, [:], last: last)
    #expect(log.state(of: log.records + [forged]).permission(log.ids[1]) == .readOnly)
  }

  @Test("a cutoff of a revoked device leaves the owner's later removal in force")
  func aCutDoesNotLiftAnOlderWordAboveALaterOne() throws {
    var log = try share()
    try log.set(0, 1, .readWrite)
    // Stolen: it speaks twice, and the owner removes on top of that.
    try log.set(1, 1, .readOnly)
    try log.set(1, 1, .readWrite)
    try log.set(0, 1, nil)
    log.revoke(1)
    try log.cut(0, 1, [:], last: nil)
    #expect(status(log, 1) == .removed)
  }

  @Test("a participant sets the cutoff of its own revoked device and mints a new epoch")
  func aParticipantsAccountCutsItsOwnDevice() throws {
    var log = try share()
    let grant = try log.set(0, 1, .readWrite)
    try log.epoch(0)
    log.revoke(3)
    try log.cut(2, 3, [1: 4])
    let state = log.state
    #expect(state.limit(log.author(3, 1), citing: grant.id) == 4)
    #expect(state.limit(log.author(3, 2), citing: grant.id) == 0)
    #expect(state.limit(log.author(2, 1), citing: grant.id) == nil)
    #expect(state.currentEpoch == nil)
    try log.epoch(2)
    #expect(log.state.currentEpoch != nil)
  }

  // MARK: Epochs

  @Test("a removal or leave ends the current epoch, and only a writer mints the next")
  func anEpochCoversRemovalsAndLeavesAndIsMintedByWhoMayWrite() throws {
    var log = try share()
    try log.set(0, 1, .readWrite)
    try log.set(0, 2, .readOnly)
    let grant = try log.set(0, 3, .readWrite)
    try log.epoch(0)
    try log.set(0, 3, .readOnly)
    #expect(log.state.currentEpoch != nil, "who may read on may have the key")
    try log.set(0, 3, nil)
    #expect(log.state.currentEpoch == nil)
    try log.epoch(4)
    try log.epoch(5)
    #expect(log.state.currentEpoch == nil, "neither may write")
    let covering = try log.epoch(2)
    #expect(log.state.currentEpoch?.id.bytes == covering.id.bytes)
    // The removed say more: nobody needs a new key for that.
    try log.append(5, .leave(cuts: [:]), after: [grant])
    #expect(log.state.currentEpoch?.id.bytes == covering.id.bytes)
    try log.append(4, .leave(cuts: [:]))
    #expect(log.state.currentEpoch == nil)
    try log.epoch(0)
    let current = log.state.currentEpoch
    try log.append(4, .leave(cuts: [:]))
    #expect(current != nil && log.state.currentEpoch == current, "it repeats itself")
  }

  @Test("an epoch can be current though an admission that has seen the account's leave gives way to a removal")
  func admissionBesideARemoval() throws {
    var log = try ControlLog([2, 1])
    let invite = try log.invite(0)
    try log.admit(1, 2, by: invite, after: [invite])
    let leave = try log.append(2, .leave(cuts: [:]))
    try log.admit(1, 2, by: invite, after: [leave])
    // Beside all that the owner's other device removes the account and lets it in again.
    let removal = try log.set(0, 1, nil, after: [invite])
    try log.set(0, 1, .readWrite, after: [removal])
    #expect(log.state.participants[log.ids[1]]?.status == .left)
    let epoch = try log.epoch(0)
    #expect(log.state.currentEpoch?.id.bytes == epoch.id.bytes)
    #expect(PlainZone(log.records, log).currentEpochs == [epoch.id.bytes])
  }

  @Test("an epoch is no longer current after its author becomes read-only")
  func anEpochOfWhoWasLoweredIsNotCurrentAnyMore() throws {
    var log = try share()
    try log.set(0, 1, .readWrite)
    try log.epoch(2)
    #expect(log.state.currentEpoch != nil)
    try log.set(0, 1, .readOnly)
    #expect(log.state.currentEpoch == nil)
  }
}
