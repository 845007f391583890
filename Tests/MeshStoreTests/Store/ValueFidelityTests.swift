import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Every value that SQLite can hold goes through capture, wire and apply, and is the same bits in the second file.
@Suite struct ValueFidelityTests {
  private static let schema = """
    CREATE TABLE v (id INTEGER PRIMARY KEY NOT NULL, plain, r REAL, i INTEGER, t TEXT, b BLOB, n NUMERIC);
    CREATE TABLE k (id PRIMARY KEY NOT NULL, x);
    """
  private static let columns = ["plain", "r", "i", "t", "b", "n"]
  private let list = columns.joined(separator: ", ")
  private let values = columns.map { _ in "x" }.joined(separator: ", ")

  /// As SQL expressions, or bound where SQL has no literal for it.
  private enum Source {
    case sql(String)
    case real(UInt64)
  }

  private static let reals: [Double] = [
    0, 1, -0.0, -1, 0.1, 1 / 3, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude.nextDown,
    .leastNormalMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, 0x1p53,
    0x1p53 + 2,
    0x1p63, -0x1p63, 0x1.fffffffffffffp62, 0x1p53 - 1, 1e15, 1e16, 123_456_789.123_456_789, .nan,
    .signalingNaN,
  ]

  private static let sources: [Source] =
    [
      "NULL", "''", "x''", "x'00'", "x'00ff00'", "'a' || char(0) || 'b'", "char(0)", "CAST(x'ff' AS TEXT)",
      "CAST(x'c328' AS TEXT)", "'é中🙂'", "'1'", "'1.0'", "'9223372036854775808'", "'nan'", "zeroblob(40000)",
      "0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "4294967296", "9223372036854775808",
      "randomblob(300000)", "hex(randomblob(300000))",
    ].map { .sql($0) } + reals.map { .real($0.bitPattern) }

  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: Self.schema, track: ["v", "k"]) }

  /// Types, and values bit for bit.
  private func bits(_ peer: Peer, _ table: String, _ columns: [String]) throws -> [String] {
    let forms = columns.map { "\($0), typeof(\($0)), hex(CAST(\($0) AS BLOB))" }.joined(separator: ", ")
    return try peer.other.read { db in
      try Row.fetchAll(db, sql: "SELECT \(forms) FROM \(table) ORDER BY rowid").map { row in
        stride(from: 0, to: columns.count * 3, by: 3).map { index in
          let type: String = row[index + 1]
          // A double as text would not have all of its bits.
          return type == "real" ? "real \((row[index] as Double).bitPattern)" : "\(type) \(row[index + 2] as String)"
        }.joined(separator: " | ")
      }.sorted()
    }
  }

  private func write(_ peer: Peer, _ sql: (String) -> String, _ source: Source) throws {
    try peer.other.write { db in
      switch source {
      case .sql(let expression): try db.execute(sql: sql("(\(expression))"))
      case .real(let pattern): try db.execute(sql: sql("?1"), arguments: [Double(bitPattern: pattern)])
      }
    }
  }

  private func expectEqual(_ a: Peer, _ b: Peer, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(try bits(a, "v", ["id"] + Self.columns) == bits(b, "v", ["id"] + Self.columns), sourceLocation: location)
    #expect(try bits(a, "k", ["id", "x"]) == bits(b, "k", ["id", "x"]), sourceLocation: location)
    #expect(try a.digest() == b.digest(), sourceLocation: location)
  }

  @Test("an inserted value arrives with the same bits in each kind of column")
  func whatIsInsertedIsTheSameBitsInEveryKindOfColumn() throws {
    let (a, b) = (try peer(1), try peer(2))
    for (number, source) in Self.sources.enumerated() {
      try write(a, { "INSERT INTO v SELECT \(number), \(values) FROM (SELECT \($0) AS x)" }, source)
    }
    try b.pull(from: a)
    try expectEqual(a, b)
    // And they are what was written, where SQLite keeps it as it is.
    let plain = try bits(b, "v", ["plain"])
    for real in Self.reals {
      #expect(plain.contains(real.isNaN ? "null " : "real \(real.bitPattern)"), "\(real)")
    }
    #expect(
      plain.contains("text 610062") && plain.contains("text FF") && plain.contains("blob ") && plain.contains("text "))
    #expect(plain.contains("integer 39323233333732303336383534373735383037"))
  }

  @Test("an updated value arrives with the same bits in both directions") func whatIsUpdatedIsTheSameBitsBackAndForth()
    throws
  {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO v (id) VALUES (1)")
    try b.pull(from: a)
    for (number, source) in Self.sources.enumerated() {
      let (from, to) = number.isMultiple(of: 2) ? (a, b) : (b, a)
      from.now += 20
      try write(from, { "UPDATE v SET (\(list)) = (SELECT \(values) FROM (SELECT \($0) AS x))" }, source)
      try to.pull(from: from)
      try expectEqual(a, b)
    }
  }

  @Test("each value works as a key and is the same key in both files") func everyValueIsAKeyOfItsOwnInBothFiles() throws
  {
    let (a, b) = (try peer(1), try peer(2))
    for source in Self.sources {
      // NULL is no key, NaN is NULL, and 1 = 1.0 are one.
      try write(a, { "INSERT OR IGNORE INTO k SELECT \($0), \($0) WHERE \($0) IS NOT NULL" }, source)
    }
    try b.pull(from: a)
    #expect(try bits(b, "k", ["id"]).count > Self.sources.count / 2)
    try expectEqual(a, b)
    b.now += 20
    try b.run("DELETE FROM k WHERE typeof(id) <> 'text'; UPDATE k SET x = -0.0")
    try a.pull(from: b)
    try expectEqual(a, b)
  }

  /// To SQL the two zeros are one value; only what looks at the bits sees the difference.
  @Test("a zero whose sign changes is sent by the next rescan")
  func aZeroOfWhichJustTheSignChangesTravelsWithTheNextRescan() throws {
    let (a, b) = (try peer(1), try peer(2))
    try a.run("INSERT INTO v (id, plain) VALUES (1, 0.0)")
    try b.pull(from: a)
    a.now += 20
    try a.run("UPDATE v SET plain = -0.0")
    try b.pull(from: a)
    #expect(try bits(b, "v", ["plain"]) == ["real 0"])
    a.now += 20
    try a.store.capture.rescan()
    try b.pull(from: a)
    #expect(try bits(b, "v", ["plain"]) == ["real \((-0.0).bitPattern)"])
    try expectEqual(a, b)
  }
}
