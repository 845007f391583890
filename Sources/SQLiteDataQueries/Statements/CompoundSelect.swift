/// Two queries whose rows are combined.
public struct CompoundSelect<QueryValue>: PartialSelectStatement, Sendable {
  public let query: QueryFragment

  init(_ lhs: QueryFragment, _ operator: String, _ rhs: QueryFragment) {
    var query = lhs
    query.append(raw: "\n  ")
    query.append(raw: `operator`)
    query.append(raw: "\n")
    query.append(rhs)
    self.query = query
  }
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
    CompoundSelect(query, all ? "UNION ALL" : "UNION", other.query)
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
    CompoundSelect(query, "INTERSECT", other.query)
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
    CompoundSelect(query, "EXCEPT", other.query)
  }
}

extension CompoundSelect {
  /// Orders the combined rows by the number of a column, from 1.
  ///
  /// ```swift
  /// Reminder.select(\.title).union(RemindersList.select(\.title)).order(byColumn: 1).limit(5)
  /// // …
  /// // ORDER BY 1
  /// // LIMIT 5
  /// ```
  public func order(byColumn column: Int) -> Self { Self(query, suffix: "\nORDER BY \(column)") }

  /// Returns at most a number of the combined rows.
  public func limit(_ maxLength: Int) -> Self { Self(query, suffix: "\nLIMIT \(maxLength)") }

  private init(_ query: QueryFragment, suffix: String) {
    var query = query
    query.append(raw: suffix)
    self.query = query
  }
}
