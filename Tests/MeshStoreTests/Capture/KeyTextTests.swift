import MeshCore
import Testing

@testable import MeshStore

/// What a person writes on the command line for a key.
@Suite struct KeyTextTests {
  private func text(_ text: String) -> Value { .text(Array(text.utf8)) }
  private func real(_ real: Double) -> Value { .real(real.bitPattern) }

  @Test("a key typed for a TEXT column is read as text") func aTextColumnTakesItForAText() {
    for key in ["n1", "7", "1.5", "", "'", "x'0'", "x'+f'", "'a'b'"] {
      #expect(KeyText.values(key, affinity: .text) == [text(key)])
    }
  }

  @Test(
    "a key typed for any other column is read as a number first, then as text",
    arguments: [Affinity.integer, .numeric, .blob, nil])
  func anyOtherColumnTakesItForANumberIfItCanBeOne(affinity: Affinity?) {
    let cases: [(String, Value)] = [
      ("7", .integer(7)), ("-3", .integer(-3)), ("9007199254740993", .integer(9_007_199_254_740_993)),
      ("1.5", real(1.5)), ("2.0", .integer(2)), ("-0.0", .integer(0)), ("1e3", .integer(1_000)),
      ("1e300", real(1e300)), (".5", real(0.5)), ("9e999", real(.infinity)),
    ]
    for (key, value) in cases { #expect(KeyText.values(key, affinity: affinity) == [value, text(key)], "\(key)") }
    for key in ["n1", "", "inf", "nan", "0x10", "e", "1 ", "--1"] {
      #expect(KeyText.values(key, affinity: affinity) == [text(key)], "\(key)")
    }
  }

  @Test("a key typed for a REAL column is rounded as SQLite rounds it")
  func aColumnOfRealsHasWholeNumbersAsItRoundsThem() {
    #expect(
      KeyText.values("9007199254740993", affinity: .real).first == .integer(9_007_199_254_740_992), "as SQLite does")
    #expect(KeyText.values("2", affinity: .real).first == .integer(2))
  }

  @Test("a quoted key is read as a text or BLOB literal first") func quotesSayWhatIsMeant() {
    for affinity in [Affinity.text, .blob] {
      #expect(KeyText.values("'1'", affinity: affinity) == [text("1"), text("'1'")])
      #expect(KeyText.values("'it''s'", affinity: affinity).first == text("it's"))
      #expect(KeyText.values("''", affinity: affinity).first == text(""))
      #expect(KeyText.values("x'0aFF'", affinity: affinity) == [.blob([10, 255]), text("x'0aFF'")])
      #expect(KeyText.values("X''", affinity: affinity).first == .blob([]))
    }
    // SQLite has made such a text a number.
    #expect(KeyText.values("'1.5'", affinity: .real).first == real(1.5))
  }

  @Test("each typed form of a key finds its record") func everyKeyOfATableIsFoundAsItsRowShowsIt() throws {
    let peer = try Peer(
      1, schema: "CREATE TABLE r (id REAL PRIMARY KEY NOT NULL); CREATE TABLE u (id PRIMARY KEY NOT NULL, v)",
      track: ["r", "u"])
    try peer.run(
      "INSERT INTO r VALUES (1.5), (2), (1e300); INSERT INTO u VALUES (1, 'number'), ('1', 'text'), (x'31', 'blob')")
    try peer.flush()
    func found(_ key: String, in table: String) throws -> [RecordExplanation] {
      for key in try peer.store.tables.keys(written: key, table: table) {
        let found = try peer.store.history.explain(table: table, key: key) { _ in peer.reader }
        if !found.isEmpty { return found }
      }
      return []
    }
    for key in ["1.5", "2", "2.0", "1e300", "1e+300", "'1.5'"] {
      #expect(try found(key, in: "r").map(\.isAlive) == [true], "\(key)")
    }
    let values = try ["1", "1.0", "'1'", "x'31'"].map { key in
      try found(key, in: "u").first?.columns.first { $0.name == "v" }?.value
    }
    #expect(values == [text("number"), text("number"), text("text"), text("blob")])
  }
}
