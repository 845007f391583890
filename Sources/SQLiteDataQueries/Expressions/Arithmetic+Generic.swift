// The operators of expressions whose type the compiler doesn't know, such as a property of type
// `some QueryExpression<Int>`, and of a query in front of an operator: `Reminder.count() + 1`. A number in front of an
// expression takes them too: `1 + $0.id`. They are disfavored, so that they don't slow the compilation of other
// arithmetic down.

extension QueryExpression where QueryValue: _NumericValue {
  /// Adds two numbers.
  ///
  /// ```swift
  /// Reminder.select { 1 + $0.id }
  /// // SELECT (1) + ("reminders"."id") …
  /// ```
  @_disfavoredOverload
  public static func + (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") + (", rhs.queryFragment)
  }

  /// Subtracts a number.
  @_disfavoredOverload
  public static func - (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") - (", rhs.queryFragment)
  }

  /// Multiplies two numbers.
  @_disfavoredOverload
  public static func * (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") * (", rhs.queryFragment)
  }

  /// Divides by a number.
  @_disfavoredOverload
  public static func / (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") / (", rhs.queryFragment)
  }

  /// The remainder of a division.
  @_disfavoredOverload
  public static func % (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") % (", rhs.queryFragment)
  }

  /// The bits that are set in both integers.
  @_disfavoredOverload
  public static func & (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") & (", rhs.queryFragment)
  }

  /// The bits that are set in at least one of two integers.
  @_disfavoredOverload
  public static func | (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") | (", rhs.queryFragment)
  }

  /// The bits of an integer, moved to the left.
  @_disfavoredOverload
  public static func << (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") << (", rhs.queryFragment)
  }

  /// The bits of an integer, moved to the right.
  @_disfavoredOverload
  public static func >> (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") >> (", rhs.queryFragment)
  }

  /// Negates a number.
  @_disfavoredOverload
  public static prefix func - (expression: Self) -> SQLQueryExpression<QueryValue> {
    SQLQueryExpression("-(\(expression.queryFragment))")
  }
}

extension QueryExpression where QueryValue: _TextValue {
  /// Joins two texts.
  @_disfavoredOverload
  public static func + (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    _binary(lhs.queryFragment, ") || (", rhs.queryFragment)
  }
}
