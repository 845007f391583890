import MeshCore

/// Checks and stores the change sets that peers send.
struct ChangeSetIntake: Part {
  let context: Context
  let cutoffs: Cutoffs
  let writers: Writers
  let reverts: Reverts
  let forks: Forks

  /// The state of handling one message of change sets.
  private struct Intake {
    /// For each author that the message names, the number of its last change set that is here.
    var stored: [Author: UInt64] = [:]
    var citations: [Author: ControlID] = [:]
    /// The last number that is here, or was accepted.
    var expected: [Author: UInt64] = [:]
    /// Nil until the message brings a new author.
    var room: AuthorRoom?
    var received = VersionVector()
    var accepted: [ChangeSet] = []
    /// The first change set of an author for which there is no room.
    var excess: SignedHeader?
    var hasGap = false
  }

  /// Checks what can be checked without merging, the cheapest first, and stores the valid change sets.
  func learn(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard sessions.isCommon(id, link), let state = zones[id]?.state else { return }
    let changeSets = try encoded.map { try ChangeSet($0, with: cryptography) }
    guard changeSets.allSatisfy({ $0.header.zone == id }) else {
      return sessions.end(link, .protocolViolation, "a change set came in a zone that it does not name")
    }
    var intake = Intake()
    var signatures = ChangeSetSignatures(changeSets, cryptography)
    for index in changeSets.indices {
      guard try take(changeSets[index], state, id, &intake, isSigned: { signatures.isValid(index) }) else {
        return sessions.end(link, .protocolViolation, "a change set's signature is not its author's")
      }
    }
    let outcomes = try store.log.store(intake.accepted, zone: id, now: now.wall)
    // An author that it counts and whose change set was not stored would stay counted.
    if let room = intake.room, room.all == (try store.log.authorCount(id)) { zones[id]?.intake.leave(room) }
    try settle(
      link, id, intake.accepted, outcomes, intake.received, bytes: encoded.reduce(0) { $0 + $1.count }, now: now)
    if intake.hasGap { try sessions.ask(link, id, now: now) }
    if let excess = intake.excess { try forks.prove(excess, id, now: now) }
  }

  /// Checks one change set. Returns false if its author has not signed it. Nothing is concluded from the change set
  /// before its signature is checked.
  private func take(
    _ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, _ intake: inout Intake, isSigned: () -> Bool
  ) throws -> Bool {
    let (author, number) = (changeSet.header.author, changeSet.header.number)
    if intake.stored[author] == nil {
      let (stored, citation) = try store.log.stored(id, author)
      (intake.stored[author], intake.expected[author], intake.citations[author]) = (stored, stored, citation)
    }
    if number == 1, intake.citations[author] == nil { intake.citations[author] = changeSet.header.citation }
    let (stored, expected) = (intake.stored[author] ?? 0, intake.expected[author] ?? 0)
    if let refusal = cutoffs.refusal(changeSet, state, id, citing: intake.citations[author]) {
      incidents.refuse(refusal.rawValue)
      // It is requested again once a control record allows it.
      if refusal.mayEnd, zones[id]?.intake.hasRefused == false, changeSet.isSigned(with: cryptography) {
        zones[id]?.intake.noteRefused()
      }
      return true
    }
    if author.device == device, number > stored {
      guard isSigned() else { return false }
      try writers.meetOwn(author, number: number, stored: stored, id)
    }
    // The author gets no row before this check, because instances cost their sender nothing.
    guard number <= expected.saturatingAdding(1) else {
      intake.received[author] = max(intake.received[author], number)
      intake.hasGap = intake.hasGap || zones[id]?.intake.isStuck(author) != true
      return true
    }
    // The store compares the hash of a change set that is already here. Only a new one needs a signature check.
    guard number <= stored || isSigned() else { return false }
    if expected == 0 {
      if intake.room == nil { intake.room = try takeAuthorRoom(id, state) }
      switch intake.room?.take(author.device) ?? .full {
      case .room: break
      case .full:
        incidents.refuse("too-many-authors")
        return true
      case .excess:
        incidents.refuse("too-many-instances")
        intake.excess = changeSet.signedHeader
        return true
      }
    }
    intake.received[author] = max(intake.received[author], number)
    intake.expected[author] = max(expected, number)
    intake.accepted.append(changeSet)
    return true
  }

  /// Returns the room as it was left, or counts the zone's authors if there are more or fewer now.
  private func takeAuthorRoom(_ id: ZoneID, _ state: ZoneState) throws -> AuthorRoom {
    if let known = zones[id]?.intake.takeRoom(), known.all == (try store.log.authorCount(id)) { return known }
    return AuthorRoom(try store.log.storedVector(id), state, own: account.id)
  }

  private func settle(
    _ link: LinkID, _ id: ZoneID, _ changeSets: [ChangeSet], _ outcomes: [StoreOutcome], _ received: VersionVector,
    bytes: Int, now: Moment
  ) throws {
    var new = 0
    var newAuthors: [Author] = []
    var duplicates = 0
    var hasGap = false
    for (changeSet, outcome) in zip(changeSets, outcomes) {
      switch outcome {
      case .stored:
        new += 1
        if changeSet.header.number == 1 { newAuthors.append(changeSet.header.author) }
      case .duplicate: duplicates += 1
      case .gap: hasGap = hasGap || zones[id]?.intake.isStuck(changeSet.header.author) != true
      case .overQuota:
        incidents.refuse("over-quota")
        probe?(.overQuota)
        zones[id]?.intake.note(overQuota: changeSet.header.author)
      case .fork:
        guard changeSet.isSigned(with: cryptography) else {
          return sessions.end(link, .protocolViolation, "a change set's signature is not its author's")
        }
        incidents.refuse("fork")
        try forks.compare(changeSet.signedHeader, link, id, now: now)
      // The author sent another branch to the device that passes it on. Or its file was restored, and it can't know the
      // branch here.
      case .brokenChain:
        incidents.refuse("fork")
        zones[id]?.intake.note(forked: changeSet.header.author)
        sessions.send(link, .excerptRequest(id, changeSet.header.author, through: changeSet.header.number - 1))
      case .timeNotGreater, .partOutOfOrder:
        incidents.refuse("\(outcome)")
        return sessions.end(link, .protocolViolation, "a change set does not continue its author's chain (\(outcome))")
      }
    }
    sessions[link]?.progress.received(new)
    try sessions.handle(
      link, .settled(id, received: received, bytes: bytes, new: new, duplicates: duplicates), now: now)
    if hasGap { try sessions.ask(link, id, now: now) }
    // The citation tells where the author ends. Change sets that depend on later ones don't wait for them.
    try reverts.setLimits(id, of: newAuthors)
    if new > 0 { due.note(.merge(id)) }
  }
}

/// The signatures of a message's change sets. They are verified in parallel, the next ones together with the one that is
/// asked for. A message without any valid one costs no more than that.
private struct ChangeSetSignatures {
  private static let together = 64
  private let changeSets: [ChangeSet]
  private let cryptography: any Cryptography
  private var results: [Bool] = []

  init(_ changeSets: [ChangeSet], _ cryptography: any Cryptography) {
    (self.changeSets, self.cryptography) = (changeSets, cryptography)
  }

  /// Returns whether a change set is signed by its author. Ask in ascending order.
  mutating func isValid(_ index: Int) -> Bool {
    if index >= results.count {
      results += [Bool](repeating: false, count: index - results.count)
      results += cryptography.verify(changeSets[index...].prefix(Self.together).map(\.signed))
    }
    return results[index]
  }
}
