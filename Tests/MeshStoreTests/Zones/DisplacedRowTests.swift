import Foundation
import MeshCore
import Testing

@testable import MeshStore

/// Statements that put another row in the place of one of a share that is read-only here.
@Suite struct DisplacedRowTests {
  private static let (share, home) = (Member.zone(2), Member.zone(3))
  private static let root = RecordName(table: "lists", key: .text("L"))

  private func reader() throws -> Member {
    let owner = try Member(1, [ZoneStanding(zone: Member.zone(1), role: .privateZone)])
    try owner.run(
      """
      INSERT INTO lists VALUES ('L', 'shared'); INSERT INTO reminders VALUES ('r1', 'L', 'milk', 0);
      INSERT INTO steps VALUES ('s1', 'r1', 'go');
      """)
    try owner.settle()
    try owner.stand(ZoneStanding(zone: Self.share, role: .owned, root: Self.root))
    try owner.settle()
    // No cascade tells that a row goes.
    let reader = try Member(
      9,
      [
        ZoneStanding(zone: Self.home, role: .privateZone),
        ZoneStanding(zone: Self.share, role: .readOnly, root: Self.root),
      ], foreignKeys: false)
    try reader.pull(Self.share, from: owner)
    try reader.run(
      """
      INSERT INTO lists VALUES ('C', 'mine'); INSERT INTO reminders VALUES ('own', 'C', 'x', 0);
      INSERT INTO steps VALUES ('o', 'own', 'x');
      """)
    try reader.settle()
    return reader
  }

  @Test(
    "a statement that would replace a row of a read-only share is refused",
    arguments: [
      "REPLACE INTO lists VALUES ('L', 'x')", "REPLACE INTO steps VALUES ('s1', 'own', 'x')",
      "REPLACE INTO reminders VALUES ('r1', 'C', 'x', 1)", "REPLACE INTO reminders VALUES ('r1', NULL, 'x', 1)",
      "UPDATE OR REPLACE lists SET id = 'L' WHERE id = 'C'", "UPDATE OR REPLACE steps SET id = 's1' WHERE id = 'o'",
      "INSERT INTO lists VALUES ('L', 'x') ON CONFLICT (id) DO UPDATE SET title = excluded.title",
      "UPDATE lists SET id = 'Z' WHERE id = 'L'",
    ])
  func isRefused(statement: String) throws {
    let reader = try reader()
    let before = try reader.contents()
    for isRecursive in [0, 1] {
      try reader.run("PRAGMA recursive_triggers = \(isRecursive)")
      let error = #expect(throws: (any Error).self) { try reader.run(statement) }
      #expect("\(String(describing: error))".contains(ZoneStanding.refusal))
    }
    #expect(try reader.contents() == before && reader.store.localWrites.pendingCount() == 0)
  }

  @Test(
    "a statement that replaces no row of a read-only share is allowed",
    arguments: [
      "INSERT OR IGNORE INTO lists VALUES ('L', 'x')", "INSERT INTO lists VALUES ('L', 'x') ON CONFLICT DO NOTHING",
      "REPLACE INTO lists VALUES ('C', 'new')", "UPDATE OR REPLACE lists SET id = 'D' WHERE id = 'C'",
    ])
  func isAllowed(statement: String) throws {
    let reader = try reader()
    try reader.run(statement)
    try reader.settle()
    let shared = ["lists|L|shared", "reminders|r1|L|milk|0", "steps|s1|r1|go"]
    #expect(try Set(reader.contents()).isSuperset(of: shared) && reader.store.zones.receipts(Self.share).isEmpty)
  }

  /// A search for a number must not become a walk through all records of the table.
  @Test("permission triggers of tables tracked later find a record by its whole key")
  func tablesThatComeLaterAreGuardedByTriggersThatFindARecordByItsWholeKey() throws {
    let reader = try reader()
    try reader.run(
      """
      CREATE TABLE sums (id INTEGER PRIMARY KEY NOT NULL, n REAL);
      CREATE TABLE parts (id INTEGER PRIMARY KEY NOT NULL, sum INTEGER REFERENCES sums);
      """)
    try reader.store.tables.track(tables: ["sums", "parts"], integerKeys: true, now: reader.now)
    for name in ["sums", "parts"] {
      let triggers = try reader.rows(
        "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '\(name)' AND name GLOB 'mesh_permit_*'")
      #expect(!triggers.isEmpty)
      for trigger in triggers {
        let condition = try #require(trigger.range(of: "EXISTS"))
        let end = try #require(trigger.range(of: "\nBEGIN"))
        let query = trigger[condition.lowerBound..<end.lowerBound].dropLast()
          .replacing("NEW.", with: "t.").replacing("OLD.", with: "t.")
        let plan = try reader.rows("EXPLAIN QUERY PLAN SELECT \(query) FROM \(name) t").joined(separator: "\n")
        #expect(plan.contains("(tbl=? AND key=?"), "\(plan)")
        #expect(!plan.contains("(tbl=?)"), "\(plan)")
      }
    }
  }
}
