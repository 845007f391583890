/// A local write that its zone did not take: it was rolled back, and is kept here.
public struct Receipt: Hashable, Sendable {
  public enum Reason: Int64, Sendable {
    /// This device may not write there, and the write had passed the triggers.
    case notPermitted = 1
    /// The permission was taken back, or the share had ended for this account, before it was there.
    case cut = 2
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
