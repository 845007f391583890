public import GRDB
public import SQLiteDataQueries

extension FetchAll {
  /// Creates a property that holds the rows of a table, divided into sections.
  ///
  /// ```swift
  /// @FetchAll(Reminder.order(by: \.title), sectionBy: { $0.priority.desc() }) var reminders
  /// for section in $reminders.sections { … }
  /// ```
  ///
  /// The order of the sections comes before the order of the query, which applies inside a section.
  public init(
    wrappedValue: [Element] = [], _ statement: some SelectStatement<(), Element, ()>,
    @SectionBuilder sectionBy section: (Element.TableColumns) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(
      wrappedValue, .sectioned(statement.asSelect(), section(Element.columns), Element.self), database, scheduler)
  }

  /// Creates a property that holds the rows of a table, divided into sections by a column.
  public init<Section: QueryExpression>(
    wrappedValue: [Element] = [], _ statement: some SelectStatement<(), Element, ()>,
    sectionBy section: KeyPath<Element.TableColumns, Section>, database: (any DatabaseReader)? = nil,
    scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(
      wrappedValue: wrappedValue, statement, sectionBy: { $0[keyPath: section] }, database: database,
      scheduler: scheduler)
  }

  /// Creates a property that holds all rows of a table, divided into sections.
  public init(
    wrappedValue: [Element] = [],
    @SectionBuilder sectionBy section: (Element.TableColumns) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(
      wrappedValue, .sectioned(Element.all.asSelect(), section(Element.columns), Element.self), database, scheduler)
  }

  /// Creates a property that holds all rows of a table, divided into sections by a column.
  public init<Section: QueryExpression>(
    wrappedValue: [Element] = [], sectionBy section: KeyPath<Element.TableColumns, Section>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element: SQLiteDataQueries.Table {
    self.init(wrappedValue: wrappedValue, sectionBy: { $0[keyPath: section] }, database: database, scheduler: scheduler)
  }

  /// Creates a property that holds selected values, divided into sections by an expression of the query's table.
  public init<QueryValue: QueryRepresentable, From: SQLiteDataQueries.Table>(
    wrappedValue: [Element] = [], _ statement: some SelectStatement<QueryValue, From, ()>,
    @SectionBuilder sectionBy section: (From.TableColumns) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element == QueryValue.QueryOutput {
    self.init(
      wrappedValue, .sectioned(statement.asSelect(), section(From.columns), QueryValue.self), database, scheduler)
  }

  /// Creates a property that holds selected values, divided into sections by an expression of the query's tables.
  @_disfavoredOverload
  public init<QueryValue: QueryRepresentable, From: SQLiteDataQueries.Table, each J: SQLiteDataQueries.Table>(
    wrappedValue: [Element] = [], _ statement: some SelectStatement<QueryValue, From, (repeat each J)>,
    @SectionBuilder sectionBy section:
      ((From.TableColumns, repeat (each J).TableColumns)) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) where Element == QueryValue.QueryOutput {
    self.init(
      wrappedValue,
      .sectioned(
        statement.asSelect(), section((From.columns, repeat (each J).columns)), QueryValue.self),
      database, scheduler)
  }

  /// Fetches and observes another query over one table, divided into sections.
  @discardableResult
  public func load(
    _ statement: some SelectStatement<(), Element, ()>,
    @SectionBuilder sectionBy section: (Element.TableColumns) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element: SQLiteDataQueries.Table {
    try await load(.sectioned(statement.asSelect(), section(Element.columns), Element.self), database, scheduler)
  }

  /// Fetches and observes another query over one table, divided into sections by a column.
  @discardableResult
  public func load<Section: QueryExpression>(
    _ statement: some SelectStatement<(), Element, ()>, sectionBy section: KeyPath<Element.TableColumns, Section>,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element: SQLiteDataQueries.Table {
    let expression = Element.columns[keyPath: section].queryFragment
    return try await load(
      .sectioned(statement.asSelect(), SectionExpression(expression: expression, order: expression), Element.self),
      database, scheduler)
  }

  /// Fetches and observes another selection, divided into sections by an expression of the query's table.
  @discardableResult
  public func load<QueryValue: QueryRepresentable, From: SQLiteDataQueries.Table>(
    _ statement: some SelectStatement<QueryValue, From, ()>,
    @SectionBuilder sectionBy section: (From.TableColumns) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element == QueryValue.QueryOutput {
    try await load(.sectioned(statement.asSelect(), section(From.columns), QueryValue.self), database, scheduler)
  }

  /// Fetches and observes another selection, divided into sections by an expression of the query's tables.
  @discardableResult
  @_disfavoredOverload
  public func load<QueryValue: QueryRepresentable, From: SQLiteDataQueries.Table, each J: SQLiteDataQueries.Table>(
    _ statement: some SelectStatement<QueryValue, From, (repeat each J)>,
    @SectionBuilder sectionBy section:
      ((From.TableColumns, repeat (each J).TableColumns)) -> SectionExpression<String?>?,
    database: (any DatabaseReader)? = nil, scheduler: some ValueObservationScheduler = ImmediateScheduler()
  ) async throws -> FetchSubscription where Element == QueryValue.QueryOutput {
    try await load(
      .sectioned(
        statement.asSelect(), section((From.columns, repeat (each J).columns)), QueryValue.self),
      database, scheduler)
  }
}

extension StatementRequest {
  /// Returns a request for rows in sections. Without a section, it is a request for rows.
  static func sectioned<Columns, From, Joins, Row: QueryRepresentable>(
    _ select: Select<Columns, From, Joins>, _ section: SectionExpression<String?>?, _ row: Row.Type
  ) -> Self where Value == FetchedRows<Row.QueryOutput> {
    guard let section else { return rows(select.query, Row.self) { try Row(decoder: &$0).queryOutput } }
    let query = select._sectioned(by: section.expression, order: section.order)
    let isComparable = Row.QueryOutput.self is any Equatable.Type
    return Self(query, (Row, String?).self) { db in
      var rows: [Row.QueryOutput] = []
      var fingerprint = isComparable ? nil : Hasher()
      var sections = SectionRuns<String?>()
      try db._forEachRow(of: query) { decoder in
        rows.append(try Row(decoder: &decoder).queryOutput)
        sections.append(try decoder.decode(String.self))
        decoder._hash(into: &fingerprint)
      }
      return FetchedRows(
        rows: rows, sections: sections.runs.map { .init(name: $0.name, range: $0.range) },
        fingerprint: fingerprint?.finalize())
    }
  }
}

/// The names of consecutive rows, with the rows that have them.
struct SectionRuns<Name: Hashable> {
  private(set) var runs: [(name: Name, range: Range<Int>)] = []

  /// Adds a row.
  mutating func append(_ name: Name) {
    let row = runs.last?.range.upperBound ?? 0
    if let last = runs.indices.last, runs[last].name == name {
      runs[last].range = runs[last].range.lowerBound..<(row + 1)
    } else {
      runs.append((name, row..<(row + 1)))
    }
  }
}

extension SelectStatement where QueryValue == (), Joins == () {
  /// Returns all rows, divided into sections.
  ///
  /// ```swift
  /// let sections = try Reminder.all.fetchAll(db, sectionBy: { $0.priority })
  /// ```
  public func fetchAll<Name: QueryRepresentable>(
    _ db: Database, sectionBy section: (From.TableColumns) -> some QueryExpression<Name>
  ) throws -> FetchSections<Name.QueryOutput, From> where Name.QueryOutput: Hashable & Sendable {
    let expression = section(From.columns).queryFragment
    return try db._sections(asSelect()._sectioned(by: expression, order: expression), From.self, Name.self)
  }

  /// Returns all rows, divided into sections that have an order of their own.
  public func fetchAll(
    _ db: Database, sectionBy section: (From.TableColumns) -> OrderingTerm
  ) throws -> FetchSections<String?, From> {
    let term = section(From.columns)
    return try db._sections(
      asSelect()._sectioned(by: term.base, order: term.queryFragment), From.self, String?.self)
  }

  /// Returns all rows, divided into sections by a column.
  public func fetchAll<Name: QueryRepresentable, Section: QueryExpression<Name>>(
    _ db: Database, sectionBy section: KeyPath<From.TableColumns, Section>
  ) throws -> FetchSections<Name.QueryOutput, From> where Name.QueryOutput: Hashable & Sendable {
    try fetchAll(db, sectionBy: { $0[keyPath: section] })
  }
}

extension SelectStatement where QueryValue: QueryRepresentable {
  /// Returns all selected values, divided into sections by an expression of the query's tables.
  public func fetchAll<Name: QueryRepresentable, each J: SQLiteDataQueries.Table>(
    _ db: Database,
    sectionBy section: ((From.TableColumns, repeat (each J).TableColumns)) -> some QueryExpression<Name>
  ) throws -> FetchSections<Name.QueryOutput, QueryValue.QueryOutput>
  where Name.QueryOutput: Hashable & Sendable, Joins == (repeat each J) {
    let expression = section((From.columns, repeat (each J).columns)).queryFragment
    return try db._sections(asSelect()._sectioned(by: expression, order: expression), QueryValue.self, Name.self)
  }
}

extension Database {
  fileprivate func _sections<Row: QueryRepresentable, Name: QueryRepresentable>(
    _ query: QueryFragment, _ row: Row.Type, _ name: Name.Type
  ) throws -> FetchSections<Name.QueryOutput, Row.QueryOutput> where Name.QueryOutput: Hashable & Sendable {
    var rows: [Row.QueryOutput] = []
    var sections = SectionRuns<Name.QueryOutput>()
    try _forEachRow(of: query) { decoder in
      rows.append(try Row(decoder: &decoder).queryOutput)
      sections.append(try Name(decoder: &decoder).queryOutput)
    }
    return FetchSections(rows: rows, sections: sections.runs)
  }
}
