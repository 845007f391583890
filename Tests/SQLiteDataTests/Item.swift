import Foundation
import SQLiteData

/// A table without the macro. It is deliberately not `Equatable`, so that observed rows can't be compared.
struct Item: Identifiable, Sendable {
  let id: Int
  var title = ""
  var category: String?
  var priority: Int?
}

extension Item: PrimaryKeyedTable {
  struct TableColumns: PrimaryKeyedTableDefinition {
    typealias QueryValue = Item
    typealias PrimaryKey = Int
    let id = _TableColumn<QueryValue, Int>.for("id", keyPath: \QueryValue.id)
    let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
    let category = _TableColumn<QueryValue, String?>.for("category", keyPath: \QueryValue.category)
    let priority = _TableColumn<QueryValue, Int?>.for("priority", keyPath: \QueryValue.priority)
    var primaryKey: TableColumn<QueryValue, Int> { id }
    static let allColumns: [any TableColumnExpression] = _flattened(
      QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.category, QueryValue.columns.priority)
    static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
    static let _selection = _columnList(allColumns)
  }

  struct Draft: TableDraft, Sendable {
    typealias PrimaryTable = Item
    var id: Int?
    var title = ""
    var category: String?
    var priority: Int?

    struct TableColumns: TableDefinition {
      typealias QueryValue = Draft
      let id = _TableColumn<QueryValue, Int?>.for("id", keyPath: \QueryValue.id)
      let title = _TableColumn<QueryValue, String>.for("title", keyPath: \QueryValue.title)
      let category = _TableColumn<QueryValue, String?>.for("category", keyPath: \QueryValue.category)
      let priority = _TableColumn<QueryValue, Int?>.for("priority", keyPath: \QueryValue.priority)
      static let allColumns: [any TableColumnExpression] = _flattened(
        QueryValue.columns.id, QueryValue.columns.title, QueryValue.columns.category, QueryValue.columns.priority)
      static let writableColumns: [any WritableTableColumnExpression] = _writable(allColumns)
      static let _selection = _columnList(allColumns)
    }
    static let columns = TableColumns()
    static let _columnWidth = TableColumns.allColumns.count

    init(id: Int? = nil, title: String = "", category: String? = nil, priority: Int? = nil) {
      self.id = id
      self.title = title
      self.category = category
      self.priority = priority
    }

    init(_ other: Item) {
      self.init(id: other.id, title: other.title, category: other.category, priority: other.priority)
    }

    init(decoder: inout some QueryDecoder) throws {
      id = try decoder.required(Int?.self)
      title = try decoder.decode(String.self, default: "")
      category = try decoder.required(String?.self)
      priority = try decoder.required(Int?.self)
    }

    func _encode(into encoder: inout RowEncoder) {
      encoder.encode(Int?.self, id)
      encoder.encode(String.self, title)
      encoder.encode(String?.self, category)
      encoder.encode(Int?.self, priority)
    }
  }

  static let columns = TableColumns()
  static let _columnWidth = TableColumns.allColumns.count
  static var tableName: String { "items" }

  var primaryKey: Int { id }

  init(decoder: inout some QueryDecoder) throws {
    id = try decoder.required(Int.self)
    title = try decoder.required(String.self)
    category = try decoder.required(String?.self)
    priority = try decoder.required(Int?.self)
  }

  func _encode(into encoder: inout RowEncoder) {
    encoder.encode(Int.self, id)
    encoder.encode(String.self, title)
    encoder.encode(String?.self, category)
    encoder.encode(Int?.self, priority)
  }
}

/// Returns a database with an empty table of items.
func itemsDatabase() throws -> any DatabaseWriter {
  let database = try defaultDatabase()
  try database.write { db in
    try db.execute(
      sql: "CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT NOT NULL, category TEXT, priority INTEGER)")
  }
  return database
}

/// Returns a database with five items, of which two have no category.
func sampleDatabase() throws -> any DatabaseWriter {
  let database = try itemsDatabase()
  try database.write { db in
    try db.seed {
      Item(id: 1, title: "Milk", category: "Food", priority: 2)
      Item(id: 2, title: "Hammer", category: "Tools", priority: 1)
      Item.Draft(id: 3, title: "Bread", category: "Food", priority: nil)
      for (id, title) in [(4, "Sock"), (5, "Lamp")] {
        Item.Draft(id: id, title: title)
      }
    }
  }
  return database
}

/// A selection for properties in other files.
@Selection
struct ItemName: Sendable {
  let title: String
}
