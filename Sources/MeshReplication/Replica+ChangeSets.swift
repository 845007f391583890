import MeshCore

/// Creates change sets from local writes, learns them from peers, merges and acknowledges them.
extension Replica {
  enum UpkeepStep {
    /// A further step comes before anything else.
    case made
    /// Rows may be flushed and change sets merged.
    case notNeeded
    /// A key is missing, and nothing can be flushed or merged until it arrives.
    case blocked
  }

  func upkeep(now: Moment) throws -> UpkeepStep {
    let progress: UpkeepProgress
    do {
      progress = try store.upkeep(reader, now: now.wall)
    } catch is MissingKey {
      // The file came from another home. Its merged values can be read again once its keys are here.
      return .blocked
    }
    switch progress {
    case .done:
      needsUpkeep = false
      return .notNeeded
    case .flushFirst:
      needsFlush = true
      return .notNeeded
    case .worked(let rows, let differences):
      compared.rows += rows
      compared.differences += differences
      // The rows that this step noted may have to be flushed before it continues.
      needsFlush = true
      return .made
    case .schemaChanged(let notices):
      for notice in notices { actions.append(.log(.warning, notice)) }
      try schemaChanged()
      return .made
    }
  }

  func flush(_ writers: [ZoneID: ChangeSetWriter], now: Moment) throws {
    owesNews = true
    let progress = try store.flush(writers, now: now.wall)
    owesNews = false
    needsAssets = true
    needsFlush = progress.hasMore
    if progress.leavesToShow, let zone = progress.zone { zones[zone]?.needsApply = true }
    for zone in progress.deletedRoots { try rootDeleted(zone, now: now) }
    isApplyDue = progress.unitEnded && progress.hasMore
    guard let head = progress.head, let writer = progress.zone.flatMap({ writers[$0] }) else {
      needsUpkeep = needsUpkeep || progress.hasMore
      return
    }
    guard progress.isSendable else { return }
    try announce(head, writer, now: now)
  }

  /// Sends what was signed, after the home has stored its number outside the database.
  func announce(_ head: ChangeSetHead, _ writer: ChangeSetWriter, now: Moment) throws {
    try vault.saveHighWaterMark(
      HighWaterMark(instance: writer.author.instance, number: head.number, id: head.id), zone: writer.zone)
    try pushNews(writer.zone, now: now)
  }

  /// Announces this device's last signed change set in every zone that it writes.
  func tellNews(now: Moment) throws {
    for (id, writer) in try writers() {
      guard let head = try store.mergedHeads(id)[writer.author] else { continue }
      let mark = try vault.highWaterMark(id)
      guard mark?.instance != writer.author.instance || mark?.number ?? 0 < head.number else { continue }
      try announce(head, writer, now: now)
    }
  }

  /// Sends all merged change sets to the peers that want them and don't have them yet.
  func pushNews(_ id: ZoneID, now: Moment) throws {
    zones[id]?.mayAcknowledge = true
    for link in links(sharing: id) { try handle(link, .advanced(id), now: now) }
  }

  /// Asks a peer for the change sets of a zone that are not here, at most once in `askingInterval`. The question names
  /// all authors, and to answer it, the peer reads its log from the beginning.
  func ask(_ link: LinkID, _ id: ZoneID, now: Moment) throws {
    // The peer may have left the zone since the question was postponed.
    guard let session = sessions[link], isCommon(id, link) else {
      sessions[link]?.owedAsks.remove(id)
      return
    }
    if let last = session.lastAsked[id], now.steady &- last < Self.askingInterval {
      sessions[link]?.owedAsks.insert(id)
      return
    }
    sessions[link]?.owedAsks.remove(id)
    sessions[link]?.lastAsked[id] = now.steady
    try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
  }

  /// The milliseconds between two questions to a peer about a zone.
  private static let askingInterval: Int64 = 300

  /// Returns whether local writes to the zone can be flushed, or the zone accepts no writes.
  func isReady(_ id: ZoneID, _ writers: [ZoneID: ChangeSetWriter]) -> Bool {
    guard let zone = zones[id], !writers.isEmpty else { return false }
    return writers[id] != nil || !mayWrite(zone)
  }

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

  /// The signatures of a message's change sets. They are verified in parallel, the next ones together with the one that
  /// is asked for. A message without any valid one costs no more than that.
  private struct Signatures {
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

  /// Checks what can be checked without merging, the cheapest first, and stores the valid change sets.
  func learn(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard isCommon(id, link), let state = zones[id]?.state else { return }
    let changeSets = try encoded.map { try ChangeSet($0, with: cryptography) }
    guard changeSets.allSatisfy({ $0.header.zone == id }) else {
      return end(link, .protocolViolation, "a change set came in a zone that it does not name")
    }
    var intake = Intake()
    var signatures = Signatures(changeSets, cryptography)
    for index in changeSets.indices {
      guard try take(changeSets[index], state, id, &intake, isSigned: { signatures.isValid(index) }) else {
        return end(link, .protocolViolation, "a change set's signature is not its author's")
      }
    }
    let outcomes = try store.store(intake.accepted, zone: id, now: now.wall)
    // An author that it counts and whose change set was not stored would be counted for ever.
    if let room = intake.room, room.all == (try store.authorCount(id)) { zones[id]?.authorRoom = room }
    try settle(
      link, id, intake.accepted, outcomes, intake.received, bytes: encoded.reduce(0) { $0 + $1.count }, now: now)
    if intake.hasGap { try ask(link, id, now: now) }
    if let excess = intake.excess { try proveExcess(excess, id, now: now) }
  }

  /// Checks one change set. Returns false if its author has not signed it. Nothing is concluded from the change set
  /// before its signature is checked.
  private func take(
    _ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, _ intake: inout Intake, isSigned: () -> Bool
  ) throws -> Bool {
    let (author, number) = (changeSet.header.author, changeSet.header.number)
    if intake.stored[author] == nil {
      let (stored, citation) = try store.stored(id, author)
      (intake.stored[author], intake.expected[author], intake.citations[author]) = (stored, stored, citation)
    }
    if number == 1, intake.citations[author] == nil { intake.citations[author] = changeSet.header.citation }
    let (stored, expected) = (intake.stored[author] ?? 0, intake.expected[author] ?? 0)
    if let reason = refusal(changeSet, state, id, citing: intake.citations[author]) {
      refusals[reason, default: 0] += 1
      noteRefused(changeSet, reason, id)
      return true
    }
    if author.device == device, number > stored {
      guard isSigned() else { return false }
      try meetOwn(author, number: number, stored: stored, id)
    }
    // The author gets no row before this check, because instances cost their sender nothing.
    guard number <= expected.saturatingAdding(1) else {
      intake.received[author] = max(intake.received[author], number)
      intake.hasGap = intake.hasGap || !isStuck(author, id)
      return true
    }
    // The store compares the hash of a change set that is already here. Only a new one needs a signature check.
    guard number <= stored || isSigned() else { return false }
    if expected == 0 {
      if intake.room == nil { intake.room = try takeAuthorRoom(id, state) }
      switch intake.room?.take(author.device) ?? .full {
      case .room: break
      case .full:
        refusals["too-many-authors", default: 0] += 1
        return true
      case .excess:
        refusals["too-many-instances", default: 0] += 1
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
    // As long as two variables have it, a change copies all counts.
    defer { zones[id]?.authorRoom = nil }
    if let known = zones[id]?.authorRoom, known.all == (try store.authorCount(id)) { return known }
    return AuthorRoom(try store.storedVector(id), state, own: account.id)
  }

  private static let notCertified = "author-not-certified"
  private static let notPermitted = "not-permitted"

  /// Notes that a signed change set was refused that a later control record may allow, so that it is requested again
  /// then.
  private func noteRefused(_ changeSet: ChangeSet, _ reason: String, _ id: ZoneID) {
    guard reason == Self.notCertified || reason == Self.notPermitted, zones[id]?.hasRefused == false,
      changeSet.isSigned(with: cryptography)
    else { return }
    zones[id]?.hasRefused = true
  }

  /// Returns the reason that a change set is not stored at all, or nil if it may be.
  ///
  /// It may become valid later, when a missing certificate, grant or cut arrives. It is counted, and it arrives again
  /// after the control log has changed.
  func refusal(
    _ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, citing citation: ControlID?
  ) -> String? {
    let author = changeSet.header.author
    guard let owner = state.account(of: author.device) else { return Self.notCertified }
    if let limit = limit(author, id, citing: citation) {
      guard changeSet.header.number > limit else { return badInstance(author, citation) }
      return state.lostPermission(author, citation) == nil ? "author-cut" : Self.notPermitted
    }
    return accounts[owner]?.isRevoked(author.device) == true ? "author-revoked" : badInstance(author, citation)
  }

  /// Returns a reason if the instance belongs to another grant than the author cites. A device that only hears of the
  /// instance could not judge it.
  private func badInstance(_ author: Author, _ citation: ControlID?) -> String? {
    guard let citation, !author.instance.isUnder(citation) else { return nil }
    return Self.notPermitted
  }

  /// Returns whether another request for the author's change sets would only bring the same ones again.
  private func isStuck(_ author: Author, _ id: ZoneID) -> Bool {
    guard let zone = zones[id] else { return false }
    return zone.forked.contains(author) || zone.overQuota.contains(author)
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
      case .gap: hasGap = hasGap || !isStuck(changeSet.header.author, id)
      case .overQuota:
        refusals["over-quota", default: 0] += 1
        probe?(.overQuota)
        zones[id]?.overQuota.insert(changeSet.header.author)
      case .fork:
        guard changeSet.isSigned(with: cryptography) else {
          return end(link, .protocolViolation, "a change set's signature is not its author's")
        }
        refusals["fork", default: 0] += 1
        try compare(changeSet.signedHeader, link, id, now: now)
      // The author sent another branch to the device that passes it on. Or its file was restored, and it can't know the
      // branch here.
      case .brokenChain:
        refusals["fork", default: 0] += 1
        zones[id]?.forked.insert(changeSet.header.author)
        send(link, .lineRequest(id, changeSet.header.author, through: changeSet.header.number - 1))
      case .timeNotGreater, .partOutOfOrder:
        refusals["\(outcome)", default: 0] += 1
        return end(link, .protocolViolation, "a change set does not continue its author's chain (\(outcome))")
      }
    }
    sessions[link]?.received += UInt64(new)
    try handle(
      link, .settled(id, received: received, bytes: bytes, new: new, duplicates: duplicates), now: now)
    if hasGap { try ask(link, id, now: now) }
    // The citation tells where the author ends. Change sets that depend on later ones don't wait for them.
    try setLimits(id, of: newAuthors)
    if new > 0 { zones[id]?.needsApply = true }
  }

  func apply(_ id: ZoneID, now: Moment) throws {
    let writers = try writers()
    let progress: ApplyProgress
    do {
      owesNews = true
      progress = try store.apply(id, try reader(id), flushing: writers, now: now.wall)
      owesNews = false
    } catch is MissingKey {
      owesNews = false
      probe?(.mergeWaitsForKey)
      // As in `upkeep`, merging continues when a key arrives.
      isApplyDue = false
      zones[id]?.needsApply = false
      return
    }
    switch progress {
    case .flushFirst:
      databaseChanged()
      isApplyDue = false
      // Without a key, nothing can be flushed, and therefore nothing can be merged. Both wait for the key.
      if !isReady(id, writers) {
        zones[id]?.needsApply = false
        zones[id]?.awaitsWriter = true
      }
    case .merged(_, let unitEnded, let flushed):
      needsAssets = true
      try noticePending()
      for (zone, head) in flushed.sorted(by: { $0.key < $1.key }) {
        if let writer = writers[zone] { try announce(head, writer, now: now) }
      }
      if unitEnded, flushed[id] == nil { try pushNews(id, now: now) }
      if unitEnded, isApplyDue {
        isApplyDue = false
        try acknowledge(id, now: now)
      }
      if unitEnded, zones[id]?.overQuota.isEmpty == false {
        zones[id]?.overQuota = []
        for link in links(sharing: id) { try ask(link, id, now: now) }
      }
    case .idle(let waiting):
      // The last apply may have withdrawn rows that leave with their parents.
      try noticePending()
      isApplyDue = false
      zones[id]?.waiting = waiting
      let hasPutBack = try putBack(id)
      zones[id]?.needsApply = hasPutBack
    }
  }

  // MARK: Acknowledgements and proof

  /// Signs the merged vector once it has moved and the work is done, and sends it to the peers.
  func acknowledge(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.mayAcknowledge, certificate != nil else { return }
    let links = links(sharing: id)
    guard !links.isEmpty else { return }
    zones[id]?.owesAcknowledgement = now.steady < zone.nextAcknowledgement
    guard now.steady >= zone.nextAcknowledgement else { return }
    zones[id]?.mayAcknowledge = false
    let merged = try store.mergedVector(id)
    guard zone.acknowledged != merged else { return }
    zones[id]?.acknowledged = merged
    zones[id]?.nextAcknowledgement = now.steady + Int64(merged.numbers.count / Self.acknowledgedPerMillisecond)
    try sendHeads(links, id, beyond: zone.acknowledged ?? VersionVector())
    send(links, .acknowledgement(acknowledgement(id, merged, now: now)))
    zones[id]?.toldBacklog = nil
  }

  /// An acknowledgement names all authors of a zone. The next one follows a millisecond later for each so many authors.
  private static let acknowledgedPerMillisecond = 4

  func acknowledgement(_ id: ZoneID, _ merged: VersionVector, now: Moment) -> Acknowledgement {
    Acknowledgement(
      zone: id, device: device, time: clock.tick(noted: now.wall, now: now.wall), merged: merged,
      controlHeads: zones[id]?.state.heads ?? [], secrets: secrets)
  }

  func learn(_ link: LinkID, _ acknowledgement: Acknowledgement, now: Moment) throws {
    guard let peer = sessions[link]?.peer, isCommon(acknowledgement.zone, link),
      let state = zones[acknowledgement.zone]?.state
    else { return }
    guard let owner = state.account(of: acknowledgement.device), state.permission(owner) != nil else { return }
    guard accounts[owner]?.certificate(acknowledgement.device) != nil, acknowledgement.isSigned(cryptography) else {
      return end(link, .protocolViolation, "an acknowledgement is not signed by its device")
    }
    if peer.device == acknowledgement.device {
      sessions[link]?.backlogs[acknowledgement.zone] = nil
      sessions[link]?.acknowledged[acknowledgement.zone] = acknowledgement.merged
      sessions[link]?.merged[acknowledgement.zone] = acknowledgement.merged
    }
    try store.saveAcknowledgement(
      acknowledgement.encoded, device: acknowledgement.device, time: acknowledgement.time, zone: acknowledgement.zone)
    if acknowledgement.controlHeads != Array(state.heads.prefix(Limits.controlHeads)) {
      tellControlHeads(link, acknowledgement.zone, now: now)
    }
  }

  func sendDigest(_ link: LinkID, _ id: ZoneID) throws {
    guard links(sharing: id).contains(link) else { return }
    send(link, .digest(id, try store.mergedVector(id), try store.digest(id), try store.unsent(id)))
  }
}
