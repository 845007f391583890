import Foundation
public import GRDB
import GRDBSQLite
public import SQLiteDataQueries
import Synchronization

extension Database {
  /// Adds a function that the statements of this connection can call.
  ///
  /// Add functions in `Configuration.prepareDatabase`, so that every connection of a pool has them:
  ///
  /// ```swift
  /// configuration.prepareDatabase { db in
  ///   db.add(function: $exclaim)
  /// }
  /// ```
  ///
  /// The node of a ``SyncEngine`` calls the same function if a trigger, a check or an index of the schema needs it.
  public func add(function: some ScalarDatabaseFunction) { add(function, SQLiteConnection.install) }

  /// Adds an aggregate function that the statements of this connection can call.
  public func add(function: some AggregateDatabaseFunction) { add(function, SQLiteConnection.install) }

  private func add<Function: SQLiteDataQueries.DatabaseFunction>(
    _ function: Function, _ install: @escaping @Sendable (OpaquePointer, Function) -> Void
  ) {
    guard let sqliteConnection else { return }
    install(sqliteConnection, function)
    FunctionsOfFiles.note(function, on: sqliteConnection) { install($0, function) }
  }

  /// Removes a function from this connection.
  public func remove(function: some SQLiteDataQueries.DatabaseFunction) {
    guard let sqliteConnection else { return }
    sqlite3_create_function_v2(
      sqliteConnection, function.name, Int32(function.argumentCount ?? -1), SQLITE_UTF8, nil, nil, nil, nil, nil)
  }
}

/// The functions that the connections of a file have. The node of a sync engine has a connection of its own, and calls
/// them in the triggers, checks and indexes of the schema.
enum FunctionsOfFiles {
  private struct Signature: Hashable {
    let name: String
    let argumentCount: Int?
  }

  private static let installers = Mutex<[String: [Signature: @Sendable (OpaquePointer) -> Void]]>([:])

  fileprivate static func note(
    _ function: some SQLiteDataQueries.DatabaseFunction, on connection: OpaquePointer,
    _ install: @escaping @Sendable (OpaquePointer) -> Void
  ) {
    guard let file = file(of: connection) else { return }
    let signature = Signature(name: function.name.lowercased(), argumentCount: function.argumentCount)
    installers.withLock { $0[file, default: [:]][signature] = install }
  }

  /// Gives a connection the functions of its file.
  static func install(on connection: OpaquePointer) {
    guard let file = file(of: connection) else { return }
    for install in installers.withLock({ $0[file]?.values.map(\.self) }) ?? [] { install(connection) }
  }

  /// Returns the path without symbolic links, or nil for a database in memory.
  private static func file(of connection: OpaquePointer) -> String? {
    guard let name = sqlite3_db_filename(connection, "main") else { return nil }
    let file = String(cString: name)
    return file.isEmpty ? nil : file
  }
}

private enum SQLiteConnection {
  @Sendable static func install(_ connection: OpaquePointer, _ function: some ScalarDatabaseFunction) {
    install(connection, function, ScalarCall(function), step: nil, final: nil) { context, count, values in
      let call = Unmanaged<FunctionCall>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
      call.invoke(context, SQLiteValueDecoder(values, Int(count)))
    }
  }

  @Sendable static func install(_ connection: OpaquePointer, _ function: some AggregateDatabaseFunction) {
    install(
      connection, function, AggregateCall(function),
      step: { context, count, values in
        let call = Unmanaged<FunctionCall>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
        call.step(context, SQLiteValueDecoder(values, Int(count)))
      },
      final: { context in
        let call = Unmanaged<FunctionCall>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
        call.finish(context)
      }, call: nil)
  }

  private static func install(
    _ connection: OpaquePointer, _ function: some SQLiteDataQueries.DatabaseFunction, _ call: FunctionCall,
    step: (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
    final: (@convention(c) (OpaquePointer?) -> Void)?,
    call scalar: (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?
  ) {
    let code = sqlite3_create_function_v2(
      connection, function.name, Int32(function.argumentCount ?? -1),
      SQLITE_UTF8 | (function.isDeterministic ? SQLITE_DETERMINISTIC : 0),
      // SQLite releases the call, even if this function fails.
      Unmanaged.passRetained(call).toOpaque(), scalar, step, final
    ) { call in
      if let call { Unmanaged<FunctionCall>.fromOpaque(call).release() }
    }
    precondition(
      code == SQLITE_OK,
      "SQLite refuses the function \"\(function.name)\": \(String(cString: sqlite3_errstr(code)))")
  }
}

/// A function in the form in which SQLite calls it.
private class FunctionCall {
  func invoke(_ context: OpaquePointer?, _ arguments: SQLiteValueDecoder) {}
  func step(_ context: OpaquePointer?, _ arguments: SQLiteValueDecoder) {}
  func finish(_ context: OpaquePointer?) {}
}

private final class ScalarCall<Function: ScalarDatabaseFunction>: FunctionCall {
  private let function: Function

  init(_ function: Function) { self.function = function }

  override func invoke(_ context: OpaquePointer?, _ arguments: SQLiteValueDecoder) {
    var arguments = arguments
    setResult(of: context) { try function.invoke(&arguments) }
  }
}

private final class AggregateCall<Function: AggregateDatabaseFunction>: FunctionCall {
  private final class Group {
    var rows: [Function.Element] = []
    var error: (any Error)?
  }

  private let function: Function

  init(_ function: Function) { self.function = function }

  override func step(_ context: OpaquePointer?, _ arguments: SQLiteValueDecoder) {
    // SQLite keeps a pointer to the group from its first row to its last.
    guard
      let place = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeRawPointer?>.size))?
        .assumingMemoryBound(to: UnsafeRawPointer?.self)
    else { return sqlite3_result_error_nomem(context) }
    let group: Group
    if let known = place.pointee {
      group = Unmanaged<Group>.fromOpaque(known).takeUnretainedValue()
    } else {
      group = Group()
      place.pointee = UnsafeRawPointer(Unmanaged.passRetained(group).toOpaque())
    }
    var arguments = arguments
    do { group.rows.append(try function.step(&arguments)) } catch { group.error = group.error ?? error }
  }

  override func finish(_ context: OpaquePointer?) {
    // The place is nil if the group has no rows.
    let place = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeRawPointer?.self)
    let group = place?.pointee.map { Unmanaged<Group>.fromOpaque($0).takeRetainedValue() }
    setResult(of: context) {
      if let error = group?.error { throw error }
      return try function.invoke(group?.rows ?? [])
    }
  }
}

private func setResult(of context: OpaquePointer?, _ result: () throws -> QueryBinding) {
  let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  do {
    switch try result() {
    case .null: sqlite3_result_null(context)
    case .int(let value): sqlite3_result_int64(context, value)
    case .bool(let value): sqlite3_result_int64(context, value ? 1 : 0)
    case .double(let value): sqlite3_result_double(context, value)
    case .text(let value): setText(value)
    case .date(let value): setText(value.iso8601String)
    case .uuid(let value): setText(value.uuidString.lowercased())
    case .blob(let bytes):
      bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_result_zeroblob(context, 0) }
        sqlite3_result_blob64(context, start, UInt64(bytes.count), copied)
      }
    case .uint(let value):
      guard let value = Int64(exactly: value) else { throw QueryDecodingError.integerOverflow }
      sqlite3_result_int64(context, value)
    case .invalid(let error): throw error.underlyingError
    }
  } catch {
    sqlite3_result_error(context, String(describing: error), -1)
  }

  func setText(_ text: String) {
    text.withCString {
      sqlite3_result_text64(context, $0, UInt64(text.utf8.count), copied, UInt8(SQLITE_UTF8))
    }
  }
}

/// Reads the arguments of a function.
private struct SQLiteValueDecoder: QueryDecoder {
  private let values: UnsafeMutablePointer<OpaquePointer?>?
  private let count: Int
  private var index = 0

  init(_ values: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int) {
    self.values = values
    self.count = count
  }

  private func value(_ index: Int) -> OpaquePointer? {
    guard index < count, let value = values?[index], sqlite3_value_type(value) != SQLITE_NULL else { return nil }
    return value
  }

  private mutating func next() -> OpaquePointer? {
    defer { index += 1 }
    return value(index)
  }

  mutating func decode(_ columnType: [UInt8].Type) throws -> [UInt8]? {
    next().map { value in
      let start = sqlite3_value_blob(value)
      return [UInt8](UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value))))
    }
  }

  mutating func decode(_ columnType: Double.Type) throws -> Double? { next().map { sqlite3_value_double($0) } }

  mutating func decode(_ columnType: Int64.Type) throws -> Int64? { next().map { sqlite3_value_int64($0) } }

  mutating func decode(_ columnType: String.Type) throws -> String? {
    next().map { value in
      let start = sqlite3_value_text(value)
      return String(
        decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value))),
        as: UTF8.self)
    }
  }

  mutating func skipNulls(_ count: Int) throws -> Bool {
    for offset in 0..<count where value(index + offset) != nil { return false }
    index += count
    return true
  }
}
