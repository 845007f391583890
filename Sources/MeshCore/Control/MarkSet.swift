/// A set of small numbers that takes one bit for each.
struct MarkSet: Hashable, Sendable {
  private var words: [UInt64] = []

  mutating func insert(_ member: Int) {
    let word = member / UInt64.bitWidth
    if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
    words[word] |= 1 << UInt64(member % UInt64.bitWidth)
  }

  func contains(_ member: Int) -> Bool {
    let word = member / UInt64.bitWidth
    return word < words.count && words[word] >> UInt64(member % UInt64.bitWidth) & 1 == 1
  }

  var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// The members in ascending order.
  var members: [Int] {
    var members: [Int] = []
    for index in words.indices {
      var rest = words[index]
      while rest != 0 {
        members.append(index * UInt64.bitWidth + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
    }
    return members
  }

  var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  func isSuperset(of other: MarkSet) -> Bool {
    other.words.indices.allSatisfy { other.words[$0] & ~($0 < words.count ? words[$0] : 0) == 0 }
  }

  func intersects(_ other: MarkSet) -> Bool {
    (0..<min(words.count, other.words.count)).contains { words[$0] & other.words[$0] != 0 }
  }

  func intersection(_ other: MarkSet) -> MarkSet {
    var both = MarkSet()
    both.words = (0..<min(words.count, other.words.count)).map { words[$0] & other.words[$0] }
    return both
  }

  mutating func subtract(_ other: MarkSet) {
    for index in 0..<min(words.count, other.words.count) { words[index] &= ~other.words[index] }
  }

  func subtracting(_ other: MarkSet) -> MarkSet {
    var rest = self
    rest.subtract(other)
    return rest
  }

  mutating func formUnion(_ other: MarkSet) {
    // Most records have one parent, so this case is the usual one.
    guard !words.isEmpty else {
      words = other.words
      return
    }
    if words.count < other.words.count { words.append(contentsOf: other.words[words.count...].map { _ in 0 }) }
    for index in other.words.indices { words[index] |= other.words[index] }
  }
}
