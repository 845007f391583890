/// The rows that a window function looks at.
///
/// ```swift
/// Reminder.select { $0.id.sum().over(Window().partition(by: $0.remindersListID).order(by: $0.title)) }
/// // SELECT sum("reminders"."id") OVER (PARTITION BY "reminders"."remindersListID" ORDER BY "reminders"."title") …
/// ```
public struct Window: Sendable {
  private var partition: [QueryFragment] = []
  private var order: [QueryFragment] = []
  private var frame: QueryFragment?

  /// Creates a window over all rows.
  public init() {}

  /// Looks only at rows with the same values.
  public func partition<each E: QueryExpression>(by expression: repeat each E) -> Self {
    var window = self
    window.partition += _fragments(repeat each expression)
    return window
  }

  /// Orders the rows.
  public func order<each E: QueryExpression>(by expression: repeat each E) -> Self {
    var window = self
    window.order += _fragments(repeat each expression)
    return window
  }

  /// Looks only at rows around the current one, as in `ROWS BETWEEN 1 PRECEDING AND CURRENT ROW`.
  public func frame(_ sql: QueryFragment) -> Self {
    var window = self
    window.frame = sql
    return window
  }

  var fragment: QueryFragment {
    var parts: [QueryFragment] = []
    if !partition.isEmpty { parts.append("PARTITION BY \(_joined(partition, ", "))") }
    if !order.isEmpty { parts.append("ORDER BY \(_joined(order, ", "))") }
    if let frame { parts.append(frame) }
    return parts.joined(separator: " ")
  }
}

extension SQLQueryExpression {
  /// Computes an aggregate or window function for each row from the rows around it.
  ///
  /// ```swift
  /// Reminder.select { ($0.title, rowNumber().over(Window().order(by: $0.id))) }
  /// // SELECT "reminders"."title", row_number() OVER (ORDER BY "reminders"."id") …
  /// ```
  public func over(_ window: Window = Window()) -> SQLQueryExpression<QueryValue> {
    SQLQueryExpression<QueryValue>("\(queryFragment) OVER (\(window.fragment))", as: QueryValue.self)
  }
}

/// The number of the row in its window, from 1.
public func rowNumber() -> SQLQueryExpression<Int> { SQLQueryExpression("row_number()") }

/// The rank of the row in its window, with gaps after equal rows.
public func rank() -> SQLQueryExpression<Int> { SQLQueryExpression("rank()") }

/// The rank of the row in its window, without gaps.
public func denseRank() -> SQLQueryExpression<Int> { SQLQueryExpression("dense_rank()") }

/// The rank of the row in its window as a number from 0 to 1.
public func percentRank() -> SQLQueryExpression<Double> { SQLQueryExpression("percent_rank()") }

/// The share of the rows of the window up to this one.
public func cumeDist() -> SQLQueryExpression<Double> { SQLQueryExpression("cume_dist()") }

/// The number of the part of the window that holds the row, if it is cut into equal parts.
public func ntile(_ count: Int) -> SQLQueryExpression<Int> { SQLQueryExpression("ntile(\(count))") }

extension QueryExpression where QueryValue: QueryDecodable {
  /// The value of an earlier row of the window.
  ///
  /// ```swift
  /// Reminder.select { $0.title.lag().over(Window().order(by: $0.id)) }
  /// // SELECT lag("reminders"."title", 1) OVER (ORDER BY "reminders"."id") …
  /// ```
  public func lag(_ offset: Int = 1) -> SQLQueryExpression<QueryValue._Optionalized> {
    _call("lag", offset.queryFragment)
  }

  /// The value of a later row of the window.
  ///
  /// ```swift
  /// Reminder.select { $0.title.lead().over(Window().order(by: $0.id)) }
  /// // SELECT lead("reminders"."title", 1) OVER (ORDER BY "reminders"."id") …
  /// ```
  public func lead(_ offset: Int = 1) -> SQLQueryExpression<QueryValue._Optionalized> {
    _call("lead", offset.queryFragment)
  }

  /// The value of the window's first row.
  public func firstValue() -> SQLQueryExpression<QueryValue._Optionalized> { _call("first_value") }

  /// The value of the window's last row.
  public func lastValue() -> SQLQueryExpression<QueryValue._Optionalized> { _call("last_value") }
}
