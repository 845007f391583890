/// An expression that arithmetic operators work with.
///
/// Swift's own numbers and texts are expressions too, but they don't conform to this protocol: the operators
/// below would take part in all arithmetic of a program and slow its compilation down.
public protocol _OperatorExpression<QueryValue>: QueryExpression {}

extension TableColumn: _OperatorExpression {}
extension GeneratedColumn: _OperatorExpression {}
extension SQLQueryExpression: _OperatorExpression {}
extension BindQueryExpression: _OperatorExpression {}
extension Cases: _OperatorExpression {}

extension _OperatorExpression where QueryValue: QueryDecodable {
  /// Adds two numbers.
  ///
  /// ```swift
  /// Reminder.select { $0.id + 1 }
  /// // SELECT ("reminders"."id") + (1) …
  /// ```
  public static func + (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") + (", rhs.queryFragment)
  }

  /// Subtracts a number.
  ///
  /// ```swift
  /// Reminder.select { $0.id - 1 }
  /// // SELECT ("reminders"."id") - (1) …
  /// ```
  public static func - (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") - (", rhs.queryFragment)
  }

  /// Multiplies two numbers.
  ///
  /// ```swift
  /// Reminder.select { $0.id * 2 }
  /// // SELECT ("reminders"."id") * (2) …
  /// ```
  public static func * (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") * (", rhs.queryFragment)
  }

  /// Divides by a number.
  ///
  /// ```swift
  /// Reminder.select { $0.id / 2 }
  /// // SELECT ("reminders"."id") / (2) …
  /// ```
  public static func / (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") / (", rhs.queryFragment)
  }

  /// The remainder of a division.
  ///
  /// ```swift
  /// Reminder.select { $0.id % 2 }
  /// // SELECT ("reminders"."id") % (2) …
  /// ```
  public static func % (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") % (", rhs.queryFragment)
  }

  /// A number as it is.
  ///
  /// ```swift
  /// Reminder.select { +$0.id }
  /// // SELECT +("reminders"."id") …
  /// ```
  public static prefix func + (expression: Self) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    SQLQueryExpression("+(\(expression.queryFragment))")
  }

  /// Negates a number.
  ///
  /// ```swift
  /// Reminder.select { -$0.id }
  /// // SELECT -("reminders"."id") …
  /// ```
  public static prefix func - (expression: Self) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    SQLQueryExpression("-(\(expression.queryFragment))")
  }

  /// The bits that are set in both integers.
  ///
  /// ```swift
  /// Reminder.select { $0.id & 1 }
  /// // SELECT ("reminders"."id") & (1) …
  /// ```
  public static func & (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") & (", rhs.queryFragment)
  }

  /// The bits that are set in at least one of two integers.
  ///
  /// ```swift
  /// Reminder.select { $0.id | 1 }
  /// // SELECT ("reminders"."id") | (1) …
  /// ```
  public static func | (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") | (", rhs.queryFragment)
  }

  /// The bits of an integer, moved to the left.
  ///
  /// ```swift
  /// Reminder.select { $0.id << 1 }
  /// // SELECT ("reminders"."id") << (1) …
  /// ```
  public static func << (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") << (", rhs.queryFragment)
  }

  /// The bits of an integer, moved to the right.
  ///
  /// ```swift
  /// Reminder.select { $0.id >> 1 }
  /// // SELECT ("reminders"."id") >> (1) …
  /// ```
  public static func >> (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    _binary(lhs.queryFragment, ") >> (", rhs.queryFragment)
  }

  /// The bits of an integer, inverted.
  ///
  /// ```swift
  /// Reminder.select { ~$0.id }
  /// // SELECT ~("reminders"."id") …
  /// ```
  public static prefix func ~ (expression: Self) -> SQLQueryExpression<QueryValue>
  where QueryValue: _NumericValue {
    SQLQueryExpression("~(\(expression.queryFragment))")
  }

  /// Joins two texts.
  ///
  /// ```swift
  /// Reminder.select { $0.title + "!" }
  /// // SELECT ("reminders"."title") || ('!') …
  /// ```
  public static func + (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue>
  where QueryValue: _TextValue {
    _binary(lhs.queryFragment, ") || (", rhs.queryFragment)
  }

  /// Joins two texts, the first of which the program knows.
  ///
  /// ```swift
  /// Reminder.select { "Task: " + $0.title }
  /// // SELECT ('Task: ') || ("reminders"."title") …
  /// ```
  public static func + (lhs: String, rhs: Self) -> SQLQueryExpression<QueryValue>
  where QueryValue: _TextValue {
    _binary(lhs.queryFragment, ") || (", rhs.queryFragment)
  }
}

// Arithmetic of an expression that may be NULL and one that can't. The result may be NULL.
extension _OperatorExpression {
  @_disfavoredOverload
  public static func + <Value: _NumericValue>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Value? {
    _binary(lhs.queryFragment, ") + (", rhs.queryFragment)
  }

  @_disfavoredOverload
  public static func - <Value: _NumericValue>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Value? {
    _binary(lhs.queryFragment, ") - (", rhs.queryFragment)
  }

  @_disfavoredOverload
  public static func * <Value: _NumericValue>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Value? {
    _binary(lhs.queryFragment, ") * (", rhs.queryFragment)
  }

  @_disfavoredOverload
  public static func / <Value: _NumericValue>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Value? {
    _binary(lhs.queryFragment, ") / (", rhs.queryFragment)
  }

  @_disfavoredOverload
  public static func % <Value: _NumericValue>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value?> where QueryValue == Value? {
    _binary(lhs.queryFragment, ") % (", rhs.queryFragment)
  }
}

extension QueryExpression where QueryValue: QueryDecodable {
  /// The first of two expressions that isn't NULL. Use `ifnull` if both may be NULL.
  ///
  /// ```swift
  /// Reminder.select { $0.priority ?? Priority.low }
  /// // SELECT coalesce("reminders"."priority", 1) …
  /// ```
  public static func ?? <Value: QueryDecodable>(
    lhs: Self, rhs: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value> where QueryValue == Value? {
    SQLQueryExpression("coalesce(\(lhs.queryFragment), \(rhs.queryFragment))")
  }

  /// The function `ifnull`: the first of two expressions that isn't NULL.
  ///
  /// ```swift
  /// Reminder.select { $0.priority.ifnull(Priority.low) }
  /// // SELECT ifnull("reminders"."priority", 1) …
  /// ```
  public func ifnull<Value: QueryDecodable>(
    _ other: some QueryExpression<Value>
  ) -> SQLQueryExpression<Value> where QueryValue == Value? {
    SQLQueryExpression("ifnull(\(queryFragment), \(other.queryFragment))")
  }

  /// The function `ifnull`, if both expressions may be NULL.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.ifnull($0.dueDate) }
  /// // SELECT ifnull("reminders"."dueDate", "reminders"."dueDate") …
  /// ```
  @_disfavoredOverload
  public func ifnull(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<QueryValue> {
    SQLQueryExpression("ifnull(\(queryFragment), \(other.queryFragment))")
  }
}

/// A type that arithmetic works with, or an optional of one.
public protocol _NumericValue: QueryBindable {}

extension Int: _NumericValue {}
extension Int8: _NumericValue {}
extension Int16: _NumericValue {}
extension Int32: _NumericValue {}
extension Int64: _NumericValue {}
extension UInt: _NumericValue {}
extension UInt8: _NumericValue {}
extension UInt16: _NumericValue {}
extension UInt32: _NumericValue {}
extension UInt64: _NumericValue {}
extension Double: _NumericValue {}
extension Float: _NumericValue {}
extension Optional: _NumericValue where Wrapped: _NumericValue {}
