/// The treatment of nodes in a simulated world: the faults, their frequency and their severity. Times are virtual
/// milliseconds. A chance is one in that many steps, and 0 means never. A plan with the default values has an ordinary
/// network and no faults.
///
/// `FaultPlan.Key.all` gives each field its name in JSON, its bounds and a description.
package struct FaultPlan: Sendable, Equatable {
  package enum Topology: String, Sendable, CaseIterable {
    /// Each node knows only its neighbors. Messages that go further are relayed.
    case line
    /// A random tree, with about half as many shortcuts.
    case random
    /// A ring and random links, with `degree` links for each node on average.
    case regular
  }

  /// The purpose of the plan, or the fault that it found.
  package var about = ""
  /// The longest time between two steps.
  package var pause = 800

  // MARK: Network

  package var topology = Topology.random
  package var degree = 4
  package var latency = 1...120
  /// The time by which a message may be late beyond the latency.
  package var jitter = 40
  /// One connection in `slowLinks` is slow, and carries `slowRate` bytes per millisecond.
  package var slowLinks = 0
  package var slowRate = 2...40
  /// One dial in this many goes to a node that is connected already.
  package var doubleDials = 0
  /// A connection is cut and both ends notice, or it is cut and neither end notices before its timeout.
  package var cuts = 0
  package var silentCuts = 0
  /// A connection carries nothing for a while, and then all messages at once.
  package var stalls = 0
  package var stallTime = 1_000...60_000
  package var partitions = 0
  /// Messages from one side don't arrive, and those from the other side do.
  package var oneWayPartitions = 0
  package var partitionTime = 2_000...40_000

  // MARK: Clocks

  /// The greatest error of a wall clock, ahead or behind, at the start and at each jump.
  package var clockError = 2_000
  package var clockJumps = 0

  // MARK: Nodes

  /// True if every node knows only the first device's certificate and its own, as after linking.
  package var meetsGradually = true
  /// The process is killed. Its writes remain, synced or not.
  package var kills = 0
  /// The machine loses its power. Unsynced writes are kept, lost or torn.
  package var powerCuts = 0
  /// A kill or a power cut during one of the next storage operations: a write, a sync, or a step between them.
  package var deaths = 0
  package var deathWithin = 1...120
  /// The process ends in good order and starts again.
  package var restarts = 0
  package var downTime = 100...15_000
  /// The process does nothing for a while, and then continues.
  package var pauses = 0
  package var pauseTime = 500...90_000
  /// A person requests a comparison of all rows with the merged values.
  package var rescans = 0
  /// The first device revokes another one.
  package var revocations = 0

  // MARK: Disk

  /// For a while (or once, if the time is 0), one operation in `diskErrorRate` fails.
  package var diskErrors = 0
  package var diskErrorTime = 0...20_000
  package var diskErrorRate = 10
  /// For a while, one write in `fullDiskRate` finds the disk full.
  package var fullDisks = 0
  package var fullDiskTime = 500...20_000
  package var fullDiskRate = 4

  // MARK: History

  /// A node's database is replaced by an older copy.
  package var restores = 0
  /// The same happens while the node runs, by SQLite's backup interface. The app's next write may come before the
  /// node's next look.
  package var liveRestores = 0
  /// The home is replaced too, so the machine knows nothing of change sets that were sent since.
  package var homeRestores = 0
  /// A node gets a copy of another node's database, under its own home.
  package var fileCopies = 0
  /// A node's home and database run twice, on two machines.
  package var homeCopies = 0

  // MARK: Writers

  /// One app in this many has foreign keys off.
  package var foreignKeysOff = 2
  /// One in this many of the steps at a node that is down writes nevertheless.
  package var writesWhileDown = 0
  /// All apps write the same rows in the same millisecond.
  package var together = 0
  /// After one in this many pieces of a node's work, its app writes before the next piece.
  package var hasty = 0
  /// The app writes right before one of its node's next transactions, which may rely on what the node read before.
  package var interruptions = 0
  /// One in `bulkWrites` writes is of `bulkSize` records.
  package var bulkWrites = 0
  package var bulkSize = 1_001...2_200
  /// One in `counts` writes is one to a column with a policy. Only the real store has policies.
  package var counts = 0
  /// One in `longValues` writes has a value of `longSize` bytes.
  package var longValues = 0
  package var longSize = 17_000...600_000
  /// One app in this many has a trigger that writes synchronized rows without checking who is writing.
  package var badTriggers = 0
  /// A column is added to a table, at a different time on each node.
  package var addedColumns = 0
  /// A column is dropped. It comes back at the end.
  package var droppedColumns = 0
  /// A column is dropped and added again in one transaction.
  package var readdedColumns = 0
  /// A column is renamed, or gets its first name back.
  package var renamedColumns = 0
  /// A table is recreated with its rows, and replaces the old one.
  package var alterations = 0
  /// The same happens, and adds or removes a `CHECK` or a `NOT NULL`.
  package var constraints = 0
  /// A `UNIQUE` index is added or dropped.
  package var uniques = 0
  /// A column besides the only reference becomes a foreign key, or stops being one.
  package var references = 0
  /// A table is dropped, and recreated without its rows, at once or later.
  package var recreatedTables = 0
  /// A table is renamed, or gets its name back.
  package var renamedTables = 0
  /// One app in this many spells names in another case, and has its columns in another order.
  package var spellings = 0
  /// A table is not synchronized for a while, and apps go on writing to it.
  package var untrackedTables = 0
  /// One node in this many has rows of its own before its tables are tracked.
  package var olderCopies = 0

  // MARK: Assets

  /// One write in this many has a long BLOB in a row that refers to another. Several rows have the same BLOBs.
  package var photos = 0
  /// A node changes a table's policy: download assets always or on demand.
  package var assetPolicies = 0
  /// A person requests an asset that a row lacks.
  package var assetFetches = 0
  /// A person evicts an asset.
  package var assetEvictions = 0

  // MARK: Accounts and shares

  /// The number of accounts among which the nodes are divided. If there are several, liars have an account of their
  /// own.
  package var accounts = 1
  /// The chances in each step that the owner makes a share of a record, or invites somebody.
  package var shareCreates = 0
  package var shareInvites = 0
  package var shareUninvites = 0
  package var sharePermissions = 0
  /// A permission is changed several times in a row.
  package var shareFlaps = 0
  package var shareRemovals = 0
  package var shareLeaves = 0
  package var shareStops = 0
  /// Apps delete the root record of a share, or remove the triggers and write to a read-only share.
  package var rootDeletes = 0
  package var bypasses = 0
  /// One node in this many keeps a copy of shares that end for it.
  package var keptCopies = 0

  // MARK: Liars

  /// The last nodes, whose sessions carry lies beside the messages of an honest replica. The chances hold for each
  /// step.
  package var liars = 0
  package var forgeries = 0
  package var truncations = 0
  package var forks = 0
  package var replays = 0
  package var gaps = 0
  package var brokenChains = 0
  package var farFutures = 0
  /// One in this many of the chunks of assets that its replica provides is wrong.
  package var wrongChunks = 0
  package var generations = 0
  package var floods = 0
  /// Causal pasts that nobody has, or that name their own author.
  package var contexts = 0
  /// Tips of other authors' logs that nobody has signed.
  package var forgedHeads = 0
  /// Names of tables that nobody has.
  package var unknownTables = 0
  /// Many devices that its account certifies, if the account is its own, and many instances, with their change sets.
  package var crowds = 0
  /// States of its account with as many certificates as one can have, a different one for each peer, if the account is
  /// its own.
  package var certificateFloods = 0
  /// Control records, change sets and accounts of others, forwarded in another order, several times, or for another
  /// zone.
  package var relays = 0
  /// Descriptions of tables that are reserved, private, contradictory or wide.
  package var hostileSchemas = 0
  /// Wrong times, told to devices of other accounts. A device of the same account would have a vote.
  package var clockLies = 0
  /// In shares: change sets beyond the permission, control records that it may not sign, change sets under an old
  /// epoch, keys given to strangers, and change sets and control records of revoked devices.
  package var overreaches = 0
  package var controlForgeries = 0
  package var oldEpochs = 0
  package var keyLeaks = 0
  package var revokedWrites = 0

  package init() {}
}
