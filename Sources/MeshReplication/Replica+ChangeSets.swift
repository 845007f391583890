import MeshCore

/// Change sets: made of local writes, learnt from peers, merged, acknowledged.
extension Replica {
  enum UpkeepStep {
    /// Another comes before anything else.
    case made
    /// Rows may be flushed and change sets merged.
    case notNeeded
    /// A key has to come first: nothing can be flushed or merged.
    case blocked
  }

  func upkeep(now: Moment) throws -> UpkeepStep {
    let progress: UpkeepProgress
    do {
      progress = try store.upkeep(reader, now: now.wall)
    } catch is MissingKey {
      // A file that came from another home: what is merged in it can be read again once its keys are here.
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
      // What it noted may be less than what has to be flushed before it goes on.
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

  /// What was signed is sent, once the home has kept its number outside the database.
  func announce(_ head: ChangeSetHead, _ writer: ChangeSetWriter, now: Moment) throws {
    try vault.saveHighWaterMark(
      HighWaterMark(instance: writer.author.instance, number: head.number, id: head.id), zone: writer.zone)
    try pushNews(writer.zone, now: now)
  }

  /// What this device signed last, wherever it writes.
  func tellNews(now: Moment) throws {
    for (id, writer) in try writers() {
      guard let head = try store.mergedHeads(id)[writer.author] else { continue }
      let mark = try vault.highWaterMark(id)
      guard mark?.instance != writer.author.instance || mark?.number ?? 0 < head.number else { continue }
      try announce(head, writer, now: now)
    }
  }

  /// Everything merged and not yet sent goes to the peers that want it.
  func pushNews(_ id: ZoneID, now: Moment) throws {
    let merged = try store.mergedVector(id)
    for link in links(sharing: id) { try handle(link, .advanced(id, merged: merged), now: now) }
  }

  /// What is written here to the zone can be flushed, or it takes no writes.
  func isReady(_ id: ZoneID, _ writers: [ZoneID: ChangeSetWriter]) -> Bool {
    guard let zone = zones[id], !writers.isEmpty else { return false }
    return writers[id] != nil || !mayWrite(zone)
  }

  /// What one message of change sets has brought so far.
  private struct Intake {
    let stored: VersionVector
    var citations: [Author: ControlID]
    var authors: AuthorRoom
    var expected: VersionVector
    var received = VersionVector()
    var accepted: [ChangeSet] = []
    /// The first change set of an author for whom there is no room.
    var excess: SignedHeader?
    var hasGap = false
  }

  /// Checks what can be checked without merging, cheapest first, and stores what stands.
  func learn(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    guard isCommon(id, link), let state = zones[id]?.state else { return }
    let stored = try store.storedVector(id)
    var intake = Intake(
      stored: stored, citations: try store.citations(id), authors: AuthorRoom(stored, state, own: account.id),
      expected: stored)
    for bytes in encoded {
      let changeSet = try ChangeSet(bytes, with: cryptography)
      guard changeSet.header.zone == id else {
        return end(link, .protocolViolation, "a change set came in a zone that it does not name")
      }
      guard try take(changeSet, state, id, &intake) else {
        return end(link, .protocolViolation, "a change set's signature is not its author's")
      }
    }
    let outcomes = try store.store(intake.accepted, zone: id, now: now.wall)
    try settle(
      link, id, intake.accepted, outcomes, intake.received, bytes: encoded.reduce(0) { $0 + $1.count }, now: now)
    if intake.hasGap, sessions[link] != nil {
      try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
    }
    if let excess = intake.excess { try proveExcess(excess, id, now: now) }
  }

  /// False if its author has not signed it. Nothing is concluded from it before that is known.
  private func take(_ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, _ intake: inout Intake) throws -> Bool {
    let (author, number) = (changeSet.header.author, changeSet.header.number)
    if number == 1, intake.citations[author] == nil { intake.citations[author] = changeSet.header.citation }
    if let reason = refusal(changeSet, state, id, intake.citations) {
      refusals[reason, default: 0] += 1
      noteRefused(changeSet, reason, id)
      return true
    }
    if author.device == device, number > intake.stored[author] {
      guard changeSet.isSigned(with: cryptography) else { return false }
      try meetOwn(author, number: number, stored: intake.stored[author], id)
    }
    // Without a row of its author's being made for it: instances cost their sender nothing.
    guard number <= intake.expected[author].saturatingAdding(1) else {
      intake.received[author] = max(intake.received[author], number)
      intake.hasGap = intake.hasGap || !isStuck(author, id)
      return true
    }
    // What is here already is compared by its hash, in the store; only news are worth a signature check.
    guard number <= intake.stored[author] || changeSet.isSigned(with: cryptography) else { return false }
    if intake.expected[author] == 0 {
      switch intake.authors.take(author.device) {
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
    intake.expected[author] = max(intake.expected[author], number)
    intake.accepted.append(changeSet)
    return true
  }

  private static let notCertified = "author-not-certified"
  private static let notPermitted = "not-permitted"

  /// What a later control record may make good is asked for again then, if its author has signed it.
  private func noteRefused(_ changeSet: ChangeSet, _ reason: String, _ id: ZoneID) {
    guard reason == Self.notCertified || reason == Self.notPermitted, zones[id]?.hasRefused == false,
      changeSet.isSigned(with: cryptography)
    else { return }
    zones[id]?.hasRefused = true
  }

  /// Why a change set is not stored at all, if so. It can be good later (a certificate, a grant or a cut is not here yet): it is
  /// counted, and comes again when the control log has changed.
  func refusal(
    _ changeSet: ChangeSet, _ state: ZoneState, _ id: ZoneID, _ citations: [Author: ControlID]
  ) -> String? {
    let author = changeSet.header.author
    guard let owner = state.account(of: author.device) else { return Self.notCertified }
    if let limit = limit(author, id, citations) {
      guard changeSet.header.number > limit else { return badInstance(author, citations) }
      return state.lostPermission(author, citations[author]) == nil ? "author-cut" : Self.notPermitted
    }
    return accounts[owner]?.isRevoked(author.device) == true ? "author-revoked" : badInstance(author, citations)
  }

  /// Its instance tells of another grant than it cites: who only hears of it could not judge it.
  private func badInstance(_ author: Author, _ citations: [Author: ControlID]) -> String? {
    guard let citation = citations[author], !author.instance.isUnder(citation) else { return nil }
    return Self.notPermitted
  }

  /// To ask for what is missing of it would bring the same again.
  private func isStuck(_ author: Author, _ id: ZoneID) -> Bool {
    guard let zone = zones[id] else { return false }
    return zone.forked.contains(author) || zone.overQuota.contains(author)
  }

  private func settle(
    _ link: LinkID, _ id: ZoneID, _ changeSets: [ChangeSet], _ outcomes: [StoreOutcome], _ received: VersionVector,
    bytes: Int, now: Moment
  ) throws {
    var new = 0
    var isNewAuthor = false
    var duplicates = 0
    var hasGap = false
    for (changeSet, outcome) in zip(changeSets, outcomes) {
      switch outcome {
      case .stored:
        new += 1
        isNewAuthor = isNewAuthor || changeSet.header.number == 1
      case .duplicate: duplicates += 1
      case .gap: hasGap = hasGap || !isStuck(changeSet.header.author, id)
      case .overQuota:
        refusals["over-quota", default: 0] += 1
        zones[id]?.overQuota.insert(changeSet.header.author)
      case .fork:
        guard changeSet.isSigned(with: cryptography) else {
          return end(link, .protocolViolation, "a change set's signature is not its author's")
        }
        refusals["fork", default: 0] += 1
        try compare(changeSet.signedHeader, link, id, now: now)
      // Its author wrote another branch to whoever passes it on; or its file was restored, and it can't know ours.
      case .brokenChain:
        refusals["fork", default: 0] += 1
        zones[id]?.forked.insert(changeSet.header.author)
        send(link, .lineRequest(id, changeSet.header.author, through: changeSet.header.number - 1))
      case .timeNotGreater, .partOutOfOrder:
        refusals["\(outcome)", default: 0] += 1
        return end(link, .protocolViolation, "a change set does not continue its author's chain (\(outcome))")
      }
    }
    try handle(
      link, .settled(id, received: received, bytes: bytes, new: new, duplicates: duplicates), now: now)
    if hasGap { try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now) }
    // What it cites tells where it ends: what others had seen beyond that is not waited for.
    if isNewAuthor { try setLimits(id) }
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
      // As in `upkeep`: it goes on when a key comes.
      isApplyDue = false
      zones[id]?.needsApply = false
      return
    }
    switch progress {
    case .flushFirst:
      databaseChanged()
      isApplyDue = false
      // Without a key nothing can be flushed, and then nothing can be merged: both wait for the key.
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
        for link in links(sharing: id) {
          try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
        }
      }
    case .idle(let waiting):
      // What was shown last may have withdrawn rows that go after their parents.
      try noticePending()
      isApplyDue = false
      zones[id]?.waiting = waiting
      let hasPutBack = try putBack(id)
      zones[id]?.needsApply = hasPutBack
    }
  }

  // MARK: Acknowledgements and proof

  /// Signs what is merged, once it has moved and the work is done, and tells the peers.
  func acknowledge(_ id: ZoneID, now: Moment) throws {
    let merged = try store.mergedVector(id)
    guard certificate != nil, zones[id]?.acknowledged != merged, !links(sharing: id).isEmpty else { return }
    let told = zones[id]?.acknowledged ?? VersionVector()
    zones[id]?.acknowledged = merged
    for link in links(sharing: id) { try sendHeads(link, id, beyond: told) }
    let acknowledgement = acknowledgement(id, merged, now: now)
    for link in links(sharing: id) { send(link, .acknowledgement(acknowledgement)) }
    zones[id]?.toldBacklog = nil
  }

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
