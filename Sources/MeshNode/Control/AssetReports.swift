public import FoundationEssentials

/// What a device lacks of the BLOBs of more than 16 KiB that records have.
public struct LackingAssets: Codable, Hashable, Sendable {
  public struct Amount: Codable, Hashable, Sendable {
    public var assets: Int
    /// Of them those that are lacking.
    public var bytes: Int

    public init(assets: Int = 0, bytes: Int = 0) {
      self.assets = assets
      self.bytes = bytes
    }
  }

  /// It fetches them, and somebody it is connected to may have them.
  public var coming: Amount
  /// It does not: they are fetched on demand, of records that are held, or had by nobody it is connected to.
  public var absent: Amount

  public init(coming: Amount = Amount(), absent: Amount = Amount()) {
    self.coming = coming
    self.absent = absent
  }

  public static func += (left: inout LackingAssets, right: LackingAssets) {
    left.coming.assets += right.coming.assets
    left.coming.bytes += right.coming.bytes
    left.absent.assets += right.absent.assets
    left.absent.bytes += right.absent.bytes
  }
}

/// The BLOBs of more than 16 KiB that this node fetches.
public struct FetchingAssets: Codable, Hashable, Sendable {
  /// Those that come, and their bytes: all, and those that are here.
  public var assets: Int
  public var size: Int
  public var here: Int
  /// Devices that give some now.
  public var sources: [AssetsReport.Device]
  /// Those that don't come, by why.
  public var stuck: [Stuck]

  public struct Stuck: Codable, Hashable, Sendable {
    /// `stuck` or `absent`.
    public var state: AssetsReport.State
    public var reason: String
    public var assets: Int
    /// Of all of them.
    public var size: Int

    public init(state: AssetsReport.State, reason: String, assets: Int = 0, size: Int = 0) {
      self.state = state
      self.reason = reason
      self.assets = assets
      self.size = size
    }
  }

  public init(
    assets: Int = 0, size: Int = 0, here: Int = 0, sources: [AssetsReport.Device] = [], stuck: [Stuck] = []
  ) {
    self.assets = assets
    self.size = size
    self.here = here
    self.sources = sources
    self.stuck = stuck
  }
}

/// `GET /v1/assets`: the BLOBs of more than 16 KiB that rows wait for.
public struct AssetsReport: Codable, Hashable, Sendable {
  /// The shortest first: so they are fetched.
  public var waiting: [Item]
  /// All are listed.
  public var complete: Bool
  /// Bytes of assets that came since the daemon began.
  public var received: Int
  /// Bytes of assets in a second, over the last seconds.
  public var speed: Int

  public init(waiting: [Item], complete: Bool, received: Int, speed: Int = 0) {
    self.waiting = waiting
    self.complete = complete
    self.received = received
    self.speed = speed
  }

  public enum State: String, Codable, Sendable {
    /// In its row.
    case here
    /// It is fetched.
    case coming
    /// It is fetched, and nobody who is connected has more of it than is here.
    case absent
    /// Its table's BLOBs are fetched when they are asked for.
    case onDemand = "on-demand"
    /// It was taken out of its row.
    case evicted
    /// Its record is held.
    case held
    /// It can't be kept now.
    case stuck
  }

  public struct Device: Codable, Hashable, Sendable {
    public var device: String
    @OrNull public var name: String?

    public init(device: String, name: String?) {
      self.device = device
      self.name = name
    }
  }

  public struct Source: Codable, Hashable, Sendable {
    public var device: String
    @OrNull public var name: String?
    public var left: Date

    public init(device: String, name: String?, left: Date) {
      self.device = device
      self.name = name
      self.left = left
    }
  }

  public struct Item: Codable, Hashable, Sendable {
    public var asset: String
    /// In bytes.
    public var size: Int
    /// Bytes of it that are here.
    public var here: Int
    public var zone: String
    public var table: String
    public var key: ReportedValue
    public var column: String
    public var state: State
    /// Why it is not fetched or kept now; null where it is, as soon as a member has it.
    @OrNull public var reason: String?
    /// Devices that give it now.
    public var sources: [Device]
    /// Bytes in a second, over the last seconds.
    public var speed: Int
    /// At that speed; null where nothing comes.
    @OrNull public var secondsLeft: Double?
    /// Who wrote it into the record.
    @OrNull public var writtenBy: Device?
    /// Who had something of it when it left, before it was complete here.
    @OrNull public var lastSource: Source?

    public init(
      asset: String, size: Int, here: Int, zone: String, table: String, key: ReportedValue, column: String,
      state: State, reason: String? = nil, sources: [Device] = [], speed: Int = 0, secondsLeft: Double? = nil,
      writtenBy: Device? = nil, lastSource: Source? = nil
    ) {
      self.asset = asset
      self.size = size
      self.here = here
      self.zone = zone
      self.table = table
      self.key = key
      self.column = column
      self.state = state
      self.reason = reason
      self.sources = sources
      self.speed = speed
      self.secondsLeft = secondsLeft
      self.writtenBy = writtenBy
      self.lastSource = lastSource
    }
  }
}

/// The BLOBs of one record, or those that a table's rows wait for; `mesh asset show`, `fetch` and `evict`.
public struct AssetReport: Codable, Hashable, Sendable {
  public var assets: [AssetsReport.Item]
  /// All are listed.
  public var complete: Bool

  public init(assets: [AssetsReport.Item], complete: Bool = true) {
    self.assets = assets
    self.complete = complete
  }
}

/// Which tables' BLOBs are fetched when; a setting of this node. `mesh asset policy`.
public struct AssetPoliciesReport: Codable, Hashable, Sendable {
  public enum Policy: String, Codable, Sendable, CaseIterable {
    /// As soon as they are known.
    case always
    /// When somebody asks for them.
    case onDemand = "on-demand"
  }

  /// Of every table that is tracked.
  public var policies: [String: Policy]
  public init(policies: [String: Policy]) { self.policies = policies }
}
