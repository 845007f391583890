// swift-format-ignore-file: AmbiguousTrailingClosureOverload

// The clauses of a query of one table. A query with joins has the same methods in Select+Joined.swift.
extension SelectStatement where Joins == () {
  /// Selects a column.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).select(\.title)
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func select<C2: QueryExpression>(
    _ selection: KeyPath<From.TableColumns, C2>
  ) -> Select<C2.QueryValue, From, ()>
  where QueryValue == (), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([From.columns[keyPath: selection].queryFragment])
  }

  /// Selects one expression.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).select { $0.title.upper() }
  /// // SELECT upper("reminders"."title")
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func select<C2: QueryExpression>(
    _ selection: (From.TableColumns) -> C2
  ) -> Select<C2.QueryValue, From, ()>
  where QueryValue == (), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([selection(From.columns).queryFragment])
  }

  /// Selects one more column.
  @_disfavoredOverload
  public func select<each C1: QueryRepresentable, C2: QueryExpression>(
    _ selection: KeyPath<From.TableColumns, C2>
  ) -> Select<(repeat each C1, C2.QueryValue), From, ()>
  where QueryValue == (repeat each C1), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([From.columns[keyPath: selection].queryFragment])
  }

  /// Selects one more expression.
  @_disfavoredOverload
  public func select<each C1: QueryRepresentable, C2: QueryExpression>(
    _ selection: (From.TableColumns) -> C2
  ) -> Select<(repeat each C1, C2.QueryValue), From, ()>
  where QueryValue == (repeat each C1), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([selection(From.columns).queryFragment])
  }

  /// Selects several expressions.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).select { ($0.id, $0.title) }
  /// // SELECT "reminders"."id", "reminders"."title"
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func select<
    each C1: QueryRepresentable, C2: QueryExpression, C3: QueryExpression, each C4: QueryExpression
  >(
    _ selection: (From.TableColumns) -> (C2, C3, repeat each C4)
  ) -> Select<(repeat each C1, C2.QueryValue, C3.QueryValue, repeat (each C4).QueryValue), From, ()>
  where
    QueryValue == (repeat each C1), C2.QueryValue: QueryRepresentable, C3.QueryValue: QueryRepresentable,
    repeat (each C4).QueryValue: QueryRepresentable
  {
    asSelect().selecting(_fragments(of: selection, From.columns))
  }

  /// Keeps the rows for which a column is true.
  ///
  /// ```swift
  /// Reminder.order(by: \.title).where(\.isCompleted)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // ORDER BY "reminders"."title"
  /// ```
  public func `where`<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<From.TableColumns, Predicate>
  ) -> Select<QueryValue, From, ()> {
    asSelect().filtering([From.columns[keyPath: keyPath].queryFragment])
  }

  /// Keeps the rows for which conditions hold. All conditions of all calls have to hold.
  ///
  /// ```swift
  /// Reminder.order(by: \.title).where { $0.id.gt(10) }
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE ("reminders"."id") > (10)
  /// // ORDER BY "reminders"."title"
  /// ```
  public func `where`(
    @QueryFragmentBuilder<Bool> _ predicate: (From.TableColumns) -> [QueryFragment]
  ) -> Select<QueryValue, From, ()> {
    asSelect().filtering(predicate(From.columns))
  }

  /// Keeps the rows that another query of the table keeps.
  ///
  /// ```swift
  /// Reminder.order(by: \.title).and(Reminder.where(\.isCompleted))
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // ORDER BY "reminders"."title"
  /// ```
  public func and(_ other: Where<From>) -> Select<QueryValue, From, ()> {
    var result = asSelect().filtering(other.predicates)
    result.clauses.isNone = result.clauses.isNone || other.scope == .none
    return result
  }

  /// Makes one row of all rows with the same value.
  ///
  /// ```swift
  /// Reminder.group(by: \.remindersListID).select { ($0.remindersListID, $0.count()) }
  /// // SELECT "reminders"."remindersListID", count("reminders"."id")
  /// // FROM "reminders"
  /// // GROUP BY "reminders"."remindersListID"
  /// ```
  public func group<C: QueryExpression>(
    by grouping: KeyPath<From.TableColumns, C>
  ) -> Select<QueryValue, From, ()> {
    asSelect().grouping([From.columns[keyPath: grouping].queryFragment])
  }

  /// Makes one row of all rows with the same values.
  ///
  /// ```swift
  /// Reminder.group { ($0.remindersListID, $0.isCompleted) }.select { $0.count() }
  /// // SELECT count("reminders"."id")
  /// // FROM "reminders"
  /// // GROUP BY "reminders"."remindersListID", "reminders"."isCompleted"
  /// ```
  public func group(
    @QueryFragmentBuilder<()> by grouping: (From.TableColumns) -> [QueryFragment]
  ) -> Select<QueryValue, From, ()> {
    asSelect().grouping(grouping(From.columns))
  }

  /// Keeps the groups for which a condition holds.
  ///
  /// ```swift
  /// Reminder.group(by: \.remindersListID).having { $0.count().gt(1) }.select(\.remindersListID)
  /// // SELECT "reminders"."remindersListID"
  /// // FROM "reminders"
  /// // GROUP BY "reminders"."remindersListID"
  /// // HAVING (count("reminders"."id")) > (1)
  /// ```
  public func having(
    @QueryFragmentBuilder<Bool> _ predicate: (From.TableColumns) -> [QueryFragment]
  ) -> Select<QueryValue, From, ()> {
    asSelect().havingGroups(predicate(From.columns))
  }

  /// Keeps the groups for which a column is true.
  public func having<Predicate: QueryExpression<Truth>, Truth: _TruthValue>(
    _ keyPath: KeyPath<From.TableColumns, Predicate>
  ) -> Select<QueryValue, From, ()> {
    asSelect().havingGroups([From.columns[keyPath: keyPath].queryFragment])
  }

  /// Orders by a column. Further calls order the rows with equal values.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).order(by: \.title)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // ORDER BY "reminders"."title"
  /// ```
  public func order<C: QueryExpression>(
    by ordering: KeyPath<From.TableColumns, C>
  ) -> Select<QueryValue, From, ()> {
    asSelect().ordering([From.columns[keyPath: ordering].queryFragment])
  }

  /// Orders by expressions.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).order { ($0.title.desc(), $0.id) }
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // ORDER BY "reminders"."title" DESC, "reminders"."id"
  /// ```
  public func order(
    @QueryFragmentBuilder<()> by ordering: (From.TableColumns) -> [QueryFragment]
  ) -> Select<QueryValue, From, ()> {
    asSelect().ordering(ordering(From.columns))
  }

  /// Returns at most as many rows as an expression says.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).limit { _ in 10 }
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // LIMIT 10
  /// ```
  public func limit<Limit: QueryExpression<Int>>(
    _ maxLength: (From.TableColumns) -> Limit
  ) -> Select<QueryValue, From, ()> {
    asSelect().limiting(maxLength(From.columns).queryFragment, nil)
  }

  /// Returns at most as many rows as an expression says, and leaves out others.
  public func limit<Limit: QueryExpression<Int>, Offset: QueryExpression<Int>>(
    _ maxLength: (From.TableColumns) -> Limit, offset: (From.TableColumns) -> Offset
  ) -> Select<QueryValue, From, ()> {
    asSelect().limiting(maxLength(From.columns).queryFragment, offset(From.columns).queryFragment)
  }
}

extension SelectStatement {
  /// Returns at most a number of rows, and leaves out the first ones.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).limit(10, offset: 20)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // LIMIT 10 OFFSET 20
  /// ```
  public func limit(_ maxLength: Int, offset: Int? = nil) -> Select<QueryValue, From, Joins> {
    asSelect().limiting(maxLength.queryFragment, offset?.queryFragment)
  }

  /// Leaves out the first rows of a query with a limit.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).limit(10).offset(20)
  /// // SELECT …
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // LIMIT 10 OFFSET 20
  /// ```
  public func offset(_ offset: Int) -> Select<QueryValue, From, Joins> {
    let select = asSelect()
    return select.limiting(select.clauses.limit ?? (-1).queryFragment, offset.queryFragment)
  }

  /// Returns each row once.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).distinct().select(\.title)
  /// // SELECT DISTINCT "reminders"."title"
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func distinct(_ isDistinct: Bool = true) -> Select<QueryValue, From, Joins> {
    var select = asSelect()
    select.clauses.isDistinct = isDistinct
    return select
  }

  /// Selects the columns of all tables explicitly.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.selectStar()
  /// // SELECT …
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public func selectStar<each J: Table>() -> Select<(From, repeat each J), From, Joins>
  where QueryValue == (), Joins == (repeat each J) {
    let select = asSelect()
    var result = Select<(From, repeat each J), From, Joins>()
    result.clauses = select.clauses
    result.clauses.columns = [select.clauses.selection(From.self)]
    return result
  }

  /// Counts the rows.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).count()
  /// // SELECT count(*)
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func count() -> Select<Int, From, Joins> where QueryValue == () {
    var result = Select<Int, From, Joins>()
    result.clauses = asSelect().clauses
    result.clauses.columns = ["count(*)"]
    return result
  }

  /// Counts the rows for which a condition holds.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).count { $0.id.gt(10) }
  /// // SELECT count(*) FILTER (WHERE ("reminders"."id") > (10))
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// ```
  public func count<Filter: QueryExpression<Bool>>(
    filter: (From.TableColumns) -> Filter
  ) -> Select<Int, From, ()> where QueryValue == (), Joins == () {
    var result = count()
    result.clauses.columns = ["count(*) FILTER (WHERE \(filter(From.columns)))"]
    return result
  }
}

extension Select {
  /// Replaces the selected expressions by one that is made from them.
  ///
  /// ```swift
  /// Reminder.select { ($0.title, $0.notes) }.map { title, notes in title + " " + notes.ifnull("") }
  /// // SELECT (("reminders"."title") || (' ')) || (ifnull("reminders"."notes", ''))
  /// // FROM "reminders"
  /// ```
  public func map<each C1: QueryRepresentable, C2: QueryExpression>(
    _ transform: (repeat SQLQueryExpression<each C1>) -> C2
  ) -> Select<C2.QueryValue, From, Joins> where Columns == (repeat each C1), C2.QueryValue: QueryRepresentable {
    var columns = clauses.columns.makeIterator()
    return replacing([transform(repeat _next(&columns, (each C1).self)).queryFragment])
  }

  /// Replaces the selected expressions by several that are made from them.
  ///
  /// ```swift
  /// Reminder.select(\.title).map { ($0, $0.length()) }
  /// // SELECT "reminders"."title", length("reminders"."title")
  /// // FROM "reminders"
  /// ```
  public func map<
    each C1: QueryRepresentable, C2: QueryExpression, C3: QueryExpression, each C4: QueryExpression
  >(
    _ transform: (repeat SQLQueryExpression<each C1>) -> (C2, C3, repeat each C4)
  ) -> Select<(C2.QueryValue, C3.QueryValue, repeat (each C4).QueryValue), From, Joins>
  where
    Columns == (repeat each C1), C2.QueryValue: QueryRepresentable, C3.QueryValue: QueryRepresentable,
    repeat (each C4).QueryValue: QueryRepresentable
  {
    var columns = clauses.columns.makeIterator()
    let expressions = transform(repeat _next(&columns, (each C1).self))
    return replacing(_fragments(of: { (_: Void) in expressions }, ()))
  }

  private func replacing<NewColumns>(_ columns: [QueryFragment]) -> Select<NewColumns, From, Joins> {
    var result = Select<NewColumns, From, Joins>()
    result.clauses = clauses
    result.clauses.columns = columns
    return result
  }

  private func _next<Value>(
    _ columns: inout IndexingIterator<[QueryFragment]>, _ type: Value.Type
  ) -> SQLQueryExpression<Value> {
    // There is a column for each type, because every method that adds a type adds a column.
    SQLQueryExpression(columns.next() ?? "NULL", as: Value.self)
  }
}

extension SelectStatement {
  /// Combines the selections, joins and clauses of two queries of a table.
  ///
  /// ```swift
  /// Reminder.where(\.isCompleted).select(\.id) + Reminder.order(by: \.title).select(\.title)
  /// // SELECT "reminders"."id", "reminders"."title"
  /// // FROM "reminders"
  /// // WHERE "reminders"."isCompleted"
  /// // ORDER BY "reminders"."title"
  /// ```
  public static func + <each C1: QueryRepresentable, each C2: QueryRepresentable, each J1: Table, each J2: Table>(
    lhs: Self, rhs: some SelectStatement<(repeat each C2), From, (repeat each J2)>
  ) -> Select<(repeat each C1, repeat each C2), From, (repeat each J1, repeat each J2)>
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    lhs.asSelect().combining(rhs.asSelect())
  }
}

/// Returns the SQL of each expression that a closure selects.
func _fragments<Columns, each E: QueryExpression>(
  of selection: (Columns) -> (repeat each E), _ columns: Columns
) -> [QueryFragment] {
  let expressions = selection(columns)
  return _fragments(repeat each expressions)
}

extension Select {
  func selecting<NewColumns>(_ columns: [QueryFragment]) -> Select<NewColumns, From, Joins> {
    var result = Select<NewColumns, From, Joins>()
    result.clauses = clauses
    result.clauses.columns += columns
    return result
  }

  func filtering(_ predicates: [QueryFragment]) -> Self {
    var result = self
    result.clauses.where += predicates
    return result
  }

  func grouping(_ terms: [QueryFragment]) -> Self {
    var result = self
    result.clauses.group += terms
    return result
  }

  func havingGroups(_ predicates: [QueryFragment]) -> Self {
    var result = self
    result.clauses.having += predicates
    return result
  }

  func ordering(_ terms: [QueryFragment]) -> Self {
    var result = self
    result.clauses.order += terms
    return result
  }

  func limiting(_ maxLength: QueryFragment, _ offset: QueryFragment?) -> Self {
    var result = self
    result.clauses.limit = maxLength
    result.clauses.offset = offset ?? clauses.offset
    return result
  }
}
