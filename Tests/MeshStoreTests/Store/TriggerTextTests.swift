import Testing

@testable import MeshStore

/// Which tables a trigger's statements write to.
@Suite struct TriggerTextTests {
  private static let cases: [(body: String, writes: Set<String>)] = [
    ("SELECT RAISE(ABORT, 'no update m into m')", []),
    ("UPDATE M SET a = 1", ["m"]),
    ("UPDATE OR IGNORE \"m\" SET a = 1", ["m"]),
    ("INSERT INTO log VALUES (NEW.id); DELETE FROM [my table]", ["log", "my table"]),
    ("REPLACE INTO `a``b` SELECT * FROM m", ["a`b"]),
    ("INSERT OR REPLACE INTO log SELECT id FROM m ON CONFLICT DO UPDATE SET a = 1", ["log"]),
    ("-- UPDATE m\n /* DELETE FROM m */ SELECT 'UPDATE m', \"update\", x FROM m", []),
    ("INSERT INTO ä_1 VALUES ('it''s')", ["ä_1"]),
  ]

  @Test("a trigger's text yields the names of the tables it writes to", arguments: cases.indices)
  func namesAreReadFromItsStatements(index: Int) {
    let (body, writes) = Self.cases[index]
    let sql = "CREATE TRIGGER t AFTER UPDATE OF a ON m WHEN NEW.a IS NOT 'begin' BEGIN \(body); END"
    #expect(TriggerText.writes(sql) == writes)
  }
}
