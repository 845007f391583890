import GRDB
import MeshCore

/// Writes rows of tables: their values, and the bytes of their assets.
struct RowWriter: InTransaction {
  let records: ZoneRecords
  /// The records that an app's trigger refused by rolling back the transaction, with the trigger's message.
  var refused: [RecordRef: String] = [:]
  var transaction: Transaction { records.transaction }

  func insert(_ table: TableForm, _ key: Value, _ values: [Int64: Value]) throws {
    let chosen = table.columns.indices.filter { values[table.columns[$0].id] != nil }
    let statement = try sql.statement(table.upsert(chosen))
    // If the key has a column of its own, its value is the key's spelling.
    statement.bind(table.keyColumn.flatMap { values[table.columns[$0].id] } ?? key, at: 1)
    for (place, index) in chosen.filter({ $0 != table.keyColumn }).enumerated() {
      try bind(values[table.columns[index].id] ?? .null, statement, at: place + 2, table, index)
    }
    if try sql.write(statement) == 0 { throw DatabaseError.ignored }
    try fill(key, values, table)
  }

  /// Updates a row. Inserts it if it disappeared unnoticed.
  func update(_ table: TableForm, _ key: Value, _ values: [Int64: Value], _ changed: Set<Int64>) throws {
    let chosen = table.columns.indices.filter {
      changed.contains(table.columns[$0].id) && values[table.columns[$0].id] != nil
    }
    guard !chosen.isEmpty else { return }
    let statement = try sql.statement(table.update(chosen))
    for (place, index) in chosen.enumerated() {
      try bind(values[table.columns[index].id] ?? .null, statement, at: place + 1, table, index)
    }
    statement.bind(key, at: chosen.count + 1)
    guard try sql.write(statement) == 0 else {
      return try fill(key, values.filter { changed.contains($0.key) }, table)
    }
    if try records.hasRow(table, key) { throw DatabaseError.ignored }
    if values.count > chosen.count { try insert(table, key, values) }
  }

  /// Deletes a row. Bypasses an app's trigger that refuses this, because a row that belongs to no merged record must
  /// not stay, nor block others.
  func deleteRow(_ table: TableForm, _ key: Value) throws {
    let ref = RecordRef(table: table.id, key: table.form.canonical(key))
    let delete = {
      let statement = try sql.statement(table.delete)
      statement.bind(key, at: 1)
      try sql.write(statement)
    }
    guard !table.schema.triggers.isEmpty else {
      _ = try delete()
      return
    }
    do {
      if refused[ref] == nil { _ = try delete() }
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw RecordFailure(ref: ref, cause: .rolledBack(error.reason)) }
    }
    if try records.hasRow(table, key) { try sql.withoutTriggers { _ = try delete() } }
  }

  /// Does all of the writes of a row, or none. A trigger's `RAISE (FAIL)` leaves the changes that a statement made
  /// before it.
  ///
  /// - Parameters:
  ///   - isReplaced: True if the row is deleted first.
  ///   - body: Writes the row only. Changes to records or counters would not be undone with it.
  func wholly(_ table: TableForm, isReplaced: Bool = false, _ body: () throws -> Void) throws {
    guard isReplaced || !table.schema.triggers.isEmpty else { return try body() }
    try sql.run("SAVEPOINT mesh_row")
    do {
      try body()
    } catch {
      sql.watch?.forget()
      if sql.isInTransaction {
        try sql.run("ROLLBACK TO mesh_row")
        try sql.run("RELEASE mesh_row")
      }
      throw error
    }
    try sql.run("RELEASE mesh_row")
  }

  // MARK: Assets

  /// Binds a value. For an asset, binds its bytes, or zeros that `fill` overwrites.
  func bind(_ value: Value, _ statement: PreparedStatement, at parameter: Int, _ table: TableForm, _ index: Int) throws
  {
    guard let asset = value.asset else { return statement.bind(value, at: parameter) }
    if isFilled(asset, table, index) { return statement.bindZeros(asset.size, at: parameter) }
    guard let bytes = try contents.bytes(of: asset, nil) else { throw Self.lostChunk }
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
        let manifest = try contents.manifest(asset.id), let rowid = table.rowidName,
        let place = try sql.integer(
          "SELECT \(rowid) FROM main.\(table.schema.name.quotedName) WHERE \(table.keyName.quotedName) = ?", [key])
      else { continue }
      let blob = try Blob(
        sql, RowCell(table: table, key: key, index: index), rowid: place, isWritable: true)
      for chunk in 0..<asset.chunkCount {
        guard let bytes = try staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
        try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
      }
    }
  }

  /// Handles a new version of a long BLOB that has the same length as the one before. Equal chunks in the row stay, and
  /// only the different chunks are overwritten.
  func patch(_ key: Value, _ column: Int64, _ asset: Asset, _ table: TableForm) throws {
    guard let index = table.indexes[column], let manifest = try contents.manifest(asset.id),
      let shared = staged.shared[asset.id]
    else { throw Self.lostChunk }
    let cell = RowCell(table: table, key: key, index: index)
    guard let place = try contents.rowid(of: cell, size: asset.size) else { throw Self.lostChunk }
    let blob = try Blob(sql, cell, rowid: place, isWritable: true)
    for chunk in 0..<asset.chunkCount where !shared.chunks.contains(chunk) {
      guard let bytes = try staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
      try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
    }
  }
}

extension DatabaseError {
  /// The error for `RAISE (IGNORE)`: SQLite reports nothing, but the row is missing.
  static let ignored = DatabaseError(
    resultCode: .SQLITE_CONSTRAINT_TRIGGER, message: "a trigger ignores the row: RAISE (IGNORE)")

  var isUnique: Bool { extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE }

  /// Whether SQLite refuses this row alone: because of a constraint, a type, its size, or an app's trigger that fails.
  var refusesRow: Bool {
    switch resultCode {
    case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR: true
    default: false
    }
  }
}
