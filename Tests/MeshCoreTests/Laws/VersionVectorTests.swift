import MeshCore
import Testing

@Suite struct VersionVectorTests {
  private static let authors: [Author] = {
    var generator = Generator(seed: 41)
    return (0..<4).map { _ in generator.author() }
  }()

  private func vector(_ generator: inout Generator) -> VersionVector {
    VersionVector(
      Dictionary(uniqueKeysWithValues: Self.authors.map { ($0, UInt64(generator.below(4))) }))
  }

  private func union(_ a: VersionVector, _ b: VersionVector) -> VersionVector {
    var union = a
    union.formUnion(b)
    return union
  }

  @Test("the union of two version vectors is the least vector that covers both")
  func unionIsTheLeastVectorThatCoversBoth() {
    var generator = Generator(seed: 42)
    for _ in 0..<2_000 {
      let (a, b, c) = (vector(&generator), vector(&generator), vector(&generator))
      #expect(union(a, b) == union(b, a))
      #expect(union(union(a, b), c) == union(a, union(b, c)))
      #expect(union(a, a) == a)
      #expect(a.isCovered(by: union(a, b)) && b.isCovered(by: union(a, b)))
      if a.isCovered(by: c), b.isCovered(by: c) { #expect(union(a, b).isCovered(by: c)) }
      #expect(a.isCovered(by: b) == (union(a, b) == b))
      #expect(a.isCovered(by: b) == (a.count(beyond: b) == 0))
      #expect(union(a, b).count(beyond: b) == a.count(beyond: b))
    }
  }

  @Test("a version vector does not list an author at zero") func anAuthorAtZeroIsNotListed() {
    var vector = VersionVector([Self.authors[0]: 0, Self.authors[1]: 2])
    #expect(vector.authors == [Self.authors[1]])
    vector[Self.authors[1]] = 0
    #expect(vector == VersionVector())
  }

  @Test("the count of missing change sets stops at the greatest integer") func countsOfHugeNumbersDoNotWrapRound() {
    let huge = VersionVector([Self.authors[0]: .max, Self.authors[1]: 1])
    #expect(huge.count(beyond: VersionVector()) == .max)
  }

  // MARK: Contexts

  /// Numbers and times of an author rise together.
  private func context(_ generator: inout Generator) -> CausalContext {
    var entries: [Author: CausalContext.Seen] = [:]
    for author in Self.authors {
      let number = UInt64(generator.below(4))
      if number > 0 { entries[author] = .init(number: number, time: HybridTime(number * 10)) }
    }
    return CausalContext(entries)
  }

  @Test("a context advanced by a difference covers both contexts")
  func aContextAdvancedByADifferenceHasAllOfBoth() throws {
    var generator = Generator(seed: 43)
    for _ in 0..<2_000 {
      let (earlier, later) = (context(&generator), context(&generator))
      var advanced = earlier
      try advanced.advance(by: later.difference(from: earlier))
      #expect(advanced.vector == union(earlier.vector, later.vector))
      if earlier.vector.isCovered(by: later.vector) { #expect(advanced == later) }
      #expect(later.difference(from: advanced).entries.isEmpty)
    }
  }

  @Test("the difference of two contexts leaves out an author whose number went back")
  func aContextThatACutTookBackIsLeftOutOfTheDifference() throws {
    let (cut, other) = (Self.authors[0], Self.authors[1])
    let signed = CausalContext([
      cut: .init(number: 9, time: HybridTime(90)), other: .init(number: 1, time: HybridTime(10)),
    ])
    let now = CausalContext([
      cut: .init(number: 4, time: HybridTime(40)), other: .init(number: 2, time: HybridTime(20)),
    ])
    let difference = now.difference(from: signed)
    #expect(difference == CausalContext([other: .init(number: 2, time: HybridTime(20))]))
    var advanced = signed
    try advanced.advance(by: difference)
    #expect(advanced[cut]?.number == 9 && advanced[other]?.number == 2)
  }

  @Test("a context rejects a difference with an older number or time and stays unchanged")
  func aContextThatGoesBackIsRefusedAndChangesNothing() {
    let author = Self.authors[0]
    let known = CausalContext([author: .init(number: 5, time: HybridTime(50))])
    let others: [(number: UInt64, time: UInt64)] = [(4, 60), (6, 40), (5, 60), (6, 50), (5, 50)]
    for (number, time) in others {
      var context = known
      let difference = CausalContext([
        author: .init(number: number, time: HybridTime(time)), Self.authors[1]: .init(number: 1, time: .zero),
      ])
      #expect(throws: FormatError.self) { try context.advance(by: difference) }
      #expect(context == known)
    }
  }

  @Test("a context has seen an author's stamps up to the author's time") func aStampWasSeenUpToItsAuthorsTime() {
    let time = HybridTime(milliseconds: 1_800_000_000_000)
    let context = CausalContext([Self.authors[0]: .init(number: 1, time: time)])
    #expect(context.hasSeen(Stamp(time: time, author: Self.authors[0])))
    #expect(context.hasSeen(Stamp(time: .zero, author: Self.authors[0])))
    #expect(!context.hasSeen(Stamp(time: time.next, author: Self.authors[0])))
    #expect(!context.hasSeen(Stamp(time: .zero, author: Self.authors[1])))
  }

  @Test("an import was seen with the change set that carried it")
  func seenImports() {
    let time = HybridTime(milliseconds: 1_800_000_000_000)
    let context = CausalContext([Self.authors[0]: .init(number: 1, time: time)])
    #expect(context.hasSeen(Stamp(time: HybridTime(importedAt: time), author: Self.authors[0])))
    #expect(!context.hasSeen(Stamp(time: HybridTime(importedAt: time.next), author: Self.authors[0])))
    #expect(!context.hasSeen(Stamp(time: HybridTime(importedAt: time), author: Self.authors[1])))
  }
}
