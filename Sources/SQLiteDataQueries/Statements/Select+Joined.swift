// swift-format-ignore-file: AmbiguousTrailingClosureOverload

// The clauses of a query with joins. Their closures receive the columns of each table.
extension SelectStatement {
  /// Selects one expression.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.title }
  /// // SELECT "reminders"."title"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  @_disfavoredOverload
  public func select<C2: QueryExpression, each J: Table>(
    _ selection: ((From.TableColumns, repeat (each J).TableColumns)) -> C2
  ) -> Select<C2.QueryValue, From, Joins>
  where QueryValue == (), Joins == (repeat each J), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([selection((From.columns, repeat (each J).columns)).queryFragment])
  }

  /// Selects one more expression.
  @_disfavoredOverload
  public func select<each C1: QueryRepresentable, C2: QueryExpression, each J: Table>(
    _ selection: ((From.TableColumns, repeat (each J).TableColumns)) -> C2
  ) -> Select<(repeat each C1, C2.QueryValue), From, Joins>
  where QueryValue == (repeat each C1), Joins == (repeat each J), C2.QueryValue: QueryRepresentable {
    asSelect().selecting([selection((From.columns, repeat (each J).columns)).queryFragment])
  }

  /// Selects several expressions.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { ($0.id, $1.id) }
  /// // SELECT "remindersLists"."id", "reminders"."id"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  @_disfavoredOverload
  public func select<
    each C1: QueryRepresentable, C2: QueryExpression, C3: QueryExpression, each C4: QueryExpression, each J: Table
  >(
    _ selection: ((From.TableColumns, repeat (each J).TableColumns)) -> (C2, C3, repeat each C4)
  ) -> Select<(repeat each C1, C2.QueryValue, C3.QueryValue, repeat (each C4).QueryValue), From, Joins>
  where
    QueryValue == (repeat each C1), Joins == (repeat each J), C2.QueryValue: QueryRepresentable,
    C3.QueryValue: QueryRepresentable, repeat (each C4).QueryValue: QueryRepresentable
  {
    asSelect().selecting(_fragments(of: selection, (From.columns, repeat (each J).columns)))
  }

  /// Keeps the rows for which conditions hold.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.id }.where { $1.isCompleted }
  /// // SELECT "reminders"."id"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // WHERE "reminders"."isCompleted"
  /// ```
  @_disfavoredOverload
  public func `where`<each J: Table>(
    @QueryFragmentBuilder<Bool> _ predicate: ((From.TableColumns, repeat (each J).TableColumns)) -> [QueryFragment]
  ) -> Select<QueryValue, From, Joins> where Joins == (repeat each J) {
    asSelect().filtering(predicate((From.columns, repeat (each J).columns)))
  }

  /// Makes one row of all rows with the same values.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }.group { list, _ in list.id }.select { $1.count() }
  /// // SELECT count("reminders"."id")
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // GROUP BY "remindersLists"."id"
  /// ```
  @_disfavoredOverload
  public func group<each J: Table>(
    @QueryFragmentBuilder<()> by grouping: ((From.TableColumns, repeat (each J).TableColumns)) -> [QueryFragment]
  ) -> Select<QueryValue, From, Joins> where Joins == (repeat each J) {
    asSelect().grouping(grouping((From.columns, repeat (each J).columns)))
  }

  /// Makes one row of all rows with the same value of a column of the first table.
  @_disfavoredOverload
  public func group<C: QueryExpression>(
    by grouping: KeyPath<From.TableColumns, C>
  ) -> Select<QueryValue, From, Joins> {
    asSelect().grouping([From.columns[keyPath: grouping].queryFragment])
  }

  /// Keeps the groups for which conditions hold.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .group { list, _ in list.id }.having { $1.count().gt(1) }.select { list, _ in list.title }
  /// // SELECT "remindersLists"."title"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // GROUP BY "remindersLists"."id"
  /// // HAVING (count("reminders"."id")) > (1)
  /// ```
  @_disfavoredOverload
  public func having<each J: Table>(
    @QueryFragmentBuilder<Bool> _ predicate: ((From.TableColumns, repeat (each J).TableColumns)) -> [QueryFragment]
  ) -> Select<QueryValue, From, Joins> where Joins == (repeat each J) {
    asSelect().havingGroups(predicate((From.columns, repeat (each J).columns)))
  }

  /// Orders by expressions.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .order { ($0.title, $1.title.desc()) }.select { $1.id }
  /// // SELECT "reminders"."id"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // ORDER BY "remindersLists"."title", "reminders"."title" DESC
  /// ```
  @_disfavoredOverload
  public func order<each J: Table>(
    @QueryFragmentBuilder<()> by ordering: ((From.TableColumns, repeat (each J).TableColumns)) -> [QueryFragment]
  ) -> Select<QueryValue, From, Joins> where Joins == (repeat each J) {
    asSelect().ordering(ordering((From.columns, repeat (each J).columns)))
  }

  /// Orders by a column of the first table.
  @_disfavoredOverload
  public func order<C: QueryExpression>(
    by ordering: KeyPath<From.TableColumns, C>
  ) -> Select<QueryValue, From, Joins> {
    asSelect().ordering([From.columns[keyPath: ordering].queryFragment])
  }

  /// Counts the rows for which a condition holds.
  @_disfavoredOverload
  public func count<Filter: QueryExpression<Bool>, each J: Table>(
    filter: ((From.TableColumns, repeat (each J).TableColumns)) -> Filter
  ) -> Select<Int, From, Joins> where QueryValue == (), Joins == (repeat each J) {
    var result = count()
    result.clauses.columns = [
      "count(*) FILTER (WHERE \(filter((From.columns, repeat (each J).columns))))"
    ]
    return result
  }
}
