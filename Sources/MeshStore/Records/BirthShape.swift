import MeshCore

/// The common parts of births of one table with the same columns and one stamp. Most flushed changes and bulk transfers
/// are such births. Their records are made without looking up each column by name.
struct BirthShape {
  /// The `mesh_layout.id` of the columns.
  private let layout: Int64
  private let table: [UInt8]
  /// The folded names in the order of hashing, each with the column's place among those given.
  private let order: [(name: [UInt8], place: Int)]

  /// - Parameter columns: The `mesh_column.id` of each column.
  init(_ table: TableForm, _ columns: [Int64], _ catalog: Catalog) throws {
    self.table = table.schema.name.folded.bytes
    layout = try catalog.layoutNumber(columns.sorted(), of: table.id)
    order = try columns.enumerated().map { (name: try catalog.column($1).folded, place: $0) }
      .sorted { ColumnName.areInOrder($0.name, $1.name) }
  }

  /// Returns the record of a birth.
  ///
  /// - Parameter value: Returns the value of the column at a place among those given.
  func record(
    key: Value, generation: UInt64, stamp: Stamp, local: LocalStamp, _ cryptography: any Cryptography,
    value: (Int) -> Value
  ) -> StoredRecord {
    var bytes = RecordBytes(table: table, key: key, generation: generation)
    for (name, place) in order { bytes.add(name, stamp, value(place)) }
    return StoredRecord(
      generation: generation, hash: RecordHash(bytes, cryptography), stamps: RecordStamps(base: local, layout: layout))
  }
}
