/// A value as SQLite keeps it, bit for bit. Text is bytes, since SQLite's may hold NULs and need not be valid UTF-8.
public enum Value: Hashable, Sendable {
  case null
  case integer(Int64)
  /// The 64 bits of the double, so that equality is identity (−0 is not 0). SQLite never keeps NaN.
  case real(UInt64)
  case text([UInt8])
  case blob([UInt8])
  /// A BLOB that is longer than those which travel in change sets.
  case asset(Asset)

  /// Bytes as a whole: an array would be hashed byte by byte.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(rank)
    switch self {
    case .null: break
    case .integer(let integer): hasher.combine(integer)
    case .real(let bits): hasher.combine(bits)
    case .text(let bytes), .blob(let bytes): bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    case .asset(let asset): hasher.combine(asset)
    }
  }

  /// NULL for NaN, as SQLite has it.
  public static func real(_ double: Double) -> Value { double.isNaN ? .null : .real(double.bitPattern) }
  public static func text(_ string: String) -> Value { .text(Array(string.utf8)) }

  /// Wire tags. In a field 5 is an asset's manifest, 6 and 8 are long values; 7 (increment) is reserved.
  private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let asset: UInt8 = 5
  }

  /// How many bytes the encoding takes at most: the payload and an allowance for tag and length.
  public var encodedBound: Int {
    switch self {
    case .null: 1
    case .integer, .real: 11
    case .text(let bytes), .blob(let bytes): bytes.count + 6
    case .asset: AssetID.size + 6
    }
  }

  /// An asset is written as its id and size: so it is hashed. What travels is its manifest (see `FieldValue`), and so no reader
  /// takes it.
  public func write(to writer: inout ByteWriter) {
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

  public init(from reader: inout ByteReader) throws(DecodingError) {
    try self.init(tag: try reader.byte(), from: &reader)
  }

  /// Where the tag was read already.
  init(tag: UInt8, from reader: inout ByteReader) throws(DecodingError) {
    switch tag {
    case Tag.null: self = .null
    case Tag.integer: self = .integer(try reader.signedVarint())
    case Tag.real:
      let bits = try reader.uint64()
      // It would be NULL in every table, and so never equal to itself.
      guard !Double(bitPattern: bits).isNaN else { throw .invalid("a real is a number") }
      self = .real(bits)
    case Tag.text: self = .text(try reader.sized(Limits.changeSet, "text"))
    case Tag.blob: self = .blob(try reader.sized(Limits.changeSet, "blob"))
    default: throw .unknown("value tag")
    }
  }
}

/// SQLite's order of values across types, then within, exact at any magnitude; used wherever records are tried "in key
/// order". Assets come last, by size. Where SQLite sees two equal numbers, this is an order still: a real comes before an integer, −0 before 0.
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

  public static func < (left: Value, right: Value) -> Bool {
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

  /// Whether an integer is less than a real. Through `Double` it could not tell neighbours beyond 2⁵³ apart.
  private static func isBelow(_ integer: Int64, _ real: Double) -> Bool {
    if real >= 0x1p63 { return true }
    guard real >= -0x1p63 else { return false }
    let whole = real.rounded(.down)
    return integer == Int64(whole) ? whole < real : integer < Int64(whole)
  }
}
