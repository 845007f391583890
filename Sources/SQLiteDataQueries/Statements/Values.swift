/// A statement that returns one row of values.
///
/// ```swift
/// Values(1, "Hello", true)
/// // SELECT 1, 'Hello', 1
/// ```
public struct Values<QueryValue>: PartialSelectStatement, Sendable {
  let columns: [QueryFragment]

  /// Creates a row from expressions.
  @_disfavoredOverload
  public init<each Value: QueryExpression>(_ value: repeat each Value)
  where QueryValue == (repeat (each Value).QueryValue) {
    columns = _fragments(repeat each value)
  }

  /// Creates a row of one expression or of a selection.
  public init<Value: QueryExpression>(_ value: Value) where QueryValue == Value.QueryValue {
    columns = [value.queryFragment]
  }

  public var query: QueryFragment {
    var fragment: QueryFragment = "SELECT "
    fragment.append(_joined(columns, ", "))
    return fragment
  }
}
