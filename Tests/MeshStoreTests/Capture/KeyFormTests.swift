import GRDB
import MeshCore
import Testing

@testable import MeshStore

@Suite struct KeyFormTests {
  static let values: [Value] = [
    .integer(0), .integer(1), .integer(-1), .integer(.max), .integer(.min), .integer(9_007_199_254_740_993),
    .real(0.0), .real(-0.0), .real(1.0), .real(1.5), .real(9_007_199_254_740_992.0), .real(9.223372036854775807e18),
    .real(-9.223372036854775808e18), .real(1e300), .real(.infinity),
    .text(""), .text(" "), .text("a"), .text("A"), .text("a "), .text("A  "), .text("1"), .text("ä"), .text("Ä"),
    .text("é\u{301}"), .text([0x61, 0, 0x62]), .text([0x41, 0, 0x42]), .text([0x61, 0, 0x63]), .text([0x61, 0]),
    .text([0x61, 0, 0x63, 0x64]), .text([0x80, 0x41]), .text([0x80, 0x61]),
    .blob([]), .blob([0x61]), .blob([0x41]), .blob([0x61, 0x20]),
  ]

  /// A column without affinity, so that nothing is converted: its unique index says which keys are one.
  @Test("two keys have one form exactly when SQLite holds them to be one key", arguments: ColumnCollation.allCases)
  func twoKeysHaveOneFormExactlyWhenSQLiteHoldsThemToBeOneKey(collation: ColumnCollation) throws {
    let queue = try DatabaseQueue()
    let form = KeyForm(collation: collation, keyIsColumn: true)
    try queue.write { db in
      try db.execute(sql: "CREATE TABLE t (id PRIMARY KEY NOT NULL COLLATE \(collation.sql))")
      for left in Self.values {
        for right in Self.values {
          try db.execute(sql: "DELETE FROM t")
          for value in [left, right] {
            let insert = try db.makeStatement(sql: "INSERT OR IGNORE INTO t VALUES (?)")
            value.bind(to: insert.sqliteStatement, at: 1)
            _ = try stepped(insert)
          }
          let isOneKey = try Int.fetchOne(db, sql: "SELECT count(*) FROM t") == 1
          #expect((form.canonical(left) == form.canonical(right)) == isOneKey, "\(left) \(right) \(collation)")
        }
      }
    }
  }

  @Test("values pass through statements byte for byte") func valuesPassThroughStatementsByteForByte() throws {
    try DatabaseQueue().read { db in
      for value in Self.values + [.null] {
        let select = try db.makeStatement(sql: "SELECT ?, typeof(?1)")
        value.bind(to: select.sqliteStatement, at: 1)
        #expect(try stepped(select))
        // SQLite writes −0.0 to a result as it is.
        #expect(Value(select.sqliteStatement, column: 0) == value)
      }
    }
  }

  @Test("the key counts as a column where it can be spelled in several ways")
  func theKeyCountsAsAColumnWhereItCanBeSpelledInSeveralWays() throws {
    let cases: [(String, Bool)] = [
      ("id TEXT PRIMARY KEY NOT NULL", false), ("id INTEGER PRIMARY KEY", false),
      ("id INT PRIMARY KEY NOT NULL", false),
      ("id VARCHAR(36) PRIMARY KEY NOT NULL", false), ("id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", true),
      ("id TEXT PRIMARY KEY NOT NULL COLLATE RTRIM", true), ("id BLOB PRIMARY KEY NOT NULL", true),
      ("id PRIMARY KEY NOT NULL", true), ("id REAL PRIMARY KEY NOT NULL", true), ("id UUID PRIMARY KEY NOT NULL", true),
      ("id INTEGER PRIMARY KEY COLLATE NOCASE", false), ("id INTEGER PRIMARY KEY DESC NOT NULL", false),
    ]
    for (column, isColumn) in cases {
      let bench = try CaptureBench("CREATE TABLE t (\(column), v)")
      let schema = try #require(try bench.file.read { try TableSchema.read($0, "t") })
      #expect(try #require(KeyForm(schema)).keyIsColumn == isColumn, "\(column)")
    }
  }
}
