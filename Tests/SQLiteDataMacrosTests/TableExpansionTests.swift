import Foundation
import Testing

@Suite struct TableExpansionTests {
  @Test("a table without a key expands to its columns, its selection and its coding")
  func table() {
    #expect(
      Expansion(
        """
        @Table
        public struct Note {
          var text = ""
        }
        """
      ).text == """
        public struct Note {
          var text = ""

          public nonisolated struct TableColumns: SQLiteDataQueries.TableDefinition {
            public typealias QueryValue = Note
            public let text = SQLiteDataQueries._TableColumn<QueryValue, Swift.String>.for("text", keyPath: \\QueryValue.text)
            public static let allColumns: [any SQLiteDataQueries.TableColumnExpression] = SQLiteDataQueries._flattened(QueryValue.columns.text)
            public static let writableColumns: [any SQLiteDataQueries.WritableTableColumnExpression] = SQLiteDataQueries._writable(allColumns)
            public static let _selection = _columnList(allColumns)
          }

          public nonisolated struct Selection: SQLiteDataQueries.TableExpression {
            public typealias QueryValue = Note
            public let allColumns: [any SQLiteDataQueries.QueryExpression]
            public init(
              text: some SQLiteDataQueries.QueryExpression<Swift.String> = Swift.String(queryOutput: "")
            ) {
              self.allColumns = SQLiteDataQueries._flattened(expressions: text)
            }
          }
        }

        nonisolated extension Note: SQLiteDataQueries.Table {
          public typealias Columns = Selection
          public static let tableName: Swift.String = "notes"
          public static let columns: TableColumns = TableColumns()
          public static let _columnWidth: Swift.Int = TableColumns.allColumns.count
          public init(decoder: inout some SQLiteDataQueries.QueryDecoder) throws {
            self.text = try decoder.decode(Swift.String.self, default: "")
          }
          public func _encode(into encoder: inout SQLiteDataQueries.RowEncoder) {
            encoder.encode(Swift.String.self, self.text)
          }
        }
        """)
  }

  @Test("a property id that isn't the primary key makes a table without one")
  func noKey() {
    for attribute in ["@Column(primaryKey: false)", "@Column(\"number\", primaryKey: false)"] {
      let text = Expansion("@Table struct Foo {\n  \(attribute) let id: Int\n}").text
      #expect(text.contains("TableColumns: SQLiteDataQueries.TableDefinition"))
      #expect(!text.contains("Draft") && !text.contains("PrimaryKey"))
    }
  }

  @Test("an initial value replaces NULL, unless the property can be nil or is constant")
  func defaults() {
    let text = Expansion("@Table struct Foo {\n  var a: Int = 1\n  var b: Int? = 2\n  let c = 3\n}").text
    for line in [
      "self.a = try decoder.decode(Int.self, default: 1)\n", "self.b = try decoder.required(Int?.self)\n",
      "_ = try decoder.decode(Swift.Int.self)\n",
    ] {
      #expect(text.contains(line), "\(line)")
    }
  }

  @Test("a draft needs no value for a column that the database fills in")
  func lazyColumns() {
    let text = Expansion(
      """
      @Table struct Foo {
        let id: Int
        @Column(lazyInitializable: true) var createdAt: Date
        @Column(lazyInitializable: true) var count = 1
        var title: String
      }
      """
    ).text
    for parameter in ["id: Int? = nil", "createdAt: Date? = nil", "count: Swift.Int = 1", "title: String\n"] {
      #expect(text.contains("      " + parameter), "\(parameter)")
    }
  }

  @Test("an initial value that names its type needs no annotation")
  func inferredTypes() {
    let text = Expansion(
      """
      @Table struct Foo {
        var a = Date()
        var b = UUID.init()
        var c = Priority.low
        var d = -1
        var e = 1.5
        var g = 0 as Int64
        var h = Module.Kind(1)
        var i = Optional<Int>.none
        var j = Set<Int>()
        var k = "a\\(b)"
      }
      """
    ).text
    for column in [
      "Date>.for(\"a\"", "UUID>.for(\"b\"", "Priority>.for(\"c\"", "Swift.Int>.for(\"d\"", "Swift.Double>.for(\"e\"",
      "Int64>.for(\"g\"", "Module.Kind>.for(\"h\"", "Optional<Int>>.for(\"i\"",
      "Set<Int>>.for(\"j\"", "Swift.String>.for(\"k\"",
    ] {
      #expect(text.contains("_TableColumn<QueryValue, \(column)"))
    }
  }

  @Test("@Selection makes nothing beside @Table")
  func both() {
    #expect(
      Expansion("@Table @Selection struct Foo { let a: Int }").text.components("struct TableColumns") == 1)
  }
}

extension String {
  /// How often a text occurs.
  fileprivate func components(_ text: String) -> Int {
    var count = 0
    var rest = Substring(self)
    while let range = rest.range(of: text) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}
