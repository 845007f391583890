/// A `CREATE TEMPORARY VIEW` statement.
public struct TemporaryView<View: Table>: Statement, Sendable {
  public typealias QueryValue = ()

  let ifNotExists: Bool
  let select: QueryFragment

  public var query: QueryFragment {
    let columns = View.TableColumns.allColumns.map { QueryFragment(quote: $0.name) }.joined(separator: ", ")
    let fragment: QueryFragment =
      "CREATE TEMPORARY VIEW\(raw: ifNotExists ? " IF NOT EXISTS" : "")\n\(View.self)\n(\(columns))\nAS\n\(select)"
    // SQLite allows no bound values in a view.
    return fragment.inlined()
  }

  /// A statement that drops the view.
  public func drop(ifExists: Bool = false) -> SQLQueryExpression<()> {
    SQLQueryExpression("DROP VIEW \(raw: ifExists ? "IF EXISTS " : "")\(View.self)", as: Void.self)
  }
}

extension Table {
  /// A temporary view whose rows are the rows of a query.
  ///
  /// ```swift
  /// OpenReminder.createTemporaryView(
  ///   as: Reminder.where { !$0.isCompleted }.select { OpenReminder.Columns(title: $0.title) })
  /// // CREATE TEMPORARY VIEW
  /// // "openReminders"
  /// // ("title")
  /// // AS
  /// // SELECT "reminders"."title" AS "title"
  /// // FROM "reminders"
  /// // WHERE NOT ("reminders"."isCompleted")
  /// ```
  public static func createTemporaryView<Query: PartialSelectStatement>(
    ifNotExists: Bool = false, as select: Query
  ) -> TemporaryView<Self> where Query.QueryValue == Self {
    TemporaryView(ifNotExists: ifNotExists, select: select.query.orNoRows(of: Self.self))
  }
}
