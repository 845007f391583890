import Foundation
import SQLiteDataQueries

// What `@Table`, `@Selection` and an enumeration's `@Table` expand to, written by hand: the tests of this
// module don't depend on the macros.

struct RemindersList: Equatable, Identifiable, Sendable {
  let id: Int
  var title = ""
  var color: Int?
  var position = 0
}

extension RemindersList: Table, PrimaryKeyedTable {
  public nonisolated struct TableColumns: TableDefinition, PrimaryKeyedTableDefinition {
    public typealias QueryValue = RemindersList
    public typealias PrimaryKey = Int
    public let id = _TableColumn<QueryValue, Int>.for("id", keyPath: \QueryValue.id)
    public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
    public let color = _TableColumn<QueryValue, Int?>.for("color", keyPath: \QueryValue.color)
    public let position = _TableColumn<QueryValue, Int>.for("position", keyPath: \QueryValue.position)
    public var primaryKey: TableColumn<QueryValue, Int> { id }
    public static let allColumns: [any TableColumnExpression] = _flattened(
      QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.color, QueryValue.columns.position)
    public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    public static let _selection = _columnList(allColumns)
  }

  public nonisolated struct Selection: TableExpression {
    public typealias QueryValue = RemindersList
    public let allColumns: [any QueryExpression]
    public init(
      id: some QueryExpression<Int>,
      title: some QueryExpression<String> = String(queryOutput: ""),
      color: some QueryExpression<Int?> = Int?(queryOutput: nil),
      position: some QueryExpression<Int> = Int(queryOutput: 0)
    ) {
      allColumns = _flattened(expressions: id, title, color, position)
    }
  }
  public typealias Columns = Selection

  public nonisolated struct Draft: TableDraft, Equatable, Sendable {
    public typealias PrimaryTable = RemindersList
    public var id: Int?
    public var title = ""
    public var color: Int?
    public var position = 0

    public nonisolated struct TableColumns: TableDefinition {
      public typealias QueryValue = RemindersList.Draft
      public let id = _TableColumn<QueryValue, Int?>.for("id", keyPath: \QueryValue.id)
      public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
      public let color = _TableColumn<QueryValue, Int?>.for("color", keyPath: \QueryValue.color)
      public let position = _TableColumn<QueryValue, Int>.for("position", keyPath: \QueryValue.position)
      public static let allColumns: [any TableColumnExpression] = _flattened(
        QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.color, QueryValue.columns.position)
      public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
      public static let _selection = _columnList(allColumns)
    }
    public nonisolated static let columns = TableColumns()
    public nonisolated static let _columnWidth = TableColumns.allColumns.count
    public nonisolated init(decoder: inout some QueryDecoder) throws {
      self.id = try decoder.required(Int?.self)
      self.title = try decoder.decode(String.self, default: "")
      self.color = try decoder.required(Int?.self)
      self.position = try decoder.decode(Int.self, default: 0)
    }
    public nonisolated func _encode(into encoder: inout RowEncoder) {
      encoder.encode(Int?.self, id)
      encoder.encode(String.self, title)
      encoder.encode(Int?.self, color)
      encoder.encode(Int.self, position)
    }
    public nonisolated init(_ other: RemindersList) {
      self.id = other.id
      self.title = other.title
      self.color = other.color
      self.position = other.position
    }
    public init(id: Int? = nil, title: String = "", color: Int? = nil, position: Int = 0) {
      self.id = id
      self.title = title
      self.color = color
      self.position = position
    }
  }

  public nonisolated static let columns = TableColumns()
  public nonisolated static let _columnWidth = TableColumns.allColumns.count
  public nonisolated static var tableName: String { "remindersLists" }

  public nonisolated var primaryKey: Int { id }
  public nonisolated init(decoder: inout some QueryDecoder) throws {
    self.id = try decoder.required(Int.self)
    self.title = try decoder.decode(String.self, default: "")
    self.color = try decoder.required(Int?.self)
    self.position = try decoder.decode(Int.self, default: 0)
  }
  public nonisolated func _encode(into encoder: inout RowEncoder) {
    encoder.encode(Int.self, id)
    encoder.encode(String.self, title)
    encoder.encode(Int?.self, color)
    encoder.encode(Int.self, position)
  }
}

enum Priority: Int, QueryBindable {
  case low = 1
  case medium, high
}

struct Timestamps: Equatable, Sendable {
  var createdAt: Date
  var updatedAt: Date?
}

extension Timestamps: Table {
  public nonisolated struct TableColumns: TableDefinition {
    public typealias QueryValue = Timestamps
    public let createdAt = _TableColumn<QueryValue, Date.UnixTimeRepresentation>.for(
      "createdAt", keyPath: \QueryValue.createdAt)
    public let updatedAt = _TableColumn<QueryValue, Date?>.for("updatedAt", keyPath: \QueryValue.updatedAt)
    public static let allColumns: [any TableColumnExpression] = _flattened(
      QueryValue.columns.createdAt, QueryValue.columns.updatedAt)
    public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    public static let _selection = _columnList(allColumns)
  }
  public nonisolated static let columns = TableColumns()
  public nonisolated static let _columnWidth = TableColumns.allColumns.count
  public nonisolated static var tableName: String { "timestamps" }
  public nonisolated init(decoder: inout some QueryDecoder) throws {
    self.createdAt = try decoder.required(Date.UnixTimeRepresentation.self)
    self.updatedAt = try decoder.required(Date?.self)
  }
  public nonisolated func _encode(into encoder: inout RowEncoder) {
    encoder.encode(Date.UnixTimeRepresentation.self, createdAt)
    encoder.encode(Date?.self, updatedAt)
  }
}

struct Reminder: Equatable, Identifiable, Sendable {
  let id: Int
  var title = ""
  var notes: String?
  var isCompleted = false
  var isFlagged = false
  var priority: Priority?
  var dueDate: Date?
  var remindersListID: Int
  var timestamps = Timestamps(createdAt: Date(timeIntervalSince1970: 0))
}

extension Reminder: Table, PrimaryKeyedTable {
  public nonisolated struct TableColumns: TableDefinition, PrimaryKeyedTableDefinition {
    public typealias QueryValue = Reminder
    public typealias PrimaryKey = Int
    public let id = _TableColumn<QueryValue, Int>.for("id", keyPath: \QueryValue.id)
    public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
    public let notes = _TableColumn<QueryValue, String?>.for("notes", keyPath: \QueryValue.notes)
    public let isCompleted = _TableColumn<QueryValue, Bool>.for("isCompleted", keyPath: \QueryValue.isCompleted)
    public let isFlagged = QueryValue._column("isFlagged", keyPath: \QueryValue.isFlagged)
    public let priority = _TableColumn<QueryValue, Priority?>.for("priority", keyPath: \QueryValue.priority)
    public let dueDate = _TableColumn<QueryValue, Date?>.for("dueDate", keyPath: \QueryValue.dueDate)
    public let remindersListID = _TableColumn<QueryValue, Int>.for(
      "remindersListID", keyPath: \QueryValue.remindersListID)
    public let timestamps = QueryValue._column("timestamps", keyPath: \QueryValue.timestamps)
    public var primaryKey: TableColumn<QueryValue, Int> { id }
    public static let allColumns: [any TableColumnExpression] = _flattened(
      QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.notes, QueryValue.columns.isCompleted,
      QueryValue.columns.isFlagged, QueryValue.columns.priority, QueryValue.columns.dueDate,
      QueryValue.columns.remindersListID, QueryValue.columns.timestamps)
    public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    public static let _selection = _columnList(allColumns)
  }

  public nonisolated struct Draft: TableDraft {
    public typealias PrimaryTable = Reminder
    public var id: Int?
    public var title = ""

    public nonisolated struct TableColumns: TableDefinition {
      public typealias QueryValue = Reminder.Draft
      public let id = _TableColumn<QueryValue, Int?>.for("id", keyPath: \QueryValue.id)
      public static let allColumns: [any TableColumnExpression] = _flattened(QueryValue.columns.id)
      public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    }
    public nonisolated static let columns = TableColumns()
    public nonisolated static let _columnWidth = TableColumns.allColumns.count
    public nonisolated init(decoder: inout some QueryDecoder) throws { self.id = try decoder.required(Int?.self) }
    public nonisolated func _encode(into encoder: inout RowEncoder) { encoder.encode(Int?.self, id) }
    public nonisolated init(_ other: Reminder) { self.id = other.id }
  }

  public nonisolated static let columns = TableColumns()
  public nonisolated static let _columnWidth = TableColumns.allColumns.count
  public nonisolated static var tableName: String { "reminders" }

  public nonisolated var primaryKey: Int { id }
  public nonisolated init(decoder: inout some QueryDecoder) throws {
    self.id = try decoder.required(Int.self)
    self.title = try decoder.decode(default: "")
    self.notes = try decoder.required()
    self.isCompleted = try decoder.decode(Bool.self, default: false)
    self.isFlagged = try decoder.decode(default: false)
    self.priority = try decoder.required(Priority?.self)
    self.dueDate = try decoder.required(Date?.self)
    self.remindersListID = try decoder.required(Int.self)
    self.timestamps = try decoder.required(Timestamps.self)
  }
  public nonisolated func _encode(into encoder: inout RowEncoder) {
    encoder.encode(Int.self, id)
    encoder.encode(String.self, title)
    encoder.encode(notes)
    encoder.encode(Bool.self, isCompleted)
    encoder.encode(isFlagged)
    encoder.encode(Priority?.self, priority)
    encoder.encode(Date?.self, dueDate)
    encoder.encode(Int.self, remindersListID)
    encoder.encode(timestamps)
  }
}

extension Reminder {
  static let flagged = Self.where(\.isFlagged)
  static let byTitle = Self.order(by: \.title)
  static let titles = Self.select(\.title)
}

struct OpenReminder: Equatable, Sendable {
  let title: String
}

extension OpenReminder: Table {
  public nonisolated struct TableColumns: TableDefinition {
    public typealias QueryValue = OpenReminder
    public let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
    public static let allColumns: [any TableColumnExpression] = _flattened(QueryValue.columns.title)
    public static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    public static let _selection = _columnList(allColumns)
  }
  public nonisolated struct Selection: TableExpression {
    public typealias QueryValue = OpenReminder
    public let allColumns: [any QueryExpression]
    public init(title: some QueryExpression<String>) { allColumns = _flattened(expressions: title) }
  }
  public typealias Columns = Selection
  public nonisolated static let columns = TableColumns()
  public nonisolated static let _columnWidth = TableColumns.allColumns.count
  public nonisolated static var tableName: String { "openReminders" }
  public nonisolated init(decoder: inout some QueryDecoder) throws {
    self.title = try decoder.required(String.self)
  }
  public nonisolated func _encode(into encoder: inout RowEncoder) { encoder.encode(String.self, title) }
}

@Table
struct Tag: Codable, Equatable {
  let id: Int
  var title = ""
}

@Table
struct ReminderText: FTS5 {
  let rowid: Int
  let title: String
}

enum ParentAlias: AliasName {}
