/// A column of a table.
///
/// ```swift
/// Reminder.columns.title  // "reminders"."title"
/// ```
public struct TableColumn<Root: Table, Value: QueryBindable>: WritableTableColumnExpression {
  public typealias QueryValue = Value

  public let name: String

  // Computed, so that the columns of a table, which each clause of a query gets, are copied quickly.
  public var queryFragment: QueryFragment { _qualifiedName(name, of: Root.self) }

  /// Creates a column.
  ///
  /// - Parameters:
  ///   - name: The name of the column in the database.
  ///   - keyPath: The property that holds the column's value. It gives the column its type.
  public init(_ name: String, keyPath: KeyPath<Root, Value.QueryOutput>? = nil) {
    self.name = name
  }

  public func _column<Other: Table>(of table: Other.Type) -> any TableColumnExpression {
    TableColumn<Other, Value>(name)
  }
}

/// A column whose value SQLite computes from other columns of the row. It can be read and never written.
public struct GeneratedColumn<Root: Table, Value: QueryBindable>: TableColumnExpression {
  public typealias QueryValue = Value

  public let name: String

  // Computed, so that the columns of a table, which each clause of a query gets, are copied quickly.
  public var queryFragment: QueryFragment { _qualifiedName(name, of: Root.self) }

  /// Creates a generated column.
  public init(_ name: String, keyPath: KeyPath<Root, Value.QueryOutput>? = nil) {
    self.name = name
  }

  public func _column<Other: Table>(of table: Other.Type) -> any TableColumnExpression {
    GeneratedColumn<Other, Value>(name)
  }
}

func _qualifiedName<Root: Table>(_ name: String, of table: Root.Type) -> QueryFragment {
  QueryFragment(qualifier: table._qualifier, name: name)
}

/// Makes a column or a group of columns, depending on the type of the value.
///
/// The `@Table` macro calls ``for(_:keyPath:)-(_,KeyPath<Root,Value.QueryOutput>)`` because it sees only
/// the spelling of a type.
public enum _TableColumn<Root: Table, Value: QueryRepresentable> {
  public static func `for`(
    _ name: String, keyPath: KeyPath<Root, Value.QueryOutput>
  ) -> TableColumn<Root, Value> where Value: QueryBindable {
    TableColumn(name)
  }

  public static func `for`(
    _ name: String, keyPath: KeyPath<Root, Value.QueryOutput>
  ) -> ColumnGroup<Root, Value> where Value: Table {
    ColumnGroup()
  }
}

extension Table {
  /// Makes a column whose type only its property knows.
  public static func _column<Value: QueryBindable>(
    _ name: String, keyPath: KeyPath<Self, Value>
  ) -> TableColumn<Self, Value> where Value.QueryOutput == Value {
    TableColumn(name)
  }

  /// Makes a group of columns whose type only its property knows.
  public static func _column<Value: Table>(
    _ name: String, keyPath: KeyPath<Self, Value>
  ) -> ColumnGroup<Self, Value> {
    ColumnGroup()
  }
}
