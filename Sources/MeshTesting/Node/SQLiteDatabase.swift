import Foundation
import GRDB
import MeshCore
import MeshStore

/// The real store on a SQLite file, and a simulated app with a connection of its own, both on the node's virtual VFS.
///
/// Torn and failing writes have their place here: in what `crash` leaves of the files, and in the VFS.
final class SQLiteDatabase: SimulatedDatabase {
  private let directory: URL
  private let cryptography: any Cryptography
  private let clock: VirtualClock
  private let vfs: VirtualFileSystem
  private let foreignKeys: Bool
  private var store: Store?
  private var app: DatabaseQueue?
  /// A new directory for each life.
  private var life = 0

  init(
    directory: URL, clock: VirtualClock, cryptography: any Cryptography, randomness: SeededRandomness, foreignKeys: Bool
  ) throws {
    self.directory = directory
    self.clock = clock
    self.cryptography = cryptography
    self.foreignKeys = foreignKeys
    vfs = try VirtualFileSystem(clock: clock, randomness: randomness)
    try FileManager.default.createDirectory(at: place(0), withIntermediateDirectories: true)
  }

  private func place(_ life: Int) -> URL { directory.appendingPathComponent("\(life)") }
  private func file(_ life: Int) -> URL { place(life).appendingPathComponent("app.sqlite") }

  func open() throws -> any ReplicaStore {
    let path = file(life).path
    var configuration = Configuration()
    configuration.foreignKeysEnabled = foreignKeys
    let app = try DatabaseQueue(path: "file:\(path)?vfs=\(vfs.name)", configuration: configuration)
    let isNew = try app.read { try !$0.tableExists(AppSchema.tables[0].name) }
    if isNew { try app.write { db in for table in AppSchema.tables { try db.execute(sql: table.sql) } } }
    let store = try Store(path: path, cryptography: cryptography, vfs: vfs.name)
    if isNew { try store.track(tables: AppSchema.tables.map(\.name), now: clock.milliseconds()) }
    self.app = app
    self.store = store
    return store
  }

  /// What a killed process leaves: the files as they are, the WAL not copied back. They are copied, because closing the
  /// connections would tidy up.
  func crash() throws {
    let (old, new) = (file(life).path, file(life + 1).path)
    try FileManager.default.createDirectory(at: place(life + 1), withIntermediateDirectories: true)
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: old + suffix) {
      try FileManager.default.copyItem(atPath: old + suffix, toPath: new + suffix)
    }
    try close()
    try FileManager.default.removeItem(at: place(life))
    life += 1
  }

  func close() throws {
    try app?.close()
    try store?.close()
    (app, store) = (nil, nil)
  }

  // MARK: The app

  private func connection() throws -> DatabaseQueue {
    guard let app else { throw SimulationError("the app of a node that is down has no database") }
    return app
  }

  func run(_ transaction: AppTransaction) throws -> Bool {
    do {
      try connection().writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          let split = transaction.savepoint ?? transaction.statements.count
          for statement in transaction.statements[..<split] { try run(statement, db) }
          try db.inSavepoint {
            for statement in transaction.statements[split...] { try run(statement, db) }
            return .rollback
          }
          return transaction.ending == .commit ? .commit : .rollback
        }
      }
      return transaction.ending == .commit
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      return false
    }
  }

  private func run(_ statement: AppTransaction.Statement, _ db: Database) throws {
    let (sql, arguments) = Self.sql(statement)
    try db.execute(sql: sql, arguments: StatementArguments(arguments.map(\.databaseValue)))
  }

  private static func sql(_ statement: AppTransaction.Statement) -> (String, [Value]) {
    switch statement {
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

  func contents() throws -> Contents {
    try connection().read { db in
      var contents: Contents = [:]
      for table in AppSchema.tables {
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(table.name)") {
          let key = table.canonical(Value(row[table.key] as DatabaseValue))
          contents[RecordName(table: table.name, key: key)] = Dictionary(
            table.columns.map { ($0.name, Value(row[$0.name] as DatabaseValue)) },
            uniquingKeysWith: { first, _ in first })
        }
      }
      return contents
    }
  }

  func held() throws -> [RecordName: String] {
    try connection().read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT mesh_table.name, mesh_record.key, mesh_record.held FROM mesh_record
          JOIN mesh_table ON mesh_table.id = mesh_record.tbl WHERE mesh_record.held IS NOT NULL
          """)
      return Dictionary(
        rows.map { row in
          let reason = HeldReason(rawValue: row[2])?.name ?? "unknown reason"
          return (RecordName(table: row[0], key: Value(row[1] as DatabaseValue)), reason)
        }, uniquingKeysWith: { first, _ in first })
    }
  }
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
    }
  }
}
