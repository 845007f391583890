/// A value as SQLite stores it, bit for bit. Text is bytes, because a text in SQLite may hold NULs and need not be
/// valid UTF-8.
package enum Value: Hashable, Sendable {
  /// SQL's `NULL`.
  case null
  /// An integer of up to 64 bits.
  case integer(Int64)
  /// The 64 bits of the double, so that equality is identity (−0 is not 0). SQLite never stores NaN.
  case real(UInt64)
  /// The bytes of a text, in UTF-8 unless a program wrote others.
  case text([UInt8])
  /// The bytes of a BLOB. One of more than `Limits.inlineBlob` bytes travels as an asset.
  case blob([UInt8])
  /// A BLOB that is too long to travel in a change set.
  case asset(Asset)

  /// Hashes the bytes as a whole. An array would be hashed byte by byte.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .null: break
    case .integer(let integer): hasher.combine(integer)
    case .real(let bits): hasher.combine(bits)
    case .text(let bytes), .blob(let bytes): bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .asset(let asset): hasher.combine(asset)
    }
  }

  /// Returns NULL for NaN, as SQLite does.
  package static func real(_ double: Double) -> Value { double.isNaN ? .null : .real(double.bitPattern) }
  /// Returns the text in UTF-8.
  package static func text(_ string: String) -> Value { .text(Array(string.utf8)) }

  /// The tags on the wire. In a field, 5 is an asset's manifest, and 6 and 8 are long values. Tag 7 is reserved.
  private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let asset: UInt8 = 5
  }

  /// The greatest number of bytes that the encoding takes: the payload, and an allowance for tag and length.
  package var encodedBound: Int {
    switch self {
    case .null: 1
    case .integer, .real: 11
    case .text(let bytes), .blob(let bytes): bytes.count + 6
    case .asset: AssetID.size + 6
    }
  }

  /// Writes the value. An asset is written as its id and size, which only serves to hash it. On the wire, its manifest
  /// takes that place (see `FieldValue`), so no reader accepts this form.
  package func write(to writer: inout ByteWriter) {
    switch self {
    case .null:
      writer.byte(Tag.null)
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
    case .asset(let asset):
      writer.byte(Tag.asset)
      asset.id.write(to: &writer)
      writer.varint(asset.size)
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    try self.init(tag: try reader.byte(), from: &reader)
  }

  /// Reads a value whose tag was read already.
  init(tag: UInt8, from reader: inout ByteReader) throws(FormatError) {
    switch tag {
    case Tag.null: self = .null
    case Tag.integer: self = .integer(try reader.signedVarint())
    case Tag.real:
      let bits = try reader.uint64()
      // SQLite would turn it into NULL in every table, so it would never equal itself.
      guard !Double(bitPattern: bits).isNaN else { throw .invalid("a real is a number") }
      self = .real(bits)
    case Tag.text: self = .text(try reader.sized(Limits.changeSet, "text"))
    case Tag.blob: self = .blob(try reader.sized(Limits.changeSet, "blob"))
    default: throw .unknown("value tag")
    }
  }
}

/// SQLite's order of values, across and within types, exact at any magnitude. It is used whenever records are processed
/// in the order of their keys. Assets come last, by size. Numbers that SQLite considers equal are ordered too: a real
/// comes before an integer, and −0 before 0.
extension Value: Comparable {
  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    case .asset: 4
    }
  }

  package static func < (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): a < b
    case (.real(let a), .real(let b)):
      a != b && Double(bitPattern: a).isTotallyOrdered(belowOrEqualTo: Double(bitPattern: b))
    case (.integer(let a), .real(let b)): isBelow(a, Double(bitPattern: b))
    case (.real(let a), .integer(let b)): !isBelow(b, Double(bitPattern: a))
    case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a.lexicographicallyPrecedes(b)
    case (.asset(let a), .asset(let b)): a < b
    default: left.rank < right.rank
    }
  }

  /// Returns whether an integer is less than a real. A conversion to `Double` could not distinguish neighbors beyond
  /// 2⁵³.
  private static func isBelow(_ integer: Int64, _ real: Double) -> Bool {
    if real >= 0x1p63 { return true }
    guard real >= -0x1p63 else { return false }
    let whole = real.rounded(.down)
    return integer == Int64(whole) ? whole < real : integer < Int64(whole)
  }
}
