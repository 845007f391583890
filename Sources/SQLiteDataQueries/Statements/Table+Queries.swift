// swift-format-ignore-file: AmbiguousTrailingClosureOverload

// The queries that start from a table. All of them start from its default scope, `all`.
extension Table {
  /// The rows for which a column is true.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public static func `where`<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<TableColumns, Predicate>
  ) -> Where<Self> {
    Where([columns[keyPath: keyPath].queryFragment], scope: .table)
  }

  /// The rows for which conditions hold.
  ///
  /// ```swift
  /// Reminder.where { !$0.isCompleted }
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE NOT ("reminders"."isCompleted")
  /// ```
  public static func `where`(
    @QueryFragmentBuilder<Bool> _ predicate: (TableColumns) -> [QueryFragment]
  ) -> Where<Self> {
    Where(predicate(columns), scope: .table)
  }

  /// Selects a column.
  ///
  /// ```swift
  /// Reminder.select(\.title)
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// ```
  public static func select<C: QueryExpression>(
    _ selection: KeyPath<TableColumns, C>
  ) -> Select<C.QueryValue, Self, ()> where C.QueryValue: QueryRepresentable {
    all.asSelect().selecting([columns[keyPath: selection].queryFragment])
  }

  /// Selects one expression.
  ///
  /// ```swift
  /// Reminder.select { $0.title.length() }
  /// // SELECT length("reminders"."title")
  /// // FROM "reminders"
  /// ```
  public static func select<C: QueryExpression>(
    _ selection: (TableColumns) -> C
  ) -> Select<C.QueryValue, Self, ()> where C.QueryValue: QueryRepresentable {
    all.asSelect().selecting([selection(columns).queryFragment])
  }

  /// Selects several expressions.
  ///
  /// ```swift
  /// Reminder.select { ($0.id, $0.title) }
  /// // SELECT "reminders"."id", "reminders"."title"
  /// // FROM "reminders"
  /// ```
  public static func select<C1: QueryExpression, C2: QueryExpression, each C3: QueryExpression>(
    _ selection: (TableColumns) -> (C1, C2, repeat each C3)
  ) -> Select<(C1.QueryValue, C2.QueryValue, repeat (each C3).QueryValue), Self, ()>
  where
    C1.QueryValue: QueryRepresentable, C2.QueryValue: QueryRepresentable,
    repeat (each C3).QueryValue: QueryRepresentable
  {
    all.asSelect().selecting(_fragments(of: selection, columns))
  }

  /// Returns each row once.
  ///
  /// ```swift
  /// Reminder.distinct().select(\.title)
  /// // SELECT DISTINCT "reminders"."title"
  /// // FROM "reminders"
  /// ```
  public static func distinct(_ isDistinct: Bool = true) -> Select<(), Self, ()> { all.distinct(isDistinct) }

  /// Orders by a column.
  ///
  /// ```swift
  /// Reminder.order(by: \.title)
  /// // SELECT …
  /// // FROM "reminders"
  /// // ORDER BY "reminders"."title"
  /// ```
  public static func order<C: QueryExpression>(by ordering: KeyPath<TableColumns, C>) -> Select<(), Self, ()> {
    all.asSelect().ordering([columns[keyPath: ordering].queryFragment])
  }

  /// Orders by expressions. Its closure may contain `if` and `switch`.
  ///
  /// ```swift
  /// Reminder.order { ($0.isCompleted, $0.title.desc()) }
  /// // SELECT …
  /// // FROM "reminders"
  /// // ORDER BY "reminders"."isCompleted", "reminders"."title" DESC
  /// ```
  public static func order(
    @QueryFragmentBuilder<()> by ordering: (TableColumns) -> [QueryFragment]
  ) -> Select<(), Self, ()> {
    all.asSelect().ordering(ordering(columns))
  }

  /// Makes one row of all rows with the same value.
  ///
  /// ```swift
  /// Reminder.group(by: \.isCompleted).select { ($0.isCompleted, $0.count()) }
  /// // SELECT "reminders"."isCompleted", count("reminders"."id")
  /// // FROM "reminders"
  /// // GROUP BY "reminders"."isCompleted"
  /// ```
  public static func group<C: QueryExpression>(by grouping: KeyPath<TableColumns, C>) -> Select<(), Self, ()> {
    all.asSelect().grouping([columns[keyPath: grouping].queryFragment])
  }

  /// Makes one row of all rows with the same values.
  ///
  /// ```swift
  /// Reminder.group { ($0.isCompleted, $0.isFlagged) }.select { $0.count() }
  /// // SELECT count("reminders"."id")
  /// // FROM "reminders"
  /// // GROUP BY "reminders"."isCompleted", "reminders"."isFlagged"
  /// ```
  public static func group(
    @QueryFragmentBuilder<()> by grouping: (TableColumns) -> [QueryFragment]
  ) -> Select<(), Self, ()> {
    all.asSelect().grouping(grouping(columns))
  }

  /// Keeps the groups for which a Boolean column is true.
  public static func having<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<TableColumns, Predicate>
  ) -> Select<(), Self, ()> {
    all.having(keyPath)
  }

  /// Keeps the groups for which conditions hold.
  ///
  /// ```swift
  /// Reminder.having { $0.count().gt(1) }.select(\.title)
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// // HAVING (count("reminders"."id")) > (1)
  /// ```
  public static func having(
    @QueryFragmentBuilder<Bool> _ predicate: (TableColumns) -> [QueryFragment]
  ) -> Select<(), Self, ()> {
    all.asSelect().havingGroups(predicate(columns))
  }

  /// Returns at most a number of rows, and leaves out the first ones.
  ///
  /// ```swift
  /// Reminder.limit(10)
  /// // SELECT …
  /// // FROM "reminders"
  /// // LIMIT 10
  /// ```
  public static func limit(_ maxLength: Int, offset: Int? = nil) -> Select<(), Self, ()> {
    all.limit(maxLength, offset: offset)
  }

  /// Returns at most a number of rows, which an expression gives.
  public static func limit<Limit: QueryExpression<Int>>(
    _ maxLength: (TableColumns) -> Limit
  ) -> Select<(), Self, ()> {
    all.limit(maxLength)
  }

  /// Returns at most a number of rows, and leaves out the first ones. Expressions give both numbers.
  public static func limit<Limit: QueryExpression<Int>, Offset: QueryExpression<Int>>(
    _ maxLength: (TableColumns) -> Limit, offset: (TableColumns) -> Offset
  ) -> Select<(), Self, ()> {
    all.limit(maxLength, offset: offset)
  }

  /// Counts the rows.
  ///
  /// ```swift
  /// Reminder.count()
  /// // SELECT count(*)
  /// // FROM "reminders"
  /// ```
  public static func count() -> Select<Int, Self, ()> { all.count() }

  /// A condition that holds if the table has a row.
  ///
  /// ```swift
  /// Reminder.exists()
  /// // EXISTS (
  /// //   SELECT …
  /// //   FROM "reminders"
  /// // )
  /// ```
  public static func exists() -> SQLQueryExpression<Bool> { all.asSelect().exists() }

  /// Counts the rows for which a condition holds.
  ///
  /// ```swift
  /// Reminder.count { $0.isCompleted }
  /// // SELECT count(*) FILTER (WHERE "reminders"."isCompleted")
  /// // FROM "reminders"
  /// ```
  public static func count<Filter: QueryExpression<Bool>>(
    filter: (TableColumns) -> Filter
  ) -> Select<Int, Self, ()> {
    all.count(filter: filter)
  }
}
