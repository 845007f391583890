public import GRDB

/// A request that ``Fetch`` runs and observes. All of its queries run in one transaction.
///
/// ```swift
/// struct Reminders: FetchKeyRequest {
///   struct Value {
///     var completed: [Reminder] = []
///     var count = 0
///   }
///   func fetch(_ db: Database) throws -> Value {
///     try Value(
///       completed: Reminder.where(\.isCompleted).fetchAll(db),
///       count: Reminder.fetchCount(db)
///     )
///   }
/// }
///
/// @Fetch(Reminders()) var reminders = Reminders.Value()
/// ```
///
/// Requests that are equal share one observation.
public protocol FetchKeyRequest<Value>: Hashable, Sendable {
  /// The type of the fetched value.
  associatedtype Value

  /// Fetches the value.
  func fetch(_ db: Database) throws -> Value
}

/// The error of a request for one row if there is no such row.
public struct NotFound: Error, CustomStringConvertible {
  public init() {}

  public var description: String { "the query found no row" }
}
