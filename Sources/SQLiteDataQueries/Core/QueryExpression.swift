/// A piece of a query that stands for a value of a known type.
public protocol QueryExpression<QueryValue> {
  /// The type of the value that the expression stands for, or `()` if it has none.
  associatedtype QueryValue

  /// The SQL of the expression.
  var queryFragment: QueryFragment { get }

  /// The expression as one expression for each column. A plain expression is one column.
  var _allColumns: [any QueryExpression] { get }

  /// The value that the expression binds, or nil if its SQL is more than a placeholder.
  var _boundValue: QueryBinding? { get }
}

extension QueryExpression {
  public var _allColumns: [any QueryExpression] { [self] }

  @inlinable
  public var _boundValue: QueryBinding? { nil }
}

/// An expression made from SQL that the caller wrote, as the `#sql` macro does.
///
/// It is a statement too, so it can be executed as it stands.
public struct SQLQueryExpression<QueryValue>: PartialSelectStatement {
  public let queryFragment: QueryFragment

  public var query: QueryFragment { queryFragment }

  /// Creates an expression from a fragment.
  ///
  /// ```swift
  /// SQLQueryExpression("\(Reminder.columns.title) || '!'", as: String.self)
  /// // "reminders"."title" || '!'
  /// ```
  public init(_ queryFragment: QueryFragment, as queryValueType: QueryValue.Type = QueryValue.self) {
    self.queryFragment = queryFragment
  }

  /// Creates an expression from another one and forgets the other's type.
  @_disfavoredOverload
  public init(_ expression: some QueryExpression<QueryValue>) {
    queryFragment = expression.queryFragment
  }
}

extension SQLQueryExpression where QueryValue == () {
  public init(_ queryFragment: QueryFragment) {
    self.queryFragment = queryFragment
  }
}

/// A Swift value as an expression, as the `#bind` macro makes it.
public struct BindQueryExpression<QueryValue: QueryBindable>: QueryExpression {
  public let base: QueryValue

  /// Binds a value in a representation that the context or the second argument chooses.
  ///
  /// ```swift
  /// BindQueryExpression(date, as: Date.UnixTimeRepresentation.self)
  /// ```
  public init(_ queryOutput: QueryValue.QueryOutput, as queryValueType: QueryValue.Type = QueryValue.self) {
    base = QueryValue(queryOutput: queryOutput)
  }

  /// Binds a value that is its own representation.
  @_disfavoredOverload
  public init(_ value: QueryValue) where QueryValue.QueryOutput == QueryValue {
    base = value
  }

  public var queryFragment: QueryFragment { base.queryFragment }

  @inlinable
  public var _boundValue: QueryBinding? { base._boundValue }
}

extension SQLQueryExpression: Sendable {}
