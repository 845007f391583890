/// A statement with common table expressions: queries that it uses like tables.
///
/// The rows of such a query are a `@Selection` or `@Table` type, whose table name is the query's name.
///
/// ```swift
/// With {
///   Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) }
/// } query: {
///   OpenReminder.order(by: \.title)
/// }
/// // WITH "openReminders" AS (
/// //   SELECT "reminders"."title" AS "title"
/// //   FROM "reminders"
/// //   WHERE NOT ("reminders"."isCompleted")
/// // )
/// // SELECT "openReminders"."title"
/// // FROM "openReminders"
/// // ORDER BY "openReminders"."title"
/// ```
public struct With<QueryValue>: PartialSelectStatement, Sendable {
  public let query: QueryFragment

  /// Creates a statement from common table expressions and the statement that uses them.
  @_disfavoredOverload
  public init(
    @CommonTableExpressionBuilder _ expressions: () -> [CommonTableExpressionClause],
    query statement: () -> some Statement<QueryValue>
  ) {
    query = Self.query(expressions(), statement().query)
  }

  /// Creates a query of whole rows from common table expressions and the query that uses them.
  public init(
    @CommonTableExpressionBuilder _ expressions: () -> [CommonTableExpressionClause],
    query statement: () -> some SelectStatement<(), QueryValue, ()>
  ) where QueryValue: Table {
    query = Self.query(expressions(), statement().query)
  }

  /// Creates a query of whole rows of joined tables from common table expressions and the query that uses them.
  public init<From: Table, J1: Table, each J2: Table>(
    @CommonTableExpressionBuilder _ expressions: () -> [CommonTableExpressionClause],
    query statement: () -> some SelectStatement<(), From, (J1, repeat each J2)>
  ) where QueryValue == (From, J1, repeat each J2) {
    query = Self.query(expressions(), statement().query)
  }

  private static func query(
    _ expressions: [CommonTableExpressionClause], _ statement: QueryFragment
  ) -> QueryFragment {
    guard !statement.isEmpty, !expressions.isEmpty else { return statement }
    // SQLite allows a query to use itself without the keyword RECURSIVE.
    var fragment: QueryFragment = "WITH "
    for (index, expression) in expressions.enumerated() {
      if index > 0 { fragment.append(raw: ", ") }
      fragment.append(quote: expression.tableName)
      fragment.append(raw: " AS (\n")
      fragment.append(expression.select.indented())
      fragment.append(raw: "\n)")
    }
    fragment.append(raw: "\n")
    fragment.append(statement)
    return fragment
  }
}

/// One common table expression.
public struct CommonTableExpressionClause: Sendable {
  let tableName: String
  let select: QueryFragment

  init<T: Table>(_ table: T.Type, _ query: QueryFragment) {
    tableName = T.tableName
    select = query.orNoRows(of: T.self)
  }
}

/// Collects common table expressions.
@resultBuilder
public enum CommonTableExpressionBuilder {
  public static func buildExpression<T: Table>(
    _ expression: some PartialSelectStatement<T>
  ) -> CommonTableExpressionClause {
    CommonTableExpressionClause(T.self, expression.query)
  }

  /// A query that selects all columns of a table.
  @_disfavoredOverload
  public static func buildExpression<T: Table>(
    _ expression: some SelectStatement<(), T, ()>
  ) -> CommonTableExpressionClause {
    CommonTableExpressionClause(T.self, expression.query)
  }

  public static func buildBlock(_ components: CommonTableExpressionClause...) -> [CommonTableExpressionClause] {
    components
  }
}
