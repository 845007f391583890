package import MeshCore

/// Stores, merges, sends and reverts the change sets of others.
extension ModelStore {
  package func storedVector(_ zone: ZoneID) -> VersionVector {
    VersionVector((zoneData[zone]?.authors ?? [:]).mapValues { UInt64($0.stored.count) })
  }

  package func stored(_ zone: ZoneID, _ author: Author) -> (number: UInt64, citation: ControlID?) {
    let stored = zoneData[zone]?.authors[author]?.stored ?? []
    return (UInt64(stored.count), stored.first?.header.citation)
  }

  package func authorCount(_ zone: ZoneID) -> Int { storedVector(zone).numbers.count }

  package func mergedVector(_ zone: ZoneID) -> VersionVector { zoneData[zone]?.mergedVector ?? VersionVector() }

  package func mergedTips(_ zone: ZoneID) -> [Author: ChangeSetTip] {
    (zoneData[zone]?.authors ?? [:]).filter { $0.value.merged > 0 }.mapValues { log in
      let last = log.stored[log.merged - 1]
      return ChangeSetTip(number: last.header.number, id: last.id, time: last.header.time)
    }
  }

  package func store(_ changeSets: [ChangeSet], zone: ZoneID, now: Int64) -> [StoreOutcome] {
    changeSets.map { changeSet in
      let author = changeSet.header.author
      let outcome = (zoneData[zone]?.authors[author] ?? ModelZone.AuthorLog()).outcome(of: changeSet)
      if outcome == .stored {
        zoneData[zone]?.authors[author, default: ModelZone.AuthorLog()].stored.append(changeSet)
      }
      return outcome
    }
  }

  package func hasReverted(_ id: ZoneID) -> Bool { zoneData[id]?.reverted.values.contains { !$0.isEmpty } ?? false }

  package func storeAgain(_ id: ZoneID, where stands: (ChangeSet) -> Bool) -> Bool {
    var hasAny = false
    for author in zoneData[id]?.reverted.keys.sorted() ?? [] {
      while let next = zoneData[id]?.reverted[author]?[UInt64(zoneData[id]?.authors[author]?.stored.count ?? 0) + 1],
        stands(next), store([next], zone: id, now: 0) == [.stored]
      {
        zoneData[id]?.reverted[author]?[next.header.number] = nil
        hasAny = true
      }
    }
    return hasAny
  }

  package func changeSets(
    _ zone: ZoneID, beyond vector: VersionVector, of devices: Set<DeviceID>?, after position: Int64, maximumBytes: Int
  ) -> ChangeSetBatch {
    let log = zoneData[zone]?.log ?? []
    let start = Int64(zoneData[zone]?.logStart ?? 0)
    var batch = ChangeSetBatch(changeSets: [], position: max(start, position), isComplete: false)
    var bytes = 0
    while batch.position - start < Int64(log.count) {
      let next = log[Int(batch.position - start)]
      let author = next.header.author
      if next.header.number > vector[author], devices?.contains(author.device) ?? true {
        guard batch.changeSets.isEmpty || bytes + next.bytes.count <= maximumBytes else { return batch }
        batch.changeSets.append(next.bytes)
        batch.devices.insert(author.device)
        bytes += next.bytes.count
      }
      batch.position += 1
    }
    batch.isComplete = true
    return batch
  }

  package func apply(
    _ id: ZoneID, _ reader: ChangeSetReader, flushing writers: [ZoneID: ChangeSetWriter], now: Int64
  ) -> ApplyProgress {
    guard
      writers.isEmpty ? pending.isEmpty : !pending.contains(where: { $0.zone == id || writer($0.zone, writers) != nil })
    else { return .flushFirst }
    guard var zone = zoneData[id] else { return .idle(waiting: [:]) }
    var waiting: [WaitingReason: Int] = [:]
    for author in zone.authors.keys.sorted() {
      guard let log = zone.authors[author], log.merged < log.stored.count else { continue }
      do {
        let (next, tables, manifests) = try zone.unit(log, reader, now: now, cryptography)
        metAssets.meet(manifests)
        let touched = zone.merge(tables)
        zone.log += log.stored[log.merged..<next.merged]
        for changeSet in log.stored[log.merged..<next.merged] { zone.clock.witness(changeSet.header.time) }
        zone.authors[author] = next
        zoneData[id] = zone
        show(touched, zone)
        return .merged(records: touched.count, unitEnded: true)
      } catch let wait {
        if wait.reason == .malformed { zoneData[id]?.authors[author]?.isMalformed = true }
        waiting[wait.reason, default: 0] += log.stored.count - log.merged
      }
    }
    return .idle(waiting: waiting)
  }

  private func show(_ names: Set<RecordName>, _ zone: ModelZone) {
    for name in names {
      rows[name] = zone.records[name].flatMap { metAssets.row($0, before: rows[name]) }
    }
  }

  package func storedTips(_ zone: ZoneID) -> [Author: ChangeSetTip] {
    (zoneData[zone]?.authors ?? [:]).compactMapValues { log in
      log.stored.last.map { ChangeSetTip(number: $0.header.number, id: $0.id, time: $0.header.time) }
    }
  }

  package func changeSetID(_ zone: ZoneID, _ author: Author, _ number: UInt64) -> ChangeSetID? {
    zoneData[zone]?.authors[author]?.stored.first { $0.header.number == number }?.id
  }

  package func excerpt(_ zone: ZoneID, _ author: Author, through number: UInt64, count: Int) -> [SignedHeader] {
    let log = zoneData[zone]?.authors[author]?.stored.filter { $0.header.number <= number } ?? []
    return log.suffix(count).map(\.signedHeader)
  }

  package func unitEnd(_ zone: ZoneID, _ author: Author, notLaterThan time: HybridTime) -> UInt64 {
    let log = zoneData[zone]?.authors[author]?.stored ?? []
    return log.last { $0.header.part.isFinal && $0.header.time <= time }?.header.number ?? 0
  }

  package func writeAgain(_ writer: ChangeSetWriter, now: Int64) throws -> ChangeSetTip? {
    guard var zone = zoneData[writer.zone], !zone.rewrites.isEmpty else { return nil }
    let latest = zone.clock.tick(noted: now, now: now)
    func stamp(_ time: HybridTime) -> Stamp { Stamp(time: min(time, latest), author: writer.author) }
    var log = zone.authors[writer.author] ?? ModelZone.AuthorLog()
    let context = zone.context(of: writer.author)
    let tables = try zone.rewrites.sorted { $0.key < $1.key }.map { name, state in
      let columns = state.cells.keys.sorted()
      let fields = try columns.enumerated().compactMap { index, column in
        try state.cells[column].map {
          RowChange.Field(
            column: index, stamp: stamp($0.stamp.time), value: try metAssets.field($0.value, zone: writer.zone))
        }
      }
      let time = state.life?.time ?? state.cells.values.map(\.stamp.time).max() ?? .zero
      let row = RowChange(
        key: name.key, generation: state.generation, isLife: state.life != nil, stamp: stamp(time), fields: fields)
      return TableChanges(table: name.table, columns: columns, rows: [row])
    }
    let header = ChangeSetHeader(
      zone: writer.zone, author: writer.author, number: UInt64(log.stored.count) + 1, previous: log.stored.last?.id,
      citation: writer.citation,
      time: zone.clock.tick(noted: now, now: now), epoch: writer.epoch, part: .only)
    let difference = context.difference(from: log.context)
    let body = ChangeSetBody(context: difference, content: .changes(tables)).encoded(author: writer.author)
    let changeSet = try ChangeSet(
      header, body: body, key: writer.key, secrets: writer.secrets, with: writer.cryptography)
    log.stored.append(changeSet)
    try log.context.advance(by: difference)
    zone.log += log.stored[log.merged...]
    log.merged = log.stored.count
    zone.authors[writer.author] = log
    zone.rewrites = [:]
    let touched = zone.merge(try metAssets.naming(tables))
    zoneData[writer.zone] = zone
    show(touched, zone)
    return ChangeSetTip(number: header.number, id: changeSet.id, time: header.time)
  }

  /// Merges the remaining change sets again from nothing, which is slow, but obviously right.
  package func isRevertDue(_ limits: [Author: UInt64], zone: ZoneID) -> Bool {
    revertFault != nil
      || limits.contains { author, limit in UInt64(zoneData[zone]?.authors[author]?.stored.count ?? 0) > limit }
  }

  package func revert(
    _ limits: [Author: UInt64], aftermath: [Author: Aftermath], zone id: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws {
    if let revertFault { throw revertFault }
    guard var zone = zoneData[id] else { return }
    for changeSet in zone.log where reader.keys[changeSet.header.epoch] == nil {
      throw MissingKey(epoch: changeSet.header.epoch)
    }
    let before = zone.records
    zone.setAside(limits.filter { aftermath[$0.key] == .receipt })
    let log = zone.beginAgain(limits)
    var values = UnitValues(cryptography)
    for changeSet in log {
      guard let key = reader.keys[changeSet.header.epoch],
        let bytes = changeSet.body(key: key, with: reader.cryptography),
        let body = try? ChangeSetBody(bytes, author: changeSet.header.author), values.add(body.content)
      else { continue }
      try? zone.authors[changeSet.header.author]?.context.advance(by: body.context)
      zone.authors[changeSet.header.author]?.merged = Int(changeSet.header.number)
      zone.log.append(changeSet)
      guard changeSet.header.part.isFinal else { continue }
      metAssets.meet(values.manifests)
      _ = zone.merge(values.tables)
      values = UnitValues(cryptography)
    }
    zone.clock = HybridClock(last: min(zone.clock.last, zone.log.map(\.header.time).max() ?? .zero))
    for (name, state) in before {
      let lost = zone.takeReverted(name, of: state, aftermath)
      if let lost = lost.kept { kept[name, default: []].append(lost) }
      guard let lost = lost.receipt else { continue }
      noteReceipt(id, name, lost.isAlive ? lost.cells.mapValues(\.value) : nil, .cut, now)
    }
    zoneData[id] = zone
    show(Set(before.keys), zone)
  }

  /// Reverts them to see what that takes, and takes it back.
  package func keepUnsent(
    _ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws {
    guard let before = zoneData[zone] else { return }
    try revert(limits, aftermath: limits.mapValues { _ in .receipt }, zone: zone, reader, now: now)
    zoneData[zone] = before
    show(Set(before.records.keys), before)
  }
}
