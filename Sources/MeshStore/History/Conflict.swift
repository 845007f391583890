package import MeshCore

/// A value that lost against a write whose author had not seen it.
package struct Conflict: Hashable, Sendable {
  /// The number by which the value can be restored.
  package var id: Int64
  package var zone: ZoneID
  package var table: String
  package var key: Value
  /// The column, or nil if the lost write is the delete of the record.
  package var column: String?
  package var loserValue: Value
  package var loser: Stamp
  /// The column's current value, or NULL if the record is deleted.
  package var winnerValue: Value
  /// True if the winning write deleted the record.
  package var isWinnerDelete: Bool
  /// True if the record's birth was reverted, so that no record is kept. Nobody wrote that, and `winner` is the loser's
  /// stamp.
  package var isReverted: Bool
  /// The stamp of the column's current value, or of the birth or delete that won.
  package var winner: Stamp
  /// The stamp of the write to which the value lost, if that is known. A later write may have replaced that one since.
  package var beatenBy: Stamp?
  /// Whether this file or the node's home has the bytes of a lost BLOB. Nil for any other value.
  package var hasBytes: Bool?
  /// True if the losing value was in this file and the winning one arrived.
  package var wasLocal: Bool
  /// The time at which the conflict was noticed here, in milliseconds since 1970.
  package var found: Int64
  /// Whether somebody dismissed it or restored it on this machine.
  package var isDismissed: Bool
}
