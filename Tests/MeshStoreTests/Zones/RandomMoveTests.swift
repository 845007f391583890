import GRDB
import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// A program with foreign keys off moves rows between a share and the private zone, deletes them and inserts them again,
/// while flushes are under way.
@Suite struct RandomMoveTests {
  private static let (home, share) = (SharedList.home, SharedList.share)
  private static let keys = ["r1", "r2", "r3"]
  private static let parents = ["'L'", "'M'", "'nowhere'", "NULL"]

  @Test(
    "rows that move in haste are what the same statements make of a plain file, and are sent where they belong",
    arguments: Array(TestSeeds.through(40 as UInt64)) + [168, 176, 233, 410, 622])
  func moves(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    try converge([alice, laptop, bob])
    try alice.run("DELETE FROM steps")
    try alice.other.inDatabase { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    let plain = try DatabaseQueue()
    try plain.write { db in
      try db.execute(sql: Member.schema)
      for row in try alice.rows("SELECT quote(id), quote(title) FROM lists") {
        try db.execute(sql: "INSERT INTO lists VALUES (\(row.replacing("|", with: ", ")))")
      }
      for row in try alice.rows("SELECT quote(id), quote(list), quote(title), done FROM reminders") {
        try db.execute(sql: "INSERT INTO reminders VALUES (\(row.replacing("|", with: ", ")))")
      }
    }
    try plain.inDatabase { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    for step in 0..<40 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0..<6:
        let sql = statement(step, &generator)
        try alice.run(sql)
        try plain.write { try $0.execute(sql: sql) }
      case 6: try alice.settle()
      case 7: alice.lacking = [[], [Self.share], [Self.home]].randomElement(using: &generator) ?? []
      default:
        alice.now += 1
        for _ in 0..<Int.random(in: 1..<4, using: &generator) where try !alice.step() { break }
      }
    }
    alice.lacking = []
    try converge([alice, laptop, bob])
    try check(alice, laptop, bob, plain)
  }

  private func statement(_ step: Int, _ generator: inout SplitMix64) -> String {
    let key = Self.keys.randomElement(using: &generator) ?? ""
    let parent = Self.parents.randomElement(using: &generator) ?? ""
    let insert = "INSERT OR REPLACE INTO reminders VALUES ('\(key)', \(parent), 'v\(step)', 0)"
    switch Int.random(in: 0..<6, using: &generator) {
    case 0, 1: return "UPDATE reminders SET list = \(parent) WHERE id = '\(key)'"
    case 2: return "UPDATE reminders SET title = 'v\(step)' WHERE id = '\(key)'"
    case 3: return "DELETE FROM reminders WHERE id = '\(key)'"
    case 4: return insert
    default: return "DELETE FROM reminders WHERE id = '\(key)'; \(insert)"
    }
  }

  private func check(_ alice: Member, _ laptop: Member, _ bob: Member, _ plain: DatabaseQueue) throws {
    let expected = try plain.read { db in
      try Row.fetchAll(db, sql: "SELECT id, list, title FROM reminders ORDER BY id").map {
        "\($0["id"] as String)|\($0["list"] as String? ?? "NULL")|\($0["title"] as String)"
      }
    }
    let query = "SELECT id, list, title FROM reminders ORDER BY id"
    #expect(try alice.rows(query) == expected)
    // A row whose parent exists nowhere is held on the other machines.
    #expect(try laptop.rows(query) == expected.filter { !$0.contains("|nowhere|") })
    let shared = try alice.records(Self.share).filter { $0.hasPrefix("reminders") }
    let own = try alice.records(Self.home).filter { $0.hasPrefix("reminders") }
    func keys(_ parent: String) -> [String] {
      expected.filter { $0.contains("|\(parent)|") }.map { "reminders \($0.prefix(2))" }
    }
    // Rows without a parent stay where they are.
    #expect(Set(keys("L")).isSubset(of: shared) && Set(keys("M")).isSubset(of: own))
    #expect((shared + own).sorted() == expected.map { "reminders \($0.prefix(2))" })
    #expect(
      try bob.rows(query)
        == expected.filter { !$0.contains("|nowhere|") && shared.contains("reminders \($0.prefix(2))") })
    for member in [alice, laptop, bob] {
      let before = try member.store.log.mergedVector(Self.share)
      try member.store.capture.rescan()
      try member.settle()
      #expect(try member.store.log.mergedVector(Self.share) == before)
      #expect(try member.store.localWrites.pendingCount() == 0)
      #expect(try member.store.zones.digest(Self.share) == alice.store.zones.digest(Self.share))
    }
    #expect(try laptop.store.zones.digest(Self.home) == alice.store.zones.digest(Self.home))
  }
}
