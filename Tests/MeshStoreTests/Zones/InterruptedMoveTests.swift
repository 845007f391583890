import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Programs that write between any two transactions of a move.
@Suite struct InterruptedMoveTests {
  fileprivate static let (home, share) = (SharedList.home, Member.zone(4))

  /// Gives the member a store that lets `body` run right before each of its transactions.
  private func interrupt(_ member: Member, _ body: @escaping () -> Void) throws {
    try member.store.close()
    member.store = try Store(
      path: member.path, cryptography: member.cryptography, probe: { if $0 == .transactionBegins { body() } })
    member.store.control.setAccounts(Accounts(), device: member.device)
    try member.store.zones.setStandings(member.standings)
  }

  @Test("what programs write while many records move is neither lost nor undone", arguments: TestSeeds.through(12))
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

  @Test(
    "a participant that moves rows between two shares keeps them, and their children", arguments: TestSeeds.through(12))
  func participantMovesBetweenShares(seed: Int) throws {
    var generator = SplitMix64(seed: UInt64(seed))
    let other = RecordName(table: "lists", key: .text("M"))
    let bob = try Member(
      9,
      [
        ZoneStanding(zone: SharedList.bobs, role: .privateZone),
        ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root),
        ZoneStanding(zone: Self.share, role: .readWrite, root: other),
      ])
    let alice = try SharedList.alice()
    try alice.stand(ZoneStanding(zone: Self.share, role: .owned, root: other))
    let count = 20
    try alice.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO reminders SELECT 'x' || i, iif(i % 2, 'L', 'M'), 'x', 0 FROM n;
      INSERT INTO steps SELECT 's' || id, id, 'step' FROM reminders WHERE id LIKE 'x%'
      """)
    try alice.settle()
    for zone in [SharedList.share, Self.share] { try bob.pull(zone, from: alice) }
    var expected = Dictionary(
      uniqueKeysWithValues: (1...count).map { ("x\($0)", (list: $0 % 2 == 1 ? "L" : "M", title: "step")) })
    var writes = 0
    func write() {
      let id = "x\(Int.random(in: 1...count, using: &generator))"
      guard var row = expected[id] else { return }
      writes += 1
      do {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0:
          try bob.run("DELETE FROM reminders WHERE id = '\(id)'")
          expected[id] = nil
          return
        case 1...3:
          row.title = "\(writes)"
          try bob.run("UPDATE steps SET title = '\(row.title)' WHERE id = 's\(id)'")
        default:
          row.list = row.list == "L" ? "M" : "L"
          try bob.run("UPDATE reminders SET list = '\(row.list)' WHERE id = '\(id)'")
        }
        expected[id] = row
      } catch {
        Issue.record("a program can't write: \(error)")
      }
    }
    try interrupt(bob) { if writes < 150, Bool.random(using: &generator) { write() } }
    for _ in 0..<40 {
      write()
      for _ in 0..<Int.random(in: 0..<4, using: &generator) { _ = try bob.step() }
    }
    try bob.settle()
    for zone in [SharedList.share, Self.share] { try alice.pull(zone, from: bob) }
    let wanted = Set(expected.map { "\($0.key)|\($0.value.list)|\($0.value.title)" })
    for member in [bob, alice] {
      let rows = Set(
        try member.rows(
          """
          SELECT r.id, list, s.title FROM reminders r LEFT JOIN steps s ON s.reminder = r.id WHERE r.id LIKE 'x%'
          """))
      #expect(rows.subtracting(wanted) == [])
      #expect(wanted.subtracting(rows) == [])
      let held = try member.held()
      #expect(held == [:])
    }
  }

  @Test("rows that are being flushed are all captured when the first share is made", arguments: TestSeeds.through(9))
  func firstShare(steps: Int) throws {
    let alice = try Member(1, [SharedList.mine])
    let count = 3 * Choices.slice + 302
    try alice.run(
      """
      INSERT INTO lists VALUES ('L', 'shared'), ('M', 'mine');
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count / 2))
        INSERT INTO reminders SELECT 'x' || i, 'M', 'x', 0 FROM n;
      INSERT INTO steps SELECT 's' || id, id, 'step' FROM reminders
      """)
    for _ in 0..<steps { _ = try alice.step() }
    try alice.stand(SharedList.shared)
    try alice.settle()
    #expect(try alice.records(SharedList.home).count == 2 * (count / 2) + 1)
    #expect(try alice.records(SharedList.share) == ["lists L"])
  }

  @Test("a delete of a record that followed its parent is listed if an app's trigger rolls it back")
  func triggerRollsBack() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    let standing = ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M")))
    try laptop.stand(standing)
    try laptop.settle()
    try laptop.run(
      "CREATE TRIGGER keep BEFORE DELETE ON reminders BEGIN SELECT RAISE(ROLLBACK, 'reminders stay'); END")
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    try laptop.pull(Self.home, from: alice)
    #expect(try laptop.rows("SELECT id FROM reminders WHERE id = 'r2'") == ["r2"])
    let lost = try laptop.store.conflicts.list(limit: 9).filter { $0.key == .text("r2") }
    #expect(lost.map(\.column) == [nil] && lost.map(\.loser.author.device) == [alice.device])
  }

  @Test("a delete of a list that has become a share meanwhile is listed, and its reminders are deleted")
  func rootIsDeletedMeanwhile() throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try laptop.stand(
      ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M"))))
    try laptop.settle()
    try alice.run("DELETE FROM lists WHERE id = 'M'")
    try alice.settle()
    try laptop.pull(Self.home, from: alice)
    try laptop.settle()
    #expect(try laptop.rows("SELECT id FROM lists") == ["L", "M"])
    #expect(try laptop.rows("SELECT id FROM reminders") == ["r1"])
    let lost = try laptop.store.conflicts.list(limit: 9)
    #expect(lost.map(\.key) == [.text("M")] && lost.map(\.column) == [nil])
  }

  @Test(
    "a delete of a record that followed its parent is listed if it would take a later write along",
    arguments: [
      "UPDATE reminders SET title = 'written' WHERE id = 'r2'", "INSERT INTO steps VALUES ('s9', 'r2', 'written')",
      "UPDATE steps SET title = 'written' WHERE id = 's2'",
    ])
  func writesMeetADelete(write: String) throws {
    let (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
    try converge([alice, laptop])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    let standing = ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M")))
    try laptop.stand(standing)
    try laptop.settle()
    try laptop.run(write)
    try laptop.settle()
    try alice.stand(standing)
    try converge([alice, laptop])
    for device in [alice, laptop] {
      #expect(
        try device.rows("SELECT title FROM reminders WHERE id = 'r2' AND title = 'written'").count
          + device.rows("SELECT title FROM steps WHERE title = 'written'").count == 1)
    }
    let lost = try [alice, laptop].flatMap { try $0.store.conflicts.list(limit: 9) }.filter { $0.key == .text("r2") }
    #expect(lost.contains { $0.column == nil && $0.loser.author.device == alice.device })
  }

  @Test("a lost value of a record that has moved stays listed if a device deletes the record", arguments: [0, 1])
  func conflictOfADeletedRecord(deleter: Int) throws {
    let devices = [try SharedList.alice(), try SharedList.laptop()]
    try converge(devices)
    let standing = ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M")))
    for device in devices {
      try device.stand(standing)
      try converge(devices)
    }
    try devices[0].run("UPDATE reminders SET title = 'first' WHERE id = 'r2'")
    try devices[0].settle()
    devices[1].now += 1_000
    try devices[1].run("UPDATE reminders SET title = 'second' WHERE id = 'r2'")
    try converge(devices)
    func lost() throws -> [Value] { try devices.flatMap { try $0.store.conflicts.list(limit: 9).map(\.loserValue) } }
    let before = try lost()
    try #require(before == [.text("first"), .text("first")])
    devices[deleter].now += 2_000
    try devices[deleter].run("DELETE FROM reminders WHERE id = 'r2'")
    try converge(devices)
    #expect(try lost() == before)
  }

  @Test("a delete of a record that followed its parent leaves another share's row with its key alone")
  func rowOfAnotherShare() throws {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    try converge([alice, laptop, bob])
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'bobs', 0)")
    try converge([alice, laptop, bob])
    try laptop.stand(
      ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M"))))
    try laptop.settle()
    try #require(try laptop.rows("SELECT title FROM reminders WHERE id = 'r2'") == ["bobs"])
    try alice.run("DELETE FROM reminders WHERE id = 'r2'")
    try alice.settle()
    try laptop.pull(Self.home, from: alice)
    try laptop.settle()
    #expect(try laptop.rows("SELECT title FROM reminders WHERE id = 'r2'") == ["bobs"])
    let lost = try laptop.store.conflicts.list(limit: 9).filter { $0.key == .text("r2") }
    #expect(lost.map(\.column) == [nil] && lost.map(\.loser.author.device) == [alice.device])
  }

  @Test("a delete of a record that followed its parent is over if the record was deleted in its new zone as well")
  func deletedInBothZones() throws {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    let phone = try Member(3, [SharedList.mine, SharedList.shared])
    try converge([alice, laptop, phone, bob])
    let standing = ZoneStanding(zone: Self.share, role: .owned, root: RecordName(table: "lists", key: .text("M")))
    try laptop.stand(standing)
    try laptop.settle()
    for device in [laptop, alice] {
      try device.run("DELETE FROM reminders WHERE id = 'r2'")
      try device.settle()
    }
    try bob.run("INSERT INTO reminders VALUES ('r2', 'L', 'bobs', 0)")
    try bob.settle()
    try phone.pull(Self.home, from: alice)
    try phone.pull(SharedList.share, from: bob)
    try phone.stand(standing)
    try phone.settle()
    try #require(try phone.rows("SELECT title FROM reminders WHERE id = 'r2'") == ["bobs"])
    // The move and the delete that follows it are merged in one transaction.
    try phone.pull(Self.share, from: laptop)
    #expect(try phone.store.localWrites.pendingCount() == 0)
    #expect(try phone.store.conflicts.list(limit: 9).isEmpty)
    #expect(try phone.rows("SELECT title FROM reminders WHERE id = 'r2'") == ["bobs"])
  }

  /// Two devices that move the same records, and a program on Alice's device.
  private struct TwoMovers {
    let alice: Member
    let laptop: Member
    /// The list and the title of each reminder.
    private(set) var expected: [String: String] = [:]

    /// - Parameter betweenShares: Whether the program moves reminders as well.
    init(seed: Int, betweenShares: Bool) throws {
      (alice, laptop) = (try SharedList.alice(), try SharedList.laptop())
      var generator = SplitMix64(seed: UInt64(seed))
      let count = 30
      try alice.run(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          INSERT INTO reminders SELECT 'x' || i, 'M', 'x', 0 FROM n;
        INSERT INTO steps SELECT 's' || id, id, 'step' FROM reminders WHERE id LIKE 'x%'
        """)
      try converge([alice, laptop])
      expected = Dictionary(uniqueKeysWithValues: (1...count).map { ("x\($0)", "M|x") })
      let root = RecordName(table: "lists", key: .text("M"))
      let standing = ZoneStanding(zone: InterruptedMoveTests.share, role: .owned, root: root)
      var shared: Set<Int> = []
      for step in 0..<120 {
        let (one, other) = step % 2 == 0 ? (alice, laptop) : (laptop, alice)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0 where step > 10 && !shared.contains(step % 2):
          try one.stand(standing)
          shared.insert(step % 2)
        case 1...2: _ = try one.step()
        case 3:
          // A device knows its account's shares before it gets change sets that follow from them.
          if shared.contains((step + 1) % 2), shared.insert(step % 2).inserted { try one.stand(standing) }
          for zone in one.standings.map(\.zone) where other.standings.contains(where: { $0.zone == zone }) {
            try one.store(of: zone, from: other)
            _ = try one.store.merges.apply(zone, one.reader(zone), flushing: one.writers(), now: one.now)
          }
        default:
          alice.now += 5
          let id = "x\(Int.random(in: 1...count, using: &generator))"
          guard let old = expected[id] else { continue }
          switch Int.random(in: 0..<(betweenShares ? 3 : 2), using: &generator) {
          case 0:
            try alice.run("DELETE FROM reminders WHERE id = '\(id)'")
            expected[id] = nil
          case 1:
            try alice.run("UPDATE reminders SET title = '\(step)' WHERE id = '\(id)'")
            expected[id] = "\(old.prefix(2))\(step)"
          default:
            let list = Bool.random(using: &generator) ? "L" : "M"
            try alice.run("UPDATE reminders SET list = '\(list)', title = '\(step)' WHERE id = '\(id)'")
            expected[id] = "\(list)|\(step)"
          }
        }
      }
      for device in [alice, laptop] { try device.stand(standing) }
      try converge([alice, laptop])
    }

    /// Expects that both devices have what the program wrote, and that nothing is listed as lost.
    func check() throws {
      let wanted = Set(expected.map { "\($0.key)|\($0.value)" })
      for device in [alice, laptop] {
        let rows = Set(try device.rows("SELECT id, list, title FROM reminders WHERE id LIKE 'x%'"))
        #expect(rows.subtracting(wanted) == [])
        #expect(wanted.subtracting(rows) == [])
        let conflicts = try device.store.conflicts.list(limit: 9).map { "\($0.key) \($0.column ?? "")" }
        #expect(conflicts == [])
      }
      for zone in alice.standings.map(\.zone) {
        #expect(try alice.store.zones.digest(zone) == laptop.store.zones.digest(zone))
      }
    }
  }

  @Test(
    "one program's writes are all kept while two devices of its account move the same records",
    arguments: TestSeeds.through(25))
  func twoMovers(seed: Int) throws {
    let movers = try TwoMovers(seed: seed, betweenShares: false)
    try movers.check()
    for device in [movers.alice, movers.laptop] {
      #expect(
        try device.rows(
          """
          SELECT r.id, s.id FROM reminders r FULL JOIN steps s ON s.reminder = r.id
          WHERE (r.id LIKE 'x%' OR s.id LIKE 'sx%') AND (r.id IS NULL OR s.id IS NULL)
          """) == [])
      #expect(try device.held() == [:])
    }
  }

  @Test("a program that moves rows between shares deletes and edits them for good", arguments: TestSeeds.through(12))
  func twoMoversBetweenShares(seed: Int) throws { try TwoMovers(seed: seed, betweenShares: true).check() }
}
