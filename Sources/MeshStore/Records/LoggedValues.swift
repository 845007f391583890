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
  private let keys: Set<Value>
  private let reader: (ZoneID) throws -> ChangeSetReader
  private(set) var places: ImportPlaces
  /// Of the change sets that were read, the rows that are asked for, by their keys.
  private var rows: [Value: [Row]] = [:]
  private var read: Set<Place> = []
  /// Of these all was read.
  private var searched: Set<ImportPlaces.Line> = []

  /// Change sets that are read at most: the time that a slice takes.
  private static let mostRead = 4_000
  /// Change sets that may be signed between a write and its own.
  private static let mostLate: UInt64 = 16

  private struct Place: Hashable {
    var zone: Int64
    var author: Int64
    var number: UInt64
  }

  private struct Row {
    let place: Place
    let change: RowChange
    let columns: [Int64]
    let long: LongValues
  }

  /// - Parameter keys: Of the records that are asked for, canonical.
  init(
    _ session: Session, table: Int64, keys: Set<Value>, _ places: ImportPlaces,
    _ reader: @escaping (ZoneID) throws -> ChangeSetReader
  ) {
    (self.session, self.table, self.keys, self.places, self.reader) = (session, table, keys, places, reader)
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
    func find() throws -> Value? {
      for row in rows[ref.key] ?? []
      where row.place.zone == zone.id && row.place.author == stamp.author && row.change.generation == generation {
        for field in row.change.fields
        where row.columns[field.column] == column && field.stamp ?? row.change.stamp == global {
          return try row.long.value(of: field.value)
        }
      }
      return nil
    }
    if let value = try find() { return value }
    let last = try session.catalog.heads.of(stamp.author, zone.id).applied
    guard last > 0 else { return nil }
    if !stamp.time.isImport {
      let first = try number(of: stamp, zone.id, last)
      for number in first...min(first + Self.mostLate, last) {
        if try take(number, of: stamp.author, zone), let value = try find() { return value }
      }
      return nil
    }
    let line = ImportPlaces.Line(table: table, zone: zone.id, author: stamp.author)
    guard !searched.contains(line) else { return nil }
    let begin = min(places.numbers[line] ?? 1, last)
    for numbers in [begin..<last + 1, 1..<begin] {
      for number in numbers {
        places.numbers[line] = number
        if try take(number, of: stamp.author, zone), let value = try find() { return value }
        if read.count >= Self.mostRead { return nil }
      }
    }
    searched.insert(line)
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

  /// False where it was read before, or may not be.
  private func take(_ number: UInt64, of author: Int64, _ zone: ZoneRow) throws -> Bool {
    let place = Place(zone: zone.id, author: author, number: number)
    guard read.count < Self.mostRead, read.insert(place).inserted else { return false }
    do {
      let log = LogReader(session: session, zone: zone.id, reader: try reader(zone.zone))
      let long = try log.longValues(author, number)
      try log.forEachRow(author, number) { ref, change, columns, _ in
        guard ref.table == table, keys.contains(ref.key) else { return }
        rows[ref.key, default: []].append(Row(place: place, change: change, columns: columns, long: long))
      }
    } catch is MissingKey {
      return false
    }
    return true
  }
}
