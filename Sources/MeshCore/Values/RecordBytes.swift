/// The canonical bytes of a live record, which its hash and with it a zone's digest is made of: names, key, generation, stamps
/// and values, the same on every node that has merged the same.
public struct RecordBytes: Sendable {
  private var writer = ByteWriter(capacity: 256)
  private var before: Stamp?

  /// - Parameter table: The table's name, folded to lower case as ASCII does it.
  public init(table: [UInt8], key: Value, generation: UInt64) {
    writer.sized(table)
    key.write(to: &writer)
    writer.varint(generation)
  }

  /// To be called in the order of folded column names. A stamp stands only where it is not that of the column before.
  public mutating func add(_ name: [UInt8], _ stamp: Stamp, _ value: Value) {
    writer.sized(name)
    if stamp == before {
      writer.byte(0)
    } else {
      writer.byte(1)
      writer.uint64(stamp.time.value)
      stamp.author.write(to: &writer)
      before = stamp
    }
    value.write(to: &writer)
  }

  /// BLAKE2b-128: the two halves, little-endian.
  public func hash(_ cryptography: any Cryptography) -> (low: UInt64, high: UInt64) {
    writer.bytes.withUnsafeBytes { cryptography.hash128($0) }
  }
}
