// swift-format-ignore-file: AmbiguousTrailingClosureOverload

// Each kind of join comes in three forms: with a query of a table, with a query that selects columns, and with a query
// that has joins itself. The compiler infers a closure's parameters only if a single list of tables is unknown, and the
// result of a chain in an argument only if no list of columns is.

extension SelectStatement {
  /// Joins the rows of another table for which a condition holds.
  ///
  /// The conditions, orders and selections of both queries are combined.
  ///
  /// ```swift
  /// RemindersList.where { $0.id.gt(1) }.join(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .select { ($0.title, $1.title) }
  /// // SELECT "remindersLists"."title", "reminders"."title"
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // WHERE ("remindersLists"."id") > (1)
  /// ```
  public func join<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(), From, (repeat each J1, F)> where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func join<each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<(repeat each C2), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C1, repeat each C2), From, (repeat each J1, F)>
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func join<
    each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table, each J2: Table
  >(
    _ other: some SelectStatement<(repeat each C2), F, (repeat each J2)>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns, repeat (each J2).TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<
    (repeat each C1, repeat each C2), From, (repeat each J1, F, repeat each J2)
  >
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint(
      (From.columns, repeat (each J1).columns, F.columns, repeat (each J2).columns))
    return asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  /// Joins the rows of another table for which a condition holds, or a row of NULLs if it holds for none.
  ///
  /// ```swift
  /// RemindersList.where { $0.id.gt(1) }.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .select { ($0.title, $1.title) }
  /// // SELECT "remindersLists"."title", "reminders"."title"
  /// // FROM "remindersLists"
  /// // LEFT JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // WHERE ("remindersLists"."id") > (1)
  /// ```
  public func leftJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(), From, (repeat each J1, F._Optionalized)> where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func leftJoin<each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<(repeat each C2), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C1, repeat (each C2)._Optionalized), From, (repeat each J1, F._Optionalized)>
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func leftJoin<
    each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table, each J2: Table
  >(
    _ other: some SelectStatement<(repeat each C2), F, (repeat each J2)>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns, repeat (each J2).TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<
    (repeat each C1, repeat (each C2)._Optionalized), From,
    (repeat each J1, F._Optionalized, repeat (each J2)._Optionalized)
  >
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint(
      (From.columns, repeat (each J1).columns, F.columns, repeat (each J2).columns))
    return asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  /// Joins all rows of another table, with the rows of this query for which a condition holds.
  ///
  /// ```swift
  /// RemindersList.where { $0.id.gt(1) }.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .select { ($0.title, $1.title) }
  /// // SELECT "remindersLists"."title", "reminders"."title"
  /// // FROM "remindersLists"
  /// // RIGHT JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // WHERE ("remindersLists"."id") > (1)
  /// ```
  public func rightJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(), From._Optionalized, (repeat (each J1)._Optionalized, F)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func rightJoin<each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<(repeat each C2), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(repeat (each C1)._Optionalized, repeat each C2), From._Optionalized, (repeat (each J1)._Optionalized, F)>
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func rightJoin<
    each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table, each J2: Table
  >(
    _ other: some SelectStatement<(repeat each C2), F, (repeat each J2)>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns, repeat (each J2).TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<
    (repeat (each C1)._Optionalized, repeat each C2), From._Optionalized,
    (repeat (each J1)._Optionalized, F, repeat each J2)
  >
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint(
      (From.columns, repeat (each J1).columns, F.columns, repeat (each J2).columns))
    return asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  /// Joins the rows of another table for which a condition holds, and keeps the rows of both tables without it.
  ///
  /// ```swift
  /// RemindersList.where { $0.id.gt(1) }.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  ///   .select { ($0.title, $1.title) }
  /// // SELECT "remindersLists"."title", "reminders"."title"
  /// // FROM "remindersLists"
  /// // FULL JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// // WHERE ("remindersLists"."id") > (1)
  /// ```
  public func fullJoin<F: Table, each J1: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<(), From._Optionalized, (repeat (each J1)._Optionalized, F._Optionalized)>
  where QueryValue == (), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func fullJoin<each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table>(
    _ other: some SelectStatement<(repeat each C2), F, ()>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<
    (repeat (each C1)._Optionalized, repeat (each C2)._Optionalized), From._Optionalized,
    (repeat (each J1)._Optionalized, F._Optionalized)
  >
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint((From.columns, repeat (each J1).columns, F.columns))
    return asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }

  @_disfavoredOverload
  public func fullJoin<
    each C1: QueryRepresentable, each C2: QueryRepresentable, F: Table, each J1: Table, each J2: Table
  >(
    _ other: some SelectStatement<(repeat each C2), F, (repeat each J2)>,
    on constraint: (
      (From.TableColumns, repeat (each J1).TableColumns, F.TableColumns, repeat (each J2).TableColumns)
    ) -> some QueryExpression<Bool>
  ) -> Select<
    (repeat (each C1)._Optionalized, repeat (each C2)._Optionalized), From._Optionalized,
    (repeat (each J1)._Optionalized, F._Optionalized, repeat (each J2)._Optionalized)
  >
  where QueryValue == (repeat each C1), Joins == (repeat each J1) {
    let condition = constraint(
      (From.columns, repeat (each J1).columns, F.columns, repeat (each J2).columns))
    return asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }
}

extension Table {
  /// Joins the rows of another table for which a condition holds.
  ///
  /// ```swift
  /// RemindersList.join(Reminder.all) { $0.id.eq($1.remindersListID) }
  /// // SELECT …
  /// // FROM "remindersLists"
  /// // JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public static func join<F: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(), Self, F> {
    all.asSelect().joining(other.asSelect(), "JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func join<each C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<(repeat each C), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C), Self, F> {
    all.asSelect().joining(other.asSelect(), "JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func join<each C: QueryRepresentable, F: Table, each J: Table>(
    _ other: some SelectStatement<(repeat each C), F, (repeat each J)>,
    on constraint: ((TableColumns, F.TableColumns, repeat (each J).TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C), Self, (F, repeat each J)> {
    let condition = constraint((columns, F.columns, repeat (each J).columns))
    return all.asSelect().joining(other.asSelect(), "JOIN", condition.queryFragment)
  }

  /// Joins the rows of another table for which a condition holds, or a row of NULLs if it holds for none.
  ///
  /// ```swift
  /// RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  /// // SELECT …
  /// // FROM "remindersLists"
  /// // LEFT JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public static func leftJoin<F: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(), Self, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "LEFT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func leftJoin<each C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<(repeat each C), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat (each C)._Optionalized), Self, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "LEFT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func leftJoin<each C: QueryRepresentable, F: Table, each J: Table>(
    _ other: some SelectStatement<(repeat each C), F, (repeat each J)>,
    on constraint: ((TableColumns, F.TableColumns, repeat (each J).TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat (each C)._Optionalized), Self, (F._Optionalized, repeat (each J)._Optionalized)> {
    let condition = constraint((columns, F.columns, repeat (each J).columns))
    return all.asSelect().joining(other.asSelect(), "LEFT JOIN", condition.queryFragment)
  }

  /// Joins all rows of another table, with the rows of this table for which a condition holds.
  ///
  /// ```swift
  /// RemindersList.rightJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  /// // SELECT …
  /// // FROM "remindersLists"
  /// // RIGHT JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public static func rightJoin<F: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(), _Optionalized, F> {
    all.asSelect().joining(other.asSelect(), "RIGHT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func rightJoin<each C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<(repeat each C), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C), _Optionalized, F> {
    all.asSelect().joining(other.asSelect(), "RIGHT JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func rightJoin<each C: QueryRepresentable, F: Table, each J: Table>(
    _ other: some SelectStatement<(repeat each C), F, (repeat each J)>,
    on constraint: ((TableColumns, F.TableColumns, repeat (each J).TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat each C), _Optionalized, (F, repeat each J)> {
    let condition = constraint((columns, F.columns, repeat (each J).columns))
    return all.asSelect().joining(other.asSelect(), "RIGHT JOIN", condition.queryFragment)
  }

  /// Joins the rows of another table for which a condition holds, and keeps the rows of both tables without it.
  ///
  /// ```swift
  /// RemindersList.fullJoin(Reminder.all) { $0.id.eq($1.remindersListID) }
  /// // SELECT …
  /// // FROM "remindersLists"
  /// // FULL JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public static func fullJoin<F: Table>(
    _ other: some SelectStatement<(), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(), _Optionalized, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "FULL JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func fullJoin<each C: QueryRepresentable, F: Table>(
    _ other: some SelectStatement<(repeat each C), F, ()>,
    on constraint: ((TableColumns, F.TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat (each C)._Optionalized), _Optionalized, F._Optionalized> {
    all.asSelect().joining(other.asSelect(), "FULL JOIN", constraint((columns, F.columns)).queryFragment)
  }

  @_disfavoredOverload
  public static func fullJoin<each C: QueryRepresentable, F: Table, each J: Table>(
    _ other: some SelectStatement<(repeat each C), F, (repeat each J)>,
    on constraint: ((TableColumns, F.TableColumns, repeat (each J).TableColumns)) -> some QueryExpression<Bool>
  ) -> Select<(repeat (each C)._Optionalized), _Optionalized, (F._Optionalized, repeat (each J)._Optionalized)> {
    let condition = constraint((columns, F.columns, repeat (each J).columns))
    return all.asSelect().joining(other.asSelect(), "FULL JOIN", condition.queryFragment)
  }
}

extension Select {
  func joining<C2, F: Table, J2, NewColumns, NewFrom: Table, NewJoins>(
    _ other: Select<C2, F, J2>, _ keyword: String, _ condition: QueryFragment
  ) -> Select<NewColumns, NewFrom, NewJoins> {
    var sql = QueryFragment(keyword)
    sql.append(raw: " ")
    sql.append(F._sourceFragment)
    sql.append(raw: " ON ")
    sql.append(condition)
    return combining(other, SelectClauses.Join(sql: sql, selection: F._selectionFragment))
  }

  /// Returns the clauses of both queries, with a join between theirs.
  func combining<C2, F: Table, J2, NewColumns, NewFrom: Table, NewJoins>(
    _ other: Select<C2, F, J2>, _ join: SelectClauses.Join? = nil
  ) -> Select<NewColumns, NewFrom, NewJoins> {
    var result = Select<NewColumns, NewFrom, NewJoins>()
    result.clauses = clauses
    result.clauses.columns += other.clauses.columns
    if let join { result.clauses.joins.append(join) }
    result.clauses.joins += other.clauses.joins
    result.clauses.where += other.clauses.where
    result.clauses.group += other.clauses.group
    result.clauses.having += other.clauses.having
    result.clauses.order += other.clauses.order
    result.clauses.limit = other.clauses.limit ?? clauses.limit
    result.clauses.offset = other.clauses.offset ?? clauses.offset
    result.clauses.isDistinct = clauses.isDistinct || other.clauses.isDistinct
    result.clauses.isNone = clauses.isNone || other.clauses.isNone
    return result
  }
}
