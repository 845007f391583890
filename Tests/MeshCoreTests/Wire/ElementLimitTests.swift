import MeshCore
import Testing

/// A field of one byte becomes some 90 in memory: a reader bounds how many there are before it reads them.
@Suite struct ElementLimitTests {
  private let author: Author
  private let stamp: Stamp

  init() {
    author = Author(device: Generator.fixedDevice, instance: InstanceID(7))
    stamp = Stamp(time: HybridTime(9), author: author)
  }

  private func names(_ count: Int) -> [String] { (0..<count).map { "c\($0)" } }

  private func row(_ number: Int, fields: Int) -> RowChange {
    RowChange(
      key: .integer(Int64(number)), generation: 1, isLife: true, stamp: stamp,
      fields: (0..<fields).map { .init(column: $0, value: .value(.null)) })
  }

  private func body(_ tables: [TableChanges]) -> ChangeSetBody {
    ChangeSetBody(context: CausalContext(), content: .changes(tables))
  }

  /// 100 columns and rows of 100 fields, then rows without a field: exactly as many elements as may be, and `more`.
  private func wide(_ more: Int) -> ChangeSetBody {
    let full = (Limits.elements - 100) / 101
    let rest = Limits.elements - 100 - full * 101 + more
    let rows = (0..<full).map { row($0, fields: 100) } + (0..<rest).map { row(full + $0, fields: 0) }
    return body([TableChanges(table: "wide", columns: names(100), rows: rows)])
  }

  /// Tables of columns alone, then rows in the last.
  private func many(_ more: Int) -> ChangeSetBody {
    var tables = (0..<32).map { TableChanges(table: "t\($0)", columns: names(Limits.columns)) }
    let rest = Limits.elements - 32 * Limits.columns + more
    tables.append(TableChanges(table: "last", columns: [], rows: (0..<rest).map { row($0, fields: 0) }))
    return body(tables)
  }

  @Test("a body with exactly the maximum number of elements decodes") func asManyElementsAsMayBeAreRead() throws {
    for body in [wide(0), many(0)] {
      #expect(body.elementCount == Limits.elements)
      #expect(try ChangeSetBody(body.encoded(author: author), author: author) == body)
    }
  }

  @Test("a body with one element above the maximum is rejected") func oneElementMoreIsRefused() throws {
    for body in [wide(1), many(1)] {
      #expect(body.elementCount == Limits.elements + 1)
      let bytes = body.encoded(author: author)
      #expect(bytes.count < Limits.changeSet, "the bound on bytes does not catch it")
      #expect(throws: FormatError.limit("elements")) { try ChangeSetBody(bytes, author: author) }
    }
  }

  @Test("a body whose rows have too many fields in total is rejected")
  func aRowIsRefusedAtItsFirstFieldTooMany() throws {
    let rows = (0..<Limits.elements / 101).map { row($0, fields: 100) }
    let body = body([TableChanges(table: "wide", columns: names(100), rows: rows)])
    #expect(body.elementCount > Limits.elements)
    #expect(throws: FormatError.limit("elements")) {
      try ChangeSetBody(body.encoded(author: author), author: author)
    }
  }

  @Test("a body with too many columns in total is rejected") func columnsBeyondTheBoundAreRefused() throws {
    let tables = (0...Limits.elements / Limits.columns).map {
      TableChanges(table: "t\($0)", columns: names(Limits.columns))
    }
    #expect(throws: FormatError.self) {
      try ChangeSetBody(body(tables).encoded(author: author), author: author)
    }
  }
}
