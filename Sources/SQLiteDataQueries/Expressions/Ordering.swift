/// The place of NULL in an order.
public struct NullOrdering: Sendable {
  let sql: String

  /// NULL comes before all other values.
  public static let first = NullOrdering(sql: " NULLS FIRST")
  /// NULL comes after all other values.
  public static let last = NullOrdering(sql: " NULLS LAST")
}

/// An expression with a direction, for ORDER BY.
public struct OrderingTerm: QueryExpression, Sendable {
  public typealias QueryValue = Never

  public let queryFragment: QueryFragment

  /// The expression without its direction.
  package let base: QueryFragment
}

extension QueryExpression where QueryValue: QueryDecodable {
  /// Orders from the smallest value to the greatest.
  ///
  /// ```swift
  /// Reminder.order { $0.dueDate.asc(nulls: .last) }
  /// // … ORDER BY "reminders"."dueDate" ASC NULLS LAST
  /// ```
  public func asc(nulls nullOrdering: NullOrdering? = nil) -> OrderingTerm {
    OrderingTerm(queryFragment: "\(queryFragment) ASC\(raw: nullOrdering?.sql ?? "")", base: queryFragment)
  }

  /// Orders from the greatest value to the smallest.
  ///
  /// ```swift
  /// Reminder.order { $0.title.desc() }
  /// // … ORDER BY "reminders"."title" DESC
  /// ```
  public func desc(nulls nullOrdering: NullOrdering? = nil) -> OrderingTerm {
    OrderingTerm(queryFragment: "\(queryFragment) DESC\(raw: nullOrdering?.sql ?? "")", base: queryFragment)
  }
}
