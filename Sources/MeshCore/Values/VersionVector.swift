/// Author → highest contiguous sequence number. Numbers start at 1; an author that is not listed is at 0.
public struct VersionVector: Hashable, Sendable {
  public private(set) var numbers: [Author: UInt64]

  public init(_ numbers: [Author: UInt64] = [:]) { self.numbers = numbers.filter { $0.value > 0 } }

  public subscript(author: Author) -> UInt64 {
    get { numbers[author] ?? 0 }
    set { numbers[author] = newValue == 0 ? nil : newValue }
  }

  public var authors: [Author] { numbers.keys.sorted() }

  /// Every number here is at most the other's.
  public func isCovered(by other: VersionVector) -> Bool {
    numbers.allSatisfy { $0.value <= other[$0.key] }
  }

  /// How many change sets are here that the other lacks; the greatest number where the sum is above it.
  public func count(beyond other: VersionVector) -> UInt64 {
    numbers.reduce(0) { sum, entry in
      let theirs = other[entry.key]
      return entry.value > theirs ? sum.saturatingAdding(entry.value - theirs) : sum
    }
  }

  public mutating func formUnion(_ other: VersionVector) {
    for (author, number) in other.numbers where number > self[author] { self[author] = number }
  }

  public func write(to writer: inout ByteWriter) {
    writer.list(authors) { writer, author in
      author.write(to: &writer)
      writer.varint(self[author])
    }
  }

  /// Authors come in ascending order, each once, with a number above zero: one vector has one encoding.
  public init(from reader: inout ByteReader) throws(DecodingError) {
    var numbers: [Author: UInt64] = [:]
    var previous: Author?
    for _ in 0..<(try reader.count(Limits.authors, "authors")) {
      let author = try Author(from: &reader)
      try reader.ascend(&previous, to: author, "authors")
      let number = try reader.varint()
      guard number > 0 else { throw .invalid("numbers above zero") }
      numbers[author] = number
    }
    self.numbers = numbers
  }
}

/// What the author of a change set had merged: per author a number and the hybrid time of the change set with that number.
/// A stamp (t, B) had been seen exactly where t is at most B's time here.
public struct CausalContext: Hashable, Sendable {
  public struct Seen: Hashable, Sendable {
    public var number: UInt64
    public var time: HybridTime
    public init(number: UInt64, time: HybridTime) {
      self.number = number
      self.time = time
    }
  }

  public private(set) var entries: [Author: Seen]

  public init(_ entries: [Author: Seen] = [:]) { self.entries = entries }

  public subscript(author: Author) -> Seen? {
    get { entries[author] }
    set { entries[author] = newValue }
  }

  /// An import stamp has been seen if the change set that carried it was.
  public func hasSeen(_ stamp: Stamp) -> Bool {
    entries[stamp.author].map { stamp.time.noted <= $0.time } ?? false
  }

  public var vector: VersionVector { VersionVector(entries.mapValues(\.number)) }

  /// The entries that are not in `earlier`, or are further here. What went back since, because its author was cut, is left
  /// out: a context that was signed can only grow.
  public func difference(from earlier: CausalContext) -> CausalContext {
    CausalContext(
      entries.filter { author, seen in earlier[author].map { seen.number > $0.number } ?? true })
  }

  /// Lays a difference over this context: each entry is new here, or further in number and in time. If one is not, or if
  /// the whole would have more authors than a zone, nothing changes.
  public mutating func advance(by difference: CausalContext) throws(DecodingError) {
    for (author, seen) in difference.entries {
      guard let known = entries[author] else { continue }
      guard seen.number > known.number, seen.time > known.time else { throw .invalid("a context only advances") }
    }
    let merged = entries.merging(difference.entries) { $1 }
    guard merged.count <= Limits.authors else { throw .limit("authors") }
    entries = merged
  }

  public func write(to writer: inout ByteWriter) {
    writer.list(entries.keys.sorted()) { writer, author in
      author.write(to: &writer)
      writer.varint(entries[author]?.number ?? 0)
      writer.uint64(entries[author]?.time.value ?? 0)
    }
  }

  public init(from reader: inout ByteReader) throws(DecodingError) {
    var entries: [Author: Seen] = [:]
    var previous: Author?
    for _ in 0..<(try reader.count(Limits.authors, "authors")) {
      let author = try Author(from: &reader)
      try reader.ascend(&previous, to: author, "authors")
      let number = try reader.varint()
      guard number > 0 else { throw .invalid("numbers above zero") }
      entries[author] = Seen(number: number, time: HybridTime(try reader.uint64()))
    }
    self.entries = entries
  }
}
