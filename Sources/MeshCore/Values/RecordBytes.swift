/// The canonical bytes of a live record: names, key, generation, stamps and values. Its hash and a zone's digest are
/// computed from them. They are equal on all nodes that have merged the same change sets.
package struct RecordBytes: Sendable {
  private var writer = ByteWriter(capacity: 256)
  private var before: Stamp?

  /// - Parameter table: The table's name, with A to Z in lower case.
  package init(table: [UInt8], key: Value, generation: UInt64) {
    writer.sized(table)
    key.write(to: &writer)
    writer.varint(generation)
  }

  /// Adds a column. Call it in the order of the folded column names. The stamp is left out if it equals that of the
  /// column before.
  package mutating func add(_ name: [UInt8], _ stamp: Stamp, _ value: Value) {
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

  /// Returns BLAKE2b-128 as its two halves, little-endian.
  package func hash(_ cryptography: any Cryptography) -> (low: UInt64, high: UInt64) {
    writer.bytes.withUnsafeBytes { cryptography.hash128($0) }
  }
}
