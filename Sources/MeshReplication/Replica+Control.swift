import MeshCore

/// Zones in common, their control logs, and keys.
extension Replica {
  func loadZone(_ id: ZoneID) throws {
    var zone = Zone(id, cryptography)
    for bytes in try store.controlRecords(id) {
      guard let record = try? ControlRecord(bytes, cryptography), zone.isSound(record, accounts, cryptography) else {
        continue
      }
      zone.insert(record, cryptography)
    }
    zone.keys = try vault.epochKeys(id)
    zones[id] = zone
    recompute(id)
    let limits = try cutLimits(id)
    zones[id]?.limits = limits
    if let reason = try reasonForNewInstance(id) {
      try renewInstance(id, because: reason)
    } else if try vault.isCopy() {
      notify(Self.copied)
    }
  }

  func recompute(_ id: ZoneID) {
    guard let records = zones[id]?.records.values else { return }
    zones[id]?.state = ZoneState(id, records: records, accounts: accounts, cryptography)
  }

  /// Nil where this device may not write, or lacks the key: local writes stay pending.
  func writer(_ id: ZoneID) throws -> ChangeSetWriter? {
    guard certificate != nil, clockWatch.fault == nil, let zone = zones[id], !zone.isBarred,
      zone.state.cuts[device] == nil,
      let epoch = zone.state.epochs.values.filter({ $0.isCurrent && zone.keys[$0.id] != nil }).min(by: { $0.id < $1.id }
      ),
      let key = zone.keys[epoch.id], let author = try author(id) ?? beginInstance(id)
    else { return nil }
    return ChangeSetWriter(
      zone: id, author: author, epoch: epoch.id, key: key, secrets: secrets, cryptography: cryptography)
  }

  /// Of all zones that this device writes; none where one of them can't be written now.
  func writers() throws -> [ZoneID: ChangeSetWriter] {
    guard let zone = privateZone, let writer = try writer(zone) else { return [:] }
    return [zone: writer]
  }

  // MARK: Which zones are in common

  /// The peer's tags tell which of our zones it knows; of the account's own zones it gets those that it does not.
  func meetZones(_ link: LinkID, _ tags: [[UInt8]], now: Moment) throws {
    guard let info = sessions[link]?.info else { return }
    let theirs = Set(tags)
    for zone in zones.keys.sorted() where zones[zone]?.state.owner == account.id {
      let tag = zoneTag(zone, sender: info.role.other, handshakeHash: info.handshakeHash, cryptography)
      if theirs.contains(tag) {
        send(link, .controlHeads(zone, zones[zone]?.state.heads ?? []))
      } else {
        sendControlRecords(link, zone, beyond: [])
      }
      try share(zone, link, now: now)
    }
  }

  private func share(_ zone: ZoneID, _ link: LinkID, now: Moment) throws {
    let stored = try store.storedVector(zone)
    let merged = try store.mergedVector(zone)
    try handle(link, .share(zone, stored: stored, merged: merged), now: now)
    try sendHeads(link, zone)
    send(link, certificate == nil ? .have(zone, merged) : .acknowledgement(acknowledgement(zone, merged, now: now)))
    requestKeys(link)
  }

  // MARK: Control records

  func sendControlRecords(_ link: LinkID, _ zone: ZoneID, beyond heads: [ControlID]) {
    guard let records = zones[zone]?.records else { return }
    var known: Set<ControlID> = []
    var stack = heads
    while let id = stack.popLast() {
      guard let record = records[id], known.insert(id).inserted else { continue }
      stack.append(contentsOf: record.parents + (record.previous.map { [$0] } ?? []))
    }
    let lacking = ordered(records).filter { !known.contains($0.id) }
    for start in stride(from: 0, to: lacking.count, by: Self.controlBatch) {
      let slice = lacking[start..<min(start + Self.controlBatch, lacking.count)]
      send(link, .controlRecords(zone, slice.map(\.encoded)))
    }
  }

  /// Records in one message: at `Limits.controlRecord` bytes each they fit.
  private static let controlBatch = 64

  /// Parents before children.
  private func ordered(_ records: [ControlID: ControlRecord]) -> [ControlRecord] {
    var result: [ControlRecord] = []
    var done: Set<ControlID> = []
    var stack: [ControlID] = records.keys.sorted(by: >)
    while let id = stack.last {
      guard !done.contains(id), let record = records[id] else {
        stack.removeLast()
        continue
      }
      let before = (record.parents + (record.previous.map { [$0] } ?? [])).filter {
        records[$0] != nil && !done.contains($0)
      }
      if before.isEmpty {
        stack.removeLast()
        done.insert(id)
        result.append(record)
      } else {
        stack.append(contentsOf: before)
      }
    }
    return result
  }

  func learnControl(_ link: LinkID, _ id: ZoneID, _ encoded: [[UInt8]], now: Moment) throws {
    var new: [ControlRecord] = []
    let wasNew = zones[id] == nil
    for bytes in encoded {
      let record = try ControlRecord(bytes, cryptography)
      guard zones[id]?.records[record.id] == nil else { continue }
      // What came before a record that does not stand, stands.
      guard record.zone == id, hasRoom(for: record, link), try isAcceptable(record, link) else { break }
      try store.insertControlRecord(bytes, id: record.id, zone: id)
      zones[id, default: Zone(id, cryptography)].insert(record, cryptography)
      new.append(record)
    }
    guard !new.isEmpty else { return }
    for case .fork(let proof) in new.map(\.act) where !wasNew { notify(fork: proof) }
    try controlChanged(id, now: now)
    for other in links(sharing: id) where other != link { send(other, .controlRecords(id, new.map(\.encoded))) }
    if sessions[link] != nil { try share(id, link, now: now) }
    try offer(id, now: now)
  }

  /// A zone that was met while sessions were open is in common with them too, as far as they are of its owner's.
  func offer(_ id: ZoneID, now: Moment) throws {
    guard zones[id]?.state.owner == account.id else { return }
    for link in sessions.keys.sorted() {
      guard let session = sessions[link], session.conversation.isOpen, session.peer?.account == account.id,
        !session.conversation.commonZones.contains(id)
      else { continue }
      sendControlRecords(link, id, beyond: [])
      try share(id, link, now: now)
    }
  }

  /// A device that fills the log is refused by whoever it brings its records to. Who took them within the bound may pass
  /// them on, so that nobody lacks a parent of an honest record.
  private func hasRoom(for record: ControlRecord, _ link: LinkID) -> Bool {
    let isOwn = sessions[link]?.peer?.device == record.author
    let bound = isOwn ? Choices.controlRecords : Choices.relayedControlRecords
    guard zones[record.zone]?.recordCounts[record.author] ?? 0 >= bound else { return true }
    refusals["control-over-quota", default: 0] += 1
    return false
  }

  /// Signed by a device of the account, after records that are here; a zone begins with a genesis that its id opens to.
  private func isAcceptable(_ record: ControlRecord, _ link: LinkID) throws -> Bool {
    let zone = zones[record.zone] ?? Zone(record.zone, cryptography)
    guard zone.isSound(record, accounts, cryptography) else {
      end(
        link, .protocolViolation,
        "a control record is not signed by a device of the account, or lacks the proof of what it says")
      return false
    }
    if case .genesis(let owner, let nonce) = record.act {
      guard owner == account.id, cryptography.hash(owner.bytes + nonce) == record.zone.bytes else {
        end(link, .protocolViolation, "a zone's first record does not open its id")
        return false
      }
      return true
    }
    let known = zones[record.zone]?.records ?? [:]
    guard !record.parents.isEmpty,
      (record.parents + (record.previous.map { [$0] } ?? [])).allSatisfy({ known[$0] != nil })
    else {
      send(link, .controlHeads(record.zone, zones[record.zone]?.state.heads ?? []))
      return false
    }
    guard let previous = record.previous.flatMap({ known[$0] }) else { return true }
    guard previous.author == record.author, previous.number + 1 == record.number else {
      end(link, .protocolViolation, "a control record does not continue its author's")
      return false
    }
    return true
  }

  /// After records or the account changed: the state anew, cuts carried out, keys asked for, a key minted where none is current.
  func controlChanged(_ id: ZoneID, now: Moment) throws {
    recompute(id)
    guard let zone = zones[id], zone.state.owner != nil else { return }
    let limits = try cutLimits(id)
    zones[id]?.limits = limits
    if zone.state.currentEpoch == nil, certificate != nil, zone.state.cuts[device] == nil {
      try mintEpoch(id, now: now)
    }
    for link in links(sharing: id) { requestKeys(link) }
    zones[id]?.needsApply = true
    needsFlush = true
  }

  /// Where the authors of devices that were cut end, as far as their names are known here.
  private func cutLimits(_ id: ZoneID) throws -> [Author: UInt64] {
    guard let state = zones[id]?.state, !state.cuts.isEmpty || !state.ends.isEmpty else { return [:] }
    var limits: [Author: UInt64] = [:]
    for author in try store.storedVector(id).authors { limits[author] = state.limit(author, citing: nil) }
    for (device, points) in state.cuts {
      for instance in points.keys {
        let author = Author(device: device, instance: instance)
        limits[author] = state.limit(author, citing: nil)
      }
    }
    for author in state.ends.keys { limits[author] = state.limit(author, citing: nil) }
    return limits
  }

  /// Takes back what a cut refuses, once local writes are flushed: they were made on the state with it. Until then nothing
  /// beyond the cut is merged. A device that was revoked itself keeps its tables as they are.
  func carryOutCuts(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.limits != zone.carriedOut, certificate != nil, !needsUpkeep,
      try store.pendingCount() == 0
    else { return }
    do {
      try store.cut(zone.limits, aftermath: aftermath(zone.state), zone: id, try reader(id), now: now.wall)
    } catch  where lacksKeys {
      // A file that came from another home: what is merged in it can be read again once the keys are here.
      return
    }
    zones[id]?.carriedOut = zone.limits
    zones[id]?.mayWriteAgain = true
    if let author = try author(id), zone.state.ends[author] != nil, zone.state.cuts[device] == nil {
      try renewInstance(id, because: "what it wrote as instance \(author.instance) was cut")
    }
    zones[id]?.forked = []
    zones[id]?.needsApply = true
    try pushNews(id, now: now)
    for link in links(sharing: id) {
      try handle(link, .lacking(id, stored: try store.storedVector(id)), now: now)
    }
  }

  func reader(_ id: ZoneID) throws -> ChangeSetReader {
    ChangeSetReader(keys: zones[id]?.keys ?? [:], cuts: zones[id]?.limits ?? [:], cryptography: cryptography)
  }

  /// Appends a record of this device's to a zone's log and tells everybody.
  func append(_ act: ControlAct, _ id: ZoneID) throws { try publish(try record(act, id)) }

  private func record(_ act: ControlAct, _ id: ZoneID) throws -> ControlRecord {
    let own = zones[id]?.records.values.filter { $0.author == device }.max { $0.number < $1.number }
    return try ControlRecord(
      zone: id, parents: zones[id]?.state.heads ?? [], number: (own?.number ?? 0) + 1, previous: own?.id, act: act,
      secrets: secrets, cryptography)
  }

  private func publish(_ record: ControlRecord) throws {
    let id = record.zone
    try store.insertControlRecord(record.encoded, id: record.id, zone: id)
    zones[id, default: Zone(id, cryptography)].insert(record, cryptography)
    recompute(id)
    for link in links(sharing: id) { send(link, .controlRecords(id, [record.encoded])) }
  }

  // MARK: Keys

  /// A fresh key over all that is known. It is kept durably before its record exists: an epoch whose key nobody has would
  /// stop every writer.
  func mintEpoch(_ id: ZoneID, now: Moment) throws {
    guard let key = EpochKey(randomness.bytes(32)) else { return }
    let record = try record(.epoch(commitment: key.commitment(cryptography)), id)
    guard let epoch = EpochID(record.id.bytes) else { return }
    try vault.saveEpochKey(key, epoch: epoch, zone: id)
    try publish(record)
    zones[id]?.keys[epoch] = key
    zones[id]?.keyMissingSince = nil
    for link in links(sharing: id) { sendKeys(link, id, [epoch]) }
  }

  /// Where no epoch that encrypts has its key here this device mints one: at once where there is no such epoch, else when the
  /// key has not come for a while (its minter went away before anybody had it, or keeps it). Writers use any current epoch
  /// whose key they have.
  func replaceMissingEpoch(_ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], zone.state.owner == account.id, certificate != nil, zone.state.cuts[device] == nil,
      zone.lacksKey
    else {
      zones[id]?.keyMissingSince = nil
      return
    }
    let since = zone.keyMissingSince ?? now.steady
    zones[id]?.keyMissingSince = since
    guard zone.state.currentEpoch == nil || now.steady - since > Self.keyPatience else { return }
    try mintEpoch(id, now: now)
    needsFlush = true
  }

  /// How long the key of the current epoch may be missing, in milliseconds: several requests to everybody connected.
  private static let keyPatience: Int64 = 30_000

  /// Of some epoch that a zone has had.
  var lacksKeys: Bool { zones.values.contains { zone in zone.state.epochs.keys.contains { zone.keys[$0] == nil } } }

  func requestKeys(_ link: LinkID) {
    guard let session = sessions[link], session.conversation.isOpen else { return }
    for id in session.conversation.commonZones {
      guard let zone = zones[id] else { continue }
      let lacking = zone.state.epochs.keys.filter { zone.keys[$0] == nil }.sorted()
      if !lacking.isEmpty { send(link, .keyRequest(id, Array(lacking.prefix(Limits.controlBatch)))) }
    }
  }

  private func sealContext(_ zone: ZoneID, _ epoch: EpochID, _ recipient: DeviceID) -> [UInt8] {
    zone.bytes + epoch.bytes + recipient.bytes
  }

  func sendKeys(_ link: LinkID, _ id: ZoneID, _ epochs: [EpochID]) {
    guard let peer = sessions[link]?.peer, let certificate = account.certificate(peer.device),
      let zone = zones[id], zone.state.owner == certificate.account, zone.state.cuts[peer.device] == nil
    else { return }
    var sealed: [EpochID: [UInt8]] = [:]
    for epoch in epochs {
      guard let key = zone.keys[epoch], zone.state.epochs[epoch] != nil else { continue }
      sealed[epoch] = cryptography.seal(
        key.bytes, to: certificate.request.sealingKey, epoch: epoch.bytes,
        context: sealContext(id, epoch, certificate.device))
    }
    if !sealed.isEmpty { send(link, .keys(id, sealed)) }
  }

  func learnKeys(_ id: ZoneID, _ sealed: [EpochID: [UInt8]], from link: LinkID) throws {
    var learnt: [EpochID] = []
    for (epoch, bytes) in sealed.sorted(by: { $0.key < $1.key }) {
      guard let zone = zones[id], zone.keys[epoch] == nil, let record = zone.state.epochs[epoch],
        let secret = secrets.open(bytes, epoch: epoch.bytes, context: sealContext(id, epoch, device)),
        let key = EpochKey(secret), key.commitment(cryptography) == record.commitment
      else { continue }
      try vault.saveEpochKey(key, epoch: epoch, zone: id)
      zones[id]?.keys[epoch] = key
      zones[id]?.needsApply = true
      needsFlush = true
      learnt.append(epoch)
    }
    // Others may have asked for them before they were here.
    for other in links(sharing: id) where other != link { sendKeys(other, id, learnt) }
  }
}
