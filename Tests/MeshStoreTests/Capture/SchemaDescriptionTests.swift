import GRDB
import MeshCore
import Testing

@testable import MeshStore

@Suite struct SchemaDescriptionTests {
  private func description(_ bench: CaptureBench, _ table: String = "t") throws -> SchemaDescription {
    try #require(try bench.file.read { try TableSchema.read($0, table)?.travelling })
  }

  private func overTheWire(_ description: SchemaDescription) throws -> SchemaDescription {
    var writer = ByteWriter()
    description.write(to: &writer)
    description.rules?.write(to: &writer)
    var reader = ByteReader(writer.bytes)
    var read = try SchemaDescription(from: &reader)
    if description.rules != nil { read.rules = try SchemaRules(from: &reader) }
    try reader.end()
    try read.check()
    return read
  }

  static let tables = [
    "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a INTEGER DEFAULT -5, b REAL DEFAULT 1.5, c BLOB DEFAULT x'00ff')",
    "CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY, a TEXT NOT NULL DEFAULT 'it''s' COLLATE RTRIM) WITHOUT ROWID",
    "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a VARCHAR(20), b DECIMAL(10,2), c UNSIGNED BIG INT, d)",
    "CREATE TABLE t (id TEXT PRIMARY KEY, a ANY, b INT DEFAULT 9223372036854775807, c REAL DEFAULT 9e999) STRICT",
    """
    CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, "sel""ect 'x' ü" TEXT DEFAULT NULL,
      p TEXT REFERENCES t ON DELETE CASCADE ON UPDATE SET NULL, q TEXT DEFAULT 'x' REFERENCES "o""ther" ON DELETE SET DEFAULT)
    """,
    """
    CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))), "at" TEXT DEFAULT CURRENT_TIMESTAMP,
      n INT CONSTRAINT positive CHECK (n > 0), CHECK (n < 9 OR "at" IS NULL), CONSTRAINT "odd ""name" CHECK (id <> ''), UNIQUE (n, id)) STRICT
    """,
    "CREATE TABLE t (a DEFAULT TRUE, b DEFAULT word, id UUID PRIMARY KEY NOT NULL, c DEFAULT \"two words\", d DEFAULT -0x10)",
  ]

  @Test("a table made from its description has the same description", arguments: tables)
  func aTableMadeFromItsDescriptionHasTheSameDescription(sql: String) throws {
    let original = try description(CaptureBench(sql))
    let received = try overTheWire(original)
    #expect(received == original)
    let copy = try CaptureBench(received.creation().statements.map(\.sql).joined(separator: ";"))
    #expect(try description(copy) == original)
  }

  @Test("defaults that are literals keep their value, others are left out")
  func defaultsThatAreLiteralsKeepTheirValueOthersAreLeftOut() throws {
    let bench = try CaptureBench(
      #"""
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a DEFAULT -5, b DEFAULT 1.5e3, c DEFAULT 'it''s', d DEFAULT x'0aFF',
        e DEFAULT NULL, f DEFAULT TRUE, g DEFAULT word, h DEFAULT "a ""b""", i DEFAULT 0x10, j DEFAULT (1 - 2),
        k DEFAULT CURRENT_TIMESTAMP, l DEFAULT (random()), m DEFAULT 99999999999999999999, n DEFAULT - 3, o DEFAULT (1-2),
        p DEFAULT ('a' || 'b'), q DEFAULT .5)
      """#)
    let defaults = try description(bench).columns.dropFirst().map(\.defaultValue)
    #expect(
      defaults == [
        .integer(-5), .real(1500.0), .text("it's"), .blob([10, 255]), .null, .integer(1), .text("word"),
        .text("a \"b\""), .integer(16), nil, nil, nil, .real(1e20), .integer(-3), nil, nil, .real(0.5),
      ])
  }

  @Test("generated columns stay at home, and odd types become plain ones")
  func generatedColumnsStayAtHomeAndOddTypesBecomePlainOnes() throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a VARCHAR ( 20 ), g AS (a), b "weird-int", c COLLATE swiftCompare)
      """)
    let columns = try description(bench).columns
    #expect(columns.map(\.name) == ["id", "a", "b", "c"])
    #expect(columns.map(\.declaredType) == ["TEXT", "TEXT", "INTEGER", ""])
    #expect(columns.map(\.collation) == [.binary, .binary, .binary, .binary])
  }

  @Test("a missing column is added with its default, and is NULL where there is none")
  func aMissingColumnIsAddedWithItsDefaultAndIsNULLWhereThereIsNone() throws {
    let bench = try CaptureBench(
      """
      CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT NOT NULL DEFAULT 'x' COLLATE NOCASE, b INTEGER NOT NULL,
        p TEXT REFERENCES t ON DELETE CASCADE)
      """)
    let wanted = try description(bench)
    let narrow = try CaptureBench("CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL); INSERT INTO t VALUES ('k')")
    for index in 1...3 { try narrow.execute(wanted.addColumn(index)) }
    var expected = wanted
    expected.columns[2].notNull = false
    #expect(try description(narrow) == expected)
    #expect(try narrow.file.read { try String.fetchOne($0, sql: "SELECT a || typeof(b) FROM t") } == "xnull")
    #expect(throws: FormatError.self) { try wanted.addColumn(0) }
  }

  typealias Column = SchemaDescription.Column
  static let hostile: [SchemaDescription] = [
    .init(name: "mesh_state", columns: [Column(name: "id")], key: 0),
    .init(name: "SQLITE_x", columns: [Column(name: "id")], key: 0),
    .init(name: "", columns: [Column(name: "id")], key: 0),
    .init(name: "a\0b", columns: [Column(name: "id")], key: 0),
    .init(name: String(repeating: "x", count: 256), columns: [Column(name: "id")], key: 0),
    .init(name: "t", columns: [], key: 0),
    .init(name: "t", columns: [Column(name: "id")], key: 1),
    .init(name: "t", columns: [Column(name: "id"), Column(name: "ID")], key: 0),
    .init(name: "t", columns: [Column(name: "Mesh_x")], key: 0),
    .init(name: "t", columns: [Column(name: "id", defaultValue: .text([0x80]))], key: 0),
    .init(name: "t", columns: [Column(name: "id", defaultValue: .text([0x61, 0]))], key: 0),
    .init(name: "t", columns: [Column(name: "id", defaultValue: .blob(Array(repeating: 0, count: 5_000)))], key: 0),
    .init(name: "t", columns: [Column(name: "id", declaredType: "VARCHAR")], key: 0, isStrict: true),
    .init(name: "t", columns: [Column(name: "id", declaredType: "TEXT")], key: 0, isAutoincrement: true),
    .init(
      name: "t", columns: [Column(name: "id")], key: 0,
      foreignKeys: [.init(column: 1, parent: "t", onDelete: .cascade)]),
    .init(
      name: "t", columns: [Column(name: "id")], key: 0,
      foreignKeys: [.init(column: 0, parent: "mesh_table", onDelete: .cascade)]),
    .init(
      name: "t", columns: [Column(name: "id")], key: 0,
      foreignKeys: [.init(column: 0, parent: "t", onDelete: .restrict)]),
  ]

  private static let a = SchemaExpression.column("a")
  static let hostileRules: [SchemaRules] = [
    .init(checks: [.init(expression: .column("b"))]),
    .init(checks: [.init(expression: .column("a\0b"))]),
    .init(checks: [.init(name: "mesh_x", expression: a)]),
    .init(checks: [.init(name: "a\0b", expression: a)]),
    .init(checks: Array(repeating: .init(expression: a), count: 257)),
    .init(defaults: [.init(column: "b", expression: .literal(.null))]),
    .init(defaults: [.init(column: "id", expression: a)]),
    .init(defaults: [.init(column: "a", expression: .literal(.null))]),
    .init(defaults: Array(repeating: .init(column: "id", expression: .literal(.null)), count: 2)),
    .init(indexes: [.init(name: "i", terms: [])]),
    .init(indexes: [.init(name: nil, terms: [.init(a)])]),
    .init(indexes: [.init(name: "i", isUnique: true, terms: [.init(a)])]),
    .init(indexes: [.init(name: "i", isUnique: true, terms: [.init(.collate(.column("id"), .nocase))])]),
    .init(indexes: [.init(name: "sqlite_i", terms: [.init(a)])]),
    .init(indexes: [.init(name: "i", terms: [.init(a)], condition: .column("b"))]),
    .init(indexes: Array(repeating: .init(name: "i", terms: [.init(a)]), count: 65)),
  ]

  @Test("rules that are not those of the table are refused", arguments: hostileRules)
  func hostileRulesAreRefused(rules: SchemaRules) {
    let table = SchemaDescription(
      name: "t", columns: [Column(name: "id"), Column(name: "a", defaultValue: .integer(1))], key: 0, rules: rules)
    #expect(throws: FormatError.self) { try overTheWire(table) }
    #expect(throws: FormatError.self) { try table.createTable() }
  }

  @Test("a description that breaks a rule is refused when read and when made into SQL", arguments: hostile)
  func aDescriptionThatBreaksARuleIsRefusedWhenReadAndWhenMadeIntoSQL(
    description: SchemaDescription
  ) throws {
    #expect(throws: FormatError.self) { try overTheWire(description) }
    #expect(throws: FormatError.self) { try description.createTable() }
  }

  @Test(
    "no declared type carries more than a type",
    arguments: [
      "TEXT UNIQUE", "TEXT NOT NULL", "TEXT CHECK (1)", "TEXT DEFAULT 5", "x); DROP TABLE t; --", "TEXT AS (1)", "a\"b",
      "TEXT  TWO", " TEXT", "TEXT ", "DECIMAL(10,2", "DECIMAL(a)", "DECIMAL(1,2,3)", "DECIMAL()", "(5)", "T-X", "1TEXT",
      "text references", "Generated Always", "TÉXT", "X(1)(2)", String(repeating: "X", count: 65),
    ])
  func noDeclaredTypeCarriesMoreThanAType(type: String) {
    #expect(SchemaDescription.isDeclaredType(type) == false)
  }

  @Test(
    "common declared types are types",
    arguments: ["", "TEXT", "varchar(20)", "DECIMAL(10,2)", "UNSIGNED BIG INT", "my_type2", "DECIMAL (10,2)"])
  func commonDeclaredTypesAreTypes(type: String) {
    #expect(SchemaDescription.isDeclaredType(type) == (type != "DECIMAL (10,2)"))
  }

  @Test("the wire form is this") func theWireFormIsThis() throws {
    let description = SchemaDescription(
      name: "t",
      columns: [
        Column(name: "id", declaredType: "TEXT", notNull: true, collation: .nocase),
        Column(name: "p", defaultValue: .integer(-1)),
      ], key: 0, foreignKeys: [.init(column: 1, parent: "t", onDelete: .cascade)], isWithoutRowid: true)
    var writer = ByteWriter()
    description.write(to: &writer)
    #expect(
      writer.bytes == [
        1, 0x74,  // name
        2,  // flags: without rowid
        2,  // columns
        2, 0x69, 0x64, 4, 0x54, 0x45, 0x58, 0x54, 1, 1,  // id, TEXT, not null, nocase
        1, 0x70, 0, 2, 0, 1, 1,  // p, no type, has a default, binary; integer, zigzag of -1
        0,  // key
        1, 1, 1, 0x74, 4, 0,  // one reference: column 1, to t, cascade, no action
      ])
    for count in 0..<writer.bytes.count {
      var reader = ByteReader(Array(writer.bytes.prefix(count)))
      #expect(throws: FormatError.self) { try SchemaDescription(from: &reader) }
    }
  }
}
