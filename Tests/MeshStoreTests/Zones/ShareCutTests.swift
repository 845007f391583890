import MeshCore
import Testing

@testable import MeshStore

/// What cuts leave in a file with several zones.
@Suite struct ShareCutTests {
  private static let (share, other) = (SharedList.share, Member.zone(4))

  /// A member of another's zone.
  private func writer(_ seed: UInt8, _ zone: ZoneID, _ sql: String) throws -> Member {
    let writer = try Member(seed, [ZoneStanding(zone: zone, role: .privateZone)])
    try writer.run(sql)
    try writer.settle()
    return writer
  }

  private func cut(_ author: Author, to limit: UInt64, _ aftermath: [Author: Aftermath] = [:], on member: Member) throws
  {
    member.cuts[Self.share] = [author: limit]
    try member.store.merges.revert(
      [author: limit], aftermath: aftermath, zone: Self.share, member.reader(Self.share), now: member.now)
  }

  @Test("a reverted row leaves its place to another zone's record") func aRowThatACutTakesIsLeftToTheNextZoneThatHasIt()
    throws
  {
    let member = try SharedList.bob()
    try member.stand(
      ZoneStanding(zone: Self.other, role: .readWrite, root: RecordName(table: "lists", key: .text("M"))))
    let neighbour = try writer(
      5, Self.other,
      """
      INSERT INTO lists VALUES ('M', 'm'); INSERT INTO reminders VALUES ('x', 'M', 'neighbour''s', 0);
      INSERT INTO steps VALUES ('sx', 'x', 'deep')
      """)
    try member.pull(Self.other, from: neighbour)
    let intruder = try writer(
      6, Self.share, "INSERT INTO lists VALUES ('L', 'l'); INSERT INTO reminders VALUES ('x', 'L', 'intruder''s', 0)")
    try member.pull(Self.share, from: intruder)
    #expect(try member.rows("SELECT title FROM reminders") == ["intruder's"])
    try cut(intruder.author(Self.share), to: 0, on: member)
    #expect(try member.contents() == ["lists|M|m", "reminders|x|M|neighbour's|0", "steps|sx|x|deep"])
    #expect(try member.held().isEmpty)
  }

  @Test("a cut that takes several slices leaves each record as it was without what was cut")
  func aCutThatTakesSeveralSlicesLeavesEachRecordAsItWasWithoutWhatWasCut() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    let count = 2 * Choices.slice + 100
    try alice.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO reminders SELECT printf('n%05d', i), 'L', 'alice', 0 FROM n
      """)
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    let before = try bob.contents()
    let carol = try Member(7, [ZoneStanding(zone: Self.share, role: .privateZone)])
    try carol.pull(Self.share, from: alice)
    try carol.run("UPDATE reminders SET title = 'carol' WHERE id LIKE 'n%'; DELETE FROM reminders WHERE id LIKE '%5'")
    try carol.settle()
    try bob.pull(Self.share, from: carol)
    #expect(try bob.rows("SELECT count(*) FROM reminders WHERE title = 'carol'") == ["\(count * 9 / 10)"])
    try cut(carol.author(Self.share), to: 0, [try carol.author(Self.share): .kept], on: bob)
    #expect(try bob.contents() == before)
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  @Test("a receipt has a value that only a reverted change had overwritten")
  func aReceiptHasWhatOnlyRefusedChangesHadBeaten() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.store.zones.beginInstance(InstanceID(55), zone: Self.share)
    let carol = try Member(7, [ZoneStanding(zone: Self.share, role: .privateZone)])
    for member in [bob, carol] { try member.pull(Self.share, from: alice) }
    try bob.run("UPDATE reminders SET title = 'precious' WHERE id = 'r1'")
    try bob.settle()
    try carol.pull(Self.share, from: bob)
    try carol.run("DELETE FROM reminders WHERE id = 'r1'")
    try carol.settle()
    try bob.pull(Self.share, from: carol)
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty)
    let (own, others) = (try bob.author(Self.share), try carol.author(Self.share))
    bob.cuts[Self.share] = [own: 0, others: 0]
    try bob.store.merges.revert(
      [own: 0, others: 0], aftermath: [own: .receipt], zone: Self.share, bob.reader(Self.share), now: bob.now)
    #expect(try bob.rows("SELECT title FROM reminders") == ["milk"])
    #expect(try bob.store.zones.receipts(Self.share).map(\.values) == [["title": .text("precious")]])
  }

  @Test("change sets that were reverted are stored again as they were signed")
  func whatOthersRefusedOfOnesOwnComesAgainAsItWasSigned() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.store.zones.beginInstance(InstanceID(55), zone: Self.share)
    try bob.pull(Self.share, from: alice)
    for title in ["one", "two", "three"] {
      try bob.run("UPDATE reminders SET title = '\(title)' WHERE id = 'r1'")
      try bob.settle()
    }
    try alice.pull(Self.share, from: bob)
    let before = try alice.store.zones.digest(Self.share)
    let author = try bob.author(Self.share)
    try cut(author, to: 1, [:], on: alice)
    try cut(author, to: 1, [author: .receipt], on: bob)
    while try bob.store.zones.dropZone(Self.share, keepingCopy: false, unsent: [:], now: bob.now) {}
    #expect(try !bob.store.log.storeAgain(Self.share) { _ in true }, "what comes before it is not here")
    (alice.cuts, bob.cuts) = ([:], [:])
    try bob.store.zones.beginInstance(InstanceID(56), zone: Self.share)
    try bob.pull(Self.share, from: alice)
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["one"])
    #expect(try bob.store.log.storeAgain(Self.share) { $0.header.number <= 2 })
    #expect(try !bob.store.log.storeAgain(Self.share) { $0.header.number <= 2 })
    try bob.pull(Self.share, from: alice)
    #expect(try bob.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["two"])
    #expect(try bob.store.zones.receipts(Self.share).map { $0.values?["title"] } == [.text("three")])
    #expect(try bob.store.log.storeAgain(Self.share) { _ in true })
    try bob.pull(Self.share, from: alice)
    try alice.pull(Self.share, from: bob)
    for member in [alice, bob] { #expect(try member.store.zones.digest(Self.share) == before) }
    #expect(try bob.store.zones.receipts(Self.share).isEmpty, "the share has what the receipt said it lacked")
    #expect(
      try !alice.store.log.storeAgain(Self.share) { _ in true } && !bob.store.log.storeAgain(Self.share) { _ in true })
  }

  @Test("a copy that is kept has the unsent changes, and the receipts bring them back after joining again")
  func aKeptCopyAndReceipts() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.store.zones.beginInstance(InstanceID(55), zone: Self.share)
    try bob.pull(Self.share, from: alice)
    try bob.run("UPDATE reminders SET title = 'sent' WHERE id = 'r1'")
    try bob.settle()
    try alice.pull(Self.share, from: bob)
    try bob.run(
      """
      UPDATE reminders SET title = 'unsent' WHERE id = 'r1'; INSERT INTO reminders VALUES ('new', 'L', 'x', 0);
      DELETE FROM steps
      """)
    try bob.settle()
    let before = try bob.contents()
    let author = try bob.author(Self.share)
    try bob.stand(ZoneStanding(zone: Self.share, role: .ended))
    try bob.store.zones.keepCopy(of: Self.share)
    // As if the node had stopped after it.
    for _ in 0..<2 {
      try bob.store.merges.keepUnsent([author: 1], zone: Self.share, bob.reader(Self.share), now: bob.now)
    }
    #expect(try bob.contents() == before)
    try bob.drop(Self.share, unsent: [author: 1])
    try bob.settle()
    #expect(try bob.contents() == before && bob.records(Self.share).isEmpty)
    let receipts = try bob.store.zones.receipts(Self.share)
    #expect(Set(receipts.map { "\($0.record.key) \($0.values?["title"] ?? .null)" }).count == receipts.count)
    #expect(receipts.contains { $0.record.key == .text("r1") && $0.values?["title"] == .text("unsent") })
    #expect(receipts.contains { $0.record.key == .text("new") && $0.values?["title"] == .text("x") })
    // He joins again, and has to delete the copy.
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    (alice.cuts, bob.cuts) = ([:], [:])
    try bob.stand(ZoneStanding(zone: Self.share, role: .readWrite, root: SharedList.root))
    try bob.pull(Self.share, from: alice)
    let restored = try bob.store.zones.restoreReceipts(Self.share)
    #expect(restored.written == receipts.count && restored.inTheWay.isEmpty)
    #expect(try !bob.store.log.storeAgain(Self.share) { _ in true }, "it would be sent twice")
    try converge([alice, bob])
    let titles = try alice.rows("SELECT id, title FROM reminders WHERE list = 'L' ORDER BY id")
    #expect(titles == ["new|x", "r1|unsent"])
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
  }

  /// Bob moves a record of his own into the share, and is cut before that.
  private func bobWithMovedRecord() throws -> Member {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    // As a node does it: an instance of its own in each zone.
    try bob.store.zones.beginInstance(InstanceID(55), zone: Self.share)
    try bob.pull(Self.share, from: alice)
    try bob.run("INSERT INTO lists VALUES ('B', 'b'); INSERT INTO reminders VALUES ('own', 'B', 'precious', 0)")
    try bob.settle()
    try bob.run("UPDATE reminders SET list = 'L' WHERE id = 'own'")
    try bob.settle()
    #expect(try bob.records(Self.share).contains("reminders own"))
    return bob
  }

  @Test("a receipt has the values that a moved record brought from its former zone")
  func aReceiptHasTheValuesThatARecordBroughtFromItsOldZone() throws {
    let bob = try bobWithMovedRecord()
    let author = try bob.author(Self.share)
    try cut(author, to: 0, [author: .receipt], on: bob)
    let receipt = try #require(bob.store.zones.receipts(Self.share).first { $0.record.key == .text("own") })
    #expect(receipt.values == ["title": .text("precious"), "list": .text("L"), "done": .integer(0)])
  }

  @Test("a record that moved on a reverted branch is written again")
  func aRecordThatMovedOnABranchThatEndsIsWrittenAgain() throws {
    let bob = try bobWithMovedRecord()
    let author = try bob.author(Self.share)
    try cut(author, to: 0, [author: .writtenAgain], on: bob)
    try bob.store.zones.beginInstance(InstanceID(77), zone: Self.share)
    while try bob.store.localWrites.writeAgain(#require(bob.writers()[Self.share]), now: bob.now) != nil {}
    #expect(try bob.rows("SELECT list, title FROM reminders WHERE id = 'own'") == ["L|precious"])
  }

  @Test("a cutoff above all numbers reverts nothing", arguments: [UInt64(Int64.max), UInt64(Int64.max) + 1, .max])
  func anEndBeyondAllNumbersTakesNothing(limit: UInt64) throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.pull(Self.share, from: alice)
    let author = try alice.author(Self.share)
    let before = try bob.contents()
    try cut(author, to: limit, on: bob)
    #expect(try bob.contents() == before)
    #expect(try bob.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
    #expect(try !SharedList.texts(bob).isEmpty, "the log is whole")
    try alice.run("UPDATE lists SET title = 'later' WHERE id = 'L'")
    try alice.settle()
    try bob.pull(Self.share, from: alice)
    #expect(try bob.rows("SELECT title FROM lists") == ["later"])
  }
}
