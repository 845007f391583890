/// Where a node keeps what must never be in its database: keys, and the memory that a restored database lacks.
/// Writes are durable (fsynced) when a call returns.
public protocol Vault: AnyObject {
  /// Keys of a zone's epochs.
  func epochKeys(_ zone: ZoneID) throws -> [EpochID: EpochKey]
  /// Keeps more of them, all in one durable write; what is there stays.
  func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws
  /// The last change set this device signed in a zone, kept outside the database.
  func highWaterMark(_ zone: ZoneID) throws -> HighWaterMark?
  /// Number 0 where the instance has signed nothing yet.
  func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws
  /// Whether this home was copied from the place where it was last used: the device may be at work there as well.
  func isCopy() throws -> Bool
  /// This is the place from now on.
  func settle() throws
  /// Device links that this node printed and that are not over.
  func links() throws -> [IssuedLink]
  func saveLinks(_ links: [IssuedLink]) throws
}

/// Kept beside the keys after each commit and before sending: where the database is behind it, the file was restored or copied.
public struct HighWaterMark: Hashable, Sendable {
  public let instance: InstanceID
  public let number: UInt64
  public let id: ChangeSetID

  public init(instance: InstanceID, number: UInt64, id: ChangeSetID) {
    self.instance = instance
    self.number = number
    self.id = id
  }
}

/// A device link as its issuer remembers it: the secret itself is not kept.
public struct IssuedLink: Hashable, Sendable {
  public let publicHalf: [UInt8]
  /// Milliseconds since 1970.
  public let expires: Int64
  /// The one device that it let in. The same device may claim again and gets the same certificate.
  public var usedBy: DeviceID?

  public init(publicHalf: [UInt8], expires: Int64, usedBy: DeviceID? = nil) {
    self.publicHalf = publicHalf
    self.expires = expires
    self.usedBy = usedBy
  }
}
