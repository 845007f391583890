/// The columns of a table, which a query's closures receive.
///
/// The `@Table` macro generates it as a nested type `TableColumns`.
public protocol TableDefinition<QueryValue>: QueryExpression, Sendable where QueryValue: Table {
  /// The columns of the table in the order of its properties, groups flattened.
  static var allColumns: [any TableColumnExpression] { get }

  /// The columns that an INSERT or UPDATE writes.
  static var writableColumns: [any WritableTableColumnExpression] { get }

  /// The columns as a query selects them, separated by commas.
  static var _selection: QueryFragment { get }
}

extension TableDefinition {
  public static var _selection: QueryFragment { _columnList(allColumns) }

  public var queryFragment: QueryFragment { Self._selection }

  public var _allColumns: [any QueryExpression] { Self.allColumns }

  /// Makes the list of columns that `@Table` stores once for each type.
  public static func _columnList(_ columns: [any TableColumnExpression]) -> QueryFragment {
    columns.lazy.map(\.queryFragment).joined(separator: ", ")
  }
}

/// Makes the flat list of columns from columns and groups of columns.
public func _flattened<each Column: _TableColumnList>(
  _ column: repeat each Column
) -> [any TableColumnExpression] {
  var result: [any TableColumnExpression] = []
  for list in repeat each column { result.append(contentsOf: list._tableColumns) }
  return result
}

/// Makes the flat list of the columns that can be written.
public func _writable(_ columns: [any TableColumnExpression]) -> [any WritableTableColumnExpression] {
  columns.compactMap { $0 as? any WritableTableColumnExpression }
}

/// A column or a group of columns of a table.
public protocol _TableColumnList<Root, Value>: QueryExpression, Sendable {
  associatedtype Root: Table
  associatedtype Value: QueryRepresentable

  /// The columns from which the list is made.
  var _tableColumns: [any TableColumnExpression] { get }
}

/// A column of a table.
public protocol TableColumnExpression<Root, Value>: _TableColumnList
where QueryValue == Value, Value: QueryBindable {
  /// The name of the column in the database.
  var name: String { get }

  /// Returns the column with the same name in another table.
  func _column<Other: Table>(of table: Other.Type) -> any TableColumnExpression
}

extension TableColumnExpression {
  public var _tableColumns: [any TableColumnExpression] { [self] }
}

/// A column that an INSERT or UPDATE may write.
public protocol WritableTableColumnExpression<Root, Value>: TableColumnExpression {}
