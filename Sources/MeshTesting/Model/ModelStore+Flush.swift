package import MeshCore

extension ModelStore {
  /// Runs the next step that a test has set. A model has no schema, so there is no other upkeep.
  package func upkeep(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws -> UpkeepProgress {
    if let upkeepFault { throw upkeepFault }
    if !upkeepSteps.isEmpty { return upkeepSteps.removeFirst()(self) }
    guard needsRecall else { return .done }
    for (id, zone) in zoneData {
      let keys = try reader(id).keys
      for changeSet in zone.log where keys[changeSet.header.epoch] == nil {
        throw MissingKey(epoch: changeSet.header.epoch)
      }
    }
    needsRecall = false
    return .worked()
  }

  /// Returns the writer for a zone. Writes without a zone belong to the private zone.
  func writer(_ zone: ZoneID?, _ writers: [ZoneID: ChangeSetWriter]) -> ChangeSetWriter? {
    (zone ?? standings.first { $0.role == .privateZone }?.zone ?? writers.keys.min()).flatMap { writers[$0] }
  }

  package func flush(_ writers: [ZoneID: ChangeSetWriter], now: Int64) throws -> FlushProgress {
    revertForbidden(now: now)
    if needsRecall, !pending.isEmpty { return FlushProgress(head: nil, records: 0, hasMore: true) }
    guard let first = pending.first(where: { writer($0.zone, writers) != nil }),
      let writer = writer(first.zone, writers),
      var zone = zoneData[writer.zone]
    else { return FlushProgress(head: nil, records: 0, hasMore: false) }
    let names = Array(Set(pending.filter { $0.zone == first.zone }.map(\.name))).sorted()
    let slice = names.prefix(partSize)
    let isFinal = slice.count == names.count
    let stamp = Stamp(time: zone.clock.tick(noted: now, now: now), author: writer.author)
    let changes = try slice.compactMap { try change($0, zone.records[$0], writer.zone) }
    let sliced = Set(slice)
    pending.removeAll { sliced.contains($0.name) }
    var log = zone.authors[writer.author] ?? ModelZone.AuthorLog()
    guard !changes.isEmpty || log.nextPart > 0 else {
      return FlushProgress(zone: writer.zone, head: nil, records: 0, hasMore: !pending.isEmpty)
    }
    let tables = Self.tables(changes, stamp)
    let context = zone.context(of: writer.author).difference(from: log.context)
    let part = ChangeSetHeader.Part(
      index: log.nextPart, planned: UInt64((names.count + partSize - 1) / partSize) + log.nextPart, isFinal: isFinal)
    let header = ChangeSetHeader(
      zone: writer.zone, author: writer.author, number: UInt64(log.stored.count) + 1, previous: log.stored.last?.id,
      citation: writer.citation,
      time: stamp.time, epoch: writer.epoch, part: part)
    let body = ChangeSetBody(context: context, content: .changes(tables)).encoded(author: writer.author)
    let changeSet = try ChangeSet(
      header, body: body, key: writer.key, secrets: writer.secrets, with: writer.cryptography)
    log.stored.append(changeSet)
    try log.context.advance(by: context)
    _ = zone.merge(try metAssets.naming(tables))
    if isFinal {
      zone.log += log.stored[log.merged...]
      log.merged = log.stored.count
    }
    zone.authors[writer.author] = log
    zoneData[writer.zone] = zone
    let head = ChangeSetTip(number: header.number, id: changeSet.id, time: header.time)
    return FlushProgress(
      zone: writer.zone, head: head, records: changes.count, hasMore: !pending.isEmpty, unitEnded: isFinal)
  }

  /// Resets writes to zones that this device may not write to the merged values.
  private func revertForbidden(now: Int64) {
    let open = Dictionary(standings.map { ($0.zone, $0.mayWrite) }, uniquingKeysWith: { first, _ in first })
    for change in pending {
      guard let zone = change.zone, open[zone] == false else { continue }
      let merged = zoneData[zone]?.records[change.name]
      let row = rows[change.name]
      noteReceipt(zone, change.name, row, .notPermitted, now)
      rows[change.name] = merged.flatMap { metAssets.row($0, before: nil) }
    }
    pending.removeAll { change in change.zone.map { open[$0] == false } ?? false }
  }

  /// Returns the change that the pending entries of one record describe. It depends on the record's merged life, on
  /// whether the row exists now, and on whether a delete was noted.
  private func change(_ name: RecordName, _ merged: RecordState<String>?, _ zone: ZoneID) throws -> LocalChange? {
    let entries = pending.filter { $0.name == name }
    let isDeleted = entries.contains { $0.columns == nil }
    let known = merged ?? RecordState()
    guard let row = rows[name] else {
      return known.isAlive
        ? LocalChange(name: name, generation: known.generation.nextGeneration, isLife: true, values: [:]) : nil
    }
    guard known.isAlive, !isDeleted else {
      // The record was deleted and created again between two flushes. The deleted generation in between is skipped.
      let generation = known.generation.nextLife
      let fields = try row.mapValues { try metAssets.field($0, zone: zone) }
      return LocalChange(name: name, generation: generation, isLife: true, values: fields)
    }
    let columns = entries.reduce(into: Set<String>()) { $0.formUnion($1.columns ?? []) }
    let fields = try row.filter { columns.contains($0.key) }.mapValues { try metAssets.field($0, zone: zone) }
    return LocalChange(name: name, generation: known.generation, isLife: false, values: fields)
  }

  private struct LocalChange {
    let name: RecordName
    let generation: UInt64
    let isLife: Bool
    let values: [String: FieldValue]
  }

  /// Returns the changes by table, each with the union of its rows' columns.
  private static func tables(_ changes: [LocalChange], _ stamp: Stamp) -> [TableChanges] {
    Dictionary(grouping: changes, by: \.name.table).sorted { $0.key < $1.key }.map { table, changes in
      let columns = Set(changes.flatMap(\.values.keys)).sorted()
      let rows = changes.map { change in
        let fields = columns.enumerated().compactMap { index, column in
          change.values[column].map { RowChange.Field(column: index, value: $0) }
        }
        return RowChange(
          key: change.name.key, generation: change.generation, isLife: change.isLife, stamp: stamp, fields: fields)
      }
      return TableChanges(table: table, columns: columns, rows: rows)
    }
  }
}
