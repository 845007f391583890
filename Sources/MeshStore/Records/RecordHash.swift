import MeshCore

/// The BLAKE2b-128 hash of a live record's canonical bytes. The zone's digest is the sum of the hashes of its live
/// records, one sum for each half. Computed again from the stored stamps and the table's values, the hash shows whether
/// a row was changed unnoticed.
struct RecordHash: Hashable {
  let low: UInt64
  let high: UInt64

  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  /// Returns nil unless there are 16 bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    func word(_ at: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) } }
    self.init(low: word(0), high: word(8))
  }

  /// The bytes, little-endian, low half first.
  var bytes: [UInt8] {
    [low, high].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
  }

  init(_ bytes: RecordBytes, _ cryptography: any Cryptography) { (low, high) = bytes.hash(cryptography) }
}
