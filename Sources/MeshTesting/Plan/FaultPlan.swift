/// How a simulated world treats its nodes: what can go wrong, how often, and how badly. Times in virtual milliseconds; chances
/// as one in that many steps, 0 for never. A plan that is made plainly has an ordinary network and no faults at all.
///
/// `FaultPlan.keys` gives each field its name in JSON, its bounds and a sentence.
public struct FaultPlan: Sendable, Equatable {
  public enum Topology: String, Sendable, CaseIterable {
    /// Each node knows its neighbours only: what goes further is relayed.
    case line
    /// A random tree, and about half as many shortcuts.
    case random
    /// A ring and random links, `degree` to a node on average.
    case regular
  }

  /// What the plan is for, or what it found.
  public var about = ""
  /// Between two steps at most.
  public var pause = 800

  // MARK: Network

  public var topology = Topology.random
  public var degree = 4
  public var latency = 1...120
  /// What a message may be late beyond the latency.
  public var jitter = 40
  /// One connection in that many is slow, and carries so many bytes in a millisecond.
  public var slowLinks = 0
  public var slowRate = 2...40
  /// One dial in that many goes to a node to which there is a connection already.
  public var doubleDials = 0
  /// A connection is cut, and both ends notice; or neither does before its time-out.
  public var cuts = 0
  public var silentCuts = 0
  /// A connection carries nothing for a while, and then all of it.
  public var stalls = 0
  public var stallTime = 1_000...60_000
  public var partitions = 0
  /// What one side sends does not arrive, what the other sends does.
  public var oneWayPartitions = 0
  public var partitionTime = 2_000...40_000

  // MARK: Clocks

  /// Ahead or behind, for each wall clock at the start, and for each jump.
  public var clockError = 2_000
  public var clockJumps = 0

  // MARK: Nodes

  /// Every node knows only the first device's certificate and its own, as after linking.
  public var meetsGradually = true
  /// The process is killed: what it wrote is there, synced or not.
  public var kills = 0
  /// The machine loses its power: what was not synced is kept, lost or torn.
  public var powerCuts = 0
  /// A kill or a power cut in one of the next storage operations: a write, a sync, or a step between.
  public var deaths = 0
  public var deathWithin = 1...120
  /// The process ends in good order and starts again.
  public var restarts = 0
  public var downTime = 100...15_000
  /// The process does nothing for a while, and then goes on.
  public var pauses = 0
  public var pauseTime = 500...90_000
  /// Somebody has all rows compared with what is merged.
  public var rescans = 0
  /// The first device revokes another one.
  public var revocations = 0

  // MARK: Disk

  /// For a while (or once, where the time is 0) one operation in `diskErrorRate` fails.
  public var diskErrors = 0
  public var diskErrorTime = 0...20_000
  public var diskErrorRate = 10
  /// For a while one write in `fullDiskRate` finds no room.
  public var fullDisks = 0
  public var fullDiskTime = 500...20_000
  public var fullDiskRate = 4

  // MARK: History

  /// A node's database is replaced by an older copy of it.
  public var restores = 0
  /// The same while the node runs, by SQLite's backup interface; what the app writes next may come before the node's next look.
  public var liveRestores = 0
  /// The home as well: nothing on the machine knows of what was sent since.
  public var homeRestores = 0
  /// A node gets a copy of another one's database, under its own home.
  public var fileCopies = 0
  /// A node's home and database run twice, on two machines.
  public var homeCopies = 0

  // MARK: Writers

  /// One app in that many has foreign keys off.
  public var foreignKeysOff = 2
  /// Of the steps at a node that is down, one in that many writes all the same.
  public var writesWhileDown = 0
  /// All apps write the same rows in the same millisecond.
  public var together = 0
  /// Of the writes, one in that many is of so many records.
  public var bulkWrites = 0
  public var bulkSize = 1_001...2_200
  /// Of the writes, one in that many has a value of so many bytes.
  public var longValues = 0
  public var longSize = 17_000...600_000
  /// One app in that many has a trigger that writes synchronized rows and does not ask who is writing.
  public var badTriggers = 0
  /// A column is added to a table, at each node at another time.
  public var addedColumns = 0
  /// A column is dropped, to come back at the end.
  public var droppedColumns = 0
  /// A column gets another name, or its first one back.
  public var renamedColumns = 0
  /// A table is made anew with the rows it had, and takes the place of the old one.
  public var alterations = 0
  /// The same, with a `CHECK` or a `NOT NULL` that it had not, or without.
  public var constraints = 0
  /// A `UNIQUE` index comes, or goes.
  public var uniques = 0
  /// A column beside the only reference becomes a foreign key as well, or is one no more.
  public var references = 0
  /// A table is dropped, and made anew without its rows: at once, or later.
  public var recreatedTables = 0
  /// A table is not synchronized for a while, and apps go on writing to it.
  public var untrackedTables = 0
  /// One node in that many has rows of its own before its tables are tracked.
  public var olderCopies = 0

  // MARK: Assets

  /// Of the writes, one in that many has a long BLOB in a row that hangs on another; the same are in several rows.
  public var photos = 0
  /// A node has a table's assets fetched always, or when somebody asks.
  public var assetPolicies = 0
  /// Somebody asks for an asset that a row lacks.
  public var assetFetches = 0
  /// Somebody has an asset evicted.
  public var assetEvictions = 0

  // MARK: Accounts and shares

  /// The nodes are shared out among so many accounts; liars are an account of their own, where there is more than one.
  public var accounts = 1
  /// The owner makes a share of a record, or asks somebody in; each step, one in so many.
  public var shareCreates = 0
  public var shareInvites = 0
  public var shareUninvites = 0
  public var sharePermissions = 0
  /// A permission that is changed several times in a row.
  public var shareFlaps = 0
  public var shareRemovals = 0
  public var shareLeaves = 0
  public var shareStops = 0
  /// Apps delete the root record of a share, or write to one that is read-only with the triggers taken away.
  public var rootDeletes = 0
  public var bypasses = 0
  /// Of the nodes, one in that many keeps a copy of shares that end for it.
  public var keptCopies = 0

  // MARK: Liars

  /// Nodes, the last ones, whose sessions carry lies beside what an honest replica sends; each step, one in so many.
  public var liars = 0
  public var forgeries = 0
  public var truncations = 0
  public var forks = 0
  public var replays = 0
  public var gaps = 0
  public var brokenChains = 0
  public var farFutures = 0
  /// Of the chunks of assets that its replica gives, one in that many.
  public var wrongChunks = 0
  public var generations = 0
  public var floods = 0
  /// Causal pasts that nobody has, or that name their own author.
  public var contexts = 0
  /// Heads of others' logs that nobody has signed.
  public var forgedHeads = 0
  /// Names of tables that nobody has.
  public var unknownTables = 0
  /// Devices that its account certifies by the dozen, where that is its own, and instances: with what they write.
  public var crowds = 0
  /// Control records, change sets and accounts of others, passed on in another order, several times, or for another zone.
  public var relays = 0
  /// Descriptions of tables that are reserved, private, contradictory or wide.
  public var hostileSchemas = 0
  /// The time, told to devices of other accounts: a device of the own account has a vote.
  public var clockLies = 0
  /// In shares: change sets beyond permission, control records that are not its to say, change sets under an old epoch, keys
  /// given to strangers, change sets and control records of devices that were revoked.
  public var overreaches = 0
  public var controlForgeries = 0
  public var oldEpochs = 0
  public var keyLeaks = 0
  public var revokedWrites = 0

  public init() {}
}
