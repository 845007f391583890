import Foundation
import GRDB
import MeshCore
import MeshStore

/// The real store on a SQLite file, and a simulated app with its own connection, both on the node's virtual disk.
final class SQLiteDatabase: SimulatedDatabase {
  let disk: VirtualDisk?
  var columns: [String: Set<String>] {
    // This call may create missing tables.
    _ = try? connection()
    return knownColumns
  }
  private var knownColumns: [String: Set<String>] = [:]
  private(set) var strict: Set<String> = []
  private(set) var unique: Set<String> = []
  private(set) var referring: Set<String> = []
  private(set) var untracked: Set<String> = []
  private(set) var away: Set<String> = []
  private let vfs: String
  private let tables: [AppSchema.Table]
  private let cryptography: any Cryptography
  private let clock: VirtualClock
  private let foreignKeys: Bool
  let spelling: Spelling
  private let probe: BranchProbe?
  /// True if the app has a trigger that writes without checking who is writing.
  private let hasBadTrigger: Bool
  private let staging = VirtualStaging()
  private var store: Store?
  /// A closure to call right before one of the next transactions of the store.
  private var interruption: (after: Int, body: () -> Void)?
  var sqlite: Store? { store }
  private var app: DatabaseQueue?
  private var dataVersion: Int?
  /// The `PRAGMA data_version` of the app's connection at the last call of `changedContents`.
  private var appVersion: Int?

  /// The number of writes that the triggers of read-only shares refused.
  private(set) var refusals = 0

  static let path = "/app.sqlite"
  static let wal = path + "-wal"

  init(
    disk: VirtualDisk, clock: VirtualClock, cryptography: any Cryptography,
    tables: [AppSchema.Table] = AppSchema.tables,
    foreignKeys: Bool, hasBadTrigger: Bool, spelling: Spelling = .plain, probe: BranchProbe? = nil
  ) {
    self.disk = disk
    vfs = disk.name
    self.clock = clock
    self.tables = tables
    self.cryptography = cryptography
    self.foreignKeys = foreignKeys
    self.hasBadTrigger = hasBadTrigger
    self.spelling = spelling
    self.probe = probe
  }

  func open() throws -> any ReplicaStore {
    _ = try connection()
    let store = try Store(
      path: Self.path, cryptography: cryptography, vfs: vfs, staging: staging,
      probe: { [weak self, probe] branch in
        if branch == .transactionBegins { self?.interrupt() }
        probe?(branch)
      })
    self.store = store
    let missing = try tables.map(\.name).filter { try !away.contains($0) && !store.tables.isTracked($0) }
    if !missing.isEmpty { try track(missing, in: store) }
    if tables.contains(where: { $0.name == AppSchema.tally.name }) {
      try store.schema.setPolicies([AppSchema.tally.name: Tally.policies], now: clock.milliseconds())
    }
    untracked = []
    dataVersion = nil
    return store
  }

  func beforeTransaction(_ count: Int, _ body: (() -> Void)?) { interruption = body.map { (count, $0) } }

  private func interrupt() {
    guard let next = interruption else { return }
    interruption = next.after > 0 ? (next.after - 1, next.body) : nil
    if next.after == 0 { next.body() }
  }

  func setTracked(_ table: String, _ isTracked: Bool) throws {
    if isTracked {
      if let store { try track([table], in: store) }
      untracked.remove(table)
    } else {
      try store?.tables.untrack([table])
      untracked.insert(table)
    }
  }

  /// Drops unique indexes of the tables first, as the refusal to track such a table advises.
  private func track(_ names: [String], in store: Store) throws {
    for table in tables where names.contains(table.name) && unique.contains(table.name) {
      try app?.write { db in try db.execute(sql: "DROP INDEX IF EXISTS \(AppSchema.index(table))") }
      unique.remove(table.name)
    }
    _ = try store.tables.track(tables: names, now: clock.milliseconds())
  }

  func hasChanged() throws -> Bool {
    guard let store else { return false }
    let version = try store.file.dataVersion()
    defer { dataVersion = version }
    return version != dataVersion
  }

  func closeStore() throws {
    defer { store = nil }
    try store?.close()
  }

  func crash(losesUnsynced: Bool) throws {
    // This comes first, so that closing the connections doesn't tidy up.
    disk?.crash(losesUnsynced: losesUnsynced)
    if losesUnsynced { staging.losePower() }
    try? close()
  }

  func close() throws {
    defer { (app, store) = (nil, nil) }
    try app?.close()
    try store?.close()
  }

  // MARK: The app

  private func connection() throws -> DatabaseQueue {
    if let app { return app }
    var configuration = Configuration()
    configuration.foreignKeysEnabled = foreignKeys
    let opened = try DatabaseQueue(path: "file:\(Self.path)?vfs=\(vfs)", configuration: configuration)
    (app, appVersion) = (opened, nil)
    do {
      // If creating them was interrupted, some tables may exist.
      try opened.write { db in
        for table in tables where try !db.tableExists(table.name) && !db.tableExists(AppSchema.away(table)) {
          try db.execute(sql: spelling.sql(table))
        }
        if hasBadTrigger { try db.execute(sql: Self.badTrigger) }
      }
      try lookAtColumns()
    } catch {
      // The file may be another one by the time its columns can be read.
      app = nil
      throw error
    }
    return opened
  }

  private static let badTrigger = """
    CREATE TRIGGER IF NOT EXISTS app_rank AFTER UPDATE OF title ON list
    BEGIN UPDATE list SET rank = coalesce(rank, 0) + 1 WHERE id = NEW.id; END
    """

  private func lookAtColumns() throws {
    strict =
      try app?.read { db in
        try Set(
          String.fetchAll(
            db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND instr(sql, ?)",
            arguments: [AppSchema.mark]
          ).map(\.asciiLowercased))
      } ?? []
    unique = try names("SELECT tbl_name FROM sqlite_schema WHERE type = 'index' AND name GLOB 'app_unique_*'")
    referring = try names(
      "SELECT name FROM sqlite_schema, pragma_foreign_key_list(name) AS k WHERE type = 'table' AND k.\"from\" = 'folder' COLLATE NOCASE"
    )
    away = Set(
      try tables.filter { table in
        try app?.read { try $0.tableExists(AppSchema.away(table)) } ?? false
      }.map(\.name))
    knownColumns =
      try app?.read { db in
        var columns: [String: Set<String>] = [:]
        for table in tables where try db.tableExists(table.name) {
          columns[table.name] = Set(try db.columns(in: table.name).map(\.name.asciiLowercased))
        }
        return columns
      } ?? [:]
  }

  func restoreLive(from files: [String: [UInt8]]) throws {
    guard let disk else { return }
    let place = "/restored.sqlite"
    disk.put(files[Self.path] ?? [], place)
    disk.put(files[Self.wal] ?? [], place + "-wal")
    defer { for suffix in ["", "-wal", "-shm"] { disk.remove(place + suffix) } }
    let source = try DatabaseQueue(path: "file:\(place)?vfs=\(vfs)")
    try source.backup(to: try connection())
    try source.close()
    try lookAtColumns()
  }

  private func names(_ sql: String) throws -> Set<String> {
    try app?.read { Set(try String.fetchAll($0, sql: sql).map(\.asciiLowercased)) } ?? []
  }

  var added: Set<String> {
    var added: Set<String> = []
    for table in tables {
      for column in table.columns where column.isAdded && columns[table.name]?.contains(column.name) == true {
        added.insert("\(table.name).\(column.name)")
      }
    }
    return added
  }

  func run(_ transaction: AppTransaction) throws -> Bool {
    do {
      try connection().writeWithoutTransaction { db in
        if transaction.ignoresForeignKeys { try db.execute(sql: "PRAGMA foreign_keys = OFF") }
        defer { if foreignKeys { try? db.execute(sql: "PRAGMA foreign_keys = ON") } }
        try db.inTransaction(.immediate) {
          let split = transaction.savepoint ?? transaction.statements.count
          for statement in transaction.statements[..<split] { try run(statement, db) }
          if split < transaction.statements.count {
            try db.inSavepoint {
              for statement in transaction.statements[split...] { try run(statement, db) }
              return .rollback
            }
          }
          return transaction.ending == .commit ? .commit : .rollback
        }
      }
      if transaction.statements.contains(where: \.alters) { try lookAtColumns() }
      return transaction.ending == .commit
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      if error.message == ZoneStanding.refusal { refusals += 1 }
      return false
    } catch let error as DatabaseError where error.message?.contains("no such column: OLD.") == true {
      // Until the node has looked, a trigger names a column that the app dropped. SQLite checks all triggers when a table
      // is renamed.
      return false
    } catch let error as DatabaseError
      where error.message == "SQL logic error" && transaction.statements.contains(where: \.alters)
    {
      // With `legacy_alter_table`, SQLite says no more than this about such a trigger.
      return false
    } catch let error as DatabaseError where error.message?.hasPrefix("no such table: main.") == true {
      // The app dropped the parent of the table that it writes to.
      return false
    } catch is UnknownColumn {
      return false
    }
  }

  /// The error that the app doesn't know its own schema, so that its statement fails.
  private struct UnknownColumn: Error {}

  private func run(_ statement: AppTransaction.Statement, _ db: Database) throws {
    if case .alter(let table, let sql, _) = statement {
      // SQLite doesn't drop a column that a trigger names.
      if sql.contains(where: { $0.contains("DROP COLUMN") }) {
        try dropUpdateTriggers(table, db)
        // Without the other triggers, the app could write where it may not.
        if try hasPermissionTriggers(table, db) { try db.execute(sql: "PRAGMA legacy_alter_table = ON") }
      }
    } else {
      guard let known = knownColumns[statement.table], statement.columns.isSubset(of: known) else {
        throw UnknownColumn()
      }
    }
    defer { try? db.execute(sql: "PRAGMA legacy_alter_table = OFF") }
    for (sql, arguments) in Self.sql(statement) {
      try db.execute(sql: sql, arguments: StatementArguments(arguments.map(\.databaseValue)))
    }
  }

  private func hasPermissionTriggers(_ table: String, _ db: Database) throws -> Bool {
    try Row.fetchOne(
      db,
      sql:
        "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND name GLOB 'mesh_permit_*'",
      arguments: [table]) != nil
  }

  func dropPermissions() throws {
    try connection().write { db in
      let names = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'mesh_permit_*' ORDER BY name")
      for name in names { try db.execute(sql: "DROP TRIGGER \(name)") }
    }
  }

  private func dropUpdateTriggers(_ table: String, _ db: Database) throws {
    let names = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM sqlite_schema
        WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND name GLOB 'mesh_capture_*_update*'
        """, arguments: [table])
    for name in names { try db.execute(sql: "DROP TRIGGER \(name)") }
  }

  private static func sql(_ statement: AppTransaction.Statement) -> [(String, [Value])] {
    switch statement {
    case .alter(_, let sql, _): sql.map { ($0, []) }
    case .group(let group, let value):
      (0..<AppSchema.groupSize).map { row in
        (
          "INSERT INTO leg (id, value) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET value = excluded.value",
          [.text("g\(group)-\(row)"), value]
        )
      }
    case .bulk(let count, let amount?):
      [
        (
          """
          WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
          INSERT INTO stock (id, amount) SELECT 's' || i, ? FROM n WHERE true
          ON CONFLICT (id) DO UPDATE SET amount = excluded.amount
          """, [.integer(Int64(count)), .integer(Int64(amount))]
        )
      ]
    case .bulk(_, nil): [("DELETE FROM stock", [])]
    case .fill(let list, let count, let title):
      [
        (
          """
          WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
          INSERT INTO item (id, list, title) SELECT 'many' || i, ?, ? FROM n WHERE true
          ON CONFLICT (id) DO UPDATE SET list = excluded.list, title = excluded.title
          """, [.integer(Int64(count)), list, title]
        )
      ]
    case .empty: [("DELETE FROM item WHERE id GLOB 'many*'", [])]
    case .tally(let tally): tally.sql
    default: [single(statement)]
    }
  }

  private static func single(_ statement: AppTransaction.Statement) -> (String, [Value]) {
    switch statement {
    case .alter, .group, .bulk, .fill, .empty, .tally: return ("", [])
    case .insert(let table, let values): return insert("INSERT", table, values)
    case .replace(let table, let values): return insert("REPLACE", table, values)
    case .upsert(let table, let values):
      let (sql, arguments) = insert("INSERT", table, values)
      let sets = values.keys.sorted().filter { $0 != key(table) }.map { "\($0) = excluded.\($0)" }
      let action = sets.isEmpty ? "NOTHING" : "UPDATE SET \(sets.joined(separator: ", "))"
      return ("\(sql) ON CONFLICT (\(key(table))) DO \(action)", arguments)
    case .update(let table, let key, let values):
      let columns = values.keys.sorted()
      let sets = columns.map { "\($0) = ?" }.joined(separator: ", ")
      return ("UPDATE \(table) SET \(sets) WHERE \(Self.key(table)) = ?", columns.map { values[$0] ?? .null } + [key])
    case .updateAll(let table, let column, let value): return ("UPDATE \(table) SET \(column) = ?", [value])
    case .delete(let table, let key): return ("DELETE FROM \(table) WHERE \(Self.key(table)) = ?", [key])
    case .rename(let table, let key, let to):
      return ("UPDATE \(table) SET \(Self.key(table)) = ? WHERE \(Self.key(table)) = ?", [to, key])
    }
  }

  private static func insert(_ verb: String, _ table: String, _ values: [String: Value]) -> (String, [Value]) {
    let columns = values.keys.sorted()
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return (
      "\(verb) INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))",
      columns.map { values[$0] ?? .null }
    )
  }

  private static func key(_ table: String) -> String { AppSchema.table(table)?.key ?? "id" }

  // MARK: What is there

  func contents(_ names: [String]?) throws -> Contents {
    try connection().read { db in
      var contents: Contents = [:]
      for table in tables where knownColumns[table.name] != nil && names?.contains(table.name) ?? true {
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT * FROM \(table.name)")) {
          let key = table.canonical(Value(row[table.key] as DatabaseValue))
          var values: [String: Value] = [:]
          for column in table.columns where row.hasColumn(column.name) {
            values[column.name] = Value(row[column.name] as DatabaseValue)
          }
          contents[RecordName(table: table.name, key: key)] = values
        }
      }
      return contents
    }
  }

  func changedContents() throws -> Contents? {
    let version = try connection().read { try Int.fetchOne($0.cachedStatement(sql: "PRAGMA data_version")) }
    guard version != appVersion else { return nil }
    let contents = try contents()
    appVersion = version
    return contents
  }

  func groups() throws -> [Int: (rows: Int, values: [Value])] {
    try connection().read { db in
      guard knownColumns[AppSchema.leg.name] != nil else { return [:] }
      var groups: [Int: (rows: Int, values: [Value])] = [:]
      for row in try Row.fetchAll(
        db.cachedStatement(sql: "SELECT substr(id, 2, 1), count(*), value FROM leg GROUP BY 1, 3 ORDER BY 1, 3"))
      {
        let (group, rows, value) = (Int(row[0] as String) ?? 0, row[1] as Int, Value(row[2] as DatabaseValue))
        groups[group, default: (0, [])].rows += rows
        groups[group]?.values.append(value)
      }
      return groups
    }
  }

  func conflicts() throws -> Set<LostValue>? {
    guard let found = try store?.conflicts.list(limit: Self.conflictBound) else { return nil }
    return Set(
      found.compactMap { conflict in
        conflict.column.map {
          LostValue(
            record: RecordName(table: conflict.table.asciiLowercased, key: conflict.key), column: $0.asciiLowercased,
            stamp: conflict.loser)
        }
      })
  }

  func receipts(_ zone: ZoneID) throws -> [Receipt] { try store?.zones.receipts(zone) ?? [] }

  func kept() throws -> Set<Ledger.Fact> {
    var facts: Set<Ledger.Fact> = []
    for conflict in try store?.conflicts.list(limit: Self.conflictBound) ?? [] {
      let record = RecordName(table: conflict.table.asciiLowercased, key: conflict.key)
      guard let name = conflict.column?.asciiLowercased else {
        facts.insert(.delete(record))
        continue
      }
      facts.insert(.value(Ledger.CellName(record: record, column: name), conflict.loserValue))
      // It is listed under the name that the column had then. The app may have renamed the column since.
      for column in AppSchema.table(record.table)?.columns ?? [] {
        guard let former = column.formerly, name == former || name == column.name else { continue }
        let other = name == former ? column.name : former
        facts.insert(.value(Ledger.CellName(record: record, column: other), conflict.loserValue))
      }
    }
    return facts
  }

  /// The number of conflicts that the store keeps.
  private static let conflictBound = 10_000

  /// Returns whether the store has created its tables. GRDB caches the tables of another connection.
  private static func exists(_ table: String, _ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)", arguments: [table])
      ?? false
  }

  func needlessAssets() throws -> [AssetID] {
    let needed = try connection().read { db in
      guard try Self.exists("mesh_kept", db) else { return [] as Set<AssetID> }
      let names = try Data.fetchAll(
        db, sql: "SELECT asset FROM mesh_asset_use WHERE shown = 0 UNION SELECT asset FROM mesh_kept")
      return Set(names.compactMap { AssetID(Array($0)) })
    }
    return staging.assets().filter { !needed.contains($0) }
  }

  func rescan() throws { try store?.capture.rescan() }

  func isInStep() throws -> Bool {
    try connection().read { db in
      guard try Self.exists("mesh_state", db) else { return false }
      let version = try Int64.fetchOne(db, sql: "PRAGMA schema_version")
      return try Bool.fetchOne(
        db,
        sql: """
          SELECT schema_version IS ? AND applying = 0 AND NOT EXISTS (SELECT 1 FROM mesh_recall)
            AND NOT EXISTS (SELECT 1 FROM mesh_import) AND NOT EXISTS (SELECT 1 FROM mesh_show)
          FROM mesh_state WHERE id = 1
          """, arguments: [version]) ?? false
    }
  }

  func isReverting() throws -> Bool {
    try connection().read { db in
      guard try Self.exists("mesh_head", db) else { return false }
      return try Bool.fetchOne(
        db,
        sql: "SELECT EXISTS (SELECT 1 FROM mesh_head WHERE cut < applied) OR EXISTS (SELECT 1 FROM mesh_rewrite)"
      ) ?? false
    }
  }

  func mergedIDs() throws -> Set<ChangeSetID> {
    try connection().read { db in
      guard try Self.exists("mesh_log", db) else { return [] }
      let ids = try Data.fetchAll(
        db, sql: "SELECT changeset FROM mesh_order JOIN mesh_log USING (zone, author, number)")
      return Set(ids.compactMap { ChangeSetID(Array($0)) })
    }
  }

  func damage() throws -> String? {
    let finding = try connection().read { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
    // The check continues after an error of the disk.
    if finding?.contains("error code=\(ResultCode.SQLITE_IOERR_READ.rawValue)") == true {
      throw DatabaseError(resultCode: .SQLITE_IOERR_READ)
    }
    return finding == "ok" ? nil : finding ?? "nothing was said"
  }

  func recordHashes(_ zone: ZoneID) throws -> [RecordName: [UInt8]]? {
    try connection().read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT mesh_table.name, mesh_record.key, mesh_record.hash FROM mesh_record
          JOIN mesh_table ON mesh_table.id = mesh_record.tbl JOIN mesh_zone ON mesh_zone.id = mesh_record.zone
          WHERE mesh_record.hash IS NOT NULL AND mesh_zone.zone = ?
          """, arguments: [Data(zone.bytes)])
      return Dictionary(
        rows.map {
          (
            RecordName(table: ($0[0] as String).asciiLowercased, key: Value($0[1] as DatabaseValue)),
            Array($0[2] as Data)
          )
        },
        uniquingKeysWith: { first, _ in first })
    }
  }

  func held(_ zone: ZoneID) throws -> [RecordName: String] {
    try connection().read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT mesh_table.name, mesh_record.key, mesh_record.held FROM mesh_record
          JOIN mesh_table ON mesh_table.id = mesh_record.tbl JOIN mesh_zone ON mesh_zone.id = mesh_record.zone
          WHERE mesh_record.held IS NOT NULL AND mesh_zone.zone = ?
          """, arguments: [Data(zone.bytes)])
      return Dictionary(
        rows.map { row in
          let reason = HeldReason(rawValue: row[2])?.name ?? "unknown reason"
          return (RecordName(table: (row[0] as String).asciiLowercased, key: Value(row[1] as DatabaseValue)), reason)
        }, uniquingKeysWith: { first, _ in first })
    }
  }

  func shownHereOnly() throws -> Set<RecordName> {
    guard let store else { return [] }
    let held = try store.held.list(limit: .max).filter { $0.reason == .shownHereOnly }
    return Set(held.map { RecordName(table: $0.table.asciiLowercased, key: $0.key) })
  }
}

extension AppTransaction.Statement {
  fileprivate var alters: Bool { if case .alter = self { true } else { false } }
}

extension Value {
  fileprivate init(_ value: DatabaseValue) {
    switch value.storage {
    case .null: self = .null
    case .int64(let integer): self = .integer(integer)
    case .double(let double): self = .real(double)
    case .string(let string): self = .text(string)
    case .blob(let data): self = .blob(Array(data))
    }
  }

  fileprivate var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let integer): integer.databaseValue
    case .real(let bits): Double(bitPattern: bits).databaseValue
    case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
    case .blob(let bytes): Data(bytes).databaseValue
    // An app's table never contains this value, because it contains the BLOB.
    case .asset: .null
    }
  }
}
