import Foundation
import SQLiteDataQueries
import Testing

@Suite("fragments")
struct FragmentTests {
  @Test("an appended fragment keeps the order of its bindings")
  func append() {
    var fragment: QueryFragment = "a = \(bind: 1)"
    fragment.append(" AND b = \(bind: "x")")
    #expect(fragment.sql == "a = ? AND b = ?")
    #expect(fragment.bindings == [.int(1), .text("x")])
    #expect(fragment.debugDescription == "a = 1 AND b = 'x'")
    #expect(fragment.prepare { "$\($0)" }.sql == "a = $1 AND b = $2")
  }

  @Test("a quoted name doubles its quotation marks")
  func quote() {
    #expect(QueryFragment(quote: "a\"b").sql == "\"a\"\"b\"")
    #expect(QueryFragment(quote: "it's", delimiter: .text).sql == "'it''s'")
  }
}
