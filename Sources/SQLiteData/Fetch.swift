public import GRDB

/// A property whose value a ``FetchKeyRequest`` fetches, and which follows the database.
///
/// ```swift
/// @Fetch(Reminders()) var reminders = Reminders.Value()
/// ```
///
/// If fetching fails, the property keeps its value and ``loadError`` says why.
@propertyWrapper
public struct Fetch<Value: Sendable>: Sendable {
  let box: FetchBox<Value>

  /// Creates a property that fetches nothing until you call ``load(_:database:scheduler:)``.
  public init(wrappedValue: sending Value) {
    box = FetchBox(wrappedValue)
  }

  /// Creates a property that fetches and observes a request.
  ///
  /// - Parameters:
  ///   - wrappedValue: The value as long as nothing has been fetched.
  ///   - request: What to fetch.
  ///   - database: Where to fetch. The default is the default database.
  public init(
    wrappedValue: sending Value, _ request: some FetchKeyRequest<Value>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) {
    box = FetchBox(wrappedValue, ObservedRequest(request), database: database, scheduler: scheduler)
  }

  /// The value that was fetched last.
  public var wrappedValue: Value { box.value }

  /// The property itself: its errors, its state, and the means to load.
  public var projectedValue: Self {
    get { self }
    nonmutating set { box.follow(newValue.box) }
  }

  /// Why the value couldn't be fetched. Nil if the last fetch succeeded.
  public var loadError: (any Error)? { box.loadError }

  /// Whether a fetch that was asked for hasn't finished.
  public var isLoading: Bool { box.isLoading }

  /// The value now, and each later one.
  ///
  /// ```swift
  /// for await reminders in $reminders.values { print(reminders.count) }
  /// ```
  ///
  /// A reader that is slower than the changes skips values that are out of date.
  public var values: some AsyncSequence<Value, Never> & Sendable { box.values }

  /// Fetches again.
  public func load() async throws { try await box.load() }

  /// Fetches and observes another request.
  @discardableResult
  public func load(
    _ request: some FetchKeyRequest<Value>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription {
    try await box.load(ObservedRequest(request), database: database, scheduler: scheduler)
  }
}
