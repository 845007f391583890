/// Why a record cannot be shared.
public enum ShareObstacle: Hashable, Sendable {
  case notSynchronized(table: String)
  case isPrivate(table: String)
  /// Its table refers to others: share what it refers to.
  case notRoot(table: String, foreignKeys: [String])
  case noRecord(RecordName)
  case alreadyShared(RecordName, in: ZoneID)
}
