public import MeshCore

/// A value that lost against a write whose author had not seen it.
public struct Conflict: Hashable, Sendable {
  /// The number by which the value can be restored.
  public var id: Int64
  public var zone: ZoneID
  public var table: String
  public var key: Value
  /// The column, or nil if the lost write is the delete of the record.
  public var column: String?
  public var loserValue: Value
  public var loser: Stamp
  /// The column's current value, or NULL if the record is deleted.
  public var winnerValue: Value
  /// True if the winning write deleted the record.
  public var isWinnerDelete: Bool
  /// The stamp of the column's current value, or of the birth or delete that won.
  public var winner: Stamp
  /// Whether this file or the node's home has the bytes of a lost BLOB. Nil for any other value.
  public var hasBytes: Bool?
  /// True if the losing value was in this file and the winning one arrived.
  public var wasLocal: Bool
  /// The time at which the conflict was noticed here, in milliseconds since 1970.
  public var found: Int64
}
