public import GRDB
public import SQLiteDataQueries

extension FetchOne {
  /// Creates a property that holds the first row of a table.
  @inlinable
  public init(
    wrappedValue: Value, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value: SQLiteDataQueries.Table {
    self.init(wrappedValue, .first(Value.all), database, scheduler)
  }

  /// Creates a property that holds the row with the same primary key as the given one.
  @inlinable
  public init(
    wrappedValue: Value, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value: PrimaryKeyedTable {
    self.init(wrappedValue, .same(wrappedValue), database, scheduler)
  }

  /// Creates a property that holds the first row of a table, or nil.
  @inlinable
  public init<From: SQLiteDataQueries.Table>(
    wrappedValue: From? = nil, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value == From? {
    self.init(wrappedValue, .firstIfAny(From.all), database, scheduler)
  }

  /// Creates a property that holds the first row of a query over one table.
  @inlinable
  public init(
    wrappedValue: Value, _ statement: some SelectStatement<(), Value, ()>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value: SQLiteDataQueries.Table {
    self.init(wrappedValue, .first(statement), database, scheduler)
  }

  /// Creates a property that holds the first row of a query over one table, or nil.
  @inlinable
  public init<From: SQLiteDataQueries.Table>(
    wrappedValue: From? = nil, _ statement: some SelectStatement<(), From, ()>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value == From? {
    self.init(wrappedValue, .firstIfAny(statement), database, scheduler)
  }

  /// Creates a property that holds the first result of a statement.
  @inlinable
  public init<QueryValue: QueryRepresentable>(
    wrappedValue: Value, _ statement: some SQLiteDataQueries.Statement<QueryValue>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value == QueryValue.QueryOutput {
    self.init(wrappedValue, .one(statement), database, scheduler)
  }

  /// Creates a property that holds the first result of a statement, or nil.
  @inlinable
  public init<QueryValue: QueryRepresentable>(
    wrappedValue: Value = nil, _ statement: some SQLiteDataQueries.Statement<QueryValue>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  )
  where Value == QueryValue.QueryOutput? {
    self.init(wrappedValue, .oneIfAny(statement), database, scheduler)
  }

  /// Creates a property that holds the first result of a statement, or nil if that is NULL or missing.
  @inlinable
  public init<QueryValue: QueryRepresentable>(
    wrappedValue: Value = nil, _ statement: some SQLiteDataQueries.Statement<QueryValue?>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  )
  where Value == QueryValue.QueryOutput? {
    self.init(wrappedValue, .flatIfAny(statement), database, scheduler)
  }

  /// Creates a property that holds the first result of a statement. The property declares its type.
  @inlinable
  public init(
    wrappedValue: Value, _ statement: some SQLiteDataQueries.Statement<Value>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value: QueryRepresentable, Value.QueryOutput == Value {
    self.init(wrappedValue, .one(statement), database, scheduler)
  }

  /// Creates a property that holds the first result of a statement, or nil if that is NULL or missing. The property
  /// declares its type.
  @inlinable
  public init<QueryValue: QueryRepresentable>(
    wrappedValue: Value = nil, _ statement: some SQLiteDataQueries.Statement<QueryValue?>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Value == QueryValue?, QueryValue.QueryOutput == QueryValue {
    self.init(wrappedValue, .flatIfAny(statement), database, scheduler)
  }

  /// Fetches and observes the first row of another query over one table.
  @inlinable
  @discardableResult
  public func load(
    _ statement: some SelectStatement<(), Value, ()>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value: SQLiteDataQueries.Table {
    try await load(.first(statement), database, scheduler)
  }

  /// Fetches and observes the first row of another query over one table, or nil.
  @inlinable
  @discardableResult
  public func load<From: SQLiteDataQueries.Table>(
    _ statement: some SelectStatement<(), From, ()>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value == From? {
    try await load(.firstIfAny(statement), database, scheduler)
  }

  /// Fetches and observes the first result of another statement. The property declares its type.
  @inlinable
  @discardableResult
  public func load(
    _ statement: some SQLiteDataQueries.Statement<Value>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value: QueryRepresentable, Value.QueryOutput == Value {
    try await load(.one(statement), database, scheduler)
  }

  /// Fetches and observes the first result of another statement, or nil if that is NULL or missing. The property
  /// declares its type.
  @inlinable
  @discardableResult
  public func load<QueryValue: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<QueryValue?>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value == QueryValue?, QueryValue.QueryOutput == QueryValue {
    try await load(.flatIfAny(statement), database, scheduler)
  }

  /// Fetches and observes the first result of another statement.
  @inlinable
  @discardableResult
  public func load<QueryValue: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<QueryValue>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value == QueryValue.QueryOutput {
    try await load(.one(statement), database, scheduler)
  }

  /// Fetches and observes the first result of another statement, or nil.
  @inlinable
  @discardableResult
  public func load<QueryValue: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<QueryValue>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value == QueryValue.QueryOutput? {
    try await load(.oneIfAny(statement), database, scheduler)
  }

  /// Fetches and observes the first result of another statement, or nil if that is NULL or missing.
  @inlinable
  @discardableResult
  public func load<QueryValue: QueryRepresentable>(
    _ statement: some SQLiteDataQueries.Statement<QueryValue?>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Value == QueryValue.QueryOutput? {
    try await load(.flatIfAny(statement), database, scheduler)
  }
}

extension StatementRequest {
  @inlinable
  static func first<From>(_ statement: some SelectStatement<(), From, ()>) -> Self where Value == FetchedRow<From> {
    row(statement.query, From.self) {
      try From(decoder: &$0)
    } none: {
      throw NotFound()
    }
  }

  @inlinable
  static func firstIfAny<From>(_ statement: some SelectStatement<(), From, ()>) -> Self
  where Value == FetchedRow<From?> {
    row(statement.query, From.self) {
      try From(decoder: &$0)
    } none: {
      nil
    }
  }

  @inlinable
  static func one<QueryValue: QueryRepresentable>(_ statement: some SQLiteDataQueries.Statement<QueryValue>) -> Self
  where Value == FetchedRow<QueryValue.QueryOutput> {
    row(statement.query, QueryValue.self) {
      try QueryValue(decoder: &$0).queryOutput
    } none: {
      throw NotFound()
    }
  }

  @inlinable
  static func oneIfAny<QueryValue: QueryRepresentable>(_ statement: some SQLiteDataQueries.Statement<QueryValue>)
    -> Self
  where Value == FetchedRow<QueryValue.QueryOutput?> {
    row(statement.query, QueryValue.self) {
      try QueryValue(decoder: &$0).queryOutput
    } none: {
      nil
    }
  }

  @inlinable
  static func flatIfAny<QueryValue: QueryRepresentable>(_ statement: some SQLiteDataQueries.Statement<QueryValue?>)
    -> Self
  where Value == FetchedRow<QueryValue.QueryOutput?> {
    row(statement.query, QueryValue?.self) {
      try QueryValue?(decoder: &$0).queryOutput
    } none: {
      nil
    }
  }

  /// Returns a request for the first row of a query.
  @inlinable
  static func row<Output, QueryValue>(
    _ query: QueryFragment, _ type: QueryValue.Type,
    row: @escaping (inout SQLiteQueryDecoder) throws -> Output,
    none: @escaping () throws -> Output
  ) -> Self where Value == FetchedRow<Output> {
    let isComparable = Output.self is any Equatable.Type
    return Self(query, type) { db in
      let found = try db._firstRow(of: query) { decoder in
        let value = try row(&decoder)
        var fingerprint = isComparable ? nil : Hasher()
        if fingerprint != nil { decoder._hash(into: &fingerprint) }
        return FetchedRow(value: value, fingerprint: fingerprint?.finalize())
      }
      // This is a hash of nothing, which no row has.
      return try found ?? FetchedRow(value: none(), fingerprint: isComparable ? nil : 0)
    }
  }
}

extension StatementRequest {
  /// Returns a request for the row with the primary key of the given one.
  @inlinable
  static func same<Row: PrimaryKeyedTable>(_ row: Row) -> Self where Value == FetchedRow<Row> {
    self.row(Row.all._query(ofKey: row._keyFragments), Row.self) {
      try Row(decoder: &$0)
    } none: {
      throw NotFound()
    }
  }
}
