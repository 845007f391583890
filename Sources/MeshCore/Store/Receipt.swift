/// A local write that its zone did not accept. The write was rolled back, and the receipt keeps it.
package struct Receipt: Hashable, Sendable {
  /// The reason why the zone did not accept the write. The numbers are those in the database.
  package enum Reason: Int64, Sendable {
    /// This device may not write there, but the triggers had let the write pass.
    case notPermitted = 1
    /// The permission was revoked, or the share ended for this account, before the write arrived there.
    case cut = 2
  }

  /// The share that did not accept the write.
  package var zone: ZoneID
  /// The table and the key of the row.
  package var record: RecordName
  /// The values of the row, or nil if the record was deleted.
  package var values: [String: Value]?
  /// The reason why the share did not accept it.
  package var reason: Reason
  /// When this device noted the write, in milliseconds since 1970.
  package var noted: Int64

  package init(zone: ZoneID, record: RecordName, values: [String: Value]?, reason: Reason, noted: Int64) {
    self.zone = zone
    self.record = record
    self.values = values
    self.reason = reason
    self.noted = noted
  }
}
