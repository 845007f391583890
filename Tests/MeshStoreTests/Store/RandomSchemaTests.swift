import GRDB
import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Random schemas and random histories: however a node came to its schema, and in whatever order what is merged came to it, it
/// shows the same rows as every other with that schema, and holds the same for the same reasons.
@Suite struct RandomSchemaTests {
  /// What authors write takes anything.
  private static let loose = """
    CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, name);
    CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, a, b, c, list TEXT, other TEXT)
    """

  /// A version of the two tables, drawn at random.
  private struct Version {
    let sql: String
    /// Made when the tables are there already.
    let index: String

    init(_ dice: inout Dice, isStrict: Bool) {
      var columns = ["a", "b", "c"].map { Self.column($0, &dice) }
      let actions = ["CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION"]
      for name in ["list", "other"] where dice.roll(4) > 0 {
        let reference = dice.roll(4) == 0 ? "" : " REFERENCES list ON DELETE \(actions[dice.roll(4)])"
        let fallback = dice.roll(2) == 0 ? " DEFAULT 'l0'" : ""
        columns.append("\(name) TEXT\(dice.roll(5) == 0 ? " NOT NULL" : "")\(fallback)\(reference)")
      }
      if !isStrict { columns.removeAll { _ in dice.roll(3) == 0 } }
      for place in columns.indices.dropLast() { columns.swapAt(place, place + dice.roll(columns.count - place)) }
      let end = dice.roll(4) == 0 ? " WITHOUT ROWID" : ""
      sql = """
        CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, name \(dice.roll(3) == 0 ? "CHECK (name <> 'x')" : ""));
        CREATE TABLE item (\((["id TEXT PRIMARY KEY NOT NULL"] + columns).joined(separator: ", ")))\(end)
        """
      index = isStrict && dice.roll(3) == 0 ? "CREATE UNIQUE INDEX one ON item (\(["a", "b", "c"][dice.roll(3)]))" : ""
    }

    private static func column(_ name: String, _ dice: inout Dice) -> String {
      let type = ["TEXT", "INTEGER", "BLOB", "REAL", ""][dice.roll(5)]
      let fallback = ["", "", " DEFAULT 1", " DEFAULT 'x'"][dice.roll(4)]
      let check = ["", "", "", " CHECK (\(name) <> 'x')", " CHECK (\(name) IS NULL OR \(name) <> 3)"][dice.roll(5)]
      return "\(name) \(type)\(dice.roll(5) == 0 ? " NOT NULL" : "")\(fallback)\(check)"
    }
  }

  private func statement(_ dice: inout Dice) -> String {
    let (id, list) = ("'i\(dice.roll(8))'", "l\(dice.roll(4))")
    let reference = dice.roll(4) == 0 ? "NULL" : "'\(list)'"
    let value = ["NULL", "'x'", "'y'", "3", "'3'", "4.5", "x'01'", "'n\(dice.roll(99))'", "\(dice.roll(99))"][
      dice.roll(9)]
    let column = ["a", "b", "c", "list", "other"][dice.roll(5)]
    switch dice.roll(10) {
    case 0, 1, 2: return "INSERT INTO item (id, a, b, list) VALUES (\(id), \(value), \(value), \(reference))"
    case 3: return "INSERT INTO item (id, c, list, other) VALUES (\(id), \(value), 'l0', \(reference))"
    case 4, 5, 6: return "UPDATE item SET \(column) = \(column.count > 1 ? reference : value) WHERE id = \(id)"
    case 7: return "DELETE FROM item WHERE id = \(id)"
    case 8: return "DELETE FROM list WHERE id = '\(list)'"
    default: return "INSERT INTO list VALUES ('\(list)', \(value)) ON CONFLICT DO UPDATE SET name = excluded.name"
    }
  }

  /// A node with a version of the schema.
  private func reader(_ seed: UInt8, _ version: Version?) throws -> Peer {
    let peer = try Peer(seed)
    if let version { try adopt(peer, version) }
    return peer
  }

  private func adopt(_ peer: Peer, _ version: Version) throws {
    try peer.run(version.sql)
    try peer.store.tables.track(tables: ["list", "item"], now: peer.now)
    if !version.index.isEmpty { try peer.run(version.index) }
    try peer.upkeep()
    try peer.apply()
  }

  @Test(
    "peers with equal schemas show equal rows, whatever their schema history",
    arguments: Array(TestSeeds.through(40)) + [173]) func equalSchemasShowEqualRowsHoweverTheyCameToThem(seed: Int)
    throws
  {
    var dice = Dice(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15)
    let version = Version(&dice, isStrict: true)
    let authors = try (1...3).map { try Peer(UInt8($0), schema: Self.loose, track: ["list", "item"]) }
    // From the beginning; without the tables at first; with another version at first, twice; last, from all at once.
    let always = try reader(11, version)
    let late = try reader(12, nil)
    let (migrated, restored) = (try reader(13, Version(&dice, isStrict: false)), try reader(14, version))
    let readers = [always, late, migrated, restored]
    for _ in 0..<50 {
      let author = authors[dice.roll(3)]
      author.now += Int64(dice.roll(40))
      switch dice.roll(9) {
      case 0...4: try? author.run(statement(&dice))
      case 5: try author.flush()
      case 6: try author.pull(from: authors[dice.roll(3)])
      default: try readers[dice.roll(4)].pull(from: author)
      }
      if dice.roll(30) == 0 {
        // It loses its table for a while, or its indexes.
        try restored.run("DROP TABLE item")
        try restored.upkeep()
        try restored.run(version.sql.split(separator: ";").last.map(String.init) ?? "")
        if !version.index.isEmpty { try restored.run(version.index) }
        try restored.upkeep()
        try restored.apply()
      }
    }
    try synchronize(authors)
    let last = try reader(15, version)
    for reader in readers + [last] {
      for author in authors.dropFirst(dice.roll(3)) + authors { try reader.pull(from: author) }
    }
    try adopt(late, version)
    try migrated.run("DROP TABLE item; DROP TABLE list")
    try migrated.upkeep()
    try adopt(migrated, version)
    for reader in readers + [last] {
      try reader.apply()
      #expect(try reader.flush() == 0, "a reader has written nothing")
      #expect(try reader.digest() == last.digest())
      let excused = try excused(reader, last, hasIndex: !version.index.isEmpty)
      for table in ["item", "list"] {
        #expect(try shown(table, reader, besides: excused) == shown(table, last, besides: excused), "\(version)")
      }
      #expect(try held(reader, besides: excused) == held(last, besides: excused), "\(version)")
      try checkReasons(reader)
    }
    try checkReasons(last)
  }

  /// Keys of records that may be shown otherwise: of some the table accepted a version once, which depends on what came when. So do
  /// the records that refer to them, and those that a `UNIQUE` keeps from being shown beside them.
  private func excused(_ one: Peer, _ other: Peer, hasIndex: Bool) throws -> Set<String> {
    let records = try [one, other].map { try $0.store.held.list(limit: 999) }
    let older = Set(records.joined().filter { $0.reason == .editRefused }.map { text($0.key) })
    guard !older.isEmpty else { return [] }
    var excused = older
    for (peer, held) in zip([one, other], records) {
      // A version that one table refuses is refused by the other, which may have accepted none.
      let refused = Set(held.filter { $0.reason == .editRefused || $0.reason == .constraint }.map { text($0.key) })
      let waiting = held.filter { record in record.waitsFor.contains { older.contains(text($0.key)) } }
      #expect(older.isSubset(of: refused.union(waiting.map { text($0.key) })))
      excused.formUnion(waiting.map { text($0.key) })
      if hasIndex {
        excused.formUnion(held.filter { $0.message?.hasPrefix("UNIQUE") == true }.map { text($0.key) })
      }
      let lists = older.filter { $0.hasPrefix("l") }.map { "'\($0)'" }.joined(separator: ", ")
      for column in ["list", "other"]
      where try peer.rows("SELECT 1 FROM pragma_table_info('item') WHERE name = '\(column)'") != [] {
        excused.formUnion(
          try peer.other.read { try String.fetchAll($0, sql: "SELECT id FROM item WHERE \(column) IN (\(lists))") })
      }
    }
    return excused
  }

  private func shown(_ table: String, _ peer: Peer, besides excused: Set<String>) throws -> [String] {
    let keys = excused.map { "'\($0)'" }.joined(separator: ", ")
    let types = table == "item" ? ", typeof(a), typeof(b)" : ""
    return try peer.rows("SELECT *\(types) FROM \(table) WHERE id NOT IN (\(keys)) ORDER BY id")
  }

  private func held(_ peer: Peer, besides excused: Set<String>) throws -> [String] {
    try peer.store.held.list(limit: 999).filter { !excused.contains(text($0.key)) }
      .map { "\($0.table) \($0.key) \($0.reason) \($0.message ?? "")" }.sorted()
  }

  private func text(_ key: Value) -> String {
    if case .text(let bytes) = key { String(decoding: bytes, as: UTF8.self) } else { "\(key)" }
  }

  /// What is held has its reason in what is merged: a parent that is not shown, or a row that the table refuses.
  private func checkReasons(_ peer: Peer) throws {
    for record in try peer.store.held.list(limit: 999) {
      switch record.reason {
      case .missingParent, .parentDeleted:
        #expect(!record.waitsFor.isEmpty)
        for parent in record.waitsFor {
          guard case .text(let key) = parent.key else { continue }
          let text = String(decoding: key, as: UTF8.self)
          #expect(try peer.rows("SELECT 1 FROM \(parent.table) WHERE id = '\(text)'").isEmpty)
        }
      case .constraint, .editRefused: #expect(record.message != nil)
      default: Issue.record("\(record) is held for no reason of its own")
      }
    }
  }
}
