/// For each record of a control log, which of some marked records lead to it. Takes one visit of each record, and one bit per
/// record and mark: a log may be long, and few of its records are worth a mark.
struct Ancestry {
  private var before: [ControlID: MarkSet] = [:]
  private let places: [ControlID: Int]

  init(_ records: [ControlID: ControlRecord], marking marked: [ControlID]) {
    places = Dictionary(marked.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for id in records.keys { visit(id, records) }
  }

  /// Indexes, in the list of the marked, of those that lead to a record; the record itself is not among them.
  func marks(before id: ControlID) -> MarkSet { before[id] ?? MarkSet() }

  /// Whether a marked record leads to another.
  func isMarked(_ earlier: ControlID, before later: ControlID) -> Bool {
    places[earlier].map(marks(before: later).contains) ?? false
  }

  /// The indexes of some marked records.
  func marks(of ids: some Sequence<ControlID>) -> MarkSet {
    ids.reduce(into: MarkSet()) { marks, id in
      if let place = places[id] { marks.insert(place) }
    }
  }

  /// Depth first with a stack of its own: a hostile log can be as deep as it is long.
  private mutating func visit(_ start: ControlID, _ records: [ControlID: ControlRecord]) {
    var stack = [start]
    while let id = stack.last {
      guard before[id] == nil, let record = records[id] else {
        stack.removeLast()
        continue
      }
      let parents = (record.parents + (record.previous.map { [$0] } ?? [])).filter { records[$0] != nil }
      let unvisited = parents.filter { before[$0] == nil }
      if unvisited.isEmpty {
        stack.removeLast()
        before[id] = parents.reduce(into: MarkSet()) { marks, parent in
          marks.formUnion(self.marks(before: parent))
          if let place = places[parent] { marks.insert(place) }
        }
      } else {
        stack.append(contentsOf: unvisited)
      }
    }
  }
}

/// A set of small numbers, one bit each.
struct MarkSet: Equatable {
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

  func isSuperset(of other: MarkSet) -> Bool {
    other.words.indices.allSatisfy { other.words[$0] & ~($0 < words.count ? words[$0] : 0) == 0 }
  }

  func intersects(_ other: MarkSet) -> Bool { zip(words, other.words).contains { $0 & $1 != 0 } }

  func subtracting(_ other: MarkSet) -> MarkSet {
    var rest = self
    for index in words.indices where index < other.words.count { rest.words[index] &= ~other.words[index] }
    return rest
  }

  mutating func formUnion(_ other: MarkSet) {
    if words.count < other.words.count { words.append(contentsOf: other.words[words.count...].map { _ in 0 }) }
    for index in other.words.indices { words[index] |= other.words[index] }
  }
}
