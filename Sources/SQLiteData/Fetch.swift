public import GRDB

/// A property with the value of a ``FetchKeyRequest``. It follows the changes of the database.
///
/// ```swift
/// @Fetch(Reminders()) var reminders = Reminders.Value()
/// ```
///
/// If a fetch fails, the property keeps its value, and ``loadError`` has the reason.
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
  ///   - wrappedValue: The value until something has been fetched.
  ///   - request: The request.
  ///   - database: The database to read. The default is the default database.
  public init(
    wrappedValue: sending Value, _ request: some FetchKeyRequest<Value>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) {
    box = FetchBox(wrappedValue, ObservedRequest(request), database: database, scheduler: scheduler)
  }

  /// The value of the last fetch.
  public var wrappedValue: Value { box.value }

  /// The property itself, with its errors, its state, and the methods to load.
  public var projectedValue: Self {
    get { self }
    nonmutating set { box.follow(newValue.box) }
  }

  /// The reason that the value couldn't be fetched, or nil if the last fetch succeeded.
  public var loadError: (any Error)? { box.loadError }

  /// Whether a requested fetch hasn't finished.
  public var isLoading: Bool { box.isLoading }

  /// The current value, and each later one.
  ///
  /// ```swift
  /// for await reminders in $reminders.values { print(reminders.count) }
  /// ```
  ///
  /// A reader that is slower than the changes skips outdated values.
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
