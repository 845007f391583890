/// The set of an asset's chunks that are present in some place.
package struct ChunkSet: Hashable, Sendable {
  /// The number of chunks of the asset, present or not.
  package let count: Int
  private var words: [UInt64]
  /// The number of chunks that are present.
  package private(set) var present: Int

  /// Creates an empty set for an asset of `count` chunks.
  package init(count: Int) {
    self.count = count
    words = Array(repeating: 0, count: (count + 63) / 64)
    present = 0
  }

  /// Returns the set of all chunks of an asset of `count` chunks.
  package static func all(_ count: Int) -> ChunkSet {
    var set = ChunkSet(count: count)
    for index in 0..<count { set.insert(index) }
    return set
  }

  /// True if no chunk is missing.
  package var isComplete: Bool { present == count }

  /// Returns whether the chunk is present. Returns false for an index that no chunk has.
  package func contains(_ index: Int) -> Bool {
    (0..<count).contains(index) && words[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Adds a chunk. Does nothing if it is present, or no chunk has the index.
  package mutating func insert(_ index: Int) {
    guard (0..<count).contains(index), !contains(index) else { return }
    words[index / 64] |= 1 << UInt64(index % 64)
    present += 1
  }

  /// Adds the chunks of another set. Does nothing if that set is for another number of chunks.
  package mutating func formUnion(_ other: ChunkSet) {
    guard other.count == count else { return }
    for (place, word) in other.words.enumerated() { words[place] |= word }
    present = words.reduce(0) { $0 + $1.nonzeroBitCount }
  }

  /// Removes a chunk. Does nothing if it isn't present.
  package mutating func remove(_ index: Int) {
    guard contains(index) else { return }
    words[index / 64] &= ~(1 << UInt64(index % 64))
    present -= 1
  }

  /// Returns the first missing chunk from `index` on, or nil if none is missing.
  package func firstMissing(from index: Int = 0) -> Int? {
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
  /// Writes the varint count, then a bit for each chunk. The first chunk is the lowest bit of the first byte. The bits
  /// after the last chunk are 0.
  package func write(to writer: inout ByteWriter) {
    writer.varint(count)
    for byte in 0..<(count + 7) / 8 {
      writer.byte(UInt8(truncatingIfNeeded: words[byte / 8] >> UInt64(byte % 8 * 8)))
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
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
