/// Writes the primitives of the wire format. Integers of fixed size are big-endian. Lengths and counts are varints
/// (LEB128, at most ten bytes, shortest form only).
package struct ByteWriter: Sendable {
  /// The bytes that were written so far.
  package private(set) var bytes: [UInt8] = []

  /// Creates a writer.
  ///
  /// - Parameter capacity: The number of bytes to reserve.
  package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// Writes one byte.
  package mutating func byte(_ value: UInt8) { bytes.append(value) }

  /// Writes two bytes, big-endian.
  package mutating func uint16(_ value: UInt16) { fixed(value) }
  /// Writes four bytes, big-endian.
  package mutating func uint32(_ value: UInt32) { fixed(value) }
  /// Writes eight bytes, big-endian.
  package mutating func uint64(_ value: UInt64) { fixed(value) }

  private mutating func fixed<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Writes 7 bits in a byte, the lowest first: one to ten bytes.
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// Writes a number that is not negative. A negative one is an error of the program, and stops it.
  package mutating func varint(_ value: Int) { varint(UInt64(value)) }

  /// Writes a zigzag varint: small magnitudes of either sign are short.
  package mutating func signedVarint(_ value: Int64) {
    varint(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  /// Writes bytes without a length. The reader must know their number.
  package mutating func raw(_ value: [UInt8]) { bytes.append(contentsOf: value) }
  /// Writes bytes without a length. The reader must know their number.
  package mutating func raw(_ value: ArraySlice<UInt8>) { bytes.append(contentsOf: value) }

  /// Writes a varint length, then the bytes.
  package mutating func sized(_ value: [UInt8]) {
    varint(value.count)
    bytes.append(contentsOf: value)
  }

  /// Writes the UTF-8 bytes with a varint length before them.
  package mutating func text(_ value: String) { sized(Array(value.utf8)) }

  /// Writes a varint count, then each element.
  package mutating func list<C: Collection>(_ elements: C, _ write: (inout ByteWriter, C.Element) -> Void) {
    varint(elements.count)
    for element in elements { write(&self, element) }
  }
}

/// The reason why bytes from outside are not valid. The caller refuses the message and reports this error.
package enum FormatError: Error, Equatable, Sendable {
  /// The bytes end before the value does.
  case truncated
  /// Bytes are left over after the value.
  case trailing
  /// A varint is longer than necessary, or over 64 bits.
  case varint
  /// A length, count or number is above the limit with this name.
  case limit(String)
  /// A tag, flag or version has no meaning here.
  case unknown(String)
  /// A text that has to be UTF-8 is not.
  case text
  /// The named rule of the object does not hold.
  case invalid(String)
}

/// Reads what `ByteWriter` writes, and refuses all other bytes.
package struct ByteReader: Sendable {
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  /// Creates a reader of all bytes.
  package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  /// Creates a reader of a part of an array.
  package init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    self.index = bytes.startIndex
  }

  /// The number of bytes that have not been read.
  package var remaining: Int { bytes.endIndex - index }
  /// True if all bytes have been read.
  package var isAtEnd: Bool { index == bytes.endIndex }
  /// The number of bytes that have been read.
  package var consumed: Int { index - bytes.startIndex }

  /// Reads one byte. Throws `truncated` at the end.
  package mutating func byte() throws(FormatError) -> UInt8 {
    guard index < bytes.endIndex else { throw .truncated }
    defer { index += 1 }
    return bytes[index]
  }

  /// Reads two bytes, big-endian.
  package mutating func uint16() throws(FormatError) -> UInt16 { try fixed() }
  /// Reads four bytes, big-endian.
  package mutating func uint32() throws(FormatError) -> UInt32 { try fixed() }
  /// Reads eight bytes, big-endian.
  package mutating func uint64() throws(FormatError) -> UInt64 { try fixed() }

  private mutating func fixed<T: FixedWidthInteger & UnsignedInteger>() throws(FormatError) -> T {
    let size = T.bitWidth / 8
    guard remaining >= size else { throw .truncated }
    var value: T = 0
    for offset in 0..<size { value = value << 8 | T(bytes[index + offset]) }
    index += size
    return value
  }

  /// Reads a number of up to 64 bits. Throws `varint` if it is longer than necessary, or doesn't fit.
  package mutating func varint() throws(FormatError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      if shift == 63, next > 1 { throw .varint }
      value |= UInt64(next & 0x7f) << shift
      if next < 0x80 {
        if next == 0, shift > 0 { throw .varint }
        return value
      }
      shift += 7
      if shift > 63 { throw .varint }
    }
  }

  /// Reads a varint that must not exceed `limit`. The error contains `name`.
  package mutating func count(_ limit: Int, _ name: String) throws(FormatError) -> Int {
    let value = try varint()
    guard value <= UInt64(limit) else { throw .limit(name) }
    return Int(value)
  }

  /// Reads a zigzag varint.
  package mutating func signedVarint() throws(FormatError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// Reads this many bytes. Throws `truncated` if there are fewer.
  package mutating func raw(_ count: Int) throws(FormatError) -> [UInt8] {
    guard remaining >= count else { throw .truncated }
    defer { index += count }
    return Array(bytes[index..<index + count])
  }

  /// Reads a varint length, then the bytes. Throws `limit` with `name` if there are more than `limit`.
  package mutating func sized(_ limit: Int, _ name: String) throws(FormatError) -> [UInt8] {
    try raw(try count(limit, name))
  }

  /// Reads UTF-8 of at most `limit` bytes. Throws `text` if it is not valid UTF-8.
  package mutating func text(_ limit: Int, _ name: String) throws(FormatError) -> String {
    let utf8 = try sized(limit, name)
    guard let text = String(validating: utf8, as: UTF8.self) else { throw .text }
    return text
  }

  /// Reads a varint count, then each element. Throws `limit` with `name` if there are more than `limit`, before it
  /// reads one.
  package mutating func list<T>(
    _ limit: Int, _ name: String, _ read: (inout ByteReader) throws(FormatError) -> T
  ) throws(FormatError) -> [T] {
    let count = try count(limit, name)
    var elements: [T] = []
    elements.reserveCapacity(min(count, remaining))
    for _ in 0..<count { elements.append(try read(&self)) }
    return elements
  }

  /// Throws unless `next` comes after `previous`, and stores it in `previous`. A set is encoded in ascending order, so
  /// that it has only one encoding.
  func ascend<Key: Comparable>(_ previous: inout Key?, to next: Key, _ name: String) throws(FormatError) {
    if let previous, next <= previous { throw .invalid("\(name) in ascending order") }
    previous = next
  }

  /// Throws if bytes are left over. Call it last.
  package func end() throws(FormatError) {
    guard isAtEnd else { throw .trailing }
  }
}
