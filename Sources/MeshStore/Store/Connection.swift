import CSQLite
import GRDB
import MeshCore

/// Cached statements on SQLite's C interface. Records are read and written by the hundred thousand, and GRDB's
/// arguments cost as much as the statements themselves.
///
/// It is used only inside accesses of the `DatabaseFile` that owns the connection.
final class Connection {
  let handle: OpaquePointer
  /// Set while merged rows are written.
  var watch: TriggerWatch?
  /// The triggers whose writes were reverted since the file was opened.
  var intruders: Set<TriggerWatch.Intruder> = []
  /// Notes the rare branches that the store takes.
  let probe: BranchProbe?
  private var statements: [String: PreparedStatement] = [:]
  /// The greatest number of cached statements. Statements for many different sets of columns come and go.
  private static let cached = 512

  init(_ handle: OpaquePointer, probe: BranchProbe? = nil) { (self.handle, self.probe) = (handle, probe) }

  func statement(_ sql: String) throws -> PreparedStatement {
    if let known = statements[sql] { return known }
    if statements.count >= Self.cached { forget() }
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw error(code) }
    let statement = PreparedStatement(prepared, self)
    statements[sql] = statement
    return statement
  }

  /// Finalizes every statement. Call it before the connection closes, and when the schema has changed.
  func forget() { statements.removeAll() }

  func error(_ code: Int32) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(handle)),
      message: String(cString: sqlite3_errmsg(handle)))
  }

  func run(_ sql: String, _ arguments: [Value] = []) throws {
    let statement = try statement(sql)
    defer { statement.reset() }
    statement.bind(arguments)
    while try statement.step() {}
  }

  /// Returns the result of `make` for the first row, or nil if there is no row.
  func first<T>(_ sql: String, _ arguments: [Value] = [], _ make: (PreparedStatement) throws -> T) throws -> T? {
    let statement = try statement(sql)
    defer { statement.reset() }
    statement.bind(arguments)
    return try statement.step() ? try make(statement) : nil
  }

  func all<T>(_ sql: String, _ arguments: [Value] = [], _ make: (PreparedStatement) throws -> T) throws -> [T] {
    let statement = try statement(sql)
    defer { statement.reset() }
    statement.bind(arguments)
    var rows: [T] = []
    while try statement.step() { rows.append(try make(statement)) }
    return rows
  }

  func integer(_ sql: String, _ arguments: [Value] = []) throws -> Int64? {
    try first(sql, arguments) { $0.isNull(0) ? nil : $0.integer(0) } ?? nil
  }

  func exists(_ sql: String, _ arguments: [Value] = []) throws -> Bool {
    try first(sql, arguments) { _ in true } ?? false
  }

  /// Executes a statement that writes a row of an app's table.
  ///
  /// - Returns: The number of rows that it changed.
  @discardableResult
  func write(_ statement: PreparedStatement) throws -> Int {
    try statement.execute()
    let count = changes
    try watch?.undo()
    return count
  }

  func withoutTriggers(_ body: () throws -> Void) throws {
    mesh_sqlite3_enable_triggers(handle, 0)
    defer { mesh_sqlite3_enable_triggers(handle, 1) }
    try body()
  }

  /// The number of rows that the last statement changed.
  var changes: Int { Int(sqlite3_changes(handle)) }
  /// The number of rows changed since the connection was opened.
  var totalChanges: Int64 { Int64(sqlite3_total_changes(handle)) }
  var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
}

/// One prepared statement. Parameters are numbered from 1, columns from 0.
final class PreparedStatement {
  private let handle: OpaquePointer
  private unowned let connection: Connection

  fileprivate init(_ handle: OpaquePointer, _ connection: Connection) {
    self.handle = handle
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  func bind(_ arguments: [Value]) {
    for (index, value) in arguments.enumerated() { value.bind(to: handle, at: Int32(index + 1)) }
  }

  func bind(_ value: Value, at index: Int) { value.bind(to: handle, at: Int32(index)) }
  func bind(_ integer: Int64, at index: Int) { sqlite3_bind_int64(handle, Int32(index), integer) }

  /// Binds a BLOB or NULL.
  func bind(_ bytes: [UInt8]?, at index: Int) {
    guard let bytes else {
      sqlite3_bind_null(handle, Int32(index))
      return
    }
    Value.blob(bytes).bind(to: handle, at: Int32(index))
  }

  /// Binds 16 bytes or NULL.
  func bind(_ hash: RecordHash?, at index: Int) {
    guard let hash else {
      sqlite3_bind_null(handle, Int32(index))
      return
    }
    withUnsafeBytes(of: (hash.low.littleEndian, hash.high.littleEndian)) { bytes in
      // SQLITE_TRANSIENT: SQLite copies the bytes before the call returns.
      _ = sqlite3_bind_blob64(
        handle, Int32(index), bytes.baseAddress, UInt64(bytes.count),
        unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
  }

  /// Advances to the next row. Returns false if there is none.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw connection.error(code)
    }
  }

  /// Steps once, and resets the statement even after an error.
  func execute() throws {
    defer { sqlite3_reset(handle) }
    _ = try step()
  }

  func reset() { sqlite3_reset(handle) }

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }
  func integer(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }
  func optional(_ column: Int) -> Int64? { isNull(column) ? nil : integer(column) }
  /// Returns 64 bits that are stored as SQLite's signed integer.
  func bits(_ column: Int) -> UInt64 { UInt64(bitPattern: integer(column)) }
  func value(_ column: Int) -> Value { Value(handle, column: Int32(column)) }

  /// Returns the value of a column in an app's row, without reading the bytes of a long BLOB.
  func cell(_ column: Int) -> Value {
    if sqlite3_column_type(handle, Int32(column)) == SQLITE_BLOB {
      let size = Int(sqlite3_column_bytes(handle, Int32(column)))
      if Asset.isAsset(size: size) { return .asset(.unread(size)) }
    }
    return value(column)
  }

  /// Binds a BLOB of zeros, to be filled in place later.
  func bindZeros(_ count: Int, at index: Int) { sqlite3_bind_zeroblob64(handle, Int32(index), UInt64(count)) }

  /// Returns the whole text. It may contain U+0000.
  func text(_ column: Int) -> String {
    let start = sqlite3_column_text(handle, Int32(column))
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func bytes(_ column: Int) -> [UInt8] {
    let start = sqlite3_column_blob(handle, Int32(column))
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
  }

  func optionalBytes(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }
}

extension Value {
  static func bits(_ value: UInt64) -> Value { .integer(Int64(bitPattern: value)) }
  static func count(_ value: Int) -> Value { .integer(Int64(value)) }
  static func optional(_ value: Int64?) -> Value { value.map(Value.integer) ?? .null }
  static func optional(_ bytes: [UInt8]?) -> Value { bytes.map(Value.blob) ?? .null }
}
