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

extension Session {
  /// Returns the conflict in a row of zone, table, key, column, value, loser (author, time), winner (author, time),
  /// local, noted, id.
  func conflict(_ row: Statement) throws -> Conflict? {
    guard let zone = ZoneID(row.bytes(0)) else { return nil }
    let loser = Stamp(time: HybridTime(row.bits(6)), author: try catalog.author(row.integer(5)))
    let winner = try row.optional(7).map { Stamp(time: HybridTime(row.bits(8)), author: try catalog.author($0)) }
    let column = row.integer(3)
    return Conflict(
      id: row.integer(11), zone: zone, table: try catalog.tableName(row.integer(1)), key: row.value(2),
      column: column == ZoneRecords.wholeRecord ? nil : try catalog.displayedName(column),
      loserValue: try ExtraValues.decodeValue(row.bytes(4)),
      loser: loser, winnerValue: .null, isWinnerDelete: false, winner: winner ?? loser, hasBytes: nil,
      wasLocal: row.integer(9) == 1,
      found: row.integer(10))
  }

  func isAlive(_ ref: RecordRef, _ zone: ZoneID) throws -> Bool {
    guard let row = try ZoneRow.read(zone, sql) else { return false }
    return try ZoneRecords(self, zone: row).load(ref)?.isAlive ?? false
  }

  /// Returns a column's merged value.
  func value(_ ref: RecordRef, _ column: Int64, _ zone: ZoneID) throws -> Value {
    guard let row = try ZoneRow.read(zone, sql) else { return .null }
    let records = ZoneRecords(self, zone: row)
    return try records.load(ref).map { try records.values(ref, $0)[column] ?? .null } ?? .null
  }
}
