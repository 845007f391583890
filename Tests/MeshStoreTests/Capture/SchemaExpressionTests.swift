import GRDB
import MeshCore
import Testing

@testable import MeshStore

@Suite struct SchemaExpressionTests {
  private static let columns = Set(["a", "b", "c", "odd \"name"].map(\.folded))

  private func parsed(_ sql: String, _ place: SchemaExpression.Place = .row) throws -> SchemaExpression {
    try SchemaExpression(sql: sql, in: place, table: "t", columns: place == .row ? Self.columns : [])
  }

  private func overTheWire(_ expression: SchemaExpression, _ place: SchemaExpression.Place) throws -> SchemaExpression {
    var writer = ByteWriter()
    expression.write(to: &writer)
    var reader = ByteReader(writer.bytes)
    let read = try SchemaExpression(from: &reader, in: place)
    try reader.end()
    return read
  }

  static let forms = [
    "a", "\"A\"", "[a]", "`b`", "t.a", "\"t\".\"odd \"\"name\" + 1", "(a)", "a -- note\n + /* and */ 1",
    "NULL", "5", "-5", "- 5", "-(5)", "- -5", "+5", "0x1F", "-0x10", "9223372036854775807", "-9223372036854775808",
    "99999999999999999999", "1.5", ".5", "1e3", "2E-2", "-1.5", "-(1.5)", "9e999", "'it''s'", "''", "x'00Ff'", "X''",
    "TRUE", "false", "NOT TRUE", "-a", "+a", "~a", "NOT a", "NOT NOT a", "- - a", "~-a", "-a COLLATE nocase = 'X'",
    "a + b * c", "(a + b) * c", "a - b - c", "a - (b - c)", "a / b", "a % b", "a || b || c", "a || (b || c)",
    "a & b | c", "a << 1 >> 1", "a < b", "a <= b", "a > b", "a >= b", "a = b", "a == b", "a <> b", "a != b",
    "a < b = c", "a = b < c", "a = NOT b", "NOT a = b", "a AND b OR c", "a OR b AND c", "a AND b AND c",
    "a AND (b AND c)",
    "(a OR b) AND c", "a IS b", "a IS NOT b", "a IS NULL", "a IS NOT NULL", "a ISNULL", "a NOTNULL", "a NOT NULL",
    "a IS TRUE", "a IS NOT FALSE", "a IS 1", "a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b", "a = b IS NULL",
    "a BETWEEN b AND c", "a NOT BETWEEN 1 AND 2 AND b", "a BETWEEN b = 1 AND c = 1", "a IN (1, 'x', b)", "a NOT IN (1)",
    "a IN ()", "a LIKE 'x%'", "a NOT LIKE '_x!%' ESCAPE '!'", "a GLOB '*[a-c]*'", "a NOT GLOB 'x?'",
    "CASE WHEN a THEN b END", "CASE WHEN a THEN b WHEN c THEN 1 ELSE 2 END", "CASE a WHEN 1 THEN b END",
    "CASE a WHEN b THEN 1 WHEN c THEN 2 ELSE a END", "CAST(a AS TEXT)", "CAST(a AS INT)", "CAST(a AS REAL)",
    "CAST(a AS BLOB)", "CAST(a AS DECIMAL(10,2))", "CAST(a AS VARCHAR(9))", "CAST(a AS unsigned big int)",
    "a COLLATE NOCASE = b", "a = b COLLATE nocase", "a COLLATE rtrim || b", "a < b COLLATE BINARY",
    "length(a)", "ABS(b)", "lower(a)", "upper(a)", "trim(a)", "ltrim(a, ' x')", "rtrim(a, 'x')", "typeof(a)",
    "coalesce(a, b, c)", "ifnull(a, b)", "nullif(a, b)", "iif(a, b, c)", "min(a, b)", "max(a, b, c)", "round(a)",
    "round(a, 2)", "instr(a, 'x')", "substr(a, 2)", "substr(a, 1, 2)", "date(a)", "time(a, 'unixepoch')",
    "datetime(a, '+1 day')", "julianday(a)", "strftime('%Y-%m', a)", "unixepoch(a)", "json_valid(a)",
    "json_type('[1]', '$[0]')", "length ( a ) > 2 AND a NOT LIKE '%x%'", "a>1 and(b)<2",
  ]
  static let initials = [
    "CURRENT_TIMESTAMP", "current_date", "CURRENT_TIME", "datetime('now')", "strftime('%Y', 'now')", "random()",
    "uuid()",
    "abs(random()) % 10", "hex(randomblob(16))", "lower(hex(randomblob(64)))", "randomblob(16)", "1 + 2",
    "\"x\" || 'y'",
    "lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' || substr(lower(hex(randomblob(2))), 2)",
  ]

  @Test("a printed expression is what it was parsed from, and survives the wire")
  func roundTrip() throws {
    var operations: Set<SchemaExpression.Operation> = []
    func note(_ expression: SchemaExpression) {
      switch expression {
      case .literal, .column: break
      case .collate(let operand, _), .cast(let operand, _): note(operand)
      case .apply(let operation, let operands):
        operations.insert(operation)
        for operand in operands { note(operand) }
      }
    }
    for (sql, place) in Self.forms.map({ ($0, SchemaExpression.Place.row) })
      + Self.initials.map({ ($0, SchemaExpression.Place.initial) })
    {
      let expression = try parsed(sql, place)
      note(expression)
      #expect(try parsed(expression.sql, place) == expression, "\(sql) is printed as \(expression.sql)")
      #expect(try overTheWire(expression, place) == expression, "\(sql)")
    }
    #expect(operations == Set(SchemaExpression.Operation.allCases), "each form is among the texts")
  }

  @Test("a name in double quotes that is no column is a text, as SQLite has it in a table's text")
  func doubleQuotedText() throws {
    #expect(try parsed("\"no column\" = c") == parsed("'no column' = c"))
    #expect(try parsed("\"A\"") == .column("A"))
  }

  @Test("SQLite gives a printed expression the value of the original text")
  func sameValues() throws {
    let bench = try CaptureBench(#"CREATE TABLE t (a TEXT COLLATE NOCASE, b INTEGER, c, "odd ""name" REAL)"#)
    let values: [DatabaseValue] = [
      .null, 0.databaseValue, 1.databaseValue, (-7).databaseValue, 3.databaseValue, 1.5.databaseValue, "".databaseValue,
      "x".databaseValue, "X ".databaseValue, "abcx%".databaseValue, "10".databaseValue, "2024-05-06".databaseValue,
    ]
    var random = SplitMix(state: 7)
    try bench.file.write { db in
      for _ in 0..<60 {
        let row = (0..<4).map { _ in values[Int(random.next() % UInt64(values.count))] }
        try db.execute(sql: "INSERT INTO t VALUES (?, ?, ?, ?)", arguments: StatementArguments(row))
      }
      for sql in Self.forms {
        let printed = try parsed(sql).sql
        let wrong = try Row.fetchAll(
          db,
          sql: "SELECT quote((\(sql))) AS x, quote((\(printed))) AS y, t.* FROM t WHERE x COLLATE BINARY IS NOT y")
        #expect(wrong.isEmpty, "\(sql) is printed as \(printed)")
      }
    }
  }

  static let refused: [(String, SchemaRefusal)] = [
    ("", .init(.syntax)), ("a +", .init(.syntax)), ("(a", .init(.syntax)), ("a)", .init(.syntax)),
    ("a b", .init(.syntax)),
    ("a; b", .init(.syntax)), ("?", .init(.syntax)), ("?1", .init(.syntax)), (":x", .init(.syntax)),
    ("@x", .init(.syntax)),
    ("'open", .init(.syntax)), ("(a, b) = (1, 2)", .init(.syntax)), ("a -> 'x'", .init(.syntax)),
    ("1abc", .init(.syntax)),
    ("x'0'", .init(.syntax)), ("x'0g'", .init(.syntax)), ("CASE a END", .init(.syntax)),
    ("CASE WHEN a END", .init(.syntax)),
    ("length(a, b)", .init(.syntax)), ("length(*)", .init(.syntax)), ("max(a)", .init(.syntax)),
    ("max(DISTINCT a, b)", .init(.syntax)), ("max(a, b) OVER ()", .init(.syntax)),
    ("min(a, b) FILTER (WHERE a)", .init(.syntax)),
    ("d", .init(.column, "d")), ("rowid", .init(.column, "rowid")), ("other.a", .init(.column, "other")),
    ("main.t.a", .init(.column, "main")), ("[d]", .init(.column, "d")), ("$x", .init(.column, "$x")),
    ("(SELECT 1)", .init(.subquery)), ("EXISTS (SELECT 1)", .init(.subquery)),
    ("a IN (SELECT a FROM t)", .init(.subquery)),
    ("a IN t", .init(.subquery)), ("a IN (VALUES (1))", .init(.subquery)),
    ("(WITH x AS (SELECT 1) SELECT 1)", .init(.subquery)),
    ("replace(a, b, c)", .init(.function, "replace")), ("printf('%9999d', a)", .init(.function, "printf")),
    ("zeroblob(99)", .init(.function, "zeroblob")), ("quote(a)", .init(.function, "quote")),
    ("group_concat(a)", .init(.function, "group_concat")), ("count(a)", .init(.function, "count")),
    ("json_group_array(a)", .init(.function, "json_group_array")),
    ("load_extension('x')", .init(.function, "load_extension")),
    ("RAISE(ABORT, 'x')", .init(.function, "raise")), ("a MATCH 'x'", .init(.function, "match")),
    ("a REGEXP 'x'", .init(.function, "regexp")), ("like('%', a)", .init(.function, "like")),
    ("random()", .init(.function, "random")), ("uuid()", .init(.function, "uuid")),
    ("randomblob(8)", .init(.function, "randomblob")),
    ("hex(a)", .init(.function, "hex")),
    ("a LIKE b", .init(.pattern)), ("a LIKE '%a%b%c%d%'", .init(.pattern)), ("a LIKE 'x' ESCAPE b", .init(.pattern)),
    ("a GLOB '*****'", .init(.pattern)), ("instr(a, b)", .init(.pattern)), ("trim(a, b)", .init(.pattern)),
    ("strftime(a, b)", .init(.pattern)), ("json_type(a, b)", .init(.pattern)),
    ("a COLLATE app", .init(.collation, "app")),
  ]

  @Test("a form that the grammar doesn't have is refused with its reason", arguments: refused)
  func refusal(sql: String, reason: SchemaRefusal) {
    #expect(throws: reason) { try parsed(sql) }
  }

  @Test("a default reads no column and draws no more than a little")
  func initialRefusals() {
    for sql in ["a", "\"t\".a", "hex(randomblob(65))", "randomblob(0)", "hex(hex(randomblob(8)))", "hex('a')", "[x]"] {
      #expect(throws: SchemaRefusal.self, "\(sql)") { try parsed(sql, .initial) }
    }
  }

  @Test(
    "what is too deep or too long is refused and overflows nothing",
    arguments: [
      String(repeating: "(", count: 100_000) + "a" + String(repeating: ")", count: 100_000),
      String(repeating: "NOT ", count: 100_000) + "a", String(repeating: "- ", count: 100_000) + "a",
      String(repeating: "abs(", count: 33) + "a" + String(repeating: ")", count: 33),
      String(repeating: "CASE ", count: 100_000), String(repeating: "a = (", count: 10_000),
      Array(repeating: "a", count: 257).joined(separator: " AND "),
      Array(repeating: "a", count: 18).joined(separator: "||"),
      "a = '\(String(repeating: "x", count: 5_000))'", Array(repeating: "a", count: 40).joined(separator: " + "),
    ])
  func tooLarge(sql: String) {
    #expect(throws: SchemaRefusal(.size)) { try parsed(sql) }
  }

  static let hostile: [SchemaExpression] = [
    .apply(.between, [.column("a")]), .apply(.negate, []), .apply(.and, [.column("a")]),
    .apply(.like, [.column("a"), .column("b")]),
    .apply(.like, [.column("a"), .literal(.text(String(repeating: "%a", count: 5)))]),
    .apply(.like, [.column("a"), .literal(.text(String(repeating: "a", count: 65)))]),
    .apply(.length, []), .apply(.max, [.column("a")]), .apply(.random, []), .apply(.hex, [.column("a")]),
    .apply(.randomblob, [.literal(.integer(1 << 40))]), .apply(.choose, [.column("a")]),
    .apply(.isNull, [.column("a"), .column("b")]),
    .apply(.is, [.column("a"), .literal(.null)]), .apply(.negate, [.literal(.integer(5))]),
    .apply(.yes, [.column("a")]),
    .literal(.text([0x61, 0])), .literal(.text([0xff])), .literal(.real(Double.nan.bitPattern)),
    .literal(.text(String(repeating: "x", count: 4_097))),
    (0..<40).reduce(.column("a")) { operand, _ in .apply(.not, [operand]) },
    .apply(.in, Array(repeating: .column("a"), count: 257)),
    .cast(.apply(.instr, [.column("a"), .column("b")]), .text),
  ]

  @Test("an expression that no text has is refused when it is read", arguments: hostile)
  func hostileForms(expression: SchemaExpression) {
    #expect(throws: FormatError.self) { try overTheWire(expression, .row) }
  }
}
