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

/// `GET /v1/assets`: the BLOBs of more than 16 KiB that rows wait for.
public struct AssetsReport: Codable, Hashable, Sendable {
  /// The shortest first: so they are fetched.
  public var waiting: [Item]
  /// All are listed.
  public var complete: Bool
  /// Bytes of assets that came since the daemon began.
  public var received: Int

  public init(waiting: [Item], complete: Bool, received: Int) {
    self.waiting = waiting
    self.complete = complete
    self.received = received
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
    /// Why it is not fetched or kept now; null where it is, as soon as a member has it.
    @OrNull public var reason: String?

    public init(
      asset: String, size: Int, here: Int, zone: String, table: String, key: ReportedValue, column: String,
      reason: String?
    ) {
      self.asset = asset
      self.size = size
      self.here = here
      self.zone = zone
      self.table = table
      self.key = key
      self.column = column
      self.reason = reason
    }
  }
}
