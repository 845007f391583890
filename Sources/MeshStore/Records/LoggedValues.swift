import MeshCore

/// Where in the log the values of taken-in tables were found last: their stamps have no time that would tell.
struct ImportPlaces {
  struct Line: Hashable {
    var table: Int64
    var zone: Int64
    var author: Int64
  }

  fileprivate var numbers: [Line: UInt64] = [:]
}

/// What is merged, of rows that say something else. A record keeps no values but in its row: which columns a program changed, the log
/// tells. Where it does not (values that came from another zone, or were written again), all count as changed.
///
/// Guard: used inside one access, by one caller.
final class LoggedValues {
  private let session: Session
  private let table: Int64
  private let reader: (ZoneID) throws -> ChangeSetReader
  private(set) var places: ImportPlaces
  /// The rows of the table in change sets that were read last.
  private var parts: [Place: [Value: [Row]]] = [:]
  private var read = 0

  /// Change sets that are read for one slice of a table at most, and that are kept: a part of a large unit has as many rows as a slice.
  private static let mostRead = 2_000
  private static let mostKept = 8
  /// Change sets that may be signed between a write and its own.
  private static let mostLate: UInt64 = 16

  private struct Place: Hashable {
    var zone: Int64
    var author: Int64
    var number: UInt64
  }

  private struct Row {
    let change: RowChange
    let columns: [Int64]
    let long: LongValues
  }

  init(_ session: Session, table: Int64, _ places: ImportPlaces, _ reader: @escaping (ZoneID) throws -> ChangeSetReader)
  {
    (self.session, self.table, self.places, self.reader) = (session, table, places, reader)
  }

  /// The merged values of the columns that have a stamp; nil where the log does not tell all of them.
  func values(_ ref: RecordRef, _ record: StoredRecord, _ records: ZoneRecords) throws -> [Int64: Value]? {
    var values = record.extra
    for (column, stamp) in try records.columns(record.stamps) where values[column] == nil {
      let global = try records.global(stamp)
      guard let value = try value(ref, record.generation, column, stamp, global, records.zone) else { return nil }
      values[column] = value
    }
    return try records.hash(ref, record, values) == record.hash ? values : nil
  }

  private func value(
    _ ref: RecordRef, _ generation: UInt64, _ column: Int64, _ stamp: LocalStamp, _ global: Stamp, _ zone: ZoneRow
  ) throws -> Value? {
    func find(_ number: UInt64) throws -> Value? {
      let place = Place(zone: zone.id, author: stamp.author, number: number)
      for row in try part(place, zone.zone)[ref.key] ?? [] where row.change.generation == generation {
        for field in row.change.fields
        where row.columns[field.column] == column && field.stamp ?? row.change.stamp == global {
          return try row.long.value(of: field.value)
        }
      }
      return nil
    }
    let last = try AuthorHead.read(session.sql, zone: zone.id, author: stamp.author).applied
    guard last > 0 else { return nil }
    // Rows were written by their keys, as they are compared: the same change sets have the next of them, or those that follow.
    let known = parts.keys.filter { $0.zone == zone.id && $0.author == stamp.author }.map(\.number).sorted()
    for number in Set(known + known.map { $0 + 1 }).sorted() where number <= last {
      if let value = try find(number) { return value }
    }
    if stamp.time > .zero {
      let first = try number(of: stamp, zone.id, last)
      for number in first...min(first + Self.mostLate, last) {
        if let value = try find(number) { return value }
      }
      return nil
    }
    let line = ImportPlaces.Line(table: table, zone: zone.id, author: stamp.author)
    let begin = min(places.numbers[line] ?? 1, last)
    for number in [Array(begin...last), Array(1..<begin)].joined() where read < Self.mostRead {
      places.numbers[line] = number
      if let value = try find(number) { return value }
    }
    return nil
  }

  /// The first change set that is not earlier: what it stamps may have been written before, and never is later.
  private func number(of stamp: LocalStamp, _ zone: Int64, _ last: UInt64) throws -> UInt64 {
    var (low, high) = (UInt64(1), last)
    while low < high {
      let middle = low + (high - low) / 2
      let time = try session.sql.integer(
        "SELECT time FROM mesh_log WHERE zone = ? AND author = ? AND number = ?",
        [.integer(zone), .integer(stamp.author), .bits(middle)])
      if UInt64(bitPattern: time ?? 0) < stamp.time.value { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func part(_ place: Place, _ zone: ZoneID) throws -> [Value: [Row]] {
    if let known = parts[place] { return known }
    guard read < Self.mostRead else { return [:] }
    read += 1
    var rows: [Value: [Row]] = [:]
    do {
      let log = LogReader(session: session, zone: place.zone, reader: try reader(zone))
      let long = try log.longValues(place.author, place.number)
      try log.forEachRow(place.author, place.number) { ref, change, columns, _ in
        if ref.table == table { rows[ref.key, default: []].append(Row(change: change, columns: columns, long: long)) }
      }
    } catch is MissingKey {
      rows = [:]
    }
    if parts.count >= Self.mostKept { parts = [:] }
    parts[place] = rows
    return rows
  }
}
