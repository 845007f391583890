public import GRDB
public import SQLiteDataQueries

extension FetchAll {
  /// Creates a property that holds all rows of a table.
  @inlinable
  public init(
    wrappedValue: [Element] = [], database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(wrappedValue, .select(Element.all), database, scheduler)
  }

  /// Creates a property that holds the rows of a query over one table.
  @inlinable
  public init(
    wrappedValue: [Element] = [], _ statement: some SelectStatement<(), Element, ()>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(wrappedValue, .select(statement), database, scheduler)
  }

  /// Creates a property that holds the results of a statement.
  @inlinable
  public init<QueryValue: QueryRepresentable>(
    wrappedValue: [Element] = [], _ statement: some SQLiteDataQueries.Statement<QueryValue>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element == QueryValue.QueryOutput {
    self.init(wrappedValue, .statement(statement), database, scheduler)
  }

  /// Creates a property that holds the results of a statement. The property declares their type.
  @inlinable
  public init(
    wrappedValue: [Element] = [], _ statement: some SQLiteDataQueries.Statement<Element>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: QueryRepresentable, Element.QueryOutput == Element {
    self.init(wrappedValue, .statement(statement), database, scheduler)
  }

  /// Creates a property that holds the results of a statement, each as a tuple.
  @inlinable
  public init<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
    wrappedValue: [Element] = [], _ statement: some SQLiteDataQueries.Statement<(V1, V2, repeat each V3)>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  )
  where
    Element == (V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput), V1.QueryOutput: Sendable,
    V2.QueryOutput: Sendable, repeat (each V3).QueryOutput: Sendable
  {
    self.init(wrappedValue, .tuples(statement), database, scheduler)
  }

  /// Fetches and observes another query over one table.
  @inlinable
  @discardableResult
  public func load(
    _ statement: some SelectStatement<(), Element, ()>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element: SQLiteDataQueries.Table {
    try await load(.select(statement), database, scheduler)
  }

  /// Fetches and observes another statement. The property declares the type of its results.
  @inlinable
  @discardableResult
  public func load(
    _ statement: some SQLiteDataQueries.Statement<Element>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element: QueryRepresentable, Element.QueryOutput == Element {
    try await load(.statement(statement), database, scheduler)
  }

  /// Fetches and observes another statement.
  @inlinable
  @discardableResult
  public func load<QueryValue: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<QueryValue>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element == QueryValue.QueryOutput {
    try await load(.statement(statement), database, scheduler)
  }
}

extension StatementRequest {
  @inlinable
  static func select<From>(_ statement: some SelectStatement<(), From, ()>) -> Self
  where Value == FetchedRows<From> {
    rows(statement.query, From.self) { try From(decoder: &$0) }
  }

  @inlinable
  static func statement<QueryValue: QueryRepresentable>(_ statement: some SQLiteDataQueries.Statement<QueryValue>)
    -> Self
  where Value == FetchedRows<QueryValue.QueryOutput> {
    rows(statement.query, QueryValue.self) { try QueryValue(decoder: &$0).queryOutput }
  }

  @inlinable
  static func tuples<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<(V1, V2, repeat each V3)>
  ) -> Self
  where Value == FetchedRows<(V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput)> {
    rows(statement.query, (V1, V2, repeat each V3).self) { try $0._tuple(V1.self, V2.self, repeat (each V3).self) }
  }
}
