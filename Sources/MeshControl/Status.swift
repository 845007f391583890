/// Asks for the state of the node. `mesh status`.
public struct StatusRequest: ControlRequest {
  public static let route = ControlRoute<StatusReport>.get("/v1/status")

  /// Creates the request.
  public init() {}
}

/// The state of a node.
public struct StatusReport: Codable, Hashable, Sendable {
  /// Whether the daemon accepts connections from other devices.
  public var running: Bool
  /// The id of the account.
  public var account: String
  /// The name of the account.
  public var accountName: String
  /// The id of this device.
  public var device: String
  /// The name of this device.
  public var deviceName: String
  /// The instance of this device in its private zone. It is nil before the first zone is open.
  @OrNull public var instance: String?
  /// The absolute path of the SQLite file.
  public var database: String
  /// The address that the node listens on, with the port that the system chose. It is nil while no daemon runs.
  @OrNull public var listen: String?
  /// The tables that are synchronized.
  public var tables: [String]
  /// The number of rows that are captured and not yet flushed into change sets.
  public var pending: Int
  /// The number of records and change sets that are kept and not shown, by reason.
  public var held: [String: Int]
  /// The work that the node does in slices, as after a migration. It is nearly always empty.
  public var work: [WorkReport]
  /// The number of writes that were made here and are not in their share, by the share's id.
  public var receipts: [String: Int]
  /// Why shares have ended for this account, by the share's id. Their rows are gone unless you kept a copy.
  public var ended: [String: String]
  /// The long BLOBs that this node is missing.
  public var assets: LackingAssets
  /// The long BLOBs that this node downloads.
  public var fetching: FetchingAssets
  /// The BLOBs that other devices overwrote or deleted, and whose bytes are here to be restored.
  public var keptBlobs: KeptBlobs
  /// The limits of which an account has used half or more. It is nearly always empty.
  public var quotas: [QuotaReport]
  /// Problems that you should look into, each with its way out. It is empty when all is well.
  public var alarms: [String]
  /// Events that you should know about and that are no fault of this node, such as restored files and refused change
  /// sets.
  public var warnings: [String]
  /// The zones of this node.
  public var zones: [ZoneReport]
  /// The other devices, connected or only known.
  public var peers: [PeerReport]

  package init(
    running: Bool, account: String, accountName: String, device: String, deviceName: String, instance: String?,
    database: String, listen: String?, tables: [String] = [], pending: Int, held: [String: Int],
    work: [WorkReport] = [], receipts: [String: Int] = [:], ended: [String: String] = [:],
    assets: LackingAssets = LackingAssets(), fetching: FetchingAssets = FetchingAssets(),
    keptBlobs: KeptBlobs = KeptBlobs(), quotas: [QuotaReport] = [], alarms: [String] = [],
    warnings: [String] = [], zones: [ZoneReport], peers: [PeerReport]
  ) {
    (self.running, self.account, self.accountName, self.device) = (running, account, accountName, device)
    (self.deviceName, self.instance, self.database, self.listen) = (deviceName, instance, database, listen)
    (self.tables, self.pending, self.held, self.work) = (tables, pending, held, work)
    (self.receipts, self.ended, self.assets, self.fetching) = (receipts, ended, assets, fetching)
    (self.keptBlobs, self.quotas, self.alarms, self.warnings) = (keptBlobs, quotas, alarms, warnings)
    (self.zones, self.peers) = (zones, peers)
  }
}

/// Overwritten and deleted BLOBs whose bytes a node keeps. `mesh restore` brings them back.
public struct KeptBlobs: Codable, Hashable, Sendable {
  /// How many bytes they have.
  public var bytes: Int
  /// How many bytes may stay: `keep-blobs` in `config.toml`.
  public var limit: Int

  package init(bytes: Int = 0, limit: Int = 0) { (self.bytes, self.limit) = (bytes, limit) }
}

/// Work on many rows, which the node does in slices beside everything else.
public struct WorkReport: Codable, Hashable, Sendable {
  /// A kind of work.
  public enum Kind: String, Codable, Sendable {
    /// The node takes in the rows of a table.
    case takeIn = "take-in"
    /// The node compares the rows of a table with what is merged.
    case compare
    /// The node reads the values of a table from the change log.
    case recall
    /// The node fills tables and columns that have come with records that were held or shown in part.
    case show
  }

  /// The kind of work.
  public var task: Kind
  /// The table, or nil if the work is about all tables.
  @OrNull public var table: String?
  /// The number of rows, change sets or records that are done.
  public var done: Int
  /// The number of all of them, as far as it is known.
  public var total: Int

  package init(task: Kind, table: String?, done: Int, total: Int) {
    (self.task, self.table, self.done, self.total) = (task, table, done, total)
  }
}

/// Asks for the zones of this node: the account's own, and shares. `mesh zones`.
public struct ZonesRequest: ControlRequest {
  public static let route = ControlRoute<ZonesReport>.get("/v1/zones")

  /// Creates the request.
  public init() {}
}

/// The zones of a node.
public struct ZonesReport: Codable, Hashable, Sendable {
  /// The zones.
  public var zones: [ZoneReport]

  package init(zones: [ZoneReport]) { self.zones = zones }
}

/// The role of an account in a zone.
public enum ZoneRole: String, Codable, Sendable {
  /// The zone belongs to the account.
  case owner
  /// The account may read and write.
  case readWrite = "read-write"
  /// The account may read.
  case readOnly = "read-only"
}

/// One zone, as this node knows it.
public struct ZoneReport: Codable, Hashable, Sendable {
  /// The id of the zone.
  public var id: String
  /// The name of the zone; of a share, its title.
  public var name: String
  /// The id of the account that the zone belongs to.
  public var owner: String
  /// The role of this account in the zone.
  public var role: ZoneRole
  /// The number of live records.
  public var records: Int
  /// The highest sequence number of each author up to which everything is merged here.
  public var vector: [String: UInt64]
  /// A digest of the live records, in hexadecimal. Devices with equal vectors have equal digests.
  public var digest: String

  package init(
    id: String, name: String, owner: String, role: ZoneRole, records: Int, vector: [String: UInt64], digest: String
  ) {
    (self.id, self.name, self.owner, self.role) = (id, name, owner, role)
    (self.records, self.vector, self.digest) = (records, vector, digest)
  }
}

/// Asks for the other devices and how far behind each is. `mesh peers`.
public struct PeersRequest: ControlRequest {
  public static let route = ControlRoute<PeersReport>.get("/v1/peers")

  /// Creates the request.
  public init() {}
}

/// The other devices that a node knows.
public struct PeersReport: Codable, Hashable, Sendable {
  /// The devices.
  public var peers: [PeerReport]

  package init(peers: [PeerReport]) { self.peers = peers }
}

/// Another device, connected or only known.
public struct PeerReport: Codable, Hashable, Sendable {
  /// The id of the device. It is nil for a configured address where no device has answered yet.
  @OrNull public var device: String?
  /// The id of the device's account, if it is known.
  @OrNull public var account: String?
  /// The device's name for itself.
  @OrNull public var name: String?
  /// The address at which this node dials the device, if it is known.
  @OrNull public var address: String?
  /// The far end of a connection that the device opened. Its port is temporary, so no node can dial it. It is nil without
  /// such a connection.
  @OrNull public var incoming: String?
  /// Whether a session with the device is open.
  public var connected: Bool
  /// How far each side is behind the other.
  public var behind: Behind
  /// The long BLOBs that the device is missing. It is nil until the device has reported them in this session.
  @OrNull public var assets: LackingAssets?
  /// Why the last connection ended or was not made. It is nil if there was no problem.
  @OrNull public var lastError: String?
  /// The zones that both take part in and of which the device has acknowledged something. It is nil if the node is of a version
  /// that doesn't say it.
  public var acknowledgedZones: [String]?

  /// Numbers of change sets.
  public struct Behind: Codable, Hashable, Sendable {
    /// Change sets that the other device has and this node is missing.
    public var here: Int
    /// Change sets that this node has and the other device is missing.
    public var there: Int

    /// The bound on each number. Other devices choose the numbers of their change sets. With this bound, sums over all
    /// devices and zones stay in range.
    private static let most: UInt64 = 1 << 40

    package init(here: Int, there: Int) { (self.here, self.there) = (here, there) }

    /// Creates the numbers from counts that other devices chose. Each is 2⁴⁰ at most, so that sums over devices and
    /// zones stay in range.
    package init(counted here: UInt64, there: UInt64) {
      self.init(here: Int(min(here, Self.most)), there: Int(min(there, Self.most)))
    }

    /// Adds the numbers of another zone.
    package static func += (left: inout Behind, right: Behind) {
      left.here += right.here
      left.there += right.there
    }
  }

  package init(
    device: String?, account: String?, name: String?, address: String?, incoming: String? = nil, connected: Bool,
    behind: Behind,
    assets: LackingAssets? = nil, lastError: String?, acknowledgedZones: [String]? = nil
  ) {
    (self.device, self.account, self.name, self.address) = (device, account, name, address)
    (self.connected, self.behind, self.assets, self.lastError) = (connected, behind, assets, lastError)
    (self.incoming, self.acknowledgedZones) = (incoming, acknowledgedZones)
  }
}
