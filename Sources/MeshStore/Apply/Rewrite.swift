import MeshCore

/// One row of `mesh_rewrite`: the values that this device wrote to a record, that were reverted, and that are to be
/// written again.
struct Rewrite {
  struct Cell {
    let time: HybridTime
    let value: Value
  }

  let ref: RecordRef
  let generation: UInt64
  /// The time of the birth or delete, if this device was its author.
  let life: HybridTime?
  let cells: [Int64: Cell]

  func save(_ sql: Connection, zone: Int64) throws {
    var times = ByteWriter()
    times.list(cells.keys.sorted()) { writer, column in
      writer.varint(UInt64(column))
      writer.uint64(cells[column]?.time.value ?? 0)
    }
    try sql.run(
      "INSERT OR REPLACE INTO mesh_rewrite (zone, tbl, key, generation, life, times, extra) VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(zone), .integer(ref.table), ref.key, .bits(generation), life.map { .bits($0.value) } ?? .null,
        .blob(times.bytes), .optional(ExtraValues.encode(cells.mapValues(\.value))),
      ])
  }

  func remove(_ sql: Connection, zone: Int64) throws {
    try sql.run(
      "DELETE FROM mesh_rewrite WHERE zone = ? AND tbl = ? AND key = ?",
      [.integer(zone), .integer(ref.table), ref.key])
  }

  /// Returns the next rows, ordered by table and key.
  static func next(_ sql: Connection, zone: Int64, limit: Int) throws -> [Rewrite] {
    try sql.all(
      "SELECT tbl, key, generation, life, times, extra FROM mesh_rewrite WHERE zone = ? ORDER BY tbl, key LIMIT ?",
      [.integer(zone), .count(limit)]
    ) { row in
      var reader = ByteReader(row.bytes(4))
      let values = try row.optionalBytes(5).map { try ExtraValues.decode($0) } ?? [:]
      var cells: [Int64: Cell] = [:]
      for _ in 0..<(try reader.count(Int.max, "times")) {
        let column = Int64(try reader.count(Int.max, "column"))
        cells[column] = Cell(time: HybridTime(try reader.uint64()), value: values[column] ?? .null)
      }
      return Rewrite(
        ref: RecordRef(table: row.integer(0), key: row.value(1)), generation: row.bits(2),
        life: row.isNull(3) ? nil : HybridTime(row.bits(3)), cells: cells)
    }
  }

  /// Returns the bytes that it takes in a change set, without long values.
  func size(inlining threshold: Int) -> Int {
    cells.values.reduce(ref.key.encodedBound + 48) { size, cell in
      size + 12
        + (cell.value.asset.map { AssetManifest.encodedBound(size: $0.size) }
          ?? min(cell.value.encodedBound, threshold + 6))
    }
  }
}
