import Foundation
public import GRDB
import GRDBSQLite
public import SQLiteDataQueries

extension Database {
  /// Runs a query and calls a closure with a decoder for each row.
  ///
  /// The prepared statement is kept by its SQL and used again.
  public func _forEachRow(
    of query: QueryFragment, _ row: (inout SQLiteQueryDecoder) throws -> Void
  ) throws {
    try _rows(of: query) { statement in
      func decode(_ pointer: OpaquePointer) throws {
        var decoder = SQLiteQueryDecoder(pointer)
        do { try row(&decoder) } catch { throw decoder.error(error, in: statement) }
      }
      try StepCursor(statement).forEach(decode)
    }
  }

  /// Runs a statement and ignores the rows that it returns.
  public func _execute(_ run: _StatementRun) throws {
    guard !run.sql.isEmpty else { return }
    func ignore(_ row: OpaquePointer) {}
    // Up to this size, the memory is on the stack.
    try withUnsafeTemporaryAllocation(byteCount: 1 << 10, alignment: 1) { room in
      try _rows(of: run.sql, run.placeholders, TextRoom(room)) { try StepCursor($0).forEach(ignore) }
    }
  }

  /// Runs a query and returns the result of a closure for its first row, or nil if there is none.
  @inlinable
  public func _firstRow<T>(
    of query: QueryFragment, _ row: (inout SQLiteQueryDecoder) throws -> T
  ) throws -> T? {
    var result: T?
    try _withFirstRow(of: query) { result = try row(&$0) }
    return result
  }

  /// Runs a query and calls a closure with a decoder for its first row, if there is one.
  public func _withFirstRow(of query: QueryFragment, _ row: (inout SQLiteQueryDecoder) throws -> Void) throws {
    try _rows(of: query) { try $0.withFirstRow(row) }
  }

  /// Runs SQL with one placeholder and calls a closure with a decoder for its first row, if there is one.
  public func _withFirstRow(
    of sql: String, binding: QueryBinding, _ row: (inout SQLiteQueryDecoder) throws -> Void
  ) throws {
    let placeholder = QueryFragment.Placeholder(offset: 0, binding: binding)
    try _rows(of: sql, CollectionOfOne(placeholder), TextRoom()) { try $0.withFirstRow(row) }
  }

  /// Prepares a query, binds its values and lets a closure step through it.
  private func _rows(of query: QueryFragment, _ run: (GRDB.Statement) throws -> Void) throws {
    guard !query.isEmpty else { return }
    try _rows(of: query.sql, query.placeholders, TextRoom(), run)
  }

  private func _rows(
    of sql: String, _ placeholders: some Sequence<QueryFragment.Placeholder>, _ texts: TextRoom,
    _ run: (GRDB.Statement) throws -> Void
  ) throws {
    var statement = try _prepared(sql) { try cachedStatement(sql: $0) }
    // A function that a query calls may run the same query.
    if sqlite3_stmt_busy(statement.sqliteStatement) != 0 { statement = try makeStatement(sql: sql) }
    // This also happens after a value that can't be bound, so the memory of the texts before it doesn't outlive this
    // call.
    defer { statement.release() }
    try statement.bind(placeholders, texts)
    try run(statement)
  }

  /// Prepares a statement. If SQLite can't, it throws the library's explanation.
  func _prepared(_ sql: String, _ prepare: (String) throws -> GRDB.Statement) throws -> GRDB.Statement {
    do {
      return try prepare(sql)
    } catch let error as DatabaseError where error.message?.hasPrefix("no such function: jsonb") == true {
      throw DatabaseError(
        resultCode: error.resultCode,
        message: """
          JSONB needs SQLite 3.45, and this program runs with SQLite \(String(cString: sqlite3_libversion())). Install a \
          newer SQLite, or store JSON text: '@Column(as: Value.JSONRepresentation.self)'
          """,
        sql: sql)
    }
  }
}

/// Steps through a statement as GRDB does, which observers of transactions need.
private final class StepCursor: DatabaseCursor {
  typealias Element = OpaquePointer

  var _isDone = false
  let _statement: GRDB.Statement

  init(_ statement: GRDB.Statement) { _statement = statement }

  func _element(sqliteStatement: OpaquePointer) throws -> OpaquePointer { sqliteStatement }
}

/// A statement that runs with the values of one row after another.
final class RowStatement: _BindingStatement {
  private let statement: GRDB.Statement
  private let steps: StepCursor
  private var index: Int32 = 0
  private var error: (any Error)?
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 1)
  private var texts: TextRoom

  init(_ query: QueryFragment, in db: Database) throws {
    statement = try db._prepared(query.sql) { try db.makeStatement(sql: $0) }
    steps = StepCursor(statement)
    texts = TextRoom(room)
  }

  deinit {
    statement.release()
    room.deallocate()
  }

  /// Runs with the values that an encoder for this statement binds.
  ///
  /// Returns false, and doesn't run, if the SQL of a value isn't a placeholder.
  func run(with row: any SQLiteDataQueries.Table, _ encoder: inout RowEncoder) throws -> Bool {
    sqlite3_reset(statement.sqliteStatement)
    index = 0
    texts = TextRoom(room)
    row._encode(into: &encoder)
    guard encoder.isPlain else { return false }
    if let error { throw error }
    try statement.checkCount(of: index)
    steps._isDone = false
    _ = try steps.next()
    return true
  }

  func bind(_ binding: QueryBinding) {
    index += 1
    if case .text(let text) = binding, texts.bind(text, to: statement.sqliteStatement, at: index) { return }
    do { try statement.bind(binding, at: index) } catch { self.error = self.error ?? error }
  }
}

/// Memory for the texts that one run of a statement binds, so that SQLite needs no copies of its own.
private struct TextRoom {
  private var next: UnsafeMutableRawPointer?
  private var left = 0

  /// Creates a room without memory, so that SQLite copies each text.
  init() {}

  init(_ room: UnsafeMutableRawBufferPointer) {
    next = room.baseAddress
    left = room.count
  }

  /// Binds a text if there is room for it. Returns false if there is none.
  mutating func bind(_ text: String, to statement: OpaquePointer, at index: Int32) -> Bool {
    let count = text.utf8.count
    guard count > 0, count <= left, let place = next else { return false }
    UnsafeMutableRawBufferPointer(start: place, count: count).copyBytes(from: text.utf8)
    next = place + count
    left -= count
    return sqlite3_bind_text64(
      statement, index, place.assumingMemoryBound(to: CChar.self), UInt64(count), nil, UInt8(SQLITE_UTF8)) == SQLITE_OK
  }
}

/// The rows of a query, one by one.
///
/// Use a cursor only inside of the closure that accesses the database. It isn't valid outside.
public final class QueryCursor<Element>: DatabaseCursor {
  public var _isDone = false
  public let _statement: GRDB.Statement
  private let row: (inout SQLiteQueryDecoder) throws -> Element

  public init(
    _ db: Database, _ query: QueryFragment, row: @escaping (inout SQLiteQueryDecoder) throws -> Element
  ) throws {
    // The statement isn't cached, because the cursor may outlive other uses of the same query.
    _statement = try db._prepared(query.isEmpty ? "SELECT 0 WHERE 0" : query.sql) { try db.makeStatement(sql: $0) }
    self.row = row
    try _statement.bind(query.placeholders, TextRoom())
  }

  public func _element(sqliteStatement: OpaquePointer) throws -> Element {
    var decoder = SQLiteQueryDecoder(sqliteStatement)
    do { return try row(&decoder) } catch { throw decoder.error(error, in: _statement) }
  }
}

extension GRDB.Statement {
  /// Binds the values of a query.
  fileprivate func bind(_ placeholders: some Sequence<QueryFragment.Placeholder>, _ texts: TextRoom) throws {
    sqlite3_reset(sqliteStatement)
    var texts = texts
    var index: Int32 = 0
    for placeholder in placeholders {
      index += 1
      if case .text(let text) = placeholder.binding, texts.bind(text, to: sqliteStatement, at: index) { continue }
      try bind(placeholder.binding, at: index)
    }
    try checkCount(of: index)
  }

  /// Binds the value of one placeholder. The first is 1.
  fileprivate func bind(_ binding: QueryBinding, at index: Int32) throws {
    let statement = sqliteStatement
    let code =
      switch binding {
      case .null: sqlite3_bind_null(statement, index)
      case .int(let value): sqlite3_bind_int64(statement, index, value)
      case .bool(let value): sqlite3_bind_int64(statement, index, value ? 1 : 0)
      case .double(let value): sqlite3_bind_double(statement, index, value)
      case .text(let value): bind(value, at: index)
      case .date(let value): bind(value.iso8601String, at: index)
      case .uuid(let value): bind(value.uuidString.lowercased(), at: index)
      case .blob(let bytes): bind(bytes, at: index)
      case .uint(let value):
        try sqlite3_bind_int64(
          statement, index,
          Int64(exactly: value) ?? { throw QueryBindingError(underlyingError: QueryDecodingError.integerOverflow) }())
      case .invalid(let error): throw error.underlyingError
      }
    guard code == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "can't bind value \(index)", sql: sql)
    }
  }

  /// Checks that each placeholder has a value.
  fileprivate func checkCount(of count: Int32) throws {
    let expected = sqlite3_bind_parameter_count(sqliteStatement)
    guard count == expected else {
      throw DatabaseError(
        resultCode: .SQLITE_MISUSE, message: "the SQL has \(expected) parameters, and \(count) values are bound",
        sql: sql)
    }
  }

  private func bind(_ text: String, at index: Int32) -> Int32 {
    // With the length, SQLite doesn't stop at a NUL character.
    text.withCString {
      sqlite3_bind_text64(sqliteStatement, index, $0, UInt64(text.utf8.count), copied, UInt8(SQLITE_UTF8))
    }
  }

  private func bind(_ bytes: [UInt8], at index: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else {
        return sqlite3_bind_zeroblob(sqliteStatement, index, 0)
      }
      return sqlite3_bind_blob64(sqliteStatement, index, start, UInt64(bytes.count), copied)
    }
  }

  /// Calls a closure with a decoder for the first row, if there is one.
  fileprivate func withFirstRow(_ row: (inout SQLiteQueryDecoder) throws -> Void) throws {
    guard let pointer = try StepCursor(self).next() else { return }
    var decoder = SQLiteQueryDecoder(pointer)
    do { try row(&decoder) } catch { throw decoder.error(error, in: self) }
  }

  /// Ends the statement and frees its values.
  fileprivate func release() {
    sqlite3_reset(sqliteStatement)
    sqlite3_clear_bindings(sqliteStatement)
  }
}

/// The destructor that tells SQLite to copy a bound value.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
