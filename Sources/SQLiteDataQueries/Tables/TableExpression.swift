/// A list of expressions, one for each column of a table or selection.
///
/// The `@Table` and `@Selection` macros generate it as a nested type `Selection`, which is also called
/// `Columns`.
///
/// ```swift
/// Reminder.select { OpenReminder.Columns(title: $0.title) }
/// // SELECT "reminders"."title" AS "title" FROM "reminders"
/// ```
public protocol TableExpression<QueryValue>: QueryExpression, PartialSelectStatement where QueryValue: Table {
  /// One expression for each column of the value, groups flattened.
  var allColumns: [any QueryExpression] { get }
}

extension TableExpression {
  public var _allColumns: [any QueryExpression] { allColumns }

  public var queryFragment: QueryFragment {
    _aliased(allColumns, as: QueryValue.TableColumns.allColumns)
  }

  public var query: QueryFragment {
    var fragment: QueryFragment = "SELECT "
    fragment.append(queryFragment)
    return fragment
  }
}

/// Makes the flat list of expressions from expressions of one or more columns each.
public func _flattened<each Expression: QueryExpression>(
  expressions expression: repeat each Expression
) -> [any QueryExpression] {
  var result: [any QueryExpression] = []
  for item in repeat each expression { result.append(contentsOf: item._allColumns) }
  return result
}

/// Makes a NULL for each column of a table, as an enumeration's selection needs for its other cases.
public func _nulls<T: QueryRepresentable>(_ type: T.Type) -> [any QueryExpression] {
  (0..<T._columnWidth).map { _ in SQLQueryExpression<()>("NULL") }
}

func _aliased(_ expressions: [any QueryExpression], as columns: [any TableColumnExpression]) -> QueryFragment {
  var fragment = QueryFragment()
  for (index, expression) in expressions.enumerated() {
    if index > 0 { fragment.append(raw: ", ") }
    fragment.append(expression.queryFragment)
    if index < columns.count {
      fragment.append(raw: " AS ")
      fragment.append(quote: columns[index].name)
    }
  }
  return fragment
}
