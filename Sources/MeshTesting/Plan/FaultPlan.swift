/// The treatment of nodes in a simulated world: the faults, their frequency and their severity. Times are virtual
/// milliseconds. A chance is one in that many steps, and 0 means never. A plan with the default values has an ordinary
/// network and no faults.
///
/// `FaultPlan.Key.all` gives each field its name in JSON, its bounds and a description.
public struct FaultPlan: Sendable, Equatable {
  public enum Topology: String, Sendable, CaseIterable {
    /// Each node knows only its neighbors. Messages that go further are relayed.
    case line
    /// A random tree, with about half as many shortcuts.
    case random
    /// A ring and random links, with `degree` links for each node on average.
    case regular
  }

  /// The purpose of the plan, or the fault that it found.
  public var about = ""
  /// The longest time between two steps.
  public var pause = 800

  // MARK: Network

  public var topology = Topology.random
  public var degree = 4
  public var latency = 1...120
  /// The time by which a message may be late beyond the latency.
  public var jitter = 40
  /// One connection in `slowLinks` is slow, and carries `slowRate` bytes per millisecond.
  public var slowLinks = 0
  public var slowRate = 2...40
  /// One dial in this many goes to a node that is connected already.
  public var doubleDials = 0
  /// A connection is cut and both ends notice, or it is cut and neither end notices before its timeout.
  public var cuts = 0
  public var silentCuts = 0
  /// A connection carries nothing for a while, and then all messages at once.
  public var stalls = 0
  public var stallTime = 1_000...60_000
  public var partitions = 0
  /// Messages from one side don't arrive, and those from the other side do.
  public var oneWayPartitions = 0
  public var partitionTime = 2_000...40_000

  // MARK: Clocks

  /// The greatest error of a wall clock, ahead or behind, at the start and at each jump.
  public var clockError = 2_000
  public var clockJumps = 0

  // MARK: Nodes

  /// True if every node knows only the first device's certificate and its own, as after linking.
  public var meetsGradually = true
  /// The process is killed. Its writes remain, synced or not.
  public var kills = 0
  /// The machine loses its power. Unsynced writes are kept, lost or torn.
  public var powerCuts = 0
  /// A kill or a power cut during one of the next storage operations: a write, a sync, or a step between them.
  public var deaths = 0
  public var deathWithin = 1...120
  /// The process ends in good order and starts again.
  public var restarts = 0
  public var downTime = 100...15_000
  /// The process does nothing for a while, and then continues.
  public var pauses = 0
  public var pauseTime = 500...90_000
  /// A person requests a comparison of all rows with the merged values.
  public var rescans = 0
  /// The first device revokes another one.
  public var revocations = 0

  // MARK: Disk

  /// For a while (or once, if the time is 0), one operation in `diskErrorRate` fails.
  public var diskErrors = 0
  public var diskErrorTime = 0...20_000
  public var diskErrorRate = 10
  /// For a while, one write in `fullDiskRate` finds the disk full.
  public var fullDisks = 0
  public var fullDiskTime = 500...20_000
  public var fullDiskRate = 4

  // MARK: History

  /// A node's database is replaced by an older copy.
  public var restores = 0
  /// The same happens while the node runs, by SQLite's backup interface. The app's next write may come before the
  /// node's next look.
  public var liveRestores = 0
  /// The home is replaced too, so the machine knows nothing of change sets that were sent since.
  public var homeRestores = 0
  /// A node gets a copy of another node's database, under its own home.
  public var fileCopies = 0
  /// A node's home and database run twice, on two machines.
  public var homeCopies = 0

  // MARK: Writers

  /// One app in this many has foreign keys off.
  public var foreignKeysOff = 2
  /// One in this many of the steps at a node that is down writes nevertheless.
  public var writesWhileDown = 0
  /// All apps write the same rows in the same millisecond.
  public var together = 0
  /// After one in this many pieces of a node's work, its app writes before the next piece.
  public var hasty = 0
  /// One in `bulkWrites` writes is of `bulkSize` records.
  public var bulkWrites = 0
  public var bulkSize = 1_001...2_200
  /// One in `counts` writes is one to a column with a policy. Only the real store has policies.
  public var counts = 0
  /// One in `longValues` writes has a value of `longSize` bytes.
  public var longValues = 0
  public var longSize = 17_000...600_000
  /// One app in this many has a trigger that writes synchronized rows without checking who is writing.
  public var badTriggers = 0
  /// A column is added to a table, at a different time on each node.
  public var addedColumns = 0
  /// A column is dropped. It comes back at the end.
  public var droppedColumns = 0
  /// A column is dropped and added again in one transaction.
  public var readdedColumns = 0
  /// A column is renamed, or gets its first name back.
  public var renamedColumns = 0
  /// A table is recreated with its rows, and replaces the old one.
  public var alterations = 0
  /// The same happens, and adds or removes a `CHECK` or a `NOT NULL`.
  public var constraints = 0
  /// A `UNIQUE` index is added or dropped.
  public var uniques = 0
  /// A column besides the only reference becomes a foreign key, or stops being one.
  public var references = 0
  /// A table is dropped, and recreated without its rows, at once or later.
  public var recreatedTables = 0
  /// A table is renamed, or gets its name back.
  public var renamedTables = 0
  /// One app in this many spells names in another case, and has its columns in another order.
  public var spellings = 0
  /// A table is not synchronized for a while, and apps go on writing to it.
  public var untrackedTables = 0
  /// One node in this many has rows of its own before its tables are tracked.
  public var olderCopies = 0

  // MARK: Assets

  /// One write in this many has a long BLOB in a row that refers to another. Several rows have the same BLOBs.
  public var photos = 0
  /// A node changes a table's policy: download assets always or on demand.
  public var assetPolicies = 0
  /// A person requests an asset that a row lacks.
  public var assetFetches = 0
  /// A person evicts an asset.
  public var assetEvictions = 0

  // MARK: Accounts and shares

  /// The number of accounts among which the nodes are divided. If there are several, liars have an account of their
  /// own.
  public var accounts = 1
  /// The chances in each step that the owner makes a share of a record, or invites somebody.
  public var shareCreates = 0
  public var shareInvites = 0
  public var shareUninvites = 0
  public var sharePermissions = 0
  /// A permission is changed several times in a row.
  public var shareFlaps = 0
  public var shareRemovals = 0
  public var shareLeaves = 0
  public var shareStops = 0
  /// Apps delete the root record of a share, or remove the triggers and write to a read-only share.
  public var rootDeletes = 0
  public var bypasses = 0
  /// One node in this many keeps a copy of shares that end for it.
  public var keptCopies = 0

  // MARK: Liars

  /// The last nodes, whose sessions carry lies beside the messages of an honest replica. The chances hold for each
  /// step.
  public var liars = 0
  public var forgeries = 0
  public var truncations = 0
  public var forks = 0
  public var replays = 0
  public var gaps = 0
  public var brokenChains = 0
  public var farFutures = 0
  /// One in this many of the chunks of assets that its replica provides is wrong.
  public var wrongChunks = 0
  public var generations = 0
  public var floods = 0
  /// Causal pasts that nobody has, or that name their own author.
  public var contexts = 0
  /// Tips of other authors' logs that nobody has signed.
  public var forgedHeads = 0
  /// Names of tables that nobody has.
  public var unknownTables = 0
  /// Many devices that its account certifies, if the account is its own, and many instances, with their change sets.
  public var crowds = 0
  /// States of its account with as many certificates as one can have, a different one for each peer, if the account is
  /// its own.
  public var certificateFloods = 0
  /// Control records, change sets and accounts of others, forwarded in another order, several times, or for another
  /// zone.
  public var relays = 0
  /// Descriptions of tables that are reserved, private, contradictory or wide.
  public var hostileSchemas = 0
  /// Wrong times, told to devices of other accounts. A device of the same account would have a vote.
  public var clockLies = 0
  /// In shares: change sets beyond the permission, control records that it may not sign, change sets under an old
  /// epoch, keys given to strangers, and change sets and control records of revoked devices.
  public var overreaches = 0
  public var controlForgeries = 0
  public var oldEpochs = 0
  public var keyLeaks = 0
  public var revokedWrites = 0

  public init() {}
}
