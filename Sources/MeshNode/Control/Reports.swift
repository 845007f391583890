public import FoundationEssentials

// What a node says of itself. Each is one JSON object, the same from `--json` as from the control socket: numbers are
// numbers, times ISO 8601 in UTC, ids the displayed texts that the verbs accept, and what is not known is `null`.

/// The state of a node; `mesh status`.
public struct StatusReport: Codable, Hashable, Sendable {
  /// True when the daemon accepts connections from peers.
  public var running: Bool
  public var account: String
  public var accountName: String
  public var device: String
  public var deviceName: String
  /// The writing life of this device in its private zone; null before the first zone is open.
  @OrNull public var instance: String?
  /// Absolute path of the SQLite file.
  public var database: String
  /// The address listened on, with the port the system chose; null while no daemon runs.
  @OrNull public var listen: String?
  /// The tables that are tracked.
  public var tables: [String]
  /// Rows captured and not yet flushed into change sets.
  public var pending: Int
  /// Reason to number of records (or of change sets) that are kept and not shown.
  public var held: [String: Int]
  /// What goes on slice by slice, as after a migration; empty nearly always.
  public var work: [WorkReport]
  /// Share to number of writes that were made here and that it did not take; `mesh share receipt`.
  public var receipts: [String: Int]
  /// Share to the reason why it is over for this account: its rows are gone, unless a copy was kept.
  public var ended: [String: String]
  /// What this node lacks of long BLOBs.
  public var assets: LackingAssets
  /// Those of them that it fetches.
  public var fetching: FetchingAssets
  /// Bounds of which an account has used half or more; empty nearly always.
  public var quotas: [QuotaReport]
  /// What a person should look into, each with its way out; empty when all is well.
  public var alarms: [String]
  public var zones: [ZoneReport]
  public var peers: [PeerReport]

  public init(
    running: Bool, account: String, accountName: String, device: String, deviceName: String, instance: String?,
    database: String, listen: String?, tables: [String] = [], pending: Int, held: [String: Int],
    work: [WorkReport] = [], receipts: [String: Int] = [:], ended: [String: String] = [:],
    assets: LackingAssets = LackingAssets(), fetching: FetchingAssets = FetchingAssets(),
    quotas: [QuotaReport] = [], alarms: [String] = [],
    zones: [ZoneReport], peers: [PeerReport]
  ) {
    self.running = running
    self.account = account
    self.accountName = accountName
    self.device = device
    self.deviceName = deviceName
    self.instance = instance
    self.database = database
    self.listen = listen
    self.tables = tables
    self.pending = pending
    self.held = held
    self.work = work
    self.receipts = receipts
    self.ended = ended
    self.assets = assets
    self.fetching = fetching
    self.quotas = quotas
    self.alarms = alarms
    self.zones = zones
    self.peers = peers
  }
}

/// Work on many rows, in bounded slices beside all else.
public struct WorkReport: Codable, Hashable, Sendable {
  /// `take-in` and `compare` (rows of a table), `recall` (values of a table, from the change log), `show` (what is held or shown in
  /// part is put into tables and columns that have come).
  public var task: String
  /// Null where it is about all tables.
  @OrNull public var table: String?
  /// Rows, change sets or records that are dealt with, and all of them as far as is known.
  public var done: Int
  public var total: Int

  public init(task: String, table: String?, done: Int, total: Int) {
    self.task = task
    self.table = table
    self.done = done
    self.total = total
  }
}

public enum ZoneRole: String, Codable, Sendable {
  case owner
  case readWrite = "read-write"
  case readOnly = "read-only"
}

public struct ZoneReport: Codable, Hashable, Sendable {
  public var id: String
  public var name: String
  /// The account it belongs to.
  public var owner: String
  public var role: ZoneRole
  /// Live records.
  public var records: Int
  /// Author to the highest contiguous sequence number merged here.
  public var vector: [String: UInt64]
  /// Of the live records, in hexadecimal; equal where vectors are equal.
  public var digest: String

  public init(
    id: String, name: String, owner: String, role: ZoneRole, records: Int, vector: [String: UInt64], digest: String
  ) {
    self.id = id
    self.name = name
    self.owner = owner
    self.role = role
    self.records = records
    self.vector = vector
    self.digest = digest
  }
}

public struct ZonesReport: Codable, Hashable, Sendable {
  public var zones: [ZoneReport]
  public init(zones: [ZoneReport]) { self.zones = zones }
}

/// Another device, connected or only known.
public struct PeerReport: Codable, Hashable, Sendable {
  /// Null for a configured address where nobody has answered yet.
  @OrNull public var device: String?
  @OrNull public var account: String?
  /// The device's own name for itself.
  @OrNull public var name: String?
  @OrNull public var address: String?
  public var connected: Bool
  public var behind: Behind
  /// What it lacks of long BLOBs in the zones in common; null where it has not said so in this session.
  @OrNull public var assets: LackingAssets?
  /// Why the last connection ended or did not begin; null when there was no trouble.
  @OrNull public var lastError: String?

  /// Change sets.
  public struct Behind: Codable, Hashable, Sendable {
    /// That the peer has and this node lacks.
    public var here: Int
    /// That this node has and the peer lacks.
    public var there: Int

    public init(here: Int, there: Int) {
      self.here = here
      self.there = there
    }
  }

  public init(
    device: String?, account: String?, name: String?, address: String?, connected: Bool, behind: Behind,
    assets: LackingAssets? = nil, lastError: String?
  ) {
    self.device = device
    self.account = account
    self.name = name
    self.address = address
    self.connected = connected
    self.behind = behind
    self.assets = assets
    self.lastError = lastError
  }
}

public struct PeersReport: Codable, Hashable, Sendable {
  public var peers: [PeerReport]
  public init(peers: [PeerReport]) { self.peers = peers }
}

/// One column of one record that two devices wrote without having seen each other's value.
public struct ConflictReport: Codable, Hashable, Sendable {
  /// By which `mesh restore` puts the loser back.
  public var id: Int64
  public var zone: String
  public var table: String
  public var key: ReportedValue
  /// Null where what lost is the delete of the record.
  @OrNull public var column: String?
  /// What is in the table now, or was when the conflict was found.
  public var winner: Side
  public var loser: Side
  /// When this node found the conflict.
  public var found: Date

  public struct Side: Codable, Hashable, Sendable {
    public var value: ReportedValue
    /// It is the delete of the record, and no value.
    public var deleted: Bool
    public var device: String
    @OrNull public var deviceName: String?
    /// By the writer's clock; null of an import of the first versions.
    @OrNull public var written: Date?
    /// Nobody edited it: it was there before the table was tracked, or a migration filled it in. `written` is when it was noted.
    public var imported: Bool

    public init(
      value: ReportedValue, deleted: Bool = false, device: String, deviceName: String?, written: Date?,
      imported: Bool = false
    ) {
      self.value = value
      self.deleted = deleted
      self.device = device
      self.deviceName = deviceName
      self.written = written
      self.imported = imported
    }
  }

  public init(
    id: Int64, zone: String, table: String, key: ReportedValue, column: String?, winner: Side, loser: Side, found: Date
  ) {
    self.id = id
    self.zone = zone
    self.table = table
    self.key = key
    self.column = column
    self.winner = winner
    self.loser = loser
    self.found = found
  }
}

public struct ConflictsReport: Codable, Hashable, Sendable {
  public var conflicts: [ConflictReport]
  /// How many fit what was asked for, on this page or not.
  public var total: Int
  /// `after` of the next page; null on the last.
  @OrNull public var next: Int64?

  public init(conflicts: [ConflictReport], total: Int, next: Int64? = nil) {
    self.conflicts = conflicts
    self.total = total
    self.next = next
  }
}

/// Which conflicts are asked for; all where nothing is said.
public struct ConflictsRequest: Codable, Hashable, Sendable {
  public var table: String?
  public var zone: String?
  /// That wrote the value which lost, or the one that won.
  public var device: String?
  /// Found at this time or later.
  public var since: Date?
  /// The number of the last conflict of the page before.
  public var after: Int64?
  /// At most `pageSize`.
  public var limit: Int?

  /// Conflicts in one answer: they are read at once, and values may be long.
  public static let pageSize = 1_000

  public init(
    table: String? = nil, zone: String? = nil, device: String? = nil, since: Date? = nil, after: Int64? = nil,
    limit: Int? = nil
  ) {
    (self.table, self.zone, self.device, self.since) = (table, zone, device, since)
    (self.after, self.limit) = (after, limit)
  }
}
