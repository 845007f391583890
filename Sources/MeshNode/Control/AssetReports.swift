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
