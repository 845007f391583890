import MeshCore

/// Builds the changes to send, and the rows of `mesh_record` that belong to them.
extension FlushPlanner {
  /// Adds a birth or an edit. Returns false if the part is full.
  ///
  /// - Parameters:
  ///   - life: The time of a birth.
  ///   - cells: The columns that get a new stamp.
  ///   - keeping: Merged values that the row doesn't show.
  ///   - isHeld: True if the record stays out of its table.
  ///   - awaited: The assets of a birth that the row doesn't have, by column.
  ///   - parts: The parts of columns with a policy that change.
  func emit(
    _ entry: PendingSlice.Entry, _ kind: FlushPlan.Change.Kind, old: StoredRecord?, generation: UInt64,
    life: HybridTime?, _ cells: [(index: Int, time: HybridTime)], _ row: [Value], keeping: [Int64: Value],
    isHeld: Bool = false, awaited: [Int: Asset] = [:], parts: ChangedParts = ChangedParts()
  ) throws -> Bool {
    let table = entry.table
    let visible = row
    var row = row
    for (index, asset) in awaited { row[index] = .asset(asset) }
    if let message = tooLong(cells.map(\.index), row, table) {
      plan.unsent.append((entry.ref, .valueTooLong, message))
      return true
    }
    let manifests: [Int: AssetManifest]
    (row, manifests) = try withAssets(entry, old, cells.map(\.index), row)
    let sizes = cells.lazy.map { row[$0.index].byteCount }
    let rowTime =
      life ?? max(cells.lazy.map(\.time).max() ?? .zero, parts.cells.lazy.map(\.time).max() ?? .zero, parts.written)
    let threshold = longThreshold(sizes)
    let inline = cells.reduce(0) {
      $0 + ($1.time == rowTime ? 2 : 12)
        + (manifests[$1.index].map { AssetManifest.encodedBound(size: $0.size) }
          ?? min(row[$1.index].encodedBound, threshold + 6))
    }
    guard
      layout.take(
        entry.ref.key.encodedBound + 24 + inline + parts.encodedBound, fields: cells.count + 2 * parts.cells.count,
        long: sizes.reduce(0) { $1 > threshold ? $0 + $1 : $0 }, of: room, for: table)
    else { return false }
    var record =
      if let life, parts.cells.isEmpty, cells.allSatisfy({ $0.time == life }) {
        try bornRecord(entry.ref, table, generation, life, cells, row)
      } else {
        try self.record(entry.ref, table, old: old, generation, life, cells, row, keeping, isHeld, parts)
      }
    if record.held == nil { show(&record, entry, old: life == nil ? old : nil, cells, row, parts) }
    for (index, asset) in awaited where record.held == nil {
      let column = table.columns[index].id
      record.extra[column] = .asset(asset)
      record.shown[column] =
        visible[index].isUnread ? old?.shown[column] : visible[index] == .null ? nil : visible[index]
    }
    plan.manifests += manifests.values
    plan.changes.append(
      .init(ref: entry.ref, table: table, record: record, old: old, kind: kind, isBlind: isBlind(entry, old)))
    guard !cells.isEmpty || !parts.cells.isEmpty || kind == .birth else { return true }
    let place = layout.place(of: table)
    let fields = fields(cells, parts, row, manifests, threshold, at: rowTime, table, place)
    layout.tables[place].rows.append(
      RowChange(
        key: entry.ref.key, generation: generation, isLife: kind == .birth, stamp: global(rowTime), fields: fields))
    return true
  }

  /// Returns the fields of a row's change, in the order of their columns.
  ///
  /// - Parameters:
  ///   - threshold: The size above which values travel in pieces.
  ///   - time: The time of the row's stamp, which fields without a stamp of their own share.
  private func fields(
    _ cells: [(index: Int, time: HybridTime)], _ parts: ChangedParts, _ row: [Value], _ manifests: [Int: AssetManifest],
    _ threshold: Int, at time: HybridTime, _ table: TableForm, _ place: Int
  ) -> [RowChange.Field] {
    var fields = cells.map { cell in
      let value = row[cell.index]
      return RowChange.Field(
        column: layout.column(cell.index, of: table, at: place), stamp: cell.time == time ? nil : global(cell.time),
        value: manifests[cell.index].map(FieldValue.asset)
          ?? (value.byteCount > threshold ? reference(to: value) : .value(value)))
    }
    fields += parts.cells.map { part in
      RowChange.Field(
        column: layout.column(part.column, part.name, of: table, at: place),
        stamp: part.time == time ? nil : global(part.time), value: .value(part.value))
    }
    fields.sort { $0.column < $1.column }
    return fields
  }

  /// Adds a row with cells that have stamps of their own. Returns false if the part is full.
  ///
  /// - Parameter life: The stamp of a birth, or nil for an edit.
  func emit(
    _ entry: PendingSlice.Entry, _ cells: [Int64: State.Cell], _ generation: UInt64, _ life: Stamp?
  ) throws -> Bool {
    let table = entry.table
    let sorted = cells.sorted { $0.key < $1.key }
    let threshold = longThreshold(sorted.map(\.value.value.byteCount))
    let long = sorted.filter { $0.value.value.byteCount > threshold }
    let names = try sorted.map { try transaction.catalog.column($0.key).name }
    let manifests = try sorted.map { try manifest($0.value.value) }
    let inline = sorted.indices.reduce(0) {
      $0 + 12 + names[$1].utf8.count
        + (manifests[$1].map { AssetManifest.encodedBound(size: $0.size) }
          ?? min(sorted[$1].value.value.encodedBound, threshold + 6))
    }
    // The names of these columns are not counted yet.
    let unknown = sorted.count { table.indexes[$0.key] == nil }
    guard
      layout.take(
        entry.ref.key.encodedBound + 24 + inline, fields: sorted.count + unknown,
        long: long.reduce(0) { $0 + $1.value.value.byteCount }, of: room,
        for: table)
    else { return false }
    let place = layout.place(of: table)
    let stamp = life ?? sorted.map(\.value.stamp).max() ?? global(time(entry.wall))
    var fields = sorted.indices.map { index in
      let (column, cell) = sorted[index]
      return RowChange.Field(
        column: layout.column(column, names[index], of: table, at: place),
        stamp: cell.stamp == stamp ? nil : cell.stamp,
        value: manifests[index].map(FieldValue.asset)
          ?? (cell.value.byteCount > threshold ? reference(to: cell.value) : .value(cell.value)))
    }
    fields.sort { $0.column < $1.column }
    layout.tables[place].rows.append(
      RowChange(key: entry.ref.key, generation: generation, isLife: life != nil, stamp: stamp, fields: fields))
    return true
  }

  /// Returns the problem with a value that is too long to be sent, or nil if there is none.
  private func tooLong(_ indexes: [Int], _ row: [Value], _ table: TableForm) -> String? {
    for index in indexes {
      if row[index].byteCount > Limits.longValue {
        return "a value is longer than \(Limits.longValue) bytes; shorten it, and the row is sent"
      }
      guard let size = row[index].asset?.size, size > Limits.asset || !table.takes(size, in: index) else { continue }
      return size > Limits.asset
        ? "the BLOB in the column \(table.columns[index].name) is longer than \(Limits.asset) bytes; shorten it"
        : "the BLOB in the column \(table.columns[index].name) has \(size) bytes; \(table.advice(index))"
    }
    return nil
  }

  /// Returns the row with the names of its long BLOBs, and the manifests of those that are sent.
  private func withAssets(
    _ entry: PendingSlice.Entry, _ old: StoredRecord?, _ indexes: [Int], _ row: [Value]
  ) throws -> (row: [Value], manifests: [Int: AssetManifest]) {
    var manifests: [Int: AssetManifest] = [:]
    guard row.contains(where: { $0.asset != nil }) else { return (row, manifests) }
    var named = row
    for index in indexes {
      guard let asset = row[index].asset else { continue }
      if !asset.isUnread {
        manifests[index] = try transaction.contents.manifest(asset.id)
      } else if let found = try content(entry, index, asset.size) {
        named[index] = .asset(found.asset)
        manifests[index] = found.manifest
      }
    }
    return (old.map { records.named(named, $0, entry.table) } ?? named, manifests)
  }

  /// Returns the manifest of an asset that was met before or is in the plan.
  private func manifest(_ value: Value) throws -> AssetManifest? {
    guard let asset = value.asset, !asset.isUnread else { return nil }
    if let known = try transaction.contents.manifest(asset.id) { return known }
    return try plan.manifests.first { try $0.asset(transaction.cryptography) == asset }
  }

  /// Returns the value, with the name of a long BLOB.
  func value(_ entry: PendingSlice.Entry, _ index: Int, _ value: Value) throws -> Value {
    guard value.isUnread, let size = value.asset?.size, let found = try content(entry, index, size) else {
      return value
    }
    plan.manifests.append(found.manifest)
    return .asset(found.asset)
  }

  /// Notes what the row shows in place of the record's values, after these columns are sent.
  private func show(
    _ record: inout StoredRecord, _ entry: PendingSlice.Entry, old: StoredRecord?,
    _ cells: [(index: Int, time: HybridTime)], _ row: [Value], _ parts: ChangedParts
  ) {
    var shown = old?.shown ?? [:]
    for cell in cells {
      shown[entry.table.columns[cell.index].id] = row[cell.index].asset.flatMap { $0.isUnread ? nil : .asset($0) }
    }
    record.shown = shown
    for (column, fold) in parts.folded {
      record.extra[column] = fold.base
      record.shown[column] = fold.shown
    }
  }

  /// Returns the size above which values travel in pieces, so that the row's change fits into a part with others.
  func longThreshold(_ sizes: some Collection<Int>) -> Int {
    Self.thresholds.first { threshold in sizes.reduce(0) { $0 + min($1, threshold) } <= room / 2 } ?? 0
  }

  private static let thresholds = [
    StoreLimits.inlineValue, StoreLimits.inlineValue / 16, StoreLimits.inlineValue / 1_024,
  ]

  func reference(to value: Value) -> FieldValue {
    let ordinal: UInt64
    if let known = sent[value] ?? plan.longValues.first(where: { $0.value == value })?.ordinal {
      ordinal = known
    } else {
      ordinal = records.zone.flushValues + UInt64(plan.longValues.count)
      plan.longValues.append(FlushPlan.LongValue(ordinal: ordinal, value: value))
    }
    if case .text = value { return .long(ordinal: ordinal, size: value.byteCount, isText: true) }
    return .long(ordinal: ordinal, size: value.byteCount, isText: false)
  }

  /// Returns the row of `mesh_record` after a birth whose columns all have its stamp.
  private func bornRecord(
    _ ref: RecordRef, _ table: TableForm, _ generation: UInt64, _ life: HybridTime,
    _ cells: [(index: Int, time: HybridTime)], _ row: [Value]
  ) throws -> StoredRecord {
    try shape(table, cells).record(
      key: ref.key, generation: generation, stamp: global(life), local: LocalStamp(author: author, time: life),
      transaction.cryptography
    ) { row[cells[$0].index] }
  }

  private func shape(_ table: TableForm, _ cells: [(index: Int, time: HybridTime)]) throws -> BirthShape {
    // These are all columns, or all but the key's spelling. The number tells which.
    let form = BirthForm(table: table.id, count: cells.count)
    if let known = shapes[form] { return known }
    let shape = try BirthShape(table, cells.map { table.columns[$0.index].id }, transaction.catalog)
    shapes[form] = shape
    return shape
  }

  /// Returns the row of `mesh_record` after the change.
  private func record(
    _ ref: RecordRef, _ table: TableForm, old: StoredRecord?, _ generation: UInt64, _ life: HybridTime?,
    _ cells: [(index: Int, time: HybridTime)], _ row: [Value], _ keeping: [Int64: Value], _ isHeld: Bool,
    _ parts: ChangedParts
  ) throws -> StoredRecord {
    var stamps: [Int64: LocalStamp] = [:]
    var born = life.map { LocalStamp(author: author, time: $0) }
    var extra = keeping
    if let old, life == nil {
      for (column, stamp) in try records.columns(old.stamps) { stamps[column] = stamp }
      let known = old.stamps.life ?? old.stamps.base
      born = known.author == 0 ? nil : known
      // Values that the row shows by derivation, or because of a migration, stay as they were merged. Edited values are
      // in the row.
      extra.merge(old.extra) { kept, _ in kept }
    }
    for cell in cells {
      let column = table.columns[cell.index].id
      stamps[column] = LocalStamp(author: author, time: cell.time)
      if isHeld { extra[column] = row[cell.index] } else { extra[column] = nil }
    }
    for (column, fold) in parts.folded { extra[column] = fold.base }
    for part in parts.cells {
      stamps[part.column] = LocalStamp(author: author, time: part.time)
      extra[part.column] = part.value
    }
    let sorted = stamps.map { (column: $0.key, stamp: $0.value) }.sorted { $0.column < $1.column }
    let kept = try old.flatMap { life == nil ? try transaction.catalog.layout($0.stamps.layout) : nil }
    let packed = try RecordStamps(sorted, life: born, previous: kept) {
      try transaction.catalog.layoutNumber($0, of: ref.table)
    }
    let named = try sorted.map { entry in
      let value = extra[entry.column] ?? table.indexes[entry.column].map { row[$0] } ?? .null
      return (
        name: try transaction.catalog.column(entry.column).folded, stamp: try stamp(entry.stamp), value: value
      )
    }.sorted { ColumnName.areInOrder($0.name, $1.name) }
    var bytes = RecordBytes(
      table: table.schema.name.folded.bytes, key: ref.key, generation: generation)
    for cell in named { bytes.add(cell.name, cell.stamp, cell.value) }
    return StoredRecord(
      generation: generation, hash: RecordHash(bytes, transaction.cryptography), stamps: packed, extra: extra,
      held: isHeld ? old?.held : nil, heldSince: life == nil ? old?.heldSince : nil)
  }

  func stamp(_ local: LocalStamp) throws -> Stamp {
    local.author == author ? global(local.time) : try records.global(local)
  }
}

/// The columns of a birth, identified by their number.
struct BirthForm: Hashable {
  let table: Int64
  let count: Int
}

extension Value {
  /// The number of bytes of a text or BLOB, or 0 for other values.
  var byteCount: Int {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    case .null, .integer, .real, .asset: 0
    }
  }
}
