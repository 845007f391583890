public import FoundationEssentials

// BLOBs of more than 16 KiB, which travel beside the change sets and are called assets here.

/// Asks for the BLOBs of more than 16 KiB that rows wait for. `mesh asset list`.
public struct AssetsRequest: ControlRequest {
  public static let route = ControlRoute<AssetsReport>.get("/v1/assets")

  /// Creates the request.
  public init() {}
}

/// The BLOBs of more than 16 KiB that rows wait for.
public struct AssetsReport: Codable, Hashable, Sendable {
  /// The BLOBs, the shortest first, as the node downloads them; 1,000 at most.
  public var waiting: [Item]
  /// Whether `waiting` lists all of them.
  public var complete: Bool
  /// The bytes that have come since the daemon began.
  public var received: Int
  /// The bytes per second, over the last seconds.
  public var speed: Int

  package init(waiting: [Item], complete: Bool, received: Int, speed: Int = 0) {
    (self.waiting, self.complete, self.received, self.speed) = (waiting, complete, received, speed)
  }

  /// The state of a BLOB.
  public enum State: String, Codable, Sendable {
    /// The BLOB is in its row.
    case here
    /// The node downloads it.
    case coming
    /// The node wants to download it, and no connected device has more of it than this one.
    case absent
    /// The node downloads the table's BLOBs only when you ask for them.
    case onDemand = "on-demand"
    /// The BLOB was evicted from its row.
    case evicted
    /// The BLOB's record is held.
    case held
    /// The node can't keep it now.
    case stuck
  }

  /// A device that is named in a report of BLOBs.
  public struct Device: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var name: String?

    package init(device: String, name: String?) { (self.device, self.name) = (device, name) }
  }

  /// A device that had part of a BLOB when it left.
  public struct Source: Codable, Hashable, Sendable {
    /// The id of the device.
    public var device: String
    /// The name of the device, if it is known.
    @OrNull public var name: String?
    /// When the session with the device ended.
    public var left: Date

    package init(device: String, name: String?, left: Date) {
      (self.device, self.name, self.left) = (device, name, left)
    }
  }

  /// One BLOB in one column of one record.
  public struct Item: Codable, Hashable, Sendable {
    /// The id of the BLOB.
    public var asset: String
    /// Its length in bytes.
    public var size: Int
    /// How many of its bytes are here.
    public var here: Int
    /// The id of the record's zone.
    public var zone: String
    /// The table of the record.
    public var table: String
    /// The key of the record.
    public var key: ReportedValue
    /// The column.
    public var column: String
    /// The state of the BLOB.
    public var state: State
    /// Why the node doesn't download or keep it now. It is nil if the node does.
    @OrNull public var reason: String?
    /// The devices that send it now.
    public var sources: [Device]
    /// The bytes per second, over the last seconds.
    public var speed: Int
    /// How long the download takes at that speed. It is nil if nothing comes.
    @OrNull public var secondsLeft: Double?
    /// The device that wrote it into the record, if it is known.
    @OrNull public var writtenBy: Device?
    /// The device that had part of it when it left, before the BLOB was complete here.
    @OrNull public var lastSource: Source?

    package init(
      asset: String, size: Int, here: Int, zone: String, table: String, key: ReportedValue, column: String,
      state: State, reason: String? = nil, sources: [Device] = [], speed: Int = 0, secondsLeft: Double? = nil,
      writtenBy: Device? = nil, lastSource: Source? = nil
    ) {
      (self.asset, self.size, self.here, self.zone, self.table) = (asset, size, here, zone, table)
      (self.key, self.column, self.state, self.reason, self.sources) = (key, column, state, reason, sources)
      (self.speed, self.secondsLeft, self.writtenBy, self.lastSource) = (speed, secondsLeft, writtenBy, lastSource)
    }
  }
}

/// Asks for the BLOBs of a record, or those that a table's rows wait for. `mesh asset show`.
public struct AssetShowRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<AssetReport>.post("/v1/assets/show")

  /// The table.
  public var table: String
  /// The key of the record, written as on the command line. Nil stands for all BLOBs that rows of the table wait for.
  public var key: String?
  /// The column. Nil stands for every column with a long BLOB.
  public var column: String?

  /// Creates the request.
  public init(table: String, key: String?, column: String? = nil) {
    (self.table, self.key, self.column) = (table, key, column)
  }
}

/// Has the node download BLOBs, whatever their table's policy, and returns their state at once. `mesh asset fetch`.
public struct AssetFetchRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<AssetReport>.post("/v1/assets/fetch")

  /// The table.
  public var table: String
  /// The key of the record, written as on the command line. Nil stands for all BLOBs that rows of the table wait for.
  public var key: String?
  /// The column. Nil stands for every column with a long BLOB.
  public var column: String?

  /// Creates the request.
  public init(table: String, key: String?, column: String? = nil) {
    (self.table, self.key, self.column) = (table, key, column)
  }
}

/// Removes the BLOBs of a record from this file. `mesh asset evict`.
///
/// The node refuses if no connected device has the whole BLOB, unless you force it.
public struct AssetEvictRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<AssetReport>.post("/v1/assets/evict")

  /// The table.
  public var table: String
  /// The key of the record, written as on the command line.
  public var key: String?
  /// The column. Nil stands for every column with a long BLOB.
  public var column: String?
  /// Whether to evict the BLOBs even if no other device is known to have them.
  public var force: Bool?

  /// Creates the request.
  public init(table: String, key: String, column: String? = nil, force: Bool = false) {
    (self.table, self.key, self.column, self.force) = (table, key, column, force)
  }

  /// An hour: the node may look through all rows of a table.
  public var timeLimit: Duration { .longWork }
}

/// The BLOBs of one record, or those that a table's rows wait for.
public struct AssetReport: Codable, Hashable, Sendable {
  /// The BLOBs, 1,000 at most.
  public var assets: [AssetsReport.Item]
  /// Whether `assets` lists all of them.
  public var complete: Bool

  package init(assets: [AssetsReport.Item], complete: Bool = true) { (self.assets, self.complete) = (assets, complete) }
}

/// Asks which tables' BLOBs this node downloads. `mesh asset policy`.
public struct AssetPoliciesRequest: ControlRequest {
  public static let route = ControlRoute<AssetPoliciesReport>.get("/v1/assets/policy")

  /// Creates the request.
  public init() {}
}

/// Sets whether this node downloads a table's BLOBs. `mesh asset policy TABLE POLICY`.
public struct AssetPolicyRequest: ControlRequest, Hashable {
  public static let route = ControlRoute<AssetPoliciesReport>.post("/v1/assets/policy")

  /// The table.
  public var table: String
  /// Whether to download the BLOBs as soon as they are known, or on demand.
  public var policy: AssetPoliciesReport.Policy

  /// Creates the request.
  public init(table: String, policy: AssetPoliciesReport.Policy) { (self.table, self.policy) = (table, policy) }
}

/// Which tables' BLOBs this node downloads, and when.
public struct AssetPoliciesReport: Codable, Hashable, Sendable {
  /// When a node downloads BLOBs.
  public enum Policy: String, Codable, Sendable, CaseIterable {
    /// The node downloads them as soon as it knows them.
    case always
    /// The node downloads them when you ask for them.
    case onDemand = "on-demand"
  }

  /// The policy of every table that is synchronized.
  public var policies: [String: Policy]

  package init(policies: [String: Policy]) { self.policies = policies }
}

/// The BLOBs of more than 16 KiB that records have and a device is missing.
public struct LackingAssets: Codable, Hashable, Sendable {
  /// A number of BLOBs and their bytes.
  public struct Amount: Codable, Hashable, Sendable {
    /// The number of BLOBs.
    public var assets: Int
    /// The bytes of them that are missing.
    public var bytes: Int

    package init(assets: Int = 0, bytes: Int = 0) { (self.assets, self.bytes) = (assets, bytes) }
  }

  /// BLOBs that the device downloads, and that a device connected to it may have.
  public var coming: Amount
  /// The others: they are on demand or evicted, their records are held, or no device connected to it has them.
  public var absent: Amount

  package init(coming: Amount = Amount(), absent: Amount = Amount()) { (self.coming, self.absent) = (coming, absent) }

  /// Adds the numbers and the bytes of another device or zone.
  package static func += (left: inout LackingAssets, right: LackingAssets) {
    left.coming.assets += right.coming.assets
    left.coming.bytes += right.coming.bytes
    left.absent.assets += right.absent.assets
    left.absent.bytes += right.absent.bytes
  }
}

/// The BLOBs of more than 16 KiB that this node downloads.
public struct FetchingAssets: Codable, Hashable, Sendable {
  /// The number of BLOBs that the node downloads and may get.
  public var assets: Int
  /// The size of these BLOBs together, in bytes.
  public var size: Int
  /// The bytes of these BLOBs that have arrived.
  public var here: Int
  /// The devices that send parts of them now.
  public var sources: [AssetsReport.Device]
  /// The BLOBs that the node can't get or store now, by reason.
  public var stuck: [Stuck]

  /// BLOBs that the node can't get or store now, all for one reason.
  public struct Stuck: Codable, Hashable, Sendable {
    /// The state of the BLOBs: ``AssetsReport/State/stuck`` or ``AssetsReport/State/absent``.
    public var state: AssetsReport.State
    /// Why the node can't get or store them.
    public var reason: String
    /// The number of BLOBs.
    public var assets: Int
    /// The size of these BLOBs together, in bytes.
    public var size: Int

    package init(state: AssetsReport.State, reason: String, assets: Int = 0, size: Int = 0) {
      (self.state, self.reason, self.assets, self.size) = (state, reason, assets, size)
    }
  }

  package init(
    assets: Int = 0, size: Int = 0, here: Int = 0, sources: [AssetsReport.Device] = [], stuck: [Stuck] = []
  ) {
    (self.assets, self.size, self.here, self.sources, self.stuck) = (assets, size, here, sources, stuck)
  }
}
