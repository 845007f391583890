import CSQLite
import GRDB
public import MeshCore

/// The replica in one SQLite file: the app's tables, and ours beside them.
///
/// Calls are synchronous and made by one caller at a time. Every throwing call throws `StoreError`: `locked`, `diskFull` and
/// `inputOutput` may be tried again, nothing is lost; the others need a person. Those that read the log again with the keys that
/// they are given throw `MissingKey` where one is not among them.
public final class Store: ReplicaStore {
  /// Where the database is.
  public var path: String { file.path }
  /// The same without symbolic links: the write-ahead log and its index are beside it.
  public var place: String { file.place }
  let file: DatabaseFile
  let cryptography: any Cryptography
  private let sql: Connection
  private let catalog: Catalog
  private let run: PendingRun
  let staged: StagedAssets
  private let server: BlobServer
  private let pieces = PieceIndex()
  /// Assets that were complete and could not be put in place: they are not tried again until another comes.
  var refusedAssets: Set<AssetID> = []
  /// Assets were put in place by commits that a power cut may take back.
  var hasUnsettledAssets = false
  /// Whose devices are.
  private(set) var owners = Accounts()
  /// Where the merging of each zone stands.
  var turns: [ZoneID: MergeTurns] = [:]
  /// What was found and put right since the store was opened.
  public internal(set) var repairs = Repairs()
  /// Records whose hash fits no values, and of which a comparison found nothing to send: what is merged is merged all the same.
  var believed: Set<RecordRef> = []
  /// Where comparisons read the log last.
  var importPlaces = ImportPlaces()
  /// Write transactions since the store was opened.
  public private(set) var commits = 0
  /// Nil until `startGuard`.
  var walGuard: WALGuard?
  /// Acknowledgements that the next transaction writes.
  var unsaved: [ZoneID: [DeviceID: (time: HybridTime, bytes: [UInt8])]] = [:]
  /// What the file says of the last transaction; nil until it is open.
  private var history: FileHistory?

  /// Opens the database, or makes it where it is missing, and makes our tables where they are missing.
  ///
  /// - Parameters:
  ///   - create: False where a missing file is an error (`missing`).
  ///   - vfs: The name of a registered SQLite VFS; nil for the operating system's.
  ///   - staging: Where assets are until they are in their rows.
  public init(
    path: String, create: Bool = true, cryptography: any Cryptography, vfs: String? = nil,
    staging: any AssetStaging = MemoryStaging()
  ) throws {
    let file = try DatabaseFile(path: path, create: create, vfs: vfs)
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
    self.run = PendingRun(sql)
    self.staged = StagedAssets(staging, cryptography)
    self.server = BlobServer(path: path, vfs: vfs)
    // A process that was killed inside a commit leaves it in the WAL, to be read, and perhaps never synced: what others are
    // told from it must not be lost with the power. Any durable commit syncs all before it, and this one changes a page.
    let wasSilent = try write { session in
      let wasSilent = try session.endSilence()
      try session.applying {}
      try FileHistory.begin(session.sql)
      return wasSilent
    }
    history = try read { try FileHistory.read($0.sql) }
    if wasSilent { repairs.silences += 1 }
    try sweepAssets()
  }

  public func setAccounts(_ accounts: Accounts) { owners = accounts }

  /// A second call does nothing.
  public func close() throws {
    // Each device tells its own again.
    if !unsaved.isEmpty { try? waiting(atMost: 0.1) { try write { _ in } } }
    unsaved = [:]
    try mapped {
      closeOthers()
      sql.forget()
      try file.close()
    }
  }

  /// Only the store's own connection has the file open from now on.
  func closeOthers() {
    server.close()
    walGuard?.close()
    walGuard = nil
  }

  /// Gives back the memory that much work took: SQLite's pages, and what the allocator keeps. What is needed again is read again.
  public func releaseMemory() {
    server.rest()
    file.queue.releaseMemory()
    mesh_trim_memory()
  }

  /// Stops reading BLOBs that nobody has asked for since the last call: who waits for all readers to end is not kept waiting. To be
  /// called a few times a second.
  public func restIdleBlobs() { server.restIfIdle() }

  private static func prepare(_ db: Database, path: String) throws {
    let format =
      try db.tableExists("mesh_state") ? Int.fetchOne(db, sql: "SELECT format FROM mesh_state WHERE id = 1") : nil
    if let format, format > MeshTables.format {
      throw StoreError(
        .formatTooNew,
        "\(path) was written by a later version (format \(format), this program knows \(MeshTables.format)); update it")
    }
    try MeshTables.create(db)
    for sql in MeshTables.replication { try db.execute(sql: sql) }
    if let format { try MeshTables.update(db, from: format) }
    for sql in MeshTables.indexes { try db.execute(sql: sql) }
  }

  // MARK: Access

  func read<T>(_ body: (Session) throws -> T) throws -> T {
    try mapped {
      try file.settle()
      return try file.read { db in
        try requireHistory()
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
      // SQLite copies and resets the log itself then.
      if walGuard == nil { server.rest() }
      do {
        try file.settle()
        var next = history
        let result = try file.write(isDurable: isDurable) { db in
          try requireHistory()
          try catalog.refresh(db)
          catalog.isWritable = true
          let changes = sql.totalChanges
          let session = session(db)
          let result = try body(session)
          if !unsaved.isEmpty { try session.save(unsaved) }
          if sql.totalChanges != changes { try next?.advance(sql) }
          return result
        }
        (history, unsaved) = (next, [:])
        commits += 1
        // Outside of the write lock. Nothing of it is told to anybody before.
        try file.settle()
        // Long work must not wait for the next look to keep the log short. What fails here, that look reports.
        try? walGuard?.emptyBeyondBound { server.rest() }
        return result
      } catch {
        // New numbers of names and authors may be gone with the transaction.
        catalog.forget()
        throw error
      }
    }
  }

  /// Each transaction begins with it: what is flushed or merged on a file that was restored would continue another history.
  private func requireHistory() throws {
    guard let history else { return }
    do {
      guard try FileHistory.read(sql) != history else { return }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A file that never was a mesh's has no such table.
    }
    throw StoreError.replaced(path)
  }

  /// Runs `body` with statements that wait only for `limit` seconds for another process's lock: then they throw `locked`.
  public func waiting<T>(atMost limit: Double, _ body: () throws -> T) rethrows -> T {
    try file.waiting(atMost: limit, body)
  }

  private func session(_ db: Database) -> Session {
    Session(
      db: db, sql: sql, catalog: catalog, cryptography: cryptography, run: run, staged: staged, server: server,
      pieces: pieces)
  }

  func guarding<T>(_ body: () throws -> T) throws -> T { try mapped(body) }

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
