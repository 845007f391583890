extension QueryExpression where QueryValue: QueryDecodable {
  /// Counts the rows for which the expression isn't NULL.
  ///
  /// ```swift
  /// Reminder.select { $0.dueDate.count(filter: $0.isCompleted) }
  /// // SELECT count("reminders"."dueDate") FILTER (WHERE "reminders"."isCompleted") …
  /// ```
  ///
  /// - Parameters:
  ///   - isDistinct: Whether equal values count once.
  ///   - filter: A condition for the rows that count.
  public func count(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Int> {
    _aggregate("count", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The greatest value, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.max() }
  /// // SELECT max("reminders"."id") …
  /// ```
  public func max(
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized> {
    _aggregate("max", filter: filter?.queryFragment)
  }

  /// The smallest value, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.min() }
  /// // SELECT min("reminders"."id") …
  /// ```
  public func min(
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized> {
    _aggregate("min", filter: filter?.queryFragment)
  }

  /// The average, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.avg() }
  /// // SELECT avg("reminders"."id") …
  /// ```
  public func avg(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Double?> where QueryValue: _NumericValue {
    _aggregate("avg", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The sum, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.sum() }
  /// // SELECT sum("reminders"."id") …
  /// ```
  public func sum(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized> where QueryValue: _NumericValue {
    _aggregate("sum", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The sum as a floating-point number, or 0 if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.total() }
  /// // SELECT total("reminders"."id") …
  /// ```
  public func total(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Double> where QueryValue: _NumericValue {
    _aggregate("total", distinct: isDistinct, filter: filter?.queryFragment)
  }

  func _aggregate<Value>(
    _ name: String, distinct isDistinct: Bool = false, arguments: [QueryFragment] = [], order: QueryFragment? = nil,
    filter: QueryFragment?
  ) -> SQLQueryExpression<Value> {
    var fragment = QueryFragment(name)
    fragment.append(raw: isDistinct ? "(DISTINCT " : "(")
    fragment.append(queryFragment)
    for argument in arguments {
      fragment.append(raw: ", ")
      fragment.append(argument)
    }
    fragment.append(aggregateOrder: order, filter: filter)
    return SQLQueryExpression(fragment)
  }
}

extension QueryExpression where QueryValue: QueryBindable {
  /// Joins the texts of all rows with a separator, which is a comma by default.
  ///
  /// ```swift
  /// Reminder.select { $0.title.groupConcat(", ") }
  /// // SELECT group_concat("reminders"."title", ', ') …
  /// ```
  public func groupConcat(
    _ separator: (some QueryExpression<String>)? = String?.none,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<String?> {
    _aggregate(
      "group_concat", arguments: [separator?.queryFragment].compactMap { $0 }, order: order?.queryFragment,
      filter: filter?.queryFragment)
  }

  /// Joins the different texts of all rows with commas.
  ///
  /// ```swift
  /// Reminder.select { $0.title.groupConcat(distinct: true) }
  /// // SELECT group_concat(DISTINCT "reminders"."title") …
  /// ```
  public func groupConcat(
    distinct isDistinct: Bool,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<String?> {
    _aggregate(
      "group_concat", distinct: isDistinct, order: order?.queryFragment, filter: filter?.queryFragment)
  }
}

extension PrimaryKeyedTableDefinition {
  /// Counts the rows by their primary key. A row that an outer join left out doesn't count.
  ///
  /// ```swift
  /// RemindersList.leftJoin(Reminder.all) { $0.id.eq($1.remindersListID) }.select { $1.count() }
  /// // SELECT count("reminders"."id")
  /// // FROM "remindersLists"
  /// // LEFT JOIN "reminders" ON ("remindersLists"."id") = ("reminders"."remindersListID")
  /// ```
  public func count(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Int> {
    _count(primaryKey._tableColumns, distinct: isDistinct, filter: filter)
  }
}

extension Optional.TableColumns where Wrapped: PrimaryKeyedTable {
  /// Counts the rows by their primary key. A row that an outer join left out doesn't count.
  public func count(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Int> {
    _count(Wrapped.columns.primaryKey._tableColumns, distinct: isDistinct, filter: filter)
  }
}

extension TableAlias.TableColumns where Base: PrimaryKeyedTable {
  /// The column of the primary key, or the group of its columns.
  public var primaryKey: SQLQueryExpression<Base.PrimaryKey> {
    SQLQueryExpression(_joined(_keyColumns.map(\.queryFragment), ", "))
  }

  private var _keyColumns: [any TableColumnExpression] {
    Base.columns.primaryKey._tableColumns.map { $0._column(of: TableAlias.self) }
  }

  /// Counts the rows by their primary key.
  public func count(
    distinct isDistinct: Bool = false, filter: (some QueryExpression<Bool>)? = Bool?.none
  ) -> SQLQueryExpression<Int> {
    _count(_keyColumns, distinct: isDistinct, filter: filter)
  }
}

/// Counts the rows that have a key. No column of a key is NULL, so the first one stands for all of them.
private func _count(
  _ key: [any TableColumnExpression], distinct isDistinct: Bool, filter: (some QueryExpression<Bool>)?
) -> SQLQueryExpression<Int> {
  let columns = _joined(key.prefix(isDistinct ? key.count : 1).map(\.queryFragment), ", ")
  return SQLQueryExpression<Int>(columns)._aggregate("count", distinct: isDistinct, filter: filter?.queryFragment)
}

/// The expression `count(*)`, for a select list or a condition of groups.
///
/// ```swift
/// Reminder.group(by: \.isCompleted).having { _ in countAll().gt(1) }.select(\.isCompleted)
/// // … HAVING (count(*)) > (1)
/// ```
public func countAll() -> SQLQueryExpression<Int> { SQLQueryExpression("count(*)") }

/// The number of rows that fulfil a condition.
///
/// ```swift
/// Reminder.select { countAll(filter: $0.isCompleted) }
/// // SELECT count(*) FILTER (WHERE "reminders"."isCompleted") …
/// ```
public func countAll(filter: some QueryExpression<Bool>) -> SQLQueryExpression<Int> {
  SQLQueryExpression("count(*) FILTER (WHERE \(filter))")
}
