import CSQLite
import GRDB
import MeshCore

/// The open file, and the transactions on it. All parts of a store share one access.
final class StoreAccess {
  let file: DatabaseFile
  let cryptography: any Cryptography
  private let sql: Connection
  private let catalog: Catalog
  private let run: PendingRun
  let staged: StagedAssets
  private let server: BlobServer
  private let pieces = PieceIndex()
  /// The accounts of devices.
  private(set) var owners = Accounts()
  /// This device. Nil until a replica uses the store, and nothing is merged before.
  private(set) var device: DeviceID?
  /// The number of write transactions since the store was opened.
  private(set) var commits = 0
  /// Nil before `startGuard`.
  private(set) var walGuard: WALGuard?
  /// Acknowledgements that the next transaction writes.
  var unsaved: [ZoneID: [DeviceID: ControlTable.Acknowledgement]] = [:]
  /// Records whose hash doesn't match their values, although a comparison found nothing to send. Change sets are merged
  /// into them all the same.
  private(set) var believed: Set<RecordRef> = []
  /// The last transaction that the file knows. Nil until `beginHistory`.
  private var history: FileHistory?

  /// Opens the file. See `Store.init`.
  init(
    path: String, create: Bool, cryptography: any Cryptography, vfs: String?, lockPatience: Double?,
    staging: any AssetStaging, prepareConnection: (@Sendable (OpaquePointer) -> Void)?, probe: BranchProbe?
  ) throws {
    let file = try DatabaseFile(
      path: path, create: create, vfs: vfs, busyTimeout: lockPatience ?? DatabaseFile.busyTimeout,
      prepareConnection: prepareConnection)
    let handle: OpaquePointer
    do {
      handle = try file.write { db in
        try Self.prepare(db, path: path)
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
  }

  /// Makes the first transaction.
  ///
  /// - Returns: True if a commit had turned capture off.
  func beginHistory() throws -> Bool {
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
    return wasSilent
  }

  func believe(_ ref: RecordRef) { believed.insert(ref) }

  func setAccounts(_ accounts: Accounts, device: DeviceID) { (owners, self.device) = (accounts, device) }

  /// Closes the store. A second call does nothing.
  func close() throws {
    // Each device sends its own acknowledgement again.
    if !unsaved.isEmpty { try? file.waiting(atMost: 0.1) { try write { _ in } } }
    unsaved = [:]
    try guarding {
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

  /// Frees the memory that much work took. See `Store.releaseMemory`.
  func releaseMemory() {
    server.rest()
    file.queue.releaseMemory()
    mesh_trim_memory()
  }

  func restIdleBlobs() { server.restIfIdle() }

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

  // MARK: Transactions

  func read<T>(_ body: (Transaction) throws -> T) throws -> T {
    try guarding {
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
    try transact(isDurable: isDurable) { .commit(try body($0)) }
  }

  /// Does the same as `write`, but `body` returns how the transaction ends.
  func transact<T>(isDurable: Bool = true, _ body: (Transaction) throws -> Ending<T>) throws -> T {
    reached(.transactionBegins)
    return try guarding {
      // SQLite copies and resets the log itself in that case.
      if walGuard == nil { server.rest() }
      do {
        try file.settle()
        var next = history
        let ending = try file.transact(isDurable: isDurable) { db in
          try requireHistory()
          try catalog.refresh(db)
          catalog.isWritable = true
          let changes = sql.totalChanges
          let transaction = transaction(db)
          let ending = try body(transaction)
          guard case .commit = ending else { return ending }
          try transaction.counters.saveChanged()
          if !unsaved.isEmpty { try transaction.save(unsaved) }
          if sql.totalChanges != changes { try next?.advance(sql) }
          return ending
        }
        guard case .commit(let result) = ending else {
          catalog.forget()
          return ending.result
        }
        // This runs outside of the write lock. Nothing of the commit is sent to anybody before.
        do {
          try file.settle()
        } catch let error as DatabaseError {
          // The caller can't know that the transaction is in the file. `history` stays at what the caller knows.
          throw StoreError.unsettled(file.path, error)
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
    throw StoreError.replaced(file.path)
  }

  func reached(_ branch: RareBranch) { sql.probe?(branch) }

  private func transaction(_ db: Database) -> Transaction {
    Transaction(
      db: db, sql: sql, catalog: catalog, counters: TransactionCounters(sql), cryptography: cryptography, run: run,
      staged: staged, server: server, pieces: pieces, device: device, believed: believed)
  }

  /// Runs `body`, and throws the errors of SQLite as those of the store.
  func guarding<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as DatabaseError {
      throw StoreError(error, path: file.path)
    } catch let error as FormatError {
      throw StoreError(.corrupt, "\(file.path): a row of ours cannot be read (\(error)); restore it from a copy")
    }
  }

  // MARK: The write-ahead log

  /// See `StoreFile.startGuard`.
  func startGuard(clock: any TimeSource) throws -> WALGuard {
    if let walGuard { return walGuard }
    let walGuard = try guarding {
      let walGuard = try WALGuard(path: file.path, vfs: file.vfs, clock: clock)
      // From here on, the guard copies when it empties the log.
      try file.checkpointsItself(false)
      return walGuard
    }
    self.walGuard = walGuard
    try walGuard.look()
    return walGuard
  }

  /// Copies the WAL into the database, outside of any transaction. See `StoreFile.checkpoint`.
  @discardableResult
  func checkpoint(truncate: Bool) throws -> Bool {
    do {
      _ = try file.queue.writeWithoutTransaction { try $0.checkpoint(truncate ? .truncate : .passive) }
      return true
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
      return false
    } catch let error as DatabaseError {
      throw StoreError(error, path: file.path)
    }
  }
}
