import MeshCore
import MeshStore

/// A node's database: the store for replication, the app's connection, and its crashes. It is made once for each node,
/// and survives crashes.
protocol SimulatedDatabase: AnyObject {
  /// The disk on which it is, or nil if that doesn't matter.
  var disk: VirtualDisk? { get }
  /// The columns that its tables have besides the first ones, as `table.column`.
  var added: Set<String> { get }
  /// The columns of each table. Missing tables are left out.
  var columns: [String: Set<String>] { get }

  /// The tables that have their stricter column.
  var strict: Set<String> { get }
  /// The tables that allow no value of a column twice.
  var unique: Set<String> { get }
  /// The tables whose added reference is a foreign key.
  var referring: Set<String> { get }

  /// The tables that a node has stopped synchronizing. A node that starts again tracks them.
  var untracked: Set<String> { get }

  /// The tables that the app has renamed.
  var away: Set<String> { get }
  /// The way in which the app spells its tables.
  var spelling: Spelling { get }

  /// The number of writes that were refused because a share is read-only.
  var refusals: Int { get }

  /// Returns the assets that are kept outside of their rows although no record waits for them and no conflict lists
  /// them.
  func needlessAssets() throws -> [AssetID]

  /// The store of a running node, or nil for a model.
  var sqlite: Store? { get }

  /// Opens the store for a node, at the first start and after each crash.
  func open() throws -> any ReplicaStore
  /// Starts or stops synchronizing a table.
  func setTracked(_ table: String, _ isTracked: Bool) throws
  /// Returns whether another connection has committed since the last look, or there was no look yet.
  func hasChanged() throws -> Bool
  /// Runs a transaction of the app, which opens the database if the node isn't running. Returns false if the
  /// transaction was rolled back or a constraint refused it.
  func run(_ transaction: AppTransaction) throws -> Bool
  /// Calls a closure once, right before the store begins a transaction. With nil, it calls nothing.
  ///
  /// - Parameter count: The number of transactions before that one.
  func beforeTransaction(_ count: Int, _ body: (() -> Void)?)
  /// Removes the triggers that keep programs from writing to read-only shares, as a program may do.
  func dropPermissions() throws
  /// Returns the app's tables, or some of them.
  func contents(_ tables: [String]?) throws -> Contents
  /// Returns the app's tables if another connection has committed since the last call, and nil otherwise.
  func changedContents() throws -> Contents?
  /// Returns the records of a zone that are alive but not shown, with the reasons.
  func held(_ zone: ZoneID) throws -> [RecordName: String]
  /// Returns the rows that the app wrote with foreign keys off and that other nodes hold.
  func shownHereOnly() throws -> Set<RecordName>
  /// Returns 16 bytes for the merged state of each live record of a zone, or nil if they can't be determined.
  func recordHashes(_ zone: ZoneID) throws -> [RecordName: [UInt8]]?
  /// Returns the losing values that are kept, or nil if conflicts are never kept.
  func conflicts() throws -> Set<LostValue>?
  /// Returns the damage that SQLite finds in the file, or nil if there is none.
  func damage() throws -> String?
  /// Returns whether the node has checked the current schema and repaired all faults.
  func isInStep() throws -> Bool
  /// Returns whether a cut is in progress, or reverted values wait to be written again. After a crash during a cut, the
  /// digest belongs to no vector.
  func isReverting() throws -> Bool
  /// Returns the ids of the merged change sets.
  func mergedIDs() throws -> Set<ChangeSetID>
  /// Returns the losing values that a person can look at.
  func kept() throws -> Set<Ledger.Fact>
  /// Returns the writes that a zone did not accept. The store has to be open.
  func receipts(_ zone: ZoneID) throws -> [Receipt]
  /// Requests a comparison of all rows with the merged values.
  func rescan() throws
  /// Writes an older copy of the machine's files over the open database, in one transaction.
  func restoreLive(from files: [String: [UInt8]]) throws
  /// Returns the different values in each group (see `AppSchema.leg`), and the number of its rows.
  func groups() throws -> [Int: (rows: Int, values: [Value])]
  /// Closes the store when the node's process ends, in good order or not. The app continues.
  func closeStore() throws
  /// Ends all programs as if they were killed, or cuts the machine's power.
  func crash(losesUnsynced: Bool) throws
  func close() throws
}

extension SimulatedDatabase {
  func contents() throws -> Contents { try contents(nil) }
}
