import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Programs that write between any two transactions of a move.
@Suite struct InterruptedMoveTests {
  private static let (home, share) = (SharedList.home, Member.zone(4))

  /// Gives the member a store that lets `body` run right before each of its transactions.
  private func interrupt(_ member: Member, _ body: @escaping () -> Void) throws {
    try member.store.close()
    member.store = try Store(
      path: member.path, cryptography: member.cryptography, probe: { if $0 == .transactionBegins { body() } })
    member.store.control.setAccounts(Accounts(), device: member.device)
    try member.store.zones.setStandings(member.standings)
  }

  @Test("what programs write while many records move is neither lost nor undone", arguments: 0..<12)
  func writesWhileRecordsMove(seed: Int) throws {
    var generator = SplitMix64(seed: UInt64(seed))
    let alice = try SharedList.alice()
    let count = seed % 3 == 0 ? 2 * Choices.slice + 10 : 40
    try alice.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO reminders SELECT 'x' || i, 'M', 'x', 0 FROM n
      """)
    try alice.settle()
    var expected = Dictionary(uniqueKeysWithValues: (1...count).map { ("x\($0)", "M|x") })
    var writes = 0
    try interrupt(alice) {
      guard writes < 60, Int.random(in: 0..<3, using: &generator) == 0 else { return }
      writes += 1
      do {
        for _ in 0..<3 {
          let id = "x\(Int.random(in: 1...count, using: &generator))"
          let list = Bool.random(using: &generator) ? "L" : "M"
          switch (Int.random(in: 0..<5, using: &generator), expected[id]) {
          case (0...1, .some):
            try alice.run("DELETE FROM reminders WHERE id = '\(id)'")
            expected[id] = nil
          case (2, .some):
            try alice.run("UPDATE reminders SET list = '\(list)', title = '\(writes)' WHERE id = '\(id)'")
            expected[id] = "\(list)|\(writes)"
          case (3, _):
            try alice.run("REPLACE INTO reminders VALUES ('\(id)', '\(list)', '\(writes)', 0)")
            expected[id] = "\(list)|\(writes)"
          case (_, let old?):
            try alice.run("UPDATE reminders SET title = '\(writes)' WHERE id = '\(id)'")
            expected[id] = "\(old.prefix(2))\(writes)"
          case (_, nil): continue
          }
        }
      } catch {
        Issue.record("a program can't write: \(error)")
      }
    }
    try alice.stand(
      ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M"))))
    try alice.settle()
    #expect(writes > 0)
    let rows = try alice.rows("SELECT id, list, title FROM reminders WHERE id LIKE 'x%' ORDER BY id")
    let wanted = Set(expected.map { "\($0.key)|\($0.value)" })
    #expect(Set(rows).subtracting(wanted) == [])
    #expect(wanted.subtracting(rows) == [])
    #expect(try alice.store.conflicts.list(limit: 9).isEmpty)
    #expect(try alice.store.localWrites.pendingCount() == 0)
    let laptop = try Member(2, alice.standings)
    try converge([alice, laptop])
    let (here, there) = (Set(try alice.contents()), Set(try laptop.contents()))
    #expect(here.symmetricDifference(there) == [])
  }
}
