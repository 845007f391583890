func _binary<Value>(
  _ lhs: QueryFragment, _ operator: String, _ rhs: QueryFragment, as type: Value.Type = Value.self
) -> SQLQueryExpression<Value> {
  var fragment = QueryFragment()
  fragment.reserve(lhs.sql.utf8.count + rhs.sql.utf8.count + 12)
  fragment.append(raw: "(")
  fragment.append(lhs)
  fragment.append(raw: `operator`)
  fragment.append(rhs)
  fragment.append(raw: ")")
  return SQLQueryExpression(fragment)
}

// An operand is in parentheses of its own, so a group of columns compares as a row value.
private let equal = ") = ("
private let notEqual = ") <> ("
private let isSame = ") IS ("
private let isNotSame = ") IS NOT ("

extension QueryExpression where QueryValue: QueryDecodable {
  /// Compares two expressions.
  ///
  /// ```swift
  /// Reminder.where { $0.title.eq("Get milk") }
  /// // … WHERE ("reminders"."title") = ('Get milk')
  /// ```
  public func eq(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, equal, other.queryFragment)
  }

  /// Compares two expressions, one of which may be NULL.
  ///
  /// ```swift
  /// Reminder.where { $0.priority.eq(Priority.high) }
  /// // … WHERE ("reminders"."priority") = (3)
  /// ```
  @_disfavoredOverload
  public func eq<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, equal, other.queryFragment)
  }

  /// Compares two expressions and negates the result.
  ///
  /// ```swift
  /// Reminder.where { $0.title.neq("Get milk") }
  /// // … WHERE ("reminders"."title") <> ('Get milk')
  /// ```
  public func neq(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, notEqual, other.queryFragment)
  }

  /// Compares two expressions, one of which may be NULL, and negates the result.
  ///
  /// ```swift
  /// Reminder.where { $0.priority.neq(Priority.high) }
  /// // … WHERE ("reminders"."priority") <> (3)
  /// ```
  @_disfavoredOverload
  public func neq<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, notEqual, other.queryFragment)
  }

  /// Compares two expressions; NULL is the same as NULL.
  ///
  /// ```swift
  /// Reminder.where { $0.dueDate.is(nil) }
  /// // … WHERE ("reminders"."dueDate") IS (NULL)
  /// ```
  public func `is`<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, isSame, other.queryFragment)
  }

  /// Compares with a value in the form that the column gives it; nil is NULL.
  ///
  /// ```swift
  /// Reminder.where { $0.priority.is(nil) }
  /// // … WHERE ("reminders"."priority") IS (NULL)
  /// ```
  @_disfavoredOverload
  public func `is`(_ other: QueryValue._Optionalized) -> SQLQueryExpression<Bool>
  where QueryValue._Optionalized: QueryExpression {
    _binary(queryFragment, isSame, _operand(other.queryFragment))
  }

  /// Compares two expressions and negates the result; NULL is the same as NULL.
  ///
  /// ```swift
  /// Reminder.where { $0.id.isNot($0.remindersListID) }
  /// // … WHERE ("reminders"."id") IS NOT ("reminders"."remindersListID")
  /// ```
  public func isNot<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, isNotSame, other.queryFragment)
  }

  /// Compares with a value in the form that the column gives it, and negates the result; nil is NULL.
  ///
  /// ```swift
  /// Reminder.where { $0.dueDate.isNot(nil) }
  /// // … WHERE ("reminders"."dueDate") IS NOT (NULL)
  /// ```
  @_disfavoredOverload
  public func isNot(_ other: QueryValue._Optionalized) -> SQLQueryExpression<Bool>
  where QueryValue._Optionalized: QueryExpression {
    _binary(queryFragment, isNotSame, _operand(other.queryFragment))
  }

  /// Returns a NULL for each column of a group if the value is nil.
  private func _operand(_ value: QueryFragment) -> QueryFragment {
    let null = QueryFragment(QueryBinding.null)
    guard QueryValue._columnWidth > 1, value == null else { return value }
    return _joined(Array(repeating: null, count: QueryValue._columnWidth), ", ")
  }

  /// Compares two expressions by their order.
  ///
  /// ```swift
  /// Reminder.where { $0.id.gt(10) }
  /// // … WHERE ("reminders"."id") > (10)
  /// ```
  public func gt(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") > (", other.queryFragment)
  }

  /// Compares two expressions by their order.
  ///
  /// ```swift
  /// Reminder.where { $0.id.lt(10) }
  /// // … WHERE ("reminders"."id") < (10)
  /// ```
  public func lt(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") < (", other.queryFragment)
  }

  /// Compares two expressions by their order.
  ///
  /// ```swift
  /// Reminder.where { $0.id.gte(10) }
  /// // … WHERE ("reminders"."id") >= (10)
  /// ```
  public func gte(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") >= (", other.queryFragment)
  }

  /// Compares two expressions by their order.
  ///
  /// ```swift
  /// Reminder.where { $0.id.lte(10) }
  /// // … WHERE ("reminders"."id") <= (10)
  /// ```
  public func lte(_ other: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(queryFragment, ") <= (", other.queryFragment)
  }

  @_disfavoredOverload
  public func gt<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, ") > (", other.queryFragment)
  }

  @_disfavoredOverload
  public func lt<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, ") < (", other.queryFragment)
  }

  @_disfavoredOverload
  public func gte<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, ") >= (", other.queryFragment)
  }

  @_disfavoredOverload
  public func lte<Other: QueryExpression>(_ other: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    _binary(queryFragment, ") <= (", other.queryFragment)
  }

  /// The operator form of `gt`.
  public static func > (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    lhs.gt(rhs)
  }

  /// The operator form of `lt`.
  public static func < (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    lhs.lt(rhs)
  }

  /// The operator form of `gte`.
  public static func >= (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    lhs.gte(rhs)
  }

  /// The operator form of `lte`.
  public static func <= (lhs: Self, rhs: some QueryExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    lhs.lte(rhs)
  }

  @_disfavoredOverload
  public static func > <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    lhs.gt(rhs)
  }

  @_disfavoredOverload
  public static func < <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    lhs.lt(rhs)
  }

  @_disfavoredOverload
  public static func >= <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    lhs.gte(rhs)
  }

  @_disfavoredOverload
  public static func <= <Other: QueryExpression>(lhs: Self, rhs: Other) -> SQLQueryExpression<Bool>
  where Other.QueryValue: QueryDecodable, Other.QueryValue._Optionalized == QueryValue._Optionalized {
    lhs.lte(rhs)
  }

  /// A condition that holds if the expression lies between two others or equals one of them.
  ///
  /// ```swift
  /// Reminder.where { $0.id.between(1, and: 10) }
  /// // … WHERE ("reminders"."id") BETWEEN (1) AND (10)
  /// ```
  public func between(
    _ lowerBound: some QueryExpression<QueryValue>, and upperBound: some QueryExpression<QueryValue>
  ) -> SQLQueryExpression<Bool> {
    SQLQueryExpression("(\(queryFragment)) BETWEEN (\(lowerBound)) AND (\(upperBound))")
  }

  /// A condition that holds if the expression equals one of several values.
  ///
  /// ```swift
  /// Reminder.where { $0.id.in([1, 2, 3]) }
  /// // … WHERE ("reminders"."id") IN ((1), (2), (3))
  /// ```
  public func `in`<Values: Sequence>(_ values: Values) -> SQLQueryExpression<Bool>
  where Values.Element: QueryExpression, Values.Element.QueryValue == QueryValue {
    _in(values)
  }

  /// A condition that holds if the expression, which may be NULL, equals one of several values.
  ///
  /// ```swift
  /// Reminder.where { $0.priority.in([Priority.low, .high]) }
  /// // … WHERE ("reminders"."priority") IN ((1), (3))
  /// ```
  @_disfavoredOverload
  public func `in`<Values: Sequence>(_ values: Values) -> SQLQueryExpression<Bool>
  where
    Values.Element: QueryExpression, Values.Element.QueryValue: QueryDecodable,
    Values.Element.QueryValue._Optionalized == QueryValue._Optionalized
  {
    _in(values)
  }

  /// A condition that holds if the expression equals one of several values in the form that the column gives them.
  ///
  /// ```swift
  /// Reminder.where { $0.priority.in([.low, .high]) }
  /// // … WHERE ("reminders"."priority") IN ((1), (3))
  /// ```
  @_disfavoredOverload
  public func `in`(_ values: [QueryValue.QueryOutput]) -> SQLQueryExpression<Bool> where QueryValue: QueryBindable {
    _in(values.lazy.map(QueryValue.init(queryOutput:)))
  }

  private func _in<Values: Sequence>(_ values: Values) -> SQLQueryExpression<Bool>
  where Values.Element: QueryExpression {
    var fragment: QueryFragment = "("
    fragment.append(queryFragment)
    // SQLite takes a list of row values only as VALUES.
    fragment.append(raw: QueryValue._columnWidth > 1 ? ") IN (VALUES " : ") IN (")
    var isFirst = true
    for value in values {
      fragment.append(raw: isFirst ? "(" : ", (")
      isFirst = false
      fragment.append(value.queryFragment)
      fragment.append(raw: ")")
    }
    if isFirst {
      let nothing = QueryFragment().orNoRows(of: QueryValue._columnWidth)
      return SQLQueryExpression("(\(queryFragment)) IN (\(nothing))")
    }
    fragment.append(raw: ")")
    return SQLQueryExpression(fragment)
  }

  /// A condition that holds if the expression equals one of the values that a query returns.
  ///
  /// ```swift
  /// Reminder.where { $0.remindersListID.in(RemindersList.select(\.id)) }
  /// // … WHERE ("reminders"."remindersListID") IN (
  /// //   SELECT "remindersLists"."id"
  /// //   FROM "remindersLists"
  /// // )
  /// ```
  public func `in`<Query: PartialSelectStatement>(_ query: Query) -> SQLQueryExpression<Bool>
  where Query.QueryValue: QueryDecodable, Query.QueryValue._Optionalized == QueryValue._Optionalized {
    SQLQueryExpression("(\(queryFragment)) IN \(query._rows)")
  }
}

// In Swift, `value == nil` is true or false. In SQL, `= NULL` is neither.
private func _equality(_ lhs: QueryFragment, _ rhs: QueryFragment) -> SQLQueryExpression<Bool> {
  _binary(lhs, rhs == QueryFragment(QueryBinding.null) ? isSame : equal, rhs)
}

private func _inequality(_ lhs: QueryFragment, _ rhs: QueryFragment) -> SQLQueryExpression<Bool> {
  _binary(lhs, rhs == QueryFragment(QueryBinding.null) ? isNotSame : notEqual, rhs)
}

extension TableColumn {
  /// Compares a column with a value, as `eq` does. It compares with nil as `is` does.
  ///
  /// ```swift
  /// Reminder.where { $0.dueDate == nil }
  /// // … WHERE ("reminders"."dueDate") IS (NULL)
  /// ```
  public static func == (lhs: Self, rhs: Value.QueryOutput) -> SQLQueryExpression<Bool> {
    _equality(lhs.queryFragment, Value(queryOutput: rhs).queryFragment)
  }

  /// Compares a column with a value and negates the result.
  public static func != (lhs: Self, rhs: Value.QueryOutput) -> SQLQueryExpression<Bool> {
    _inequality(lhs.queryFragment, Value(queryOutput: rhs).queryFragment)
  }

  /// Compares two columns.
  public static func == <Other: Table>(lhs: Self, rhs: TableColumn<Other, Value>) -> SQLQueryExpression<Bool> {
    _binary(lhs.queryFragment, equal, rhs.queryFragment)
  }

  /// Compares two columns and negates the result.
  public static func != <Other: Table>(lhs: Self, rhs: TableColumn<Other, Value>) -> SQLQueryExpression<Bool> {
    _binary(lhs.queryFragment, notEqual, rhs.queryFragment)
  }
}

extension SQLQueryExpression where QueryValue: QueryBindable {
  /// Compares an expression with a value, as `eq` does. It compares with nil as `is` does.
  ///
  /// ```swift
  /// Reminder.where { ($0.id % 2) == 1 }
  /// // … WHERE (("reminders"."id") % (2)) = (1)
  /// ```
  public static func == (lhs: Self, rhs: QueryValue.QueryOutput) -> SQLQueryExpression<Bool> {
    _equality(lhs.queryFragment, QueryValue(queryOutput: rhs).queryFragment)
  }

  /// Compares an expression with a value and negates the result.
  public static func != (lhs: Self, rhs: QueryValue.QueryOutput) -> SQLQueryExpression<Bool> {
    _inequality(lhs.queryFragment, QueryValue(queryOutput: rhs).queryFragment)
  }

  /// Compares two expressions.
  public static func == (lhs: Self, rhs: some _OperatorExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(lhs.queryFragment, equal, rhs.queryFragment)
  }

  /// Compares two expressions and negates the result.
  public static func != (lhs: Self, rhs: some _OperatorExpression<QueryValue>) -> SQLQueryExpression<Bool> {
    _binary(lhs.queryFragment, notEqual, rhs.queryFragment)
  }
}

extension Sequence where Element: QueryBindable {
  /// A condition that holds if an expression equals one of the elements.
  ///
  /// ```swift
  /// Reminder.where { [1, 2].contains($0.id) }
  /// // … WHERE ("reminders"."id") IN ((1), (2))
  /// ```
  public func contains(_ element: some QueryExpression<Element.QueryValue>) -> SQLQueryExpression<Bool> {
    element.in(self)
  }

  /// A condition that holds if an expression, which may be NULL, equals one of the elements.
  @_disfavoredOverload
  public func contains<Other: QueryExpression>(_ element: Other) -> SQLQueryExpression<Bool>
  where
    Other.QueryValue: QueryDecodable, Element.QueryValue: QueryDecodable,
    Element.QueryValue._Optionalized == Other.QueryValue._Optionalized
  {
    element.in(self)
  }
}

extension ClosedRange where Bound: QueryBindable, Bound.QueryValue == Bound {
  /// A condition that holds if an expression lies in the range.
  ///
  /// ```swift
  /// Reminder.where { (1...3).contains($0.id) }
  /// // … WHERE ("reminders"."id") BETWEEN (1) AND (3)
  /// ```
  public func contains(_ element: some QueryExpression<Bound>) -> SQLQueryExpression<Bool> {
    element.between(lowerBound, and: upperBound)
  }
}

extension PartialSelectStatement where QueryValue: QueryDecodable {
  /// A condition that holds if the query returns the value.
  ///
  /// ```swift
  /// Tag.where { Reminder.select(\.id).contains($0.id) }
  /// // … WHERE ("tags"."id") IN (…)
  /// ```
  public func contains<Element: QueryExpression>(_ element: Element) -> SQLQueryExpression<Bool>
  where Element.QueryValue: QueryDecodable, QueryValue._Optionalized == Element.QueryValue._Optionalized {
    element.in(self)
  }
}

extension Statement {
  /// A condition that holds if the query returns a row.
  ///
  /// ```swift
  /// RemindersList.where { list in Reminder.where { $0.remindersListID.eq(list.id) }.exists() }
  /// // … WHERE EXISTS (…)
  /// ```
  public func exists() -> SQLQueryExpression<Bool> {
    SQLQueryExpression("EXISTS \(_rows)")
  }
}
