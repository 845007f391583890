/// The reason why a record can't be shared.
package enum ShareObstacle: Hashable, Sendable {
  case notSynchronized(table: String)
  case isPrivate(table: String)
  /// The record's table references others. Share the record that it references instead.
  case notRoot(table: String, foreignKeys: [String])
  case noRecord(RecordName)
  case alreadyShared(RecordName, in: ZoneID)
}
