import Foundation
import GRDBSQLite

/// The work done with the C interface of SQLite by hand.
///
/// `@unchecked` because SQLite itself serializes the use of a connection.
final class CAPI: @unchecked Sendable {
  enum Failure: Error { case code(Int32) }

  private let connection: OpaquePointer

  init(path: String) throws {
    var connection: OpaquePointer?
    let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil)
    guard code == SQLITE_OK, let connection else { throw Failure.code(code) }
    self.connection = connection
    sqlite3_busy_timeout(connection, 5_000)
  }

  deinit { sqlite3_close_v2(connection) }

  func execute(_ sql: String) throws {
    let code = sqlite3_exec(connection, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw Failure.code(code) }
  }

  func prepare(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw Failure.code(code) }
    return statement
  }

  func fetchAll() throws -> [Wide] {
    let statement = try prepare(Wide.selection)
    defer { sqlite3_finalize(statement) }
    var rows: [Wide] = []
    while sqlite3_step(statement) == SQLITE_ROW { rows.append(Self.wide(statement)) }
    return rows
  }

  func find(_ ids: Range<Int>) throws -> Int {
    let statement = try prepare(Wide.selection + " WHERE \"id\" = ?")
    defer { sqlite3_finalize(statement) }
    var sum = 0
    for id in ids {
      sqlite3_bind_int64(statement, 1, Int64(id))
      if sqlite3_step(statement) == SQLITE_ROW { sum += Self.wide(statement).position }
      sqlite3_reset(statement)
    }
    return sum
  }

  static let insertion = "INSERT INTO \"wides\" VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

  func insert(_ rows: [Wide]) throws {
    try execute("BEGIN IMMEDIATE")
    let statement = try prepare(Self.insertion)
    defer { sqlite3_finalize(statement) }
    for row in rows {
      Self.bind(row, to: statement)
      let code = sqlite3_step(statement)
      guard code == SQLITE_DONE else { throw Failure.code(code) }
      sqlite3_reset(statement)
    }
    try execute("COMMIT")
  }

  private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  /// Binds the values of ``insertion``.
  static func bind(_ row: Wide, to statement: OpaquePointer) {
    sqlite3_bind_text(statement, 1, row.title, -1, copied)
    sqlite3_bind_text(statement, 2, row.notes, -1, copied)
    sqlite3_bind_text(statement, 3, row.author, -1, copied)
    sqlite3_bind_int64(statement, 4, row.isDone ? 1 : 0)
    sqlite3_bind_int64(statement, 5, row.isFlagged ? 1 : 0)
    if let priority = row.priority {
      sqlite3_bind_int64(statement, 6, Int64(priority))
    } else {
      sqlite3_bind_null(statement, 6)
    }
    sqlite3_bind_int64(statement, 7, Int64(row.position))
    sqlite3_bind_double(statement, 8, row.price)
    if let weight = row.weight {
      sqlite3_bind_double(statement, 9, weight)
    } else {
      sqlite3_bind_null(statement, 9)
    }
    sqlite3_bind_int64(statement, 10, Int64(row.listID))
    sqlite3_bind_int64(statement, 11, Int64(row.rank))
  }

  private static func wide(_ statement: OpaquePointer) -> Wide {
    Wide(
      id: int(statement, 0), title: text(statement, 1), notes: text(statement, 2), author: text(statement, 3),
      isDone: int(statement, 4) != 0, isFlagged: int(statement, 5) != 0,
      priority: isNull(statement, 6) ? nil : int(statement, 6), position: int(statement, 7),
      price: sqlite3_column_double(statement, 8),
      weight: isNull(statement, 9) ? nil : sqlite3_column_double(statement, 9), listID: int(statement, 10),
      rank: int(statement, 11))
  }

  private static func isNull(_ statement: OpaquePointer, _ index: Int32) -> Bool {
    sqlite3_column_type(statement, index) == SQLITE_NULL
  }

  private static func int(_ statement: OpaquePointer, _ index: Int32) -> Int {
    Int(sqlite3_column_int64(statement, index))
  }

  private static func text(_ statement: OpaquePointer, _ index: Int32) -> String {
    sqlite3_column_text(statement, index).map { String(cString: $0) } ?? ""
  }
}
