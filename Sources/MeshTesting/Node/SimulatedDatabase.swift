import MeshCore
import MeshStore

/// A node's database: what replication uses, what the app writes, and how it dies. Made once per node; it outlives crashes.
protocol SimulatedDatabase: AnyObject {
  /// Where it lies; nil where that is no matter.
  var disk: VirtualDisk? { get }
  /// Columns beyond the first ones that its tables have, as `table.column`.
  var added: Set<String> { get }
  /// What each table has; no table that is missing.
  var columns: [String: Set<String>] { get }

  /// Tables that have their stricter column.
  var strict: Set<String> { get }
  /// Tables that have no value of a column twice.
  var unique: Set<String> { get }
  /// Tables whose added reference is a foreign key.
  var referring: Set<String> { get }

  /// Tables that a node has stopped synchronizing. One that starts again tracks them.
  var untracked: Set<String> { get }

  /// Writes that were refused because a share is read-only.
  var refusals: Int { get }

  /// Bytes of assets that are kept outside of their rows, to be put there.
  func staged() throws -> Int

  /// The store of a node that runs; nil of a model.
  var sqlite: Store? { get }

  /// Opens it for a node, at the first start and after each crash.
  func open() throws -> any ReplicaStore
  /// Tracks or untracks a table.
  func setTracked(_ table: String, _ isTracked: Bool) throws
  /// Whether somebody has committed since the last look, or there was none.
  func hasChanged() throws -> Bool
  /// Runs a transaction of the app, which opens the database where the node does not run. False where it was rolled back or a
  /// constraint refused it.
  func run(_ transaction: AppTransaction) throws -> Bool
  /// A program takes away the triggers that keep others from writing to shares which are read-only.
  func dropPermissions() throws
  /// The app's tables, or some of them.
  func contents(_ tables: [String]?) throws -> Contents
  /// Records of a zone that live but are not shown, and why.
  func held(_ zone: ZoneID) throws -> [RecordName: String]
  /// Rows that the app wrote with foreign keys off, which other nodes hold.
  func shownHereOnly() throws -> Set<RecordName>
  /// Of a zone's live records, what is merged as 16 bytes; nil where nobody can tell.
  func recordHashes(_ zone: ZoneID) throws -> [RecordName: [UInt8]]?
  /// The losing values that are kept; nil where none ever are.
  func conflicts() throws -> Set<LostValue>?
  /// What SQLite finds wrong with the file; nil where all is well.
  func damage() throws -> String?
  /// The node has looked at the schema as it is, and put right what it found.
  func isInStep() throws -> Bool
  /// A cut is under way (after a crash in it the digest belongs to no vector), or what it took back is to be written again.
  func isCutting() throws -> Bool
  /// The change sets that are merged.
  func mergedIDs() throws -> Set<ChangeSetID>
  /// The losing values that a person can look at.
  func kept() throws -> Set<Ledger.Fact>
  /// All rows are to be compared with what is merged.
  func rescan() throws
  /// Writes an older copy of the machine's files over the open database, in one transaction.
  func restoreLive(from files: [String: [UInt8]]) throws
  /// How many different values a group has, see `AppSchema.leg`; and of how many rows.
  func groups() throws -> [Int: (rows: Int, values: [Value])]
  /// The node's process ends, in good order or not, and the app goes on.
  func closeStore() throws
  /// All programs end as killed ones do, or the machine's power goes.
  func crash(losesUnsynced: Bool) throws
  func close() throws
}

extension SimulatedDatabase {
  func contents() throws -> Contents { try contents(nil) }
}
