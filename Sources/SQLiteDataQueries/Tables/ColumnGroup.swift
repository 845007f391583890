/// Several columns of a table that one property holds, a nested `@Selection`.
///
/// ```swift
/// Reminder.select(\.timestamps)
/// // SELECT "reminders"."createdAt", "reminders"."updatedAt"
/// // FROM "reminders"
/// ```
@dynamicMemberLookup
public struct ColumnGroup<Root: Table, Value: Table>: _TableColumnList {
  public typealias QueryValue = Value

  /// Creates a group of columns.
  ///
  /// - Parameter keyPath: The property that holds the group. It gives the group its type.
  public init(keyPath: KeyPath<Root, Value>? = nil) {}

  public var _tableColumns: [any TableColumnExpression] {
    Value.TableColumns.allColumns.map { $0._column(of: Root.self) }
  }

  public var _allColumns: [any QueryExpression] { _tableColumns }

  public var queryFragment: QueryFragment {
    _tableColumns.lazy.map(\.queryFragment).joined(separator: ", ")
  }

  /// A column of the group.
  public subscript<Member>(
    dynamicMember keyPath: KeyPath<Value.TableColumns, TableColumn<Value, Member>>
  ) -> TableColumn<Root, Member> {
    TableColumn(Value.columns[keyPath: keyPath].name)
  }

  /// A generated column of the group.
  public subscript<Member>(
    dynamicMember keyPath: KeyPath<Value.TableColumns, GeneratedColumn<Value, Member>>
  ) -> GeneratedColumn<Root, Member> {
    GeneratedColumn(Value.columns[keyPath: keyPath].name)
  }

  /// A group of columns inside of the group.
  public subscript<Member>(
    dynamicMember keyPath: KeyPath<Value.TableColumns, ColumnGroup<Value, Member>>
  ) -> ColumnGroup<Root, Member> {
    ColumnGroup<Root, Member>()
  }
}

/// A table or selection that is an enum: each case is a column, or a group of columns.
public protocol _CaseTable: Table {}
