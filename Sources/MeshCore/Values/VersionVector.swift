/// The highest contiguous number of each author's change sets. Numbers start at 1. An author that is not listed is at
/// 0.
package struct VersionVector: Hashable, Sendable {
  /// The numbers that are above zero, by author.
  package private(set) var numbers: [Author: UInt64]

  /// Creates a vector. Numbers that are zero are left out.
  package init(_ numbers: [Author: UInt64] = [:]) { self.numbers = numbers.filter { $0.value > 0 } }

  /// The number of an author, or 0 if it isn't listed.
  package subscript(author: Author) -> UInt64 {
    get { numbers[author] ?? 0 }
    set { numbers[author] = newValue == 0 ? nil : newValue }
  }

  /// The listed authors, ascending.
  package var authors: [Author] { numbers.keys.sorted() }

  /// Returns whether every number here is at most the other vector's.
  package func isCovered(by other: VersionVector) -> Bool {
    numbers.allSatisfy { $0.value <= other[$0.key] }
  }

  /// Returns the number of change sets that this vector has and the other one lacks. Stops at the greatest number if
  /// the sum is above it.
  package func count(beyond other: VersionVector) -> UInt64 {
    numbers.reduce(0) { sum, entry in
      let theirs = other[entry.key]
      return entry.value > theirs ? sum.saturatingAdding(entry.value - theirs) : sum
    }
  }

  /// Returns the authors of whose change sets the other vector lacks some.
  package func authors(beyond other: VersionVector) -> [Author] {
    numbers.compactMap { $0.value > other[$0.key] ? $0.key : nil }
  }

  /// Raises each author's number to the other vector's, if that is greater.
  package mutating func formUnion(_ other: VersionVector) {
    for (author, number) in other.numbers where number > self[author] { self[author] = number }
  }

  /// Writes a varint count, then author and number, ascending by author.
  package func write(to writer: inout ByteWriter) {
    writer.list(authors) { writer, author in
      author.write(to: &writer)
      writer.varint(self[author])
    }
  }

  /// Reads a vector. Authors come in ascending order, each once, with a number above zero, so that a vector has one
  /// encoding.
  package init(from reader: inout ByteReader) throws(FormatError) {
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

/// The state that the author of a change set had merged: for each author a number, and the hybrid time of the change
/// set with that number. The author had seen a stamp (t, B) if and only if t is at most B's time here.
package struct CausalContext: Hashable, Sendable {
  /// An author's number, and the time of the change set with it.
  package struct Seen: Hashable, Sendable {
    /// The number of the newest change set that had been merged.
    package var number: UInt64
    /// The hybrid time of that change set.
    package var time: HybridTime
    package init(number: UInt64, time: HybridTime) {
      self.number = number
      self.time = time
    }
  }

  /// The number and the time of each author.
  package private(set) var entries: [Author: Seen]

  /// Creates a context from its entries.
  package init(_ entries: [Author: Seen] = [:]) { self.entries = entries }

  /// The entry of an author, or nil if none of its change sets had been merged.
  package subscript(author: Author) -> Seen? {
    get { entries[author] }
    set { entries[author] = newValue }
  }

  /// Returns whether a stamp had been seen. An import stamp had been seen if the change set that carried it had.
  package func hasSeen(_ stamp: Stamp) -> Bool {
    entries[stamp.author].map { stamp.time.noted <= $0.time } ?? false
  }

  /// The numbers, without the times.
  package var vector: VersionVector { VersionVector(entries.mapValues(\.number)) }

  /// Returns the entries that are not in `earlier`, or are further here. Leaves out entries that went back because
  /// their author got a cutoff: a signed context can only grow.
  package func difference(from earlier: CausalContext) -> CausalContext {
    CausalContext(
      entries.filter { author, seen in earlier[author].map { seen.number > $0.number } ?? true })
  }

  /// Applies a difference to this context. Each entry must be new here, or further in number and in time. Throws, and
  /// changes nothing, if one is not, or if the result would have more authors than a zone may have.
  package mutating func advance(by difference: CausalContext) throws(FormatError) {
    for (author, seen) in difference.entries {
      guard let known = entries[author] else { continue }
      guard seen.number > known.number, seen.time > known.time else { throw .invalid("a context only advances") }
    }
    let merged = entries.merging(difference.entries) { $1 }
    guard merged.count <= Limits.authors else { throw .limit("authors") }
    entries = merged
  }

  /// Writes a varint count, then author, number and time, ascending by author.
  package func write(to writer: inout ByteWriter) {
    writer.list(entries.keys.sorted()) { writer, author in
      author.write(to: &writer)
      writer.varint(entries[author]?.number ?? 0)
      writer.uint64(entries[author]?.time.value ?? 0)
    }
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
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
