import CSQLite
import GRDB
public import MeshCore

/// The replica in one SQLite file: the app's tables, and the tables of mesh beside them.
///
/// Calls are synchronous, and one caller at a time makes them. Every throwing call throws `StoreError`. After `locked`,
/// `diskFull` and `inputOutput`, you may try again, and nothing is lost. The other errors need a person. Calls that
/// read the log again with given keys throw `MissingKey` if a key is not among them.
public final class Store: ReplicaStore {
  /// The path of the database.
  public var path: String { file.path }
  /// The path without symbolic links. The write-ahead log and its index are beside it.
  public var place: String { file.place }
  let file: DatabaseFile
  let cryptography: any Cryptography
  private let sql: Connection
  private let catalog: Catalog
  private let run: PendingRun
  let staged: StagedAssets
  private let server: BlobServer
  private let pieces = PieceIndex()
  /// Complete assets that could not be written into their rows. They are not tried again until another asset arrives.
  var refusedAssets: Set<AssetID> = []
  /// True if a power cut may undo commits that wrote assets into rows.
  var hasUnsettledAssets = false
  /// The accounts of devices.
  private(set) var owners = Accounts()
  /// This device. Nil until a replica uses the store, and nothing is merged before.
  private(set) var device: DeviceID?
  /// The progress of merging in each zone.
  var turns: [ZoneID: MergeTurns] = [:]
  /// The faults that were found and repaired since the store was opened.
  public internal(set) var repairs = Repairs()
  /// Records whose hash doesn't match their values, although a comparison found nothing to send. Change sets are merged
  /// into them all the same.
  var believed: Set<RecordRef> = []
  /// The columns that programs wrote in the table whose values are read back from the log.
  var recallNotes: NotedColumns?
  /// The positions up to which comparisons read the log last.
  var importPlaces = ImportPlaces()
  /// The number of write transactions since the store was opened.
  public private(set) var commits = 0
  /// Nil before `startGuard`.
  var walGuard: WALGuard?
  /// Acknowledgements that the next transaction writes.
  var unsaved: [ZoneID: [DeviceID: ControlTable.Acknowledgement]] = [:]
  /// The last transaction that the file knows. Nil until the file is open.
  private var history: FileHistory?

  /// Opens the database. Creates the file and the tables of mesh if they are missing.
  ///
  /// - Parameters:
  ///   - create: False if a missing file is an error (`missing`).
  ///   - vfs: The name of a registered SQLite VFS, or nil for the operating system's.
  ///   - lockPatience: The seconds that this waits for another process's lock, or nil for as long as later statements.
  ///   - staging: The storage for assets until they are in their rows.
  ///   - prepareConnection: Gives the connection, an `sqlite3 *`, the functions that the schema calls.
  ///   - probe: Notes the rare branches that the store takes.
  public init(
    path: String, create: Bool = true, cryptography: any Cryptography, vfs: String? = nil,
    lockPatience: Double? = nil, staging: any AssetStaging = MemoryStaging(),
    prepareConnection: (@Sendable (OpaquePointer) -> Void)? = nil,
    probe: BranchProbe? = nil
  ) throws {
    let file = try DatabaseFile(
      path: path, create: create, vfs: vfs, busyTimeout: lockPatience ?? DatabaseFile.busyTimeout,
      prepareConnection: prepareConnection)
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
    self.sql = Connection(handle, probe: probe)
    self.catalog = Catalog(sql)
    self.run = PendingRun(sql)
    self.staged = StagedAssets(staging, cryptography)
    self.server = BlobServer(path: path, vfs: vfs)
    // A process that was killed inside a commit leaves the commit in the WAL. Others can read it, but it was perhaps
    // never synced. Data that was sent from it must not be lost in a power cut. Any durable commit syncs all commits
    // before it, and this one changes a page.
    let wasSilent = try write { transaction in
      let wasSilent = try transaction.endSilence()
      try transaction.applying {}
      try transaction.state.beginHistory()
      return wasSilent
    }
    history = try read { try $0.state.history() }
    if wasSilent { repairs.silences += 1 }
    try sweepAssets()
    file.waitAsUsual()
  }

  public func setAccounts(_ accounts: Accounts, device: DeviceID) { (owners, self.device) = (accounts, device) }

  /// Closes the store. A second call does nothing.
  public func close() throws {
    // Each device sends its own acknowledgement again.
    if !unsaved.isEmpty { try? waiting(atMost: 0.1) { try write { _ in } } }
    unsaved = [:]
    try mapped {
      closeOthers()
      sql.forget()
      try file.close()
    }
  }

  /// Closes all other connections, so that only the store's own connection has the file open.
  func closeOthers() {
    server.close()
    walGuard?.close()
    walGuard = nil
  }

  /// Frees the memory that much work took: SQLite's pages, and memory that the allocator keeps. Pages that are needed
  /// are read again.
  public func releaseMemory() {
    server.rest()
    file.queue.releaseMemory()
    mesh_trim_memory()
  }

  /// Stops reading BLOBs that nobody has asked for since the last call, so that a program that waits for all readers to
  /// end can go on. Call it a few times a second.
  public func restIdleBlobs() { server.restIfIdle() }

  private static func prepare(_ db: Database, path: String) throws {
    let format = try MeshTables.format(of: db)
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

  func read<T>(_ body: (Transaction) throws -> T) throws -> T {
    try mapped {
      try file.settle()
      return try file.read { db in
        try requireHistory()
        try catalog.refresh(db)
        catalog.isWritable = false
        return try body(transaction(db))
      }
    }
  }

  /// Runs `body` in one immediate transaction. An error reverts everything.
  ///
  /// - Parameter isDurable: False for data that other devices can be asked for again, and have not been told that this
  ///   node has it.
  func write<T>(isDurable: Bool = true, _ body: (Transaction) throws -> T) throws -> T {
    try mapped {
      // SQLite copies and resets the log itself in that case.
      if walGuard == nil { server.rest() }
      do {
        try file.settle()
        var next = history
        let result = try file.write(isDurable: isDurable) { db in
          try requireHistory()
          try catalog.refresh(db)
          catalog.isWritable = true
          let changes = sql.totalChanges
          let transaction = transaction(db)
          let result = try body(transaction)
          if !unsaved.isEmpty { try transaction.save(unsaved) }
          if sql.totalChanges != changes { try next?.advance(sql) }
          return result
        }
        // This runs outside of the write lock. Nothing of the commit is sent to anybody before.
        do {
          try file.settle()
        } catch let error as DatabaseError {
          // The caller can't know that the transaction is in the file. `history` stays at what the caller knows.
          throw StoreError.unsettled(path, error)
        }
        (history, unsaved) = (next, [:])
        commits += 1
        // Long work must not wait for the next look to keep the log short. If this fails, that look reports it.
        try? walGuard?.emptyBeyondBound { server.rest() }
        return result
      } catch {
        // New numbers of names and authors may be gone with the transaction.
        catalog.forget()
        throw error
      }
    }
  }

  /// Throws unless the file's last transaction is the one that this store knows. Each transaction begins with this
  /// check. Flushing or merging on a restored file would continue another history.
  private func requireHistory() throws {
    guard let history else { return }
    do {
      guard try StateTable(sql: sql).history() != history else { return }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A file that never belonged to a mesh has no such table.
    }
    sql.probe?(.otherHistoryFound)
    throw StoreError.replaced(path)
  }

  /// Runs `body` with statements that wait only `limit` seconds for another process's lock. After that they throw
  /// `locked`.
  public func waiting<T>(atMost limit: Double, _ body: () throws -> T) rethrows -> T {
    try file.waiting(atMost: limit, body)
  }

  func reached(_ branch: RareBranch) { sql.probe?(branch) }

  private func transaction(_ db: Database) -> Transaction {
    Transaction(
      db: db, sql: sql, catalog: catalog, cryptography: cryptography, run: run, staged: staged, server: server,
      pieces: pieces, device: device)
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
  /// Checkpoints outside of any transaction.
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
