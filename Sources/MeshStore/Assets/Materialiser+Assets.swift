import GRDB
import MeshCore

/// Assets on their way into rows, and out of them.
extension Materialiser {
  /// What becomes of a record's assets as it is written to its table.
  struct Assets {
    /// The columns that are not assigned: the row has their asset already.
    var untouched: Set<Int64> = []
    /// Of those, the columns whose BLOB is written into in place.
    var patched: [Int64: Asset] = [:]
    /// In the row, once it is written.
    var shown: [Int64: Value] = [:]
    /// Not complete here, or too long for their column: the row goes on showing what it shows.
    var missing: [Int64: Asset] = [:]
    /// Of those, one that the table does not do without.
    var required: String?

    static let none = Assets()
  }

  /// - Parameters:
  ///   - values: What is merged.
  ///   - old: The record as it is shown; nil where it is not.
  ///   - updates: The row stays, and columns of it are assigned; else it is written as a whole.
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
        try session.isReady(asset, toPatch: cell, showing: old?.shown[column]?.asset)
      {
        assets.untouched.insert(column)
        assets.patched[column] = asset
        assets.shown[column] = value
      } else if table.takes(asset.size, in: index), try session.isStaged(asset) {
        assets.shown[column] = value
      } else {
        assets.missing[column] = asset
        let schema = table.columns[index].schema
        if !updates, schema.notNull, schema.defaultSQL == nil { assets.required = schema.name }
      }
    }
    return assets
  }

  /// What the row shows in the columns whose asset is missing.
  func read(_ assets: inout Assets, _ ref: RecordRef, _ table: TableForm, old: StoredRecord?) throws {
    guard !assets.missing.isEmpty, let row = try records.row(table, ref.key) else { return }
    let named = old.map { records.named(row, $0, table) } ?? row
    for column in assets.missing.keys {
      guard let index = table.indexes[column], !named[index].isUnread, named[index] != .null else { continue }
      assets.shown[column] = named[index]
    }
  }

  /// Copies the assets among the values to the staging that a row has which is to be written anew, or to go.
  func keep(_ values: [Int64: Value], from ref: RecordRef, _ table: TableForm) throws {
    guard values.contains(where: { $0.value.asset != nil }), let row = try records.row(table, ref.key) else { return }
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column], row[index].asset?.size == asset.size,
        let manifest = try session.manifest(asset.id)
      else { continue }
      try session.keep(asset, manifest, from: Cell(table: table, key: ref.key, index: index))
    }
  }

  /// The merged values of a record whose row is about to go, what programs wrote and nobody flushed among them. The assets are in
  /// the staging then.
  func displaced(_ ref: RecordRef, _ record: StoredRecord, _ table: TableForm) throws -> [Int64: Value] {
    guard var row = try records.row(table, ref.key) else { return try records.values(ref, record) }
    let key = AssetManifest.key(of: records.zone.zone, session.cryptography)
    var shown = records.named(row, record, table)
    for index in row.indices where row[index].isUnread {
      let (cell, column) = (Cell(table: table, key: ref.key, index: index), table.columns[index].id)
      if record.extra[column] != nil, shown[index] == record.shown[column] { continue }
      if let asset = shown[index].asset, !asset.isUnread, let manifest = try session.manifest(asset.id) {
        try session.keep(asset, manifest, from: cell)
        if try session.staged.isComplete(asset, manifest) { continue }
      }
      guard let size = row[index].asset?.size, let manifest = try session.manifest(of: cell, size: size, key: key)
      else { continue }
      let asset = try session.remember(manifest)
      try session.keep(asset, manifest, from: cell)
      shown[index] = .asset(asset)
    }
    row = shown
    var values = try records.values(ref, record, row: row)
    // In the place of a merged value that the row does not show, a program may have written something else.
    for column in record.extra.keys where record.hides(column) {
      guard let index = table.indexes[column], row[index] != record.shown[column] ?? .null else { continue }
      values[column] = row[index]
    }
    return values
  }

  // MARK: Writing

  /// Binds a value; of an asset its bytes, or zeros that `fill` overwrites.
  func bind(_ value: Value, _ statement: Statement, at parameter: Int, _ table: TableForm, _ index: Int) throws {
    guard let asset = value.asset else { return statement.bind(value, at: parameter) }
    if isFilled(asset, table, index) { return statement.bindZeros(asset.size, at: parameter) }
    guard let bytes = try session.bytes(of: asset, nil) else { throw Self.lostChunk }
    statement.bind(bytes, at: parameter)
  }

  static let lostChunk = StoreError(
    .inputOutput, "the staging of assets has lost a chunk; it is fetched again")

  private func isFilled(_ asset: Asset, _ table: TableForm, _ index: Int) -> Bool {
    asset.size > StoreLimits.assetInStatement && table.writesInPlace(index)
  }

  /// Writes the assets in place that a statement left room for.
  func fill(_ key: Value, _ values: [Int64: Value], _ table: TableForm) throws {
    for (column, value) in values {
      guard let asset = value.asset, let index = table.indexes[column], isFilled(asset, table, index),
        let manifest = try session.manifest(asset.id), let rowid = table.rowidName,
        let place = try session.sql.integer(
          "SELECT \(rowid) FROM main.\(table.schema.name.quotedName) WHERE \(table.keyName.quotedName) = ?", [key])
      else { continue }
      let blob = try Blob(
        session.sql, Cell(table: table, key: key, index: index), rowid: place, isWritable: true)
      for chunk in 0..<asset.chunkCount {
        guard let bytes = try session.staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
        try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
      }
    }
  }
}
