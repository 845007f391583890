/// Two queries whose rows are combined.
public struct CompoundSelect<QueryValue>: PartialSelectStatement, Combined, Sendable {
  public let query: QueryFragment
  fileprivate let combination: Combination

  fileprivate init(_ lhs: QueryFragment, _ combination: Combination, _ other: some PartialSelectStatement) {
    self.combination = combination
    var rhs = other.query
    guard !lhs.isEmpty, !rhs.isEmpty else {
      // One query has no rows, and no SQL that could be combined.
      query =
        switch combination {
        case .unionAll: Self.subquery(lhs.isEmpty ? rhs : lhs)
        case .union: Self.subquery(lhs.isEmpty ? rhs : lhs, distinct: true)
        case .except: Self.subquery(lhs, distinct: true)
        case .intersect: QueryFragment()
        }
      return
    }
    // SQLite combines from left to right.
    if let other = other as? any Combined, other.combination != combination || combination == .except {
      rhs = Self.subquery(rhs)
    }
    var query = lhs
    query.append(raw: "\n  \(combination.rawValue)\n")
    query.append(rhs)
    self.query = query
  }

  private static func subquery(_ query: QueryFragment, distinct isDistinct: Bool = false) -> QueryFragment {
    guard !query.isEmpty else { return query }
    return "SELECT \(raw: isDistinct ? "DISTINCT " : "")* FROM (\n\(query.indented())\n)"
  }
}

private enum Combination: String, Sendable {
  case union = "UNION"
  case unionAll = "UNION ALL"
  case intersect = "INTERSECT"
  case except = "EXCEPT"
}

/// A compound select without the type of its rows.
private protocol Combined {
  var combination: Combination { get }
}

extension PartialSelectStatement {
  /// The rows of both queries.
  ///
  /// ```swift
  /// Reminder.select(\.title).union(RemindersList.select(\.title))
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// //   UNION
  /// // SELECT "remindersLists"."title"
  /// // FROM "remindersLists"
  /// ```
  ///
  /// - Parameters:
  ///   - all: Whether equal rows are kept.
  ///   - other: The other query.
  public func union<Other: PartialSelectStatement>(
    all: Bool = false, _ other: Other
  ) -> CompoundSelect<QueryValue> where Other.QueryValue == QueryValue {
    CompoundSelect(query, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  ///
  /// ```swift
  /// Reminder.select(\.title).intersect(RemindersList.select(\.title))
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// //   INTERSECT
  /// // SELECT "remindersLists"."title"
  /// // FROM "remindersLists"
  /// ```
  public func intersect<Other: PartialSelectStatement>(
    _ other: Other
  ) -> CompoundSelect<QueryValue> where Other.QueryValue == QueryValue {
    CompoundSelect(query, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  ///
  /// ```swift
  /// Reminder.select(\.title).except(RemindersList.select(\.title))
  /// // SELECT "reminders"."title"
  /// // FROM "reminders"
  /// //   EXCEPT
  /// // SELECT "remindersLists"."title"
  /// // FROM "remindersLists"
  /// ```
  public func except<Other: PartialSelectStatement>(
    _ other: Other
  ) -> CompoundSelect<QueryValue> where Other.QueryValue == QueryValue {
    CompoundSelect(query, .except, other)
  }
}

// The same for whole rows, whose type a query without a selection doesn't name.
extension SelectStatement where QueryValue == (), Joins == () {
  /// The rows of both queries.
  ///
  /// ```swift
  /// Tag.where { $0.id.lt(2) }.union(Tag.where { $0.title.eq("car") })
  /// // SELECT "tags"."id", "tags"."title"
  /// // FROM "tags"
  /// // WHERE ("tags"."id") < (2)
  /// //   UNION
  /// // SELECT "tags"."id", "tags"."title"
  /// // FROM "tags"
  /// // WHERE ("tags"."title") = ('car')
  /// ```
  ///
  /// - Parameters:
  ///   - all: Whether equal rows are kept.
  ///   - other: The other query.
  public func union(all: Bool = false, _ other: some SelectStatement<(), From, ()>) -> CompoundSelect<From> {
    CompoundSelect(query, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect(_ other: some SelectStatement<(), From, ()>) -> CompoundSelect<From> {
    CompoundSelect(query, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except(_ other: some SelectStatement<(), From, ()>) -> CompoundSelect<From> {
    CompoundSelect(query, .except, other)
  }
}

extension CompoundSelect where QueryValue: Table {
  /// The rows of both queries.
  public func union(all: Bool = false, _ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(query, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect(_ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(query, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except(_ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(query, .except, other)
  }
}

// The same for the rows of several tables.
extension SelectStatement where QueryValue == () {
  /// The rows of both queries.
  public func union<J1: Table, each J2: Table>(
    all: Bool = false, _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(query, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect<J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(query, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except<J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(query, .except, other)
  }
}

extension CompoundSelect {
  /// The rows of both queries.
  public func union<From: Table, J1: Table, each J2: Table>(
    all: Bool = false, _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(query, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect<From: Table, J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(query, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except<From: Table, J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(query, .except, other)
  }

  /// Orders the combined rows by the number of a column, from 1.
  ///
  /// ```swift
  /// Reminder.select(\.title).union(RemindersList.select(\.title)).order(byColumn: 1).limit(5)
  /// // …
  /// // ORDER BY 1
  /// // LIMIT 5
  /// ```
  public func order(byColumn column: Int) -> Self { Self(self, suffix: "\nORDER BY \(column)") }

  /// Returns at most a number of the combined rows.
  public func limit(_ maxLength: Int) -> Self { Self(self, suffix: "\nLIMIT \(maxLength)") }

  private init(_ base: Self, suffix: String) {
    var query = base.query
    if !query.isEmpty { query.append(raw: suffix) }
    self.query = query
    combination = base.combination
  }
}
