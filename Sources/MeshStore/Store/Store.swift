import GRDB
public import MeshCore

/// The replica in one SQLite file: the app's tables, and ours beside them.
///
/// Calls are synchronous and made by one caller at a time. Every throwing call throws `StoreError`: `locked`, `diskFull` and
/// `inputOutput` may be tried again, nothing is lost; the others need a person.
public final class Store: ReplicaStore {
  /// Where the database is.
  public var path: String { file.path }
  let file: DatabaseFile
  let cryptography: any Cryptography
  private let sql: Connection
  private let catalog: Catalog
  /// The part of a unit that is being merged slice by slice, decoded.
  var partInHand: (id: ChangeSetID, body: ChangeSetBody)?

  /// Opens the database, or makes it where it is missing, and makes our tables where they are missing.
  ///
  /// - Parameter vfs: The name of a registered SQLite VFS; nil for the operating system's.
  public init(path: String, cryptography: any Cryptography, vfs: String? = nil) throws {
    let file = try DatabaseFile(path: path, vfs: vfs)
    let handle: OpaquePointer
    do {
      handle = try file.write { db in
        try Store.prepare(db, path: path)
        guard let handle = db.sqliteConnection else { throw StoreError(.cannotOpen, "\(path) is closed") }
        return handle
      }
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
    self.file = file
    self.cryptography = cryptography
    self.sql = Connection(handle)
    self.catalog = Catalog(sql)
    try write { session in _ = try session.endSilence() }
  }

  /// A second call does nothing.
  public func close() throws {
    try mapped {
      sql.forget()
      try file.close()
    }
  }

  private static func prepare(_ db: Database, path: String) throws {
    if try db.tableExists("mesh_state"),
      let format = try Int.fetchOne(db, sql: "SELECT format FROM mesh_state WHERE id = 1"), format > MeshTables.format
    {
      throw StoreError(
        .formatTooNew,
        "\(path) was written by a later version (format \(format), this program knows \(MeshTables.format)); update it")
    }
    try MeshTables.create(db)
    for sql in MeshTables.replication { try db.execute(sql: sql) }
  }

  // MARK: Access

  func read<T>(_ body: (Session) throws -> T) throws -> T {
    try mapped {
      try file.read { db in
        try catalog.refresh(db)
        catalog.isWritable = false
        return try body(session(db))
      }
    }
  }

  /// One immediate transaction. Whatever throws takes everything back.
  ///
  /// - Parameter isDurable: False for what others can be asked for again, and have not been told that we have it.
  func write<T>(isDurable: Bool = true, _ body: (Session) throws -> T) throws -> T {
    try mapped {
      do {
        return try file.write(isDurable: isDurable) { db in
          try catalog.refresh(db)
          catalog.isWritable = true
          return try body(session(db))
        }
      } catch {
        // New numbers of names and authors may be gone with the transaction.
        catalog.forget()
        throw error
      }
    }
  }

  private func session(_ db: Database) -> Session {
    Session(db: db, sql: sql, catalog: catalog, cryptography: cryptography)
  }

  private func mapped<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    } catch let error as DecodingError {
      throw StoreError(.corrupt, "\(path): a row of ours cannot be read (\(error)); restore it from a copy")
    }
  }
}

extension Store {
  /// Outside of any transaction.
  func checkpoint(_ kind: Database.CheckpointMode) throws -> Bool {
    do {
      _ = try file.queue.writeWithoutTransaction { try $0.checkpoint(kind) }
      return true
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      return false
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }
}
