/// Two queries whose rows are combined.
public struct CompoundSelect<QueryValue>: PartialSelectStatement, Combined, Ordered, Sendable {
  public let query: QueryFragment
  fileprivate let combination: Combination
  fileprivate let isOrdered: Bool

  fileprivate init(
    _ base: some PartialSelectStatement, _ combination: Combination, _ other: some PartialSelectStatement
  ) {
    self.combination = combination
    isOrdered = false
    var lhs = base.query
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
    // SQL allows ORDER BY and LIMIT only at the end, and WITH only at the beginning.
    if (base as? any Ordered)?.isOrdered == true || lhs.isWith { lhs = Self.subquery(lhs) }
    // SQLite combines from left to right.
    let other = other as? any Combined
    if rhs.isWith || other.map({ $0.combination != combination || combination == .except }) == true {
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

/// A query that may end with ORDER BY or LIMIT.
private protocol Ordered {
  var isOrdered: Bool { get }
}

extension Select: Ordered {
  fileprivate var isOrdered: Bool { !clauses.order.isEmpty || clauses.limit != nil }
}

extension Where: Ordered {
  // The default scope of the table may have an order.
  fileprivate var isOrdered: Bool { asSelect().isOrdered }
}

extension QueryFragment {
  fileprivate var isWith: Bool { sql.hasPrefix("WITH ") }
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
  /// In SQL, the order and the limit of the last query are those of all rows.
  ///
  /// - Parameters:
  ///   - all: Whether equal rows are kept.
  ///   - other: The other query.
  public func union<Other: PartialSelectStatement>(
    all: Bool = false, _ other: Other
  ) -> CompoundSelect<QueryValue> where Other.QueryValue == QueryValue {
    CompoundSelect(self, all ? .unionAll : .union, other)
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
    CompoundSelect(self, .intersect, other)
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
    CompoundSelect(self, .except, other)
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
    CompoundSelect(self, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect(_ other: some SelectStatement<(), From, ()>) -> CompoundSelect<From> {
    CompoundSelect(self, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except(_ other: some SelectStatement<(), From, ()>) -> CompoundSelect<From> {
    CompoundSelect(self, .except, other)
  }
}

extension CompoundSelect where QueryValue: Table {
  /// The rows of both queries.
  public func union(all: Bool = false, _ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(self, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect(_ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(self, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except(_ other: some SelectStatement<(), QueryValue, ()>) -> Self {
    CompoundSelect(self, .except, other)
  }
}

// The same for the rows of several tables.
extension SelectStatement where QueryValue == () {
  /// The rows of both queries.
  public func union<J1: Table, each J2: Table>(
    all: Bool = false, _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(self, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect<J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(self, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except<J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, Joins>
  ) -> CompoundSelect<(From, J1, repeat each J2)> where Joins == (J1, repeat each J2) {
    CompoundSelect(self, .except, other)
  }
}

extension CompoundSelect {
  /// The rows of both queries.
  public func union<From: Table, J1: Table, each J2: Table>(
    all: Bool = false, _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(self, all ? .unionAll : .union, other)
  }

  /// The rows that both queries return.
  public func intersect<From: Table, J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(self, .intersect, other)
  }

  /// The rows of this query that the other one doesn't return.
  public func except<From: Table, J1: Table, each J2: Table>(
    _ other: some SelectStatement<(), From, (J1, repeat each J2)>
  ) -> Self where QueryValue == (From, J1, repeat each J2) {
    CompoundSelect(self, .except, other)
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
    isOrdered = true
  }
}
