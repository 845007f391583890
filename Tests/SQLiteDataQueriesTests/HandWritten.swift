import Foundation
import SQLiteDataQueries

// What `@Table`, `@Selection` and an enumeration's `@Table` expand to, written by hand: the tests of this
// module don't depend on the macros.

struct RemindersList: Equatable, Identifiable, Sendable {
  let id: Int
  var title = ""
  var color: Int?
}

extension RemindersList: Table, PrimaryKeyedTable {
  public nonisolated struct TableColumns: TableDefinition, PrimaryKeyedTableDefinition {
    public typealias QueryValue = RemindersList
    public typealias PrimaryKey = Int
    public let id = _TableColumn<QueryValue, Int>.for("id", keyPath: \QueryValue.id)
    public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
    public let color = _TableColumn<QueryValue, Int?>.for("color", keyPath: \QueryValue.color)
    public var primaryKey: TableColumn<QueryValue, Int> { id }
    public static let allColumns: [any TableColumnExpression] = _flattened(
      QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.color)
    public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    public static let _selection = _columnList(allColumns)
  }

  public nonisolated struct Selection: TableExpression {
    public typealias QueryValue = RemindersList
    public let allColumns: [any QueryExpression]
    public init(
      id: some QueryExpression<Int>,
      title: some QueryExpression<String> = String(queryOutput: ""),
      color: some QueryExpression<Int?> = Int?(queryOutput: nil)
    ) {
      allColumns = _flattened(expressions: id, title, color)
    }
  }
  public typealias Columns = Selection

  public nonisolated struct Draft: TableDraft, Equatable, Sendable {
    public typealias PrimaryTable = RemindersList
    public var id: Int?
    public var title = ""
    public var color: Int?

    public nonisolated struct TableColumns: TableDefinition {
      public typealias QueryValue = RemindersList.Draft
      public let id = _TableColumn<QueryValue, Int?>.for("id", keyPath: \QueryValue.id)
      public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
      public let color = _TableColumn<QueryValue, Int?>.for("color", keyPath: \QueryValue.color)
      public static let allColumns: [any TableColumnExpression] = _flattened(
        QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.color)
      public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
      public static let _selection = _columnList(allColumns)
    }
    public nonisolated static let columns = TableColumns()
    public nonisolated static let _columnWidth = TableColumns.allColumns.count
    public nonisolated init(decoder: inout some QueryDecoder) throws {
      self.id = try decoder.required(Int?.self)
      self.title = try decoder.decode(String.self, default: "")
      self.color = try decoder.required(Int?.self)
    }
    public nonisolated func _encode(into encoder: inout RowEncoder) {
      encoder.encode(Int?.self, id)
      encoder.encode(String.self, title)
      encoder.encode(Int?.self, color)
    }
    public nonisolated init(_ other: RemindersList) {
      self.id = other.id
      self.title = other.title
      self.color = other.color
    }
    public init(id: Int? = nil, title: String = "", color: Int? = nil) {
      self.id = id
      self.title = title
      self.color = color
    }
  }

  public nonisolated static let columns = TableColumns()
  public nonisolated static let _columnWidth = TableColumns.allColumns.count
  public nonisolated static var tableName: String { "remindersLists" }
  public nonisolated init(decoder: inout some QueryDecoder) throws {
    self.id = try decoder.required(Int.self)
    self.title = try decoder.decode(String.self, default: "")
    self.color = try decoder.required(Int?.self)
  }
  public nonisolated func _encode(into encoder: inout RowEncoder) {
    encoder.encode(Int.self, id)
    encoder.encode(String.self, title)
    encoder.encode(Int?.self, color)
  }
}
