/// The start of a CASE expression.
///
/// ```swift
/// Reminder.select { Case($0.id).when(1, then: "one").when(2, then: "two").else("many") }
/// // SELECT CASE "reminders"."id" WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END …
/// ```
public struct Case<Base, QueryValue: QueryDecodable> {
  let base: QueryFragment?

  /// Starts an expression whose branches have conditions.
  ///
  /// ```swift
  /// Reminder.select { Case().when($0.isCompleted, then: "done").else("open") }
  /// // SELECT CASE WHEN "reminders"."isCompleted" THEN 'done' ELSE 'open' END …
  /// ```
  public init() where Base == Bool { base = nil }

  /// Starts an expression that compares a value with each branch.
  public init(_ base: some QueryExpression<Base>) { self.base = base.queryFragment }

  /// Adds a branch.
  public func when(
    _ condition: some QueryExpression<Base>, then expression: some QueryExpression<QueryValue>
  ) -> Cases<Base, QueryValue._Optionalized> {
    Cases(base: base, branches: ["WHEN \(condition) THEN \(expression)"])
  }

  /// Adds a branch for a value that the expression, which may be NULL, is compared with.
  @_disfavoredOverload
  public func when<Condition: QueryExpression>(
    _ condition: Condition, then expression: some QueryExpression<QueryValue>
  ) -> Cases<Base, QueryValue._Optionalized> where Base == Condition.QueryValue? {
    Cases(base: base, branches: ["WHEN \(condition) THEN \(expression)"])
  }

  /// Adds a branch whose value may be NULL.
  @_disfavoredOverload
  public func when<Value: QueryDecodable>(
    _ condition: some QueryExpression<Base>, then expression: some QueryExpression<Value?>
  ) -> Cases<Base, QueryValue> where QueryValue == Value? {
    Cases(base: base, branches: ["WHEN \(condition) THEN \(expression)"])
  }
}

/// A CASE expression with at least one branch. Without an `else`, it is NULL if no branch fits.
public struct Cases<Base, QueryValue: QueryDecodable>: QueryExpression {
  let base: QueryFragment?
  var branches: [QueryFragment]

  /// Adds a branch.
  public func when<Value: QueryDecodable>(
    _ condition: some QueryExpression<Base>, then expression: some QueryExpression<Value>
  ) -> Cases where QueryValue == Value? {
    Cases(base: base, branches: branches + ["WHEN \(condition) THEN \(expression)"])
  }

  /// Adds a branch for a value that the expression, which may be NULL, is compared with.
  @_disfavoredOverload
  public func when<Condition: QueryExpression, Value: QueryDecodable>(
    _ condition: Condition, then expression: some QueryExpression<Value>
  ) -> Cases where Base == Condition.QueryValue?, QueryValue == Value? {
    Cases(base: base, branches: branches + ["WHEN \(condition) THEN \(expression)"])
  }

  /// Ends the expression with the value for all other cases.
  public func `else`<Value: QueryDecodable>(
    _ expression: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value> where QueryValue == Value? {
    SQLQueryExpression(fragment(else: expression.queryFragment))
  }

  public var queryFragment: QueryFragment { fragment(else: nil) }

  private func fragment(else last: QueryFragment?) -> QueryFragment {
    var fragment: QueryFragment = "CASE "
    if let base { fragment.append("\(base) ") }
    fragment.append(branches.joined(separator: " "))
    if let last { fragment.append(" ELSE \(last)") }
    fragment.append(raw: " END")
    return fragment
  }
}
