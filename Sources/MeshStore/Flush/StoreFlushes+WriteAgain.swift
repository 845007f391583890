package import MeshCore

extension StoreFlushes {
  package func writeAgain(_ writer: ChangeSetWriter, now: Int64) throws -> ChangeSetTip? {
    try writeRefusing(notingAt: now) { transaction, refused in
      if try transaction.hasPending() { throw PendingWrites() }
      var rewriter = try Rewriter(transaction, writer, now)
      return try transaction.applying { try rewriter.run(refused) }
    }
  }
}

/// Makes one unit of the changes of this device that a cutoff reverted. It has the new instance as author, and the
/// original times, so that later writes of others stay later. Apart from that, it is merged here like any other change
/// set.
private struct Rewriter {
  private let transaction: Transaction
  private let writer: ChangeSetWriter
  private let now: Int64
  private var part: NextPart
  /// The latest stamp. Changes that were signed ahead of time get the actual time.
  private let latest: HybridTime
  private var tables: [TableChanges] = []
  private var places: [Int64: Int] = [:]

  init(_ transaction: Transaction, _ writer: ChangeSetWriter, _ now: Int64) throws {
    self.transaction = transaction
    self.writer = writer
    self.now = now
    part = try NextPart(transaction, writer, now)
    latest = part.clock.tick(noted: now, now: now)
  }

  /// Returns nil if nothing is left.
  mutating func run(_ refused: [RecordRef: String]) throws -> ChangeSetTip? {
    let start = part.head
    guard part.index == 0 else { return nil }
    var (room, elements) = (part.room, Limits.elements)
    for rewrite in try transaction.work.nextRewrites(part.zone, limit: Choices.slice) {
      let whole = rewrite.size(inlining: StoreLimits.inlineValue)
      let threshold = whole > part.room / 2 ? StoreLimits.inlineValue / 1_024 : StoreLimits.inlineValue
      let names = try self.names(rewrite)
      let size = rewrite.size(inlining: threshold) + names.reduce(600) { $0 + $1.utf8.count + 3 }
      let more = names.count + 1 + rewrite.cells.count
      guard tables.isEmpty || (size <= room && more <= elements) else { break }
      room -= size
      elements -= more
      try add(rewrite, inlining: threshold)
      try transaction.work.remove(rewrite, zone: part.zone)
    }
    guard !tables.isEmpty else { return nil }
    transaction.reached(.writtenAgain)
    let changeSet = try part.append(.changes(tables), isFinal: true, transaction, writer)
    try merge(changeSet, since: start, refused)
    return part.head.mergedHead
  }

  private func names(_ rewrite: Rewrite) throws -> [String] {
    try rewrite.cells.keys.sorted().map { try transaction.catalog.column($0).name }
  }

  private mutating func add(_ rewrite: Rewrite, inlining threshold: Int) throws {
    // There is one table entry for each set of columns. The sets are few, and each is named once.
    let columns = rewrite.cells.keys.sorted()
    let place: Int
    if let known = places[rewrite.ref.table], tables[known].columns == (try names(rewrite)) {
      place = known
    } else {
      tables.append(
        TableChanges(table: try transaction.catalog.tableName(rewrite.ref.table), columns: try names(rewrite)))
      place = tables.count - 1
      places[rewrite.ref.table] = place
    }
    let fields = try columns.enumerated().compactMap { index, column in
      try rewrite.cells[column].map {
        RowChange.Field(column: index, stamp: stamp($0.time), value: try field($0.value, threshold))
      }
    }
    tables[place].rows.append(
      RowChange(
        key: rewrite.ref.key, generation: min(rewrite.generation, bound(rewrite)), isLife: rewrite.life != nil,
        stamp: stamp(rewrite.life ?? rewrite.cells.values.map(\.time).max() ?? .zero), fields: fields))
  }

  /// Returns the greatest generation that others accept from the new instance. It has the same parity, which says
  /// whether the record is alive.
  private func bound(_ rewrite: Rewrite) -> UInt64 {
    let bound = latest.greatestGeneration
    return bound % 2 == rewrite.generation % 2 ? bound : bound - 1
  }

  private func stamp(_ time: HybridTime) -> Stamp { Stamp(time: min(time, latest), author: writer.author) }

  private mutating func field(_ value: Value, _ threshold: Int) throws -> FieldValue {
    let bytes: [UInt8]
    let isText: Bool
    switch value {
    case .text(let text): (bytes, isText) = (text, true)
    case .blob(let blob): (bytes, isText) = (blob, false)
    case .asset(let asset): return try transaction.contents.manifest(asset.id).map(FieldValue.asset) ?? .value(.null)
    case .null, .integer, .real: return .value(value)
    }
    guard bytes.count > threshold else { return .value(value) }
    let zone = try transaction.counters.obtain(writer.zone)
    let ordinal = zone.flushValues
    zone.flushValues += 1
    for offset in stride(from: 0, to: bytes.count, by: Limits.piece) {
      let piece = LongValuePiece(
        ordinal: ordinal, offset: UInt64(offset), bytes: Array(bytes[offset..<min(offset + Limits.piece, bytes.count)]))
      try part.append(.piece(piece), isFinal: false, transaction, writer)
    }
    return .long(ordinal: ordinal, size: bytes.count, isText: isText)
  }

  private func merge(_ changeSet: ChangeSet, since start: AuthorHead, _ refused: [RecordRef: String]) throws {
    let records = ZoneRecords(transaction, zone: try transaction.counters.obtain(writer.zone))
    let materialiser = try Materialiser(records, refused: refused)
    let reader = ChangeSetReader(
      keys: [writer.epoch: writer.key], cuts: [:], cryptography: writer.cryptography)
    let long = LongValues(
      transaction: transaction, zone: part.zone, author: part.head.author, reader: reader,
      numbers: start.stored + 1..<changeSet.header.number)
    let body = ChangeSetBody(context: part.context, content: .changes(tables))
    try Merger(records, materialiser, previous: start, nil, now: now).merge(
      BatchPart(
        header: changeSet.header, id: changeSet.id, body: body, size: changeSet.bytes.count, context: part.context,
        rows: 0..<body.rowCount, rowCount: body.rowCount), long: long)
    try materialiser.settle()
  }
}
