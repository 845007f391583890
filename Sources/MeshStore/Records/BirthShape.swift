import MeshCore

/// What births of one table with the same columns and one stamp have in common: most of what is flushed and of what
/// arrives in bulk. Their record is made without looking at each column by name.
struct BirthShape {
  /// `mesh_layout.id` of the columns.
  private let layout: Int64
  private let table: [UInt8]
  /// Folded names, and the columns' places among those given, in the order of hashing.
  private let order: [(name: [UInt8], place: Int)]

  /// - Parameter columns: Each a `mesh_column.id`.
  init(_ table: TableForm, _ columns: [Int64], _ catalog: Catalog) throws {
    self.table = table.schema.name.folded.bytes
    layout = try catalog.layoutNumber(columns.sorted(), of: table.id)
    order = try columns.enumerated().map { (name: try catalog.column($1).folded, place: $0) }
      .sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// - Parameter value: Of the column at that place among those given.
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
