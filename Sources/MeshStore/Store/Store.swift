import CSQLite
import GRDB
package import MeshCore

/// The replica in one SQLite file: the app's tables, and the tables of mesh beside them.
///
/// Each part of it does one kind of work, and owns the state for that. All parts work in the transactions of one
/// access.
///
/// Calls are synchronous, and one caller at a time makes them. Every throwing call throws `StoreError`. After `locked`,
/// `diskFull` and `inputOutput`, you may try again, and nothing is lost. The other errors need a person. Calls that
/// read the log again with given keys throw `MissingKey` if a key is not among them.
package final class Store: ReplicaStore {
  let access: StoreAccess

  // MARK: What replication uses

  package let control: StoreControl
  package let zones: StoreZones
  package let log: StoreLog
  package let localWrites: StoreFlushes
  package let capture: StoreCapture
  package let merges: StoreMerges
  package let assets: StoreAssets
  package let schema: StoreSchema

  // MARK: What people ask

  package let tables: StoreTables
  package let figures: StoreFigures
  package let held: StoreHeld
  package let conflicts: StoreConflicts
  package let history: StoreHistory
  package let file: StoreFile

  /// Opens the database. Creates the file and the tables of mesh if they are missing.
  ///
  /// - Parameters:
  ///   - create: False if a missing file is an error (`missing`).
  ///   - vfs: The name of a registered SQLite VFS, or nil for the operating system's.
  ///   - lockPatience: The seconds that this waits for another process's lock, or nil for as long as later statements.
  ///   - staging: The storage for assets until they are in their rows.
  ///   - prepareConnection: Gives the connection, an `sqlite3 *`, the functions that the schema calls.
  ///   - probe: Notes the rare branches that the store takes.
  package init(
    path: String, create: Bool = true, cryptography: any Cryptography, vfs: String? = nil,
    lockPatience: Double? = nil, staging: any AssetStaging = MemoryStaging(),
    prepareConnection: (@Sendable (OpaquePointer) -> Void)? = nil,
    probe: BranchProbe? = nil
  ) throws {
    access = try StoreAccess(
      path: path, create: create, cryptography: cryptography, vfs: vfs, lockPatience: lockPatience, staging: staging,
      prepareConnection: prepareConnection, probe: probe)
    control = StoreControl(access: access)
    zones = StoreZones(access: access)
    log = StoreLog(access: access)
    localWrites = StoreFlushes(access: access)
    capture = StoreCapture(access)
    merges = StoreMerges(access, localWrites)
    assets = StoreAssets(access)
    schema = StoreSchema(access: access, capture: capture)
    tables = StoreTables(access: access, capture: capture)
    figures = StoreFigures(access: access)
    held = StoreHeld(access: access)
    conflicts = StoreConflicts(access: access)
    history = StoreHistory(access: access)
    file = StoreFile(access: access)
    if try access.beginHistory() { capture.noteSilence() }
    try assets.sweep()
    access.file.waitAsUsual()
  }

  /// Returns whether the database has the tables of mesh. Reads the file, and writes nothing to it.
  package static func hasTables(_ path: String) throws -> Bool {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { try MeshTables.exist($0) }
  }

  /// The path of the database.
  package var path: String { access.file.path }
  /// The path without symbolic links. The write-ahead log and its index are beside it.
  package var place: String { access.file.place }
  /// The number of write transactions since the store was opened.
  package var commits: Int { access.commits }

  /// Closes the store. A second call does nothing.
  package func close() throws { try access.close() }

  /// Frees the memory that much work took: SQLite's pages, and memory that the allocator keeps. Pages that are needed
  /// are read again.
  package func releaseMemory() { access.releaseMemory() }

  /// Stops reading BLOBs that nobody has asked for since the last call, so that a program that waits for all readers to
  /// end can go on. Call it a few times a second.
  package func restIdleBlobs() { access.restIdleBlobs() }

  /// Runs `body` with statements that wait only `limit` seconds for another process's lock. After that they throw
  /// `locked`.
  package func waiting<T>(atMost limit: Double, _ body: () throws -> T) rethrows -> T {
    try access.file.waiting(atMost: limit, body)
  }
}
