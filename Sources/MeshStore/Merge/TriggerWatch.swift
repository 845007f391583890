import CSQLite
import GRDB
import MeshCore

/// Reverts the writes of an app's triggers to synchronized tables while the node writes merged rows. The machine where
/// the row was written ran its triggers, and their writes are merged as well. Here, they would only make the tables
/// differ from the merged state. Triggers may write to tables that are not synchronized, such as search indexes or logs
/// of one machine.
final class TriggerWatch {
  /// A trigger that lacks the guard.
  struct Intruder: Hashable {
    let trigger: String
    /// The table that it writes to.
    let table: String
  }

  private struct Write {
    let table: TableForm
    /// The earlier values of the columns that are not generated. Nil for an insert.
    let old: [Value]?
    /// The new values. Nil for a delete.
    let new: [Value]?
  }

  private let connection: Connection
  private let tables: [FoldedName: TableForm]
  private var writes: [Write] = []
  private var isUndoing = false
  private(set) var intruders: Set<Intruder> = []

  /// Returns nil if no synchronized table has an app's trigger.
  init?(_ connection: Connection, _ tables: [TableForm]) {
    guard tables.contains(where: { !$0.schema.triggers.isEmpty }) else { return nil }
    self.connection = connection
    self.tables = Dictionary(
      tables.map { ($0.schema.name.folded, $0) }, uniquingKeysWith: { first, _ in first })
  }

  func begin() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = sqlite3_preupdate_hook(
      connection.handle,
      { context, db, operation, _, table, _, _ in
        guard let context, let db, let table, sqlite3_preupdate_depth(db) > 0 else { return }
        Unmanaged<TriggerWatch>.fromOpaque(context).takeUnretainedValue().note(db, operation, String(cString: table))
      }, context)
  }

  func end() { _ = sqlite3_preupdate_hook(connection.handle, nil, nil) }

  private func note(_ db: OpaquePointer, _ operation: Int32, _ name: String) {
    guard !isUndoing, let table = tables[name.folded] else { return }
    let read = { (get: (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Int32) in
      Self.places(table.schema).map { place in
        var value: OpaquePointer?
        return get(db, Int32(place), &value) == SQLITE_OK ? Value(value) : .null
      }
    }
    writes.append(
      Write(
        table: table, old: operation == SQLITE_INSERT ? nil : read(sqlite3_preupdate_old),
        new: operation == SQLITE_DELETE ? nil : read(sqlite3_preupdate_new)))
  }

  /// Returns the positions at which the hook has the columns that are not generated.
  private static func places(_ schema: TableSchema) -> [Int] {
    let stored = schema.columns.filter { !countsStoredOnly || $0.generated != .virtual }
    return stored.indices.filter { stored[$0].generated == .no }
  }

  /// SQLite's documentation counts all of a table's columns, but its older versions count only stored ones. This is
  /// determined once by a test.
  private static let countsStoredOnly: Bool = {
    var db: OpaquePointer?
    defer { sqlite3_close(db) }
    guard sqlite3_open(":memory:", &db) == SQLITE_OK else { return false }
    var isStoredOnly = false
    withUnsafeMutablePointer(to: &isStoredOnly) { found in
      _ = sqlite3_preupdate_hook(
        db,
        { found, db, _, _, _, _, _ in
          var value: OpaquePointer?
          guard sqlite3_preupdate_new(db, 1, &value) == SQLITE_OK else { return }
          found?.assumingMemoryBound(to: Bool.self).pointee = sqlite3_value_int64(value) == 7
        }, found)
      sqlite3_exec(db, "CREATE TABLE t (a, b AS (1), c); INSERT INTO t VALUES (5, 7)", nil, nil, nil)
    }
    return isStoredOnly
  }()

  /// Forgets the noted writes. Call it when the transaction is rolled back anyway.
  func forget() { writes = [] }

  /// Reverts the noted writes. Call it after each statement that writes an app's row.
  func undo() throws {
    guard !writes.isEmpty else { return }
    let undone = writes
    writes = []
    isUndoing = true
    defer { isUndoing = false }
    for table in Set(undone.map(\.table.schema.name)) { try name(table) }
    // Otherwise the same triggers would run for the statements that revert their work.
    try connection.withoutTriggers { for write in undone.reversed() { try undo(write) } }
  }

  private func undo(_ write: Write) throws {
    let schema = write.table.schema
    let columns = schema.columns.filter { $0.generated == .no }
    let table = "main.\(schema.name.quotedName)"
    let names = columns.map(\.name.quotedName)
    let key = columns.firstIndex { $0.isKey }
    let place = "\(write.table.keyName.quotedName) IS ?"
    switch (write.old, write.new) {
    case (let old?, let new?):
      let assignments = names.map { "\($0) = ?" }.joined(separator: ", ")
      try connection.run("UPDATE \(table) SET \(assignments) WHERE \(place)", old + [key.map { new[$0] } ?? .null])
    case (let old?, nil):
      let marks = Array(repeating: "?", count: old.count).joined(separator: ", ")
      try connection.run("INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(marks))", old)
    case (nil, let new?):
      try connection.run("DELETE FROM \(table) WHERE \(place)", [key.map { new[$0] } ?? .null])
    case (nil, nil): break
    }
  }

  /// Notes the triggers that may have written to the table. SQLite doesn't say which one did, so all triggers that
  /// write to the table are listed.
  private func name(_ table: String) throws {
    guard !intruders.contains(where: { $0.table == table }) else { return }
    for suspect in try TableList(sql: connection).triggers(naming: table)
    where TriggerText.writes(suspect.sql).contains(table.asciiLowercased) {
      intruders.insert(Intruder(trigger: suspect.name, table: table))
    }
  }
}

extension Value {
  /// Reads a protected value of SQLite.
  fileprivate init(_ value: OpaquePointer?) {
    let count = { Int(sqlite3_value_bytes(value)) }
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: self = .real(sqlite3_value_double(value).bitPattern)
    case SQLITE_TEXT:
      let start = sqlite3_value_text(value)
      self = .text(Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count())))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      self = .blob(Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count())))
    default: self = .null
    }
  }
}
