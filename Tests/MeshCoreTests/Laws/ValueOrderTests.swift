import MeshCore
import Testing

@Suite struct ValueOrderTests {
  /// Neighbours of 2⁵³ and 2⁶³, where doubles are coarser than integers, and everything that has a name.
  private static let edges: [Value] = {
    let integers: [Int64] = [
      .min, .min + 1, -(1 << 53) - 1, -(1 << 53), -1, 0, 1, 1 << 53 - 1, 1 << 53, 1 << 53 + 1, 1 << 53 + 2,
      1 << 62, .max - 1, .max, 9_223_372_036_854_774_784, 9_223_372_036_854_774_785,
    ]
    let reals: [Double] = [
      -.infinity, -0x1.0000000000001p63, -0x1p63, -0x1.fffffffffffffp62, -0x1p53, -1.5, -1, -0.5,
      -.leastNonzeroMagnitude,
      -0.0, 0, .leastNonzeroMagnitude, 0.5, 1, 0x1p53, 0x1.0000000000001p53, 0x1p62, 0x1.fffffffffffffp62, 0x1p63,
      .greatestFiniteMagnitude, .infinity,
    ]
    let texts: [[UInt8]] = [[], [0], Array("a".utf8), Array("a\0".utf8), Array("A".utf8), Array("é".utf8), [0xff]]
    return [.null] + integers.map { .integer($0) } + reals.map { .real($0) } + texts.flatMap { [.text($0), .blob($0)] }
  }()

  @Test("the order of values is strict, total and transitive") func theOrderIsStrictTotalAndTransitive() {
    let values = Self.edges
    for a in values {
      for b in values {
        #expect([a < b, b < a, a == b].filter { $0 }.count == 1, "\(a) \(b)")
        for c in values where a < b && b < c { #expect(a < c, "\(a) \(b) \(c)") }
      }
    }
  }

  /// SQLite itself says what it makes of each pair; where it sees equal numbers, any order will do.
  private static let judge = """
    import sqlite3, struct, sys
    def value(text):
        kind, rest = text[0], text[1:]
        if kind == "n": return None
        if kind == "i": return int(rest)
        if kind == "r": return struct.unpack(">d", bytes.fromhex(rest))[0]
        return bytes.fromhex(rest)
    db = sqlite3.connect(":memory:")
    def column(text): return "CAST(? AS TEXT)" if text[0] == "t" else "?"
    for line in sys.stdin:
        a, b = line.split()
        rows = "WITH v(k, x) AS (SELECT 0, %s UNION ALL SELECT 1, %s) " % (column(a), column(b))
        rows += "SELECT group_concat(k, '') FROM (SELECT k FROM v ORDER BY x, k)"
        forth = db.execute(rows, (value(a), value(b))).fetchone()[0]
        rows = rows.replace("ORDER BY x, k", "ORDER BY x, k DESC")
        back = db.execute(rows, (value(a), value(b))).fetchone()[0]
        print("=" if forth != back else "<" if forth == "01" else ">")
    """

  private func line(_ value: Value) -> String {
    func hex(_ bytes: [UInt8]) -> String {
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    switch value {
    case .null: return "n"
    case .integer(let integer): return "i\(integer)"
    case .real(let bits):
      var writer = ByteWriter()
      writer.uint64(bits)
      return "r" + hex(writer.bytes)
    case .text(let bytes): return "t" + hex(bytes)
    case .blob(let bytes): return "b" + hex(bytes)
    // SQLite has none.
    case .asset: return "n"
    }
  }

  @Test("values sort in the order that SQLite gives them") func theOrderIsSQLites() throws {
    var generator = Generator(seed: 51)
    var pairs = Self.edges.flatMap { a in Self.edges.map { (a, $0) } }
    for _ in 0..<5_000 {
      let integer = Int64(bitPattern: generator.next()) >> Int64(generator.below(12))
      let near = Double(integer) * generator.pick([1, 1, 1.0.nextUp, 1.0.nextDown])
      pairs.append((.integer(integer), .real(near)))
      pairs.append((generator.value(), generator.value()))
    }
    let input = pairs.map { line($0) + " " + line($1) + "\n" }.joined()
    let answers = try Python.run(["-c", Self.judge], input: input).split(separator: "\n")
    #expect(answers.count == pairs.count)
    for ((a, b), answer) in zip(pairs, answers) {
      switch answer {
      case "<": #expect(a < b, "\(a) \(b)")
      case ">": #expect(b < a, "\(a) \(b)")
      default: #expect(a == b || isNumber(a) && isNumber(b), "\(a) \(b)")
      }
    }
  }

  private func isNumber(_ value: Value) -> Bool {
    switch value {
    case .integer, .real: true
    default: false
    }
  }
}
