import MeshCore

/// The change sets of a unit that are pieces of long values. Each is decrypted once for this index, for any number of
/// parts of the unit that ask. It is used inside one access at a time, by one caller.
final class PieceIndex {
  /// A unit, identified by the number of its first part.
  struct Unit: Hashable {
    let zone: Int64
    let author: Int64
    let first: UInt64
  }

  /// The number of units that are kept: those of a few authors whose parts come in turn.
  private static let units = 16

  private struct Entry {
    var numbers: [UInt64: [UInt64]] = [:]
    var next: UInt64
    /// The change set before `next`. It names the one before it, so while it is the same, all indexed change sets are
    /// the same.
    var last: ChangeSetID?
  }

  private var entries: [Unit: Entry] = [:]

  /// Returns the numbers of a value's pieces below `end`, ascending.
  ///
  /// - Parameter read: Returns the piece in a change set, or nil if the change set is not a piece.
  func pieces(
    _ ordinal: UInt64, of unit: Unit, below end: UInt64, _ sql: Connection,
    read: (UInt64) throws -> LongValuePiece?
  ) throws -> [UInt64] {
    var entry = entries[unit] ?? Entry(next: unit.first)
    if entry.next > unit.first, try id(entry.next - 1, unit, sql) != entry.last { entry = Entry(next: unit.first) }
    if entry.next < end {
      while entry.next < end {
        if let piece = try read(entry.next) { entry.numbers[piece.ordinal, default: []].append(entry.next) }
        entry.next += 1
      }
      entry.last = try id(entry.next - 1, unit, sql)
      if entries.count >= Self.units, entries[unit] == nil { entries = [:] }
      entries[unit] = entry
    }
    return (entry.numbers[ordinal] ?? []).filter { $0 < end }
  }

  private func id(_ number: UInt64, _ unit: Unit, _ sql: Connection) throws -> ChangeSetID? {
    try LogTable(sql: sql).id(number, of: unit.author, in: unit.zone)
  }
}
