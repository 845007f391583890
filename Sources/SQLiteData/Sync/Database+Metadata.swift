import Foundation
public import GRDB
import GRDBSQLite
import MeshCore
import MeshStore
import Synchronization

extension Database {
  /// Makes ``SyncMetadata`` readable by the statements of this connection.
  ///
  /// The connections of ``defaultDatabase(path:configuration:)`` have it. Call this in `prepareDatabase` if you open
  /// the database yourself:
  ///
  /// ```swift
  /// configuration.prepareDatabase { db in
  ///   try db.attachMetadatabase()
  /// }
  /// ```
  ///
  /// This does nothing in a file for which no ``SyncEngine`` was created. The engine then does it when it is created.
  ///
  /// - Parameter containerIdentifier: Ignored. It exists so that programs written for CloudKit compile.
  public func attachMetadatabase(containerIdentifier: String? = nil) throws {
    add(function: MetadataFunctions.modified)
    add(function: MetadataFunctions.reach())
    if let connection = sqliteConnection {
      add(function: MetadataFunctions.parent(connection))
      add(function: MetadataFunctions.key(connection))
    }
    // SQLite refuses `ALTER TABLE … RENAME` while a view names a table that is missing.
    guard try tableExists("mesh_app_device", in: "main") else { return }
    try execute(sql: MetadataFunctions.view)
  }
}

/// The view of ``SyncMetadata`` and the functions that it calls. The view is temporary, because a persistent view that
/// calls a connection's functions breaks other programs.
private enum MetadataFunctions {
  /// The greatest time for every author of another device, because a value came from the device that wrote it.
  private static let others = """
    (SELECT coalesce(group_concat(id || ':\(Int64.max)'), '') FROM main.mesh_author WHERE device NOT IN (
      SELECT device FROM main.mesh_author JOIN main.mesh_zone USING (instance)))
    """

  private static let devices = "FROM main.mesh_app_device d WHERE d.zone = r.zone"

  /// How much of the record the device has that has most of it.
  private static let reachOfRecord = """
    max(sqlitedata_reach(r.stamps, \(others)),
      coalesce((SELECT max(sqlitedata_reach(r.stamps, d.acknowledged)) \(devices)), 0))
    """

  private static let shareOfRecord = """
    (SELECT share FROM main.mesh_app WHERE zone = r.zone AND z.root_table = t.name COLLATE NOCASE AND z.root_key = r."key")
    """

  private static let heldReason = HeldReason.nameSQL(
    """
    coalesce(r.held, (SELECT reason FROM main.mesh_held h WHERE h.tbl = r.tbl AND h."key" = r."key" AND h.zone = r.zone))
    """)

  /// The SQL of the view. If several zones have a record of a row, the one that the row shows comes first.
  static let view = """
    CREATE TEMPORARY VIEW IF NOT EXISTS sqlitedata_metadata AS
    SELECT r."key" AS recordPrimaryKey, t.name AS recordType,
      sqlitedata_parent(t.name, t.private, r."key", 0) AS parentRecordPrimaryKey,
      sqlitedata_parent(t.name, t.private, r."key", 1) AS parentRecordType,
      \(shareOfRecord) AS share, \(shareOfRecord) IS NOT NULL AS isShared,
      \(reachOfRecord) > 0 AS hasLastKnownServerRecord, \(reachOfRecord) = 2 AS isAcknowledged,
      (SELECT count(*) \(devices) AND sqlitedata_reach(r.stamps, d.acknowledged) = 2) AS acknowledgedDevices,
      (SELECT count(*) \(devices)) AS devices,
      (r.tbl, r."key") IN (SELECT tbl, "key" FROM main.mesh_pending) AS isPending,
      sqlitedata_modified(r.stamps) AS userModificationTime,
      \(heldReason) AS heldReason,
      (SELECT message FROM main.mesh_held h WHERE h.tbl = r.tbl AND h."key" = r."key" AND h.zone = r.zone) AS lastError
    FROM main.mesh_table t JOIN main.mesh_record r ON r.tbl = t.id JOIN main.mesh_zone z ON z.id = r.zone
    WHERE t.tracked AND r.generation & 1 AND typeof(r."key") <> 'blob' AND NOT EXISTS (
      SELECT 1 FROM main.mesh_record o WHERE o.tbl = r.tbl AND o."key" = r."key" AND o.zone <> r.zone AND o.generation & 1
        AND r.held IS NOT NULL AND (o.held IS NULL OR o.zone < r.zone))
    """

  /// The function that returns the time of the last write in nanoseconds.
  static let modified = GRDB.DatabaseFunction("sqlitedata_modified", argumentCount: 1, pure: true) { values in
    guard let stamps = Data.fromDatabaseValue(values[0]), let facts = RecordFacts(stamps: Array(stamps)) else {
      return nil
    }
    return facts.lastWrite.multipliedReportingOverflow(by: 1_000_000).partialValue
  }

  /// Returns the function that compares a record with a device's acknowledgements.
  static func reach() -> GRDB.DatabaseFunction {
    // A query asks for a few devices and for many records.
    let known = Mutex<[String: [Int64: UInt64]]>([:])
    return GRDB.DatabaseFunction("sqlitedata_reach", argumentCount: 2, pure: true) { values in
      guard let stamps = Data.fromDatabaseValue(values[0]), let facts = RecordFacts(stamps: Array(stamps)) else {
        return nil
      }
      let text = String.fromDatabaseValue(values[1]) ?? ""
      let times = known.withLock { known in
        if let times = known[text] { return times }
        if known.count == knownLimit { known = [:] }
        let times = AppBook.times(text)
        known[text] = times
        return times
      }
      return facts.reach(times).rawValue
    }
  }

  /// The number of acknowledgements that a connection remembers. Each write of a device makes a new one.
  private static let knownLimit = 100

  /// Returns the function that finds a part of the parent's id: the key, or the table.
  ///
  /// A view can't name the app's tables. SQLite refuses `ALTER TABLE … RENAME` while a view names a table that is gone.
  static func parent(_ connection: OpaquePointer) -> GRDB.DatabaseFunction {
    // The function lives as long as its connection, which calls it on its own queue.
    nonisolated(unsafe) let connection = connection
    return GRDB.DatabaseFunction("sqlitedata_parent", argumentCount: 4) { values in
      guard let table = String.fromDatabaseValue(values[0]), Bool.fromDatabaseValue(values[1]) == false else {
        return nil
      }
      let keys = try rows(
        connection, #"SELECT "table", "from" FROM pragma_foreign_key_list(?) ORDER BY id"#, [table.databaseValue],
        columns: 2)
      guard keys.count == 1, let parent = String.fromDatabaseValue(keys[0][0]),
        let column = String.fromDatabaseValue(keys[0][1]),
        let key = try rows(
          connection, "SELECT name FROM pragma_table_info(?) WHERE pk = 1", [table.databaseValue], columns: 1
        ).first.flatMap({ String.fromDatabaseValue($0[0]) })
      else { return nil }
      let row = try rows(
        connection,
        """
        SELECT \(column.quotedDatabaseIdentifier) FROM main.\(table.quotedDatabaseIdentifier)
        WHERE \(key.quotedDatabaseIdentifier) = ?
        """, [values[2]], columns: 1)
      guard let value = row.first?[0], !value.isNull else { return nil }
      return Int.fromDatabaseValue(values[3]) == 0 ? value : parent.databaseValue
    }
  }

  /// Returns the function that turns the text of a row's key into the one in `mesh_record`. Its arguments are the table
  /// and the text.
  static func key(_ connection: OpaquePointer) -> GRDB.DatabaseFunction {
    // The function lives as long as its connection, which calls it on its own queue.
    nonisolated(unsafe) let connection = connection
    return GRDB.DatabaseFunction("sqlitedata_key", argumentCount: 2) { values in
      guard let table = String.fromDatabaseValue(values[0]), let text = String.fromDatabaseValue(values[1]),
        let column = try rows(
          connection, "SELECT name FROM pragma_table_info(?) WHERE pk = 1", [table.databaseValue], columns: 1
        ).first.flatMap({ String.fromDatabaseValue($0[0]) })
      else { return values[1] }
      var collation: UnsafePointer<CChar>?
      guard
        sqlite3_table_column_metadata(connection, "main", table, column, nil, &collation, nil, nil, nil) == SQLITE_OK,
        let collation, String(cString: collation).uppercased() == "NOCASE"
      else { return values[1] }
      return text.asciiLowercased
    }
  }

  /// Returns the rows of a statement that runs inside a function.
  private static func rows(
    _ connection: OpaquePointer, _ sql: String, _ arguments: [DatabaseValue], columns: Int32
  ) throws -> [[DatabaseValue]] {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &prepared, nil) == SQLITE_OK else { throw failure(connection) }
    defer { sqlite3_finalize(prepared) }
    // SQLITE_TRANSIENT: SQLite copies the text before the call returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (index, argument) in arguments.enumerated() {
      let place = Int32(index + 1)
      switch argument.storage {
      case .null, .blob: sqlite3_bind_null(prepared, place)
      case .int64(let integer): sqlite3_bind_int64(prepared, place, integer)
      case .double(let real): sqlite3_bind_double(prepared, place, real)
      case .string(let text): sqlite3_bind_text(prepared, place, text, -1, transient)
      }
    }
    var rows: [[DatabaseValue]] = []
    while true {
      switch sqlite3_step(prepared) {
      case SQLITE_ROW: rows.append((0..<columns).map { value(prepared, $0) })
      case SQLITE_DONE: return rows
      default: throw failure(connection)
      }
    }
  }

  private static func value(_ statement: OpaquePointer?, _ column: Int32) -> DatabaseValue {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: sqlite3_column_int64(statement, column).databaseValue
    case SQLITE_FLOAT: sqlite3_column_double(statement, column).databaseValue
    case SQLITE_TEXT: sqlite3_column_text(statement, column).map { String(cString: $0).databaseValue } ?? .null
    default: .null
    }
  }

  private static func failure(_ connection: OpaquePointer) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: sqlite3_extended_errcode(connection)),
      message: String(cString: sqlite3_errmsg(connection)))
  }
}
