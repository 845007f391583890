import MeshCore

/// The local writes that their zone did not accept (`mesh_receipt`).
struct ReceiptTable {
  let sql: Connection

  struct Entry {
    let id: Int64
    let ref: RecordRef
    /// The written values by column, or nil for a delete.
    let values: [Int64: Value]?
    let reason: Receipt.Reason
    let noted: Int64
    let source: Source?
  }

  /// The change set whose values a receipt keeps.
  struct Source: Equatable {
    /// The `mesh_author.id`.
    let author: Int64
    let number: UInt64
  }

  /// Returns the number of receipts of each zone that has some.
  func counts() throws -> [ZoneID: Int] {
    let counts = try sql.all(
      "SELECT z.zone, count(*) FROM mesh_receipt r JOIN mesh_zone z ON z.id = r.zone GROUP BY z.id"
    ) { row in ZoneID(row.bytes(0)).map { ($0, Int(row.integer(1))) } }
    return Dictionary(counts.compactMap(\.self), uniquingKeysWith: +)
  }

  /// Returns the receipts of a zone, oldest first.
  func list(_ zone: Int64) throws -> [Entry] {
    try sql.all("\(Self.select) WHERE zone = ? ORDER BY id", [.integer(zone)], Self.entry)
  }

  /// Returns the oldest receipt of a zone with a greater id. One receipt can have many megabytes.
  func next(_ zone: Int64, after id: Int64) throws -> Entry? {
    try sql.first(
      "\(Self.select) WHERE zone = ? AND id > ? ORDER BY id LIMIT 1", [.integer(zone), .integer(id)], Self.entry)
  }

  /// Returns the numbers of the authors of whose change sets the zone has receipts.
  func authors(in zone: Int64) throws -> [Int64] {
    try sql.all(
      "SELECT DISTINCT author FROM mesh_receipt WHERE zone = ? AND author IS NOT NULL", [.integer(zone)]
    ) { $0.integer(0) }
  }

  /// Returns whether the record has a receipt of a change set.
  func has(_ source: Source, _ ref: RecordRef, in zone: Int64) throws -> Bool {
    try sql.exists(
      "SELECT 1 FROM mesh_receipt WHERE zone = ? AND tbl = ? AND key = ? AND author = ? AND number = ?",
      [.integer(zone)] + ref.place + [.integer(source.author), .bits(source.number)])
  }

  /// Returns the values that a record has after all its receipts.
  func latest(of ref: RecordRef, in zone: Int64) throws -> [Int64: Value] {
    try sql.all(
      "\(Self.select) WHERE zone = ? AND tbl = ? AND key = ? ORDER BY id",
      [.integer(zone), .integer(ref.table), ref.key], Self.entry
    ).reduce(into: [:]) { latest, receipt in
      latest = receipt.values.map { latest.merging($0) { $1 } } ?? [:]
    }
  }

  private static let select = "SELECT id, tbl, key, extra, reason, noted, author, number FROM mesh_receipt"

  private static func entry(_ row: PreparedStatement) throws -> Entry {
    Entry(
      id: row.integer(0), ref: row.ref(1), values: try row.optionalBytes(3).map { try ExtraValues.decode($0) },
      reason: Receipt.Reason(rawValue: row.integer(4)) ?? .cut, noted: row.integer(5),
      source: row.isNull(6) ? nil : Source(author: row.integer(6), number: row.bits(7)))
  }

  func insert(
    _ ref: RecordRef, _ values: [Int64: Value]?, zone: Int64, _ reason: Receipt.Reason, from source: Source?,
    now: Int64
  ) throws {
    try sql.run(
      "INSERT INTO mesh_receipt (zone, tbl, key, extra, reason, noted, author, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(zone), .integer(ref.table), ref.key, values.map { .blob(ExtraValues.encode($0) ?? [0]) } ?? .null,
        .integer(reason.rawValue), .integer(now), source.map { .integer($0.author) } ?? .null,
        source.map { .bits($0.number) } ?? .null,
      ])
  }

  func replace(_ id: Int64, _ values: [Int64: Value]) throws {
    try sql.run(
      "UPDATE mesh_receipt SET extra = ? WHERE id = ?", [.blob(ExtraValues.encode(values) ?? [0]), .integer(id)])
  }

  func remove(_ id: Int64) throws { try sql.run("DELETE FROM mesh_receipt WHERE id = ?", [.integer(id)]) }

  /// Removes the receipts of an author's change sets that are in the zone's log again.
  func removeArrived(through number: UInt64, of author: Int64, in zone: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_receipt WHERE zone = ? AND author = ? AND number <= ?",
      [.integer(zone), .integer(author), .bits(number)])
  }

  /// Removes the receipts of a zone. Returns their number.
  func removeAll(of zone: Int64) throws -> Int {
    try sql.run("DELETE FROM mesh_receipt WHERE zone = ?", [.integer(zone)])
    return sql.changes
  }
}
