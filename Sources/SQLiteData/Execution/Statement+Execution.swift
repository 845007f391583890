public import GRDB
public import SQLiteDataQueries

extension SQLiteDataQueries.Statement where QueryValue == () {
  /// Runs a statement that returns no rows.
  ///
  /// ```swift
  /// try Reminder.find(id).delete().execute(db)
  /// ```
  @inlinable
  public func execute(_ db: Database) throws {
    try db._execute(_run)
  }
}

extension SQLiteDataQueries.Statement where QueryValue: QueryRepresentable {
  /// Returns all rows.
  ///
  /// ```swift
  /// let titles = try Reminder.select(\.title).fetchAll(db)
  /// ```
  @inlinable
  public func fetchAll(_ db: Database) throws -> [QueryValue.QueryOutput] {
    var rows: [QueryValue.QueryOutput] = []
    try db._forEachRow(of: query) { rows.append(try QueryValue(decoder: &$0).queryOutput) }
    return rows
  }

  /// Returns the first row, or nil if there is none.
  @inlinable
  public func fetchOne(_ db: Database) throws -> QueryValue.QueryOutput? {
    try db._firstRow(of: query) { try QueryValue(decoder: &$0).queryOutput }
  }

  /// Returns the rows one by one.
  @inlinable
  public func fetchCursor(_ db: Database) throws -> QueryCursor<QueryValue.QueryOutput> {
    try QueryCursor(db, query) { try QueryValue(decoder: &$0).queryOutput }
  }
}

extension SQLiteDataQueries.Statement {
  /// Returns all rows of a statement with several results, each as a tuple.
  @inlinable
  public func fetchAll<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
    _ db: Database
  ) throws -> [(V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput)]
  where QueryValue == (V1, V2, repeat each V3) {
    var rows: [(V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput)] = []
    try db._forEachRow(of: query) { rows.append(try $0._tuple(V1.self, V2.self, repeat (each V3).self)) }
    return rows
  }

  /// Returns the first row of a statement with several results, or nil if there is none.
  @inlinable
  public func fetchOne<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
    _ db: Database
  ) throws -> (V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput)?
  where QueryValue == (V1, V2, repeat each V3) {
    try db._firstRow(of: query) { try $0._tuple(V1.self, V2.self, repeat (each V3).self) }
  }

  /// Returns the rows of a statement with several results one by one.
  @inlinable
  public func fetchCursor<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
    _ db: Database
  ) throws -> QueryCursor<(V1.QueryOutput, V2.QueryOutput, repeat (each V3).QueryOutput)>
  where QueryValue == (V1, V2, repeat each V3) {
    try QueryCursor(db, query) { try $0._tuple(V1.self, V2.self, repeat (each V3).self) }
  }
}

extension SelectStatement where QueryValue == (), Joins == () {
  /// Returns all rows.
  ///
  /// ```swift
  /// let open = try Reminder.where { !$0.isCompleted }.fetchAll(db)
  /// ```
  @inlinable
  public func fetchAll(_ db: Database) throws -> [From] {
    var rows: [From] = []
    try db._forEachRow(of: query) { rows.append(try From(decoder: &$0)) }
    return rows
  }

  /// Returns the first row, or nil if there is none.
  @inlinable
  public func fetchOne(_ db: Database) throws -> From? {
    try db._firstRow(of: query) { try From(decoder: &$0) }
  }

  /// Returns the rows one by one.
  @inlinable
  public func fetchCursor(_ db: Database) throws -> QueryCursor<From> {
    try QueryCursor(db, query) { try From(decoder: &$0) }
  }
}

extension SelectStatement where QueryValue == () {
  /// Returns all rows of joined tables, each as a tuple.
  @inlinable
  public func fetchAll<J1: SQLiteDataQueries.Table, each J2: SQLiteDataQueries.Table>(_ db: Database) throws -> [(
    From, J1, repeat each J2
  )]
  where Joins == (J1, repeat each J2) {
    var rows: [(From, J1, repeat each J2)] = []
    try db._forEachRow(of: query) { rows.append(try $0._tuple(From.self, J1.self, repeat (each J2).self)) }
    return rows
  }

  /// Returns the first row of joined tables, or nil if there is none.
  @inlinable
  public func fetchOne<J1: SQLiteDataQueries.Table, each J2: SQLiteDataQueries.Table>(_ db: Database) throws -> (
    From, J1, repeat each J2
  )?
  where Joins == (J1, repeat each J2) {
    try db._firstRow(of: query) { try $0._tuple(From.self, J1.self, repeat (each J2).self) }
  }

  /// Returns the rows of joined tables one by one.
  @inlinable
  public func fetchCursor<J1: SQLiteDataQueries.Table, each J2: SQLiteDataQueries.Table>(_ db: Database) throws
    -> QueryCursor<(From, J1, repeat each J2)>
  where Joins == (J1, repeat each J2) {
    try QueryCursor(db, query) { try $0._tuple(From.self, J1.self, repeat (each J2).self) }
  }

  /// Returns the number of rows.
  @inlinable
  public func fetchCount(_ db: Database) throws -> Int {
    let query = query
    guard !query.isEmpty else { return 0 }
    return try db._firstRow(of: "SELECT count(*) FROM (\n\(query)\n)") { try Int(decoder: &$0) } ?? 0
  }
}

extension SQLiteQueryDecoder {
  /// Reads the values of a tuple from left to right.
  @inlinable
  mutating func _tuple<each Value: QueryRepresentable>(
    _ type: repeat (each Value).Type
  ) throws -> (repeat (each Value).QueryOutput) {
    (repeat try (each Value)(decoder: &self).queryOutput)
  }
}

extension SQLiteDataQueries.Table {
  /// Returns all rows of the table.
  @inlinable
  public static func fetchAll(_ db: Database) throws -> [Self] { try all.fetchAll(db) }

  /// Returns the first row of the table, or nil if there is none.
  @inlinable
  public static func fetchOne(_ db: Database) throws -> Self? { try all.fetchOne(db) }

  /// Returns the number of rows of the table.
  @inlinable
  public static func fetchCount(_ db: Database) throws -> Int { try all.fetchCount(db) }

  /// Returns the rows of the table one by one.
  @inlinable
  public static func fetchCursor(_ db: Database) throws -> QueryCursor<Self> { try all.fetchCursor(db) }
}

extension PrimaryKeyedTable {
  /// Returns the row with a primary key.
  ///
  /// ```swift
  /// let reminder = try Reminder.find(db, key: id)
  /// ```
  ///
  /// - Throws: `NotFound` if there is no such row.
  @inlinable
  public static func find(_ db: Database, key: some QueryExpression<PrimaryKey>) throws -> Self {
    guard let (sql, value) = _findStatement(key) else { return try all.find(db, key: key) }
    var row: Self?
    try db._withFirstRow(of: sql, binding: value) { row = try Self(decoder: &$0) }
    guard let row else { throw NotFound() }
    return row
  }

  /// Returns the row with a primary key in the form of a row's value, such as a key of several columns.
  ///
  /// ```swift
  /// let enrollment = try Enrollment.find(db, key: .init(studentID: 1, courseID: 2))
  /// ```
  ///
  /// - Throws: `NotFound` if there is no such row.
  @_disfavoredOverload
  @inlinable
  public static func find(_ db: Database, key: PrimaryKey.QueryOutput) throws -> Self {
    try find(db, key: PrimaryKey(queryOutput: key))
  }
}

extension SelectStatement where QueryValue == (), Joins == (), From: PrimaryKeyedTable {
  /// Returns the selected row with a primary key.
  ///
  /// - Throws: `NotFound` if there is no such row among the selected ones.
  @inlinable
  public func find(_ db: Database, key: some QueryExpression<From.PrimaryKey>) throws -> From {
    let query = _query(ofKey: key._allColumns.map(\.queryFragment))
    guard let row = try db._firstRow(of: query, { try From(decoder: &$0) }) else { throw NotFound() }
    return row
  }

  /// Returns the selected row with a primary key in the form of a row's value.
  ///
  /// - Throws: `NotFound` if there is no such row among the selected ones.
  @_disfavoredOverload
  @inlinable
  public func find(_ db: Database, key: From.PrimaryKey.QueryOutput) throws -> From {
    try find(db, key: From.PrimaryKey(queryOutput: key))
  }
}

extension SelectStatement where From: PrimaryKeyedTable {
  /// Returns the query for the selected rows with a primary key.
  ///
  /// - Parameter key: One expression for each column of the primary key.
  @usableFromInline
  func _query(ofKey key: [QueryFragment]) -> QueryFragment {
    var result = query
    guard !result.isEmpty else { return result }
    result = "SELECT * FROM (\n\(result)\n)"
    for (index, (column, value)) in zip(From.columns.primaryKey._tableColumns, key).enumerated() {
      result.append(index == 0 ? "\nWHERE \(quote: column.name) = \(value)" : " AND \(quote: column.name) = \(value)")
    }
    return result
  }
}
