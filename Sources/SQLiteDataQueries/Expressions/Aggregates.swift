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
  public func count<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Int>
  where Filter.QueryValue: _TruthValue {
    _aggregate("count", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The greatest value, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.max() }
  /// // SELECT max("reminders"."id") …
  /// ```
  public func max<Filter: QueryExpression>(
    filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized>
  where Filter.QueryValue: _TruthValue {
    _aggregate("max", filter: filter?.queryFragment)
  }

  /// The smallest value, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.min() }
  /// // SELECT min("reminders"."id") …
  /// ```
  public func min<Filter: QueryExpression>(
    filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized>
  where Filter.QueryValue: _TruthValue {
    _aggregate("min", filter: filter?.queryFragment)
  }

  /// The average, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.avg() }
  /// // SELECT avg("reminders"."id") …
  /// ```
  public func avg<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Double?>
  where QueryValue: _NumericValue, Filter.QueryValue: _TruthValue {
    _aggregate("avg", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The sum, or NULL if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.sum() }
  /// // SELECT sum("reminders"."id") …
  /// ```
  public func sum<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<QueryValue._Optionalized>
  where QueryValue: _NumericValue, Filter.QueryValue: _TruthValue {
    _aggregate("sum", distinct: isDistinct, filter: filter?.queryFragment)
  }

  /// The sum as a floating-point number, or 0 if there is no row.
  ///
  /// ```swift
  /// Reminder.select { $0.id.total() }
  /// // SELECT total("reminders"."id") …
  /// ```
  public func total<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Double>
  where QueryValue: _NumericValue, Filter.QueryValue: _TruthValue {
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
    if let order {
      fragment.append(raw: " ORDER BY ")
      fragment.append(order)
    }
    fragment.append(raw: ")")
    if let filter {
      fragment.append(raw: " FILTER (WHERE ")
      fragment.append(filter)
      fragment.append(raw: ")")
    }
    return SQLQueryExpression(fragment)
  }
}

extension QueryExpression where QueryValue: QueryDecodable, QueryValue._Optionalized == String? {
  /// Joins the texts of all rows with a separator, which is a comma by default.
  ///
  /// ```swift
  /// Reminder.select { $0.title.groupConcat(", ") }
  /// // SELECT group_concat("reminders"."title", ', ') …
  /// ```
  public func groupConcat<Filter: QueryExpression>(
    _ separator: (some QueryExpression<String>)? = String?.none,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<String?>
  where Filter.QueryValue: _TruthValue {
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
  public func groupConcat<Filter: QueryExpression>(
    distinct isDistinct: Bool,
    order: (some QueryExpression)? = OrderingTerm?.none,
    filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<String?>
  where Filter.QueryValue: _TruthValue {
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
  public func count<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Int>
  where Filter.QueryValue: _TruthValue {
    primaryKey.count(distinct: isDistinct, filter: filter)
  }
}

extension Optional.TableColumns where Wrapped: PrimaryKeyedTable {
  /// Counts the rows by their primary key. A row that an outer join left out doesn't count.
  public func count<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Int>
  where Filter.QueryValue: _TruthValue {
    Wrapped.columns.primaryKey.count(distinct: isDistinct, filter: filter)
  }
}

extension TableAlias.TableColumns where Base: PrimaryKeyedTable {
  /// The column of the primary key, or the group of its columns.
  public var primaryKey: SQLQueryExpression<Base.PrimaryKey> {
    let columns = Base.columns.primaryKey._tableColumns.map { $0._column(of: TableAlias.self).queryFragment }
    return SQLQueryExpression(_joined(columns, ", "))
  }

  /// Counts the rows by their primary key.
  public func count<Filter: QueryExpression>(
    distinct isDistinct: Bool = false, filter: Filter? = Bool?.none
  ) -> SQLQueryExpression<Int>
  where Filter.QueryValue: _TruthValue {
    primaryKey.count(distinct: isDistinct, filter: filter)
  }
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
public func countAll(filter: some QueryExpression<some _TruthValue>) -> SQLQueryExpression<Int> {
  SQLQueryExpression("count(*) FILTER (WHERE \(filter))")
}
