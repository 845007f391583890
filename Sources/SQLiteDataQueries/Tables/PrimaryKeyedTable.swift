/// A table with a primary key.
public protocol PrimaryKeyedTable<PrimaryKey>: Table where TableColumns: PrimaryKeyedTableDefinition<PrimaryKey> {
  associatedtype PrimaryKey: QueryRepresentable & QueryExpression where PrimaryKey.QueryValue == PrimaryKey

  /// The type of rows that may leave their primary key to the database.
  associatedtype Draft: TableDraft where Draft.PrimaryTable == Self

  /// The primary key of the row.
  ///
  /// ```swift
  /// try Reminder.find(db, key: reminder.primaryKey)
  /// ```
  var primaryKey: PrimaryKey.QueryOutput { get }
}

extension PrimaryKeyedTable {
  /// The SQL of each value of the row's primary key.
  public var _keyFragments: [QueryFragment] { PrimaryKey(queryOutput: primaryKey)._allColumns.map(\.queryFragment) }
}

/// A row of a ``PrimaryKeyedTable`` whose primary key may be missing.
public protocol TableDraft: Table {
  associatedtype PrimaryTable: PrimaryKeyedTable where PrimaryTable.Draft == Self

  /// Makes a draft from a row.
  init(_ primaryTable: PrimaryTable)
}

extension TableDraft {
  public static var tableName: String { PrimaryTable.tableName }
  public static var tableAlias: String? { PrimaryTable.tableAlias }
  public static var schemaName: String? { PrimaryTable.schemaName }
}

/// The columns of a table with a primary key.
public protocol PrimaryKeyedTableDefinition<PrimaryKey>: TableDefinition where QueryValue: PrimaryKeyedTable {
  associatedtype PrimaryKey: QueryRepresentable & QueryExpression where PrimaryKey.QueryValue == PrimaryKey
  associatedtype PrimaryColumn: _TableColumnList<QueryValue, PrimaryKey> where PrimaryColumn.QueryValue == PrimaryKey

  /// The column of the primary key, or the group of its columns.
  var primaryKey: PrimaryColumn { get }

  /// The SQL that finds a row by the column of its primary key, or nil if several columns are the key.
  static var _findSQL: String? { get }
}

extension PrimaryKeyedTableDefinition {
  public static var _findSQL: String? { _makeFindSQL() }

  /// Makes the SQL that `@Table` stores once for each type, because a program finds rows often.
  public static func _makeFindSQL() -> String? {
    let key = QueryValue.columns.primaryKey._tableColumns
    guard key.count == 1 else { return nil }
    func quoted(_ column: any TableColumnExpression) -> String { QueryFragment(quote: column.name).sql }
    let names = QueryValue.TableColumns.allColumns.map(quoted).joined(separator: ", ")
    return "SELECT \(names) FROM \(QueryValue._sourceFragment.sql) WHERE \(quoted(key[0])) = ?"
  }
}
