import CSQLite
import GRDB
import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Random statements: what the log says must explain every difference between the tables before and after.
@Suite struct CapturePropertyTests {
  static let schema = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, title TEXT COLLATE NOCASE, n,
      over TEXT REFERENCES list ON DELETE SET NULL);
    CREATE TABLE item (id PRIMARY KEY NOT NULL, v REAL, w, list TEXT REFERENCES list ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE mark (id INTEGER PRIMARY KEY, item ANY REFERENCES item ON DELETE SET DEFAULT, x TEXT DEFAULT 'd') STRICT
    """
  static let tables = ["list", "item", "mark"]

  typealias Rows = [Value: [String: Value]]

  @Test("the log explains every difference", arguments: TestSeeds.through(24 as UInt64))
  func theLogExplainsEveryDifference(seed: UInt64) throws {
    let bench = try CaptureBench(Self.schema, track: Self.tables, integerKeys: true)
    var random = SplitMix(state: seed)
    var before = try snapshot(bench)
    var changes = 0
    for step in 0..<60 {
      let count = random.below(4) == 0 ? random.below(5) + 1 : 1
      let statements = (0..<count).map { _ in statement(&random) }
      try run(bench, statements, &random)
      let after = try snapshot(bench)
      let log = try facts(bench)
      for table in Self.tables {
        let context = "seed \(seed) step \(step) \(table): \(statements)"
        changes += try check(table, before[table] ?? [:], after[table] ?? [:], log, isOne: count == 1, context)
      }
      before = after
    }
    #expect(changes > 10, "seed \(seed) changed too little to show anything")
  }

  /// Returns how many records differ.
  private func check(
    _ table: String, _ before: Rows, _ after: Rows, _ log: [Fact], isOne: Bool, _ context: String
  ) throws -> Int {
    var differing = 0
    let facts = Dictionary(grouping: log.filter { $0.table == table }, by: \.key)
    for key in Set(before.keys).union(after.keys).union(facts.keys) {
      let noted = facts[key] ?? []
      let operations = Set(noted.map(\.op))
      let columns = noted.reduce(into: Set<String>()) { $0.formUnion($1.columns) }
      switch (before[key], after[key]) {
      case (nil, nil): #expect(!isOne || operations.isEmpty || operations.contains(3), "\(key) \(context)")
      case (nil, _): #expect(operations.contains(1), "new and unnoticed: \(key) \(context)")
      case (_, nil): #expect(operations.contains(3), "gone and unnoticed: \(key) \(context)")
      case (let old?, let new?):
        let changed = Set(new.keys.filter { old[$0] != new[$0] })
        if operations.contains(1) || operations.contains(3) { break }
        #expect(changed.isSubset(of: columns), "changed and unnoticed: \(key) \(context)")
        if isOne { #expect(columns == changed, "noted and unchanged: \(key) \(context)") }
      }
      if before[key] != after[key] { differing += 1 }
    }
    return differing
  }

  // MARK: - Statements

  private func statement(_ random: inout SplitMix) -> String {
    let conflict = random.one(["", "", "OR IGNORE", "OR REPLACE", "OR FAIL", "OR ABORT"])
    let list = random.one(["'a'", "'A'", "'b'", "'c'", "'C'", "'d'"])
    let item = random.one(["1", "1.0", "2.5", "'x'", "x'78'", "x''", "-3"])
    let mark = "\(random.below(5))"
    let value = random.one(["NULL", "1", "1.0", "'1'", "x'31'", "'milk'", "'Milk'", "0.5", "9007199254740993", "n"])
    let plain = value == "n" ? "3" : value
    let parent = random.one(["NULL", list])
    let filter = random.one(["", "WHERE rowid % 2", "WHERE id = \(list)", "WHERE id > \(item)", "WHERE id < 3"])
    switch random.below(12) {
    case 0: return "INSERT \(conflict) INTO list VALUES (\(list), \(plain), \(plain), \(parent))"
    case 1: return "INSERT \(conflict) INTO item VALUES (\(item), 1, \(plain), \(parent)), ('y', 2, \(plain), NULL)"
    case 2: return "INSERT \(conflict) INTO mark (id, item) VALUES (\(mark), \(item))"
    case 3: return "UPDATE \(conflict) list SET n = \(value), title = \(plain) \(filter)"
    case 4: return "UPDATE \(conflict) item SET v = \(plain), list = \(parent) \(filter) RETURNING id"
    case 5: return "UPDATE \(conflict) list SET id = \(list) \(filter)"
    case 6: return "UPDATE \(conflict) item SET id = \(item), w = w \(filter)"
    case 7: return "UPDATE \(conflict) mark SET id = id + 1, x = 'e' \(filter)"
    case 8: return "DELETE FROM \(random.one(Self.tables)) \(filter)"
    case 9: return "REPLACE INTO list (id, n) VALUES (\(list), \(plain))"
    case 10:
      return "INSERT INTO item (id, w) VALUES (\(item), \(plain)) ON CONFLICT (id) DO UPDATE SET w = excluded.w, v = v"
    default:
      return "INSERT INTO list (id, n) VALUES (\(list), 1) ON CONFLICT DO UPDATE SET id = excluded.id, n = excluded.n"
    }
  }

  /// One transaction, with savepoints here and there, now and then rolled back; refused statements are passed over.
  private func run(_ bench: CaptureBench, _ statements: [String], _ random: inout SplitMix) throws {
    let pragmas = "PRAGMA foreign_keys = \(random.below(2)); PRAGMA recursive_triggers = \(random.below(2))"
    try bench.execute(pragmas)
    let completion: Database.TransactionCompletion = random.below(8) == 0 ? .rollback : .commit
    var undone: [Bool] = []
    for _ in statements { undone.append(random.below(6) == 0) }
    try bench.file.queue.inTransaction { db in
      for (statement, undo) in zip(statements, undone) {
        try db.execute(sql: "SAVEPOINT s")
        do { try db.execute(sql: statement) } catch is DatabaseError {}
        if undo { try db.execute(sql: "ROLLBACK TO s") }
        try db.execute(sql: "RELEASE s")
      }
      return completion
    }
  }

  // MARK: - Reading

  private struct Fact {
    var table: String
    var key: Value
    var op: Int
    var columns: Set<String>
  }

  private func facts(_ bench: CaptureBench) throws -> [Fact] {
    let entries = try bench.entries()
    let keys = try bench.file.read { db in
      let tables = Dictionary(uniqueKeysWithValues: try TrackedTable.all(db).map { ($0.name, $0.form) })
      return try values(db, "SELECT key FROM mesh_pending ORDER BY id").enumerated().map { index, row in
        try #require(tables[entries[index].table] ?? nil).canonical(row[0])
      }
    }
    try bench.execute("DELETE FROM mesh_pending")
    return zip(entries, keys).map { Fact(table: $0.table, key: $1, op: $0.op, columns: Set($0.columns)) }
  }

  private func snapshot(_ bench: CaptureBench) throws -> [String: Rows] {
    try bench.file.read { db in
      var tables: [String: Rows] = [:]
      for table in Self.tables {
        let schema = try #require(try TableSchema.read(db, table))
        let form = try #require(KeyForm(schema))
        let names = Layout.names(of: schema, form)
        var rows: Rows = [:]
        for row in try values(db, "SELECT id, \(names.joined(separator: ", ")) FROM \(table)") {
          rows[form.canonical(row[0])] = Dictionary(uniqueKeysWithValues: zip(names, row.dropFirst()))
        }
        tables[table] = rows
      }
      return tables
    }
  }

  private func values(_ db: Database, _ sql: String) throws -> [[Value]] {
    let statement = try db.makeStatement(sql: sql)
    var rows: [[Value]] = []
    while try stepped(statement) {
      rows.append((0..<Int32(statement.columnCount)).map { Value(statement.sqliteStatement, column: $0) })
    }
    return rows
  }
}

/// A small generator with one seed, so that a failure can be run again.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
  mutating func one<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
