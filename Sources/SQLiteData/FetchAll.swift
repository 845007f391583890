public import GRDB
public import SQLiteDataQueries

/// A property that holds the rows of a query and follows the changes of the database.
///
/// ```swift
/// @FetchAll var reminders: [Reminder]
/// @FetchAll(Reminder.where(\.isCompleted).order(by: \.title)) var completed
/// ```
///
/// The rows are available as soon as the property exists. They change when this process or another one commits a change
/// to them. If a fetch fails, the property keeps its rows, and ``loadError`` has the reason.
@propertyWrapper
public struct FetchAll<Element: Sendable>: Sendable {
  let box: FetchBox<FetchedRows<Element>>

  @usableFromInline
  init(
    _ rows: [Element], _ request: StatementRequest<FetchedRows<Element>>?, _ database: (any DatabaseReader)?,
    _ scheduler: (any ValueObservationScheduler)?
  ) {
    let rows = FetchedRows(rows: rows)
    box =
      request.map {
        FetchBox(rows, ObservedRequest($0, readsSameTables: true), database: database, scheduler: scheduler)
      } ?? FetchBox(rows)
  }

  // These initializers are here and not in an extension. For a property without a value and without arguments, the
  // compiler only looks here.

  /// Creates a property that holds all rows of a table.
  ///
  /// ```swift
  /// @FetchAll var reminders: [Reminder]
  /// ```
  public init() where Element: SQLiteDataQueries.Table {
    self.init([], .select(Element.all), nil, nil)
  }

  /// Creates a property without rows that fetches nothing until you load a query.
  @_disfavoredOverload
  public init() {
    self.init([], nil, nil, nil)
  }

  /// Creates a property that fetches nothing until you load a query.
  @_disfavoredOverload
  public init(wrappedValue: [Element]) {
    self.init(wrappedValue, nil, nil, nil)
  }

  /// The rows of the last fetch.
  public var wrappedValue: [Element] { box.value.rows }

  /// The property itself, with its errors, its state, and the methods to load.
  public var projectedValue: Self {
    get { self }
    nonmutating set { box.follow(newValue.box) }
  }

  /// The reason that the rows couldn't be fetched, or nil if the last fetch succeeded.
  public var loadError: (any Error)? { box.loadError }

  /// Whether a requested fetch hasn't finished.
  public var isLoading: Bool { box.isLoading }

  /// The current rows, and the rows after each change.
  ///
  /// ```swift
  /// for await reminders in $reminders.values { print(reminders.count) }
  /// ```
  ///
  /// A reader that is slower than the changes skips outdated values.
  public var values: some AsyncSequence<[Element], Never> & Sendable { box.values.map { $0.rows } }

  /// The rows in their sections. Rows fetched without sections are in one section without a name.
  public var sections: FetchSections<String?, Element> { FetchSections(box.value) }

  /// Fetches again.
  public func load() async throws { try await box.load() }

  @usableFromInline
  func load(
    _ request: StatementRequest<FetchedRows<Element>>, _ database: (any DatabaseReader)?,
    _ scheduler: (any ValueObservationScheduler)?
  ) async throws -> FetchSubscription {
    try await box.load(
      ObservedRequest(request, readsSameTables: true), database: database, scheduler: scheduler)
  }
}
