public import GRDB
public import SQLiteDataQueries

/// A property that holds the first row of a query and follows the changes of the database.
///
/// ```swift
/// @FetchOne(Reminder.count()) var remindersCount = 0
/// @FetchOne(Reminder.order { $0.dueAt.desc() }) var latest: Reminder?
/// ```
///
/// If the query finds no row, an optional property becomes nil. Any other property keeps its value, and ``loadError``
/// is ``NotFound``.
@propertyWrapper
public struct FetchOne<Value: Sendable>: Sendable {
  let box: FetchBox<FetchedRow<Value>>

  @usableFromInline
  init(
    _ value: Value, _ request: StatementRequest<FetchedRow<Value>>?, _ database: (any DatabaseReader)?,
    _ scheduler: (any ValueObservationScheduler)?
  ) {
    let row = FetchedRow(value: value)
    box =
      request.map {
        FetchBox(row, ObservedRequest($0, readsSameTables: true), database: database, scheduler: scheduler)
      } ?? FetchBox(row)
  }

  // These two initializers are here and not in an extension. In other modules, the compiler only looks here for the
  // initializer of a property without a value and without arguments. It finds the second one only beside the first.

  /// Creates a property that fetches nothing until you load a query.
  @_disfavoredOverload
  public init(wrappedValue: Value) {
    self.init(wrappedValue, nil, nil, nil)
  }

  /// Creates a property that holds the first row of a table, or nil.
  ///
  /// ```swift
  /// @FetchOne var reminder: Reminder?
  /// ```
  public init<From: SQLiteDataQueries.Table>() where Value == From? {
    self.init(nil, .firstIfAny(From.all), nil, nil)
  }

  /// The value of the last fetch.
  public var wrappedValue: Value { box.value.value }

  /// The property itself, with its errors, its state, and the methods to load.
  public var projectedValue: Self {
    get { self }
    nonmutating set { box.follow(newValue.box) }
  }

  /// The reason that the value couldn't be fetched, or nil if the last fetch succeeded.
  public var loadError: (any Error)? { box.loadError }

  /// Whether a requested fetch hasn't finished.
  public var isLoading: Bool { box.isLoading }

  /// The current value, and the value after each change.
  ///
  /// A reader that is slower than the changes skips outdated values.
  public var values: some AsyncSequence<Value, Never> & Sendable { box.values.map { $0.value } }

  /// Fetches again.
  public func load() async throws { try await box.load() }

  @usableFromInline
  func load(
    _ request: StatementRequest<FetchedRow<Value>>, _ database: (any DatabaseReader)?,
    _ scheduler: (any ValueObservationScheduler)?
  ) async throws -> FetchSubscription {
    try await box.load(
      ObservedRequest(request, readsSameTables: true), database: database, scheduler: scheduler)
  }
}

/// The first row that a statement fetched.
public struct FetchedRow<Value: Sendable>: Sendable {
  @usableFromInline
  var value: Value
  /// A hash of everything that SQLite returned, if the value itself can't be compared.
  @usableFromInline
  var fingerprint: Int?

  @usableFromInline
  init(value: Value, fingerprint: Int? = nil) {
    self.value = value
    self.fingerprint = fingerprint
  }
}

extension FetchedRow: ComparableFetch {
  func isSame(as other: Any) -> Bool {
    guard let other = other as? FetchedRow else { return false }
    if let fingerprint, let otherFingerprint = other.fingerprint { return fingerprint == otherFingerprint }
    return (value as? any Equatable)?.isEqual(to: other.value) ?? false
  }
}
