import MeshCore
import Testing

@testable import MeshStore

/// A table that has records of a share gets another name.
@Suite struct SharedRenamingTests {
  private func pair() throws -> (Member, Member) {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    return (alice, bob)
  }

  private func rename(_ member: Member, _ former: String = "steps", to name: String = "moves") throws {
    try member.run("ALTER TABLE \(former) RENAME TO \(name)")
    try member.settle()
    try member.store.tables.untrack([former])
    try member.store.tables.track(tables: [name], now: member.now)
    try member.settle()
  }

  @Test("what a participant writes under a table's former name appears under the new one")
  func editsUnderFormerName() throws {
    let (alice, bob) = try pair()
    try rename(alice)
    try converge([alice, bob])
    try bob.run("UPDATE steps SET title = 'run' WHERE id = 's1'; INSERT INTO steps VALUES ('s3', 'r1', 'new')")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id, title FROM moves ORDER BY id") == ["s1|run", "s2|hide", "s3|new"])
    try bob.run("DELETE FROM steps WHERE id = 's3'")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id FROM moves ORDER BY id") == ["s1", "s2"])
    try rename(bob)
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id, title FROM moves ORDER BY id") == ["s1|run"])
    for member in [alice, bob] {
      let conflicts = try member.store.conflicts.list(limit: 9)
      #expect(conflicts == [], "\(conflicts)")
      #expect(try member.held() == [:])
    }
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
  }

  @Test("a table in the middle of a share can be renamed: its children stay in the share, and new ones come to it")
  func middle() throws {
    let (alice, bob) = try pair()
    try rename(alice, "reminders", to: "tasks")
    try converge([alice, bob])
    try bob.run(
      """
      UPDATE reminders SET title = 'oat' WHERE id = 'r1';
      INSERT INTO reminders VALUES ('r3', 'L', 'new', 0);
      INSERT INTO steps VALUES ('s3', 'r3', 'under the new one');
      """)
    try alice.run("INSERT INTO steps VALUES ('s4', 'r1', 'by alice'); UPDATE tasks SET done = 1 WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id, title, done FROM tasks ORDER BY id") == ["r1|oat|1", "r2|secret|0", "r3|new|0"])
    #expect(try alice.rows("SELECT id, reminder FROM steps ORDER BY id") == ["s1|r1", "s2|r2", "s3|r3", "s4|r1"])
    #expect(try !bob.records(SharedList.share).contains("steps s2"))
    try rename(bob, "reminders", to: "tasks")
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id, title, done FROM tasks ORDER BY id") == ["r1|oat|1", "r3|new|0"])
    #expect(try bob.rows("SELECT id, reminder FROM steps ORDER BY id") == ["s1|r1", "s3|r3", "s4|r1"])
    for member in [alice, bob] {
      let conflicts = try member.store.conflicts.list(limit: 9)
      #expect(conflicts == [], "\(conflicts)")
      #expect(try member.held() == [:])
    }
  }

  @Test("members that rename a table at the same time list no value that its writer had overwritten")
  func renamedTogether() throws {
    let (alice, bob) = try pair()
    try rename(alice)
    try alice.run("UPDATE moves SET title = 'run' WHERE id = 's1'")
    try rename(bob)
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT title FROM moves WHERE id = 's1'") == ["run"])
      let conflicts = try member.store.conflicts.list(limit: 9)
      #expect(conflicts == [], "\(conflicts)")
    }
  }

  @Test("a lost edit is listed, although another table has an equal value with the same key and time")
  func equalKeys() throws {
    let (alice, bob) = try pair()
    try alice.run("INSERT INTO reminders VALUES ('x', 'L', 'new', 0); INSERT INTO steps VALUES ('x', 'x', 'new')")
    try converge([alice, bob])
    try alice.run(
      "UPDATE reminders SET title = 'lost' WHERE id = 'x'; UPDATE steps SET title = 'lost' WHERE id = 'x'")
    try alice.settle()
    try bob.run("UPDATE steps SET title = 'later' WHERE id = 'x'")
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT title FROM steps WHERE id = 'x'") == ["later"])
      #expect(try member.store.conflicts.list(limit: 9).map(\.loserValue) == [.text(Array("lost".utf8))])
    }
  }

  @Test("the table of a share's root keeps its name, so nothing of the share becomes private")
  func root() throws {
    let (alice, bob) = try pair()
    for member in [alice, bob] {
      try member.run("ALTER TABLE lists RENAME TO boards")
      try member.settle()
      let error = #expect(throws: StoreError.self) { try member.store.tables.untrack(["lists"]) }
      #expect(
        error?.description.contains("a share is made of the row 'L' of lists") == true, "\(error.debugDescription)")
      try member.run("ALTER TABLE boards RENAME TO lists")
      try member.settle()
      // Untracked before it is renamed.
      try member.store.tables.untrack(Member.tables + Member.privateTables)
      try member.run("ALTER TABLE lists RENAME TO boards")
      let again = #expect(throws: StoreError.self) {
        try member.store.tables.track(tables: ["boards", "reminders", "steps", "tags", "taggings"], now: member.now)
      }
      #expect(again?.description.contains("boards: a share is made of the row 'L' of lists") == true)
      try member.run("ALTER TABLE boards RENAME TO lists")
      try member.store.tables.track(tables: Member.tables, private: Member.privateTables, now: member.now)
      try member.settle()
    }
    try bob.run("UPDATE reminders SET title = 'oat' WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try alice.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["oat"])
  }

  @Test("a participant that may only read can't rename a table, until the owner has")
  func readOnly() throws {
    let (alice, bob) = try pair()
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    try bob.settle()
    try bob.run("ALTER TABLE steps RENAME TO moves")
    try bob.settle()
    try bob.store.tables.untrack(["steps"])
    let error = #expect(throws: StoreError.self) { try bob.store.tables.track(tables: ["moves"], now: bob.now) }
    #expect(error?.description.contains("ALTER TABLE \"moves\" RENAME TO \"steps\"") == true)
    try bob.run("ALTER TABLE moves RENAME TO steps")
    try bob.store.tables.track(tables: ["steps"], now: bob.now)
    try rename(alice)
    try converge([alice, bob])
    try rename(bob)
    try converge([alice, bob])
    #expect(try bob.rows("SELECT id, title FROM moves") == ["s1|go"])
    #expect(try bob.held() == [:])
  }
}
