/// A truth value, which may be NULL. NULL doesn't fulfil a condition.
public protocol _TruthValue {}

extension Bool: _TruthValue {}
extension Bool?: _TruthValue {}

// These let the compiler infer the type of `#sql` as the left operand.
extension SQLQueryExpression<Bool> {
  public static func && (lhs: Self, rhs: some QueryExpression<Bool>) -> SQLQueryExpression<Bool> { lhs.and(rhs) }

  public static func || (lhs: Self, rhs: some QueryExpression<Bool>) -> SQLQueryExpression<Bool> { lhs.or(rhs) }
}

extension QueryExpression where QueryValue: QueryDecodable, QueryValue._Optionalized == Bool? {
  /// Both conditions hold.
  ///
  /// ```swift
  /// Reminder.where { $0.isCompleted && $0.isFlagged }
  /// // … WHERE ("reminders"."isCompleted") AND ("reminders"."isFlagged")
  /// ```
  public static func && <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue == Bool {
    lhs.and(rhs)
  }

  /// At least one of the conditions holds.
  ///
  /// ```swift
  /// Reminder.where { $0.isCompleted || $0.isFlagged }
  /// // … WHERE ("reminders"."isCompleted") OR ("reminders"."isFlagged")
  /// ```
  public static func || <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue == Bool {
    lhs.or(rhs)
  }

  @_disfavoredOverload
  public static func && <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool?>
  where Other.QueryValue == Bool? {
    _binary(lhs.queryFragment, ") AND (", rhs.queryFragment)
  }

  @_disfavoredOverload
  public static func || <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool?>
  where Other.QueryValue == Bool? {
    _binary(lhs.queryFragment, ") OR (", rhs.queryFragment)
  }

  /// The condition doesn't hold.
  ///
  /// ```swift
  /// Reminder.where { !$0.isCompleted }
  /// // … WHERE NOT ("reminders"."isCompleted")
  /// ```
  public static prefix func ! (expression: Self) -> SQLQueryExpression<QueryValue> {
    expression.not()
  }

  /// The function form of `&&`.
  public func and(_ other: some QueryExpression<Bool>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") AND (", other.queryFragment)
  }

  /// The function form of `||`.
  public func or(_ other: some QueryExpression<Bool>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") OR (", other.queryFragment)
  }

  /// The function form of `!`.
  public func not() -> SQLQueryExpression<QueryValue> {
    SQLQueryExpression("NOT (\(queryFragment))")
  }
}
