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

extension Transaction {
  /// Returns the conflict with the names of its table and column, and without the winner's value.
  func conflict(_ entry: ConflictTable.Entry) throws -> Conflict {
    let loser = try stamp(entry.loser)
    return Conflict(
      id: entry.id, zone: entry.zone, table: try catalog.tableName(entry.ref.table), key: entry.ref.key,
      column: entry.column == ZoneRecords.wholeRecord ? nil : try catalog.displayedName(entry.column),
      loserValue: entry.value, loser: loser, winnerValue: .null, isWinnerDelete: false,
      winner: try entry.winner.map(stamp) ?? loser, hasBytes: nil, wasLocal: entry.wasLocal, found: entry.noted)
  }

  func stamp(_ stamp: LocalStamp) throws -> Stamp {
    Stamp(time: stamp.time, author: try catalog.author(stamp.author))
  }

  func isAlive(_ ref: RecordRef, _ zone: ZoneID) throws -> Bool {
    guard let row = try zoneRows.read(zone) else { return false }
    return try ZoneRecords(self, zone: row).load(ref)?.isAlive ?? false
  }

  /// Returns a column's merged value.
  func value(_ ref: RecordRef, _ column: Int64, _ zone: ZoneID) throws -> Value {
    guard let row = try zoneRows.read(zone) else { return .null }
    let records = ZoneRecords(self, zone: row)
    return try records.load(ref).map { try records.values(ref, $0)[column] ?? .null } ?? .null
  }
}
