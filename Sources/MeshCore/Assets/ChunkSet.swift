/// Which chunks of an asset are somewhere.
public struct ChunkSet: Hashable, Sendable {
  /// Of the asset: those that are here and those that are not.
  public let count: Int
  private var words: [UInt64]
  /// How many are here.
  public private(set) var present: Int

  /// None of so many chunks.
  public init(count: Int) {
    self.count = count
    words = Array(repeating: 0, count: (count + 63) / 64)
    present = 0
  }

  public static func all(_ count: Int) -> ChunkSet {
    var set = ChunkSet(count: count)
    for index in 0..<count { set.insert(index) }
    return set
  }

  public var isComplete: Bool { present == count }

  /// False of an index that no chunk has.
  public func contains(_ index: Int) -> Bool {
    (0..<count).contains(index) && words[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  public mutating func insert(_ index: Int) {
    guard (0..<count).contains(index), !contains(index) else { return }
    words[index / 64] |= 1 << UInt64(index % 64)
    present += 1
  }

  /// Those of another set of as many.
  public mutating func formUnion(_ other: ChunkSet) {
    guard other.count == count else { return }
    for (place, word) in other.words.enumerated() { words[place] |= word }
    present = words.reduce(0) { $0 + $1.nonzeroBitCount }
  }

  public mutating func remove(_ index: Int) {
    guard contains(index) else { return }
    words[index / 64] &= ~(1 << UInt64(index % 64))
    present -= 1
  }

  /// Of the chunks that are not here, the first from `index` on.
  public func firstMissing(from index: Int = 0) -> Int? {
    var index = index
    while index < count {
      if index % 64 == 0, words[index / 64] == .max {
        index += 64
      } else if contains(index) {
        index += 1
      } else {
        return index
      }
    }
    return nil
  }
}

// MARK: - On the wire

extension ChunkSet {
  /// Varint count, then a bit for each chunk, the first in the lowest bit of the first byte; those beyond the last are 0.
  public func write(to writer: inout ByteWriter) {
    writer.varint(count)
    for byte in 0..<(count + 7) / 8 {
      writer.byte(UInt8(truncatingIfNeeded: words[byte / 8] >> UInt64(byte % 8 * 8)))
    }
  }

  public init(from reader: inout ByteReader) throws(DecodingError) {
    let count = try reader.count(Asset.chunkCount(size: Limits.asset), "chunks")
    self.init(count: count)
    for byte in 0..<(count + 7) / 8 {
      let bits = try reader.byte()
      for bit in 0..<8 where bits >> UInt8(bit) & 1 == 1 {
        guard byte * 8 + bit < count else { throw .invalid("no bits beyond the last chunk") }
        insert(byte * 8 + bit)
      }
    }
  }
}
