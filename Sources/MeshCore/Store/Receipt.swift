/// A local write that its zone did not take: it was rolled back, and is kept here.
public struct Receipt: Hashable, Sendable {
  public enum Reason: Int64, Sendable {
    /// This device may not write there, and the write had passed the triggers.
    case notPermitted = 1
    /// It was sent, and the permission had been taken back before.
    case cut = 2
    /// The share ended for this account before anybody had it who goes on with the share.
    case undelivered = 3
  }

  public var zone: ZoneID
  public var record: RecordName
  /// Nil: the record was deleted.
  public var values: [String: Value]?
  public var reason: Reason
  /// Milliseconds since 1970.
  public var noted: Int64

  public init(zone: ZoneID, record: RecordName, values: [String: Value]?, reason: Reason, noted: Int64) {
    self.zone = zone
    self.record = record
    self.values = values
    self.reason = reason
    self.noted = noted
  }
}
