/// The reason why a record can't be shared.
package enum ShareObstacle: Hashable, Sendable {
  /// This file doesn't synchronize the table.
  case notSynchronized(table: String)
  /// The table was tracked with `--private`, so its records never leave the account.
  case isPrivate(table: String)
  /// The record's table references others. Share the record that it references instead.
  case notRoot(table: String, foreignKeys: [String])
  /// The table has no live record with that key.
  case noRecord(RecordName)
  /// The record belongs to another share already.
  case alreadyShared(RecordName, in: ZoneID)
}
