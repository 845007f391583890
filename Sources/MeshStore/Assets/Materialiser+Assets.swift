import GRDB
import MeshCore

/// Writes assets into rows, and removes them from rows.
extension Materialiser {
  /// The record's assets, sorted by the way in which they are written to its table.
  struct Assets {
    /// The columns that are not assigned, because the row already has their asset.
    var untouched: Set<Int64> = []
    /// Those of the untouched columns whose BLOB is changed in place.
    var patched: [Int64: Asset] = [:]
    /// The assets in the row after it is written.
    var shown: [Int64: Value] = [:]
    /// The assets that are not complete here, or too long for their column. The row still shows its earlier value.
    var missing: [Int64: Asset] = [:]
    /// The name of a column that requires its missing asset.
    var required: String?

    static let none = Assets()

    /// The values that are assigned to columns of the row.
    func assigned(_ values: [Int64: Value]) -> [Int64: Value] {
      values.filter { !untouched.contains($0.key) && missing[$0.key] == nil }
    }
  }

  /// Returns the record's assets.
  ///
  /// - Parameters:
  ///   - values: The merged values.
  ///   - old: The record as it is shown, or nil if it is not shown.
  ///   - updates: True if the row stays and columns of it are assigned. False if it is written as a whole.
  func assets(
    _ ref: RecordRef, _ table: TableForm, _ values: [Int64: Value], old: StoredRecord?, updates: Bool
  ) throws -> Assets {
    guard values.contains(where: { $0.value.asset != nil }) || old?.shown.isEmpty == false else { return .none }
    if !updates { try keep(values, from: ref, table) }
    var assets = Assets()
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column] else { continue }
      if updates, let was = old?.shown[column], was == value, old?.extra[column] == nil {
        assets.untouched.insert(column)
        assets.shown[column] = value
      } else if asset.isUnread {
        // A program wrote it, and its flush names it.
        assets.untouched.insert(column)
        assets.shown[column] = old?.shown[column]
      } else if updates, case let cell = Cell(table: table, key: ref.key, index: index),
        try transaction.sources.isReady(asset, toPatch: cell, showing: old?.shown[column]?.asset)
      {
        assets.untouched.insert(column)
        assets.patched[column] = asset
        assets.shown[column] = value
      } else if table.takes(asset.size, in: index), try transaction.contents.isStaged(asset) {
        assets.shown[column] = value
      } else {
        assets.missing[column] = asset
        let schema = table.columns[index].schema
        if !updates, schema.notNull, schema.defaultSQL == nil { assets.required = schema.name }
      }
    }
    return assets
  }

  /// Reads the values that the row shows in the columns whose asset is missing.
  ///
  /// - Parameters:
  ///   - old: The record that names the long BLOBs of the row.
  ///   - isNew: True if the row did not show the record until now. Then a long BLOB without a name gives way to the
  ///     column's default. Otherwise it would be taken for an edit later.
  func read(_ assets: inout Assets, _ ref: RecordRef, _ table: TableForm, old: StoredRecord?, isNew: Bool) throws {
    guard !assets.missing.isEmpty, let row = try records.row(table, ref.key) else { return }
    let named = old.map { records.named(row, $0, table) } ?? row
    var defaults: [Int64: Value] = [:]
    for column in assets.missing.keys {
      guard let index = table.indexes[column] else { continue }
      var value = named[index]
      if value.isUnread {
        guard isNew else { continue }
        value = table.defaultValue(index)
        defaults[column] = value
      }
      if value != .null { assets.shown[column] = value }
    }
    try update(table, ref.key, defaults, Set(defaults.keys))
  }

  /// Keeps the BLOBs of a row that other values replace.
  func keepReplaced(_ before: StoredRecord, by written: [Int64: Value], _ assets: Assets, _ ref: RecordRef) throws {
    let replaced = before.shown.filter { column, value in
      value.asset != nil && assets.shown[column] != value && written[column] != nil
    }
    try transaction.kept.keep(replaced, ref)
  }

  /// Copies assets of a row that is rewritten or removed to the staging.
  func keep(_ values: [Int64: Value], from ref: RecordRef, _ table: TableForm) throws {
    guard values.contains(where: { $0.value.asset != nil }), let row = try records.row(table, ref.key) else { return }
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column], row[index].asset?.size == asset.size,
        let manifest = try transaction.contents.manifest(asset.id)
      else { continue }
      try transaction.contents.keep(asset, manifest, from: Cell(table: table, key: ref.key, index: index))
    }
  }

  /// Returns the merged values of a record whose row is about to be removed. They include unflushed writes of programs.
  /// Afterwards, the assets are in the staging.
  func displaced(_ ref: RecordRef, _ record: StoredRecord, _ table: TableForm) throws -> [Int64: Value] {
    try requireNoticed(ref, record, records.state(ref, record))
    guard var row = try records.row(table, ref.key) else { return try records.values(ref, record) }
    let key = AssetManifest.key(of: records.zone.zone, transaction.cryptography)
    var shown = records.named(row, record, table)
    for index in row.indices where row[index].isUnread {
      let (cell, column) = (Cell(table: table, key: ref.key, index: index), table.columns[index].id)
      if record.extra[column] != nil, shown[index] == record.shown[column] { continue }
      if let asset = shown[index].asset, !asset.isUnread, let manifest = try transaction.contents.manifest(asset.id) {
        try transaction.contents.keep(asset, manifest, from: cell)
        if try transaction.staged.isComplete(asset, manifest) { continue }
      }
      guard let size = row[index].asset?.size,
        let manifest = try transaction.contents.manifest(of: cell, size: size, key: key)
      else { continue }
      let asset = try transaction.contents.remember(manifest)
      try transaction.contents.keep(asset, manifest, from: cell)
      shown[index] = .asset(asset)
    }
    row = shown
    var values = try records.values(ref, record, row: row)
    for column in try local(ref, table, record).keys where values[column] == nil {
      values[column] = table.indexes[column].map { row[$0] }
    }
    // A program may have written another value in place of a merged value that the row doesn't show.
    for column in record.extra.keys where record.hides(column) {
      guard let index = table.indexes[column], row[index] != record.shown[column] ?? .null else { continue }
      // Increments that are noted and not sent yet are part of the column's own value from now on.
      if case .integer(let new) = row[index], case .integer(let before) = record.shown[column],
        case .integer(let base) = record.extra[column], record.heldSince == nil
      {
        values[column] = .integer(Int64(clamping: Int128(base) + Int128(new) - Int128(before)))
      } else {
        values[column] = row[index]
      }
    }
    return values
  }

  // MARK: Writing

  /// Binds a value. For an asset, binds its bytes, or zeros that `fill` overwrites.
  func bind(_ value: Value, _ statement: Statement, at parameter: Int, _ table: TableForm, _ index: Int) throws {
    guard let asset = value.asset else { return statement.bind(value, at: parameter) }
    if isFilled(asset, table, index) { return statement.bindZeros(asset.size, at: parameter) }
    guard let bytes = try transaction.contents.bytes(of: asset, nil) else { throw Self.lostChunk }
    statement.bind(bytes, at: parameter)
  }

  static let lostChunk = StoreError(
    .inputOutput, "the staging of assets has lost a chunk; it is fetched again")

  private func isFilled(_ asset: Asset, _ table: TableForm, _ index: Int) -> Bool {
    asset.size > StoreLimits.assetInStatement && table.writesInPlace(index)
  }

  /// Writes assets in place, if a statement reserved room for them.
  func fill(_ key: Value, _ values: [Int64: Value], _ table: TableForm) throws {
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column], isFilled(asset, table, index),
        let manifest = try transaction.contents.manifest(asset.id), let rowid = table.rowidName,
        let place = try transaction.sql.integer(
          "SELECT \(rowid) FROM main.\(table.schema.name.quotedName) WHERE \(table.keyName.quotedName) = ?", [key])
      else { continue }
      let blob = try Blob(
        transaction.sql, Cell(table: table, key: key, index: index), rowid: place, isWritable: true)
      for chunk in 0..<asset.chunkCount {
        guard let bytes = try transaction.staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
        try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
      }
    }
  }
}
