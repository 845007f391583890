import MeshCore

/// A record's identity inside a zone: `mesh_table.id` and the canonical key.
struct RecordRef: Hashable {
  let table: Int64
  let key: Value
}

/// One row of `mesh_record`.
struct StoredRecord {
  var generation: UInt64
  /// Nil where the record is deleted.
  var hash: RecordHash?
  var stamps: RecordStamps
  /// Merged values that the table does not show: of columns that this schema lacks, of references shown as NULL or
  /// default, of columns whose type would change the value; all of them where the record is held.
  var extra: [Int64: Value] = [:]
  var held: HeldReason?
  /// Since when it has been out of its table, in milliseconds since 1970; nil where it is not.
  var heldSince: Int64?

  var isAlive: Bool { generation.isAlive }
  /// The row is in its table, as far as we know.
  var isShown: Bool { isAlive && held == nil }
}

/// The form of `mesh_record.extra`: count, then column, type and value. Not the wire's, whose values are shorter.
enum ExtraValues {
  private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
  }

  /// Stands for no column: under it is since when the record is held. So a held record always has something here, and is
  /// found by what looks for held records, be it nothing but its key.
  private static let heldSince: Int64 = 0

  /// Of `mesh_record.extra`; nil where there is nothing.
  static func encode(_ record: StoredRecord) -> [UInt8]? {
    guard let since = record.heldSince else { return encode(record.extra) }
    return encode(record.extra.merging([heldSince: .integer(since)]) { $1 })
  }

  static func decode(_ bytes: [UInt8], into record: inout StoredRecord) throws(DecodingError) {
    record.extra = try decode(bytes)
    if case .integer(let since) = record.extra.removeValue(forKey: heldSince) { record.heldSince = since }
  }

  /// Nil where there are none.
  static func encode(_ values: [Int64: Value]) -> [UInt8]? {
    guard !values.isEmpty else { return nil }
    var writer = ByteWriter()
    writer.list(values.keys.sorted()) { writer, column in
      writer.varint(UInt64(column))
      write(values[column] ?? .null, &writer)
    }
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) throws(DecodingError) -> [Int64: Value] {
    var reader = ByteReader(bytes)
    var values: [Int64: Value] = [:]
    for _ in 0..<(try reader.count(Int.max, "extra values")) {
      values[Int64(try reader.count(Int.max, "column"))] = try read(&reader)
    }
    try reader.end()
    return values
  }

  /// One value alone, as conflicts keep it.
  static func encode(_ value: Value) -> [UInt8] {
    var writer = ByteWriter()
    write(value, &writer)
    return writer.bytes
  }

  static func decodeValue(_ bytes: [UInt8]) throws(DecodingError) -> Value {
    var reader = ByteReader(bytes)
    return try read(&reader)
  }

  private static func write(_ value: Value, _ writer: inout ByteWriter) {
    switch value {
    case .null: writer.byte(Tag.null)
    case .integer(let integer):
      writer.byte(Tag.integer)
      writer.signedVarint(integer)
    case .real(let bits):
      writer.byte(Tag.real)
      writer.uint64(bits)
    case .text(let bytes):
      writer.byte(Tag.text)
      writer.sized(bytes)
    case .blob(let bytes):
      writer.byte(Tag.blob)
      writer.sized(bytes)
    }
  }

  private static func read(_ reader: inout ByteReader) throws(DecodingError) -> Value {
    switch try reader.byte() {
    case Tag.null: .null
    case Tag.integer: .integer(try reader.signedVarint())
    case Tag.real: .real(try reader.uint64())
    case Tag.text: .text(try reader.sized(Int.max, "text"))
    case Tag.blob: .blob(try reader.sized(Int.max, "blob"))
    default: throw .unknown("value tag")
    }
  }
}
