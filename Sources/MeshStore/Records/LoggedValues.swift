import MeshCore

/// The positions in the log at which values of imported tables were last found. The times in their stamps don't tell
/// the position.
struct ImportPlaces {
  struct Key: Hashable {
    var table: Int64
    var zone: Int64
    var author: Int64
  }

  fileprivate var numbers: [Key: UInt64] = [:]
}

/// The merged values of rows that show other values. A record's values are only in its row, so the log tells which
/// columns a program changed. Some values are not in the log under their stamp, because they came from another zone or
/// were written again. All such columns count as changed.
///
/// It is used inside one access, by one caller.
final class LoggedValues {
  private let transaction: Transaction
  private let table: Int64
  private let keys: Set<Value>
  private let reader: (ZoneID) throws -> ChangeSetReader
  private(set) var places: ImportPlaces
  /// The wanted rows of the change sets that were read, by their keys.
  private var rows: [Value: [Row]] = [:]
  private var read: Set<Place> = []
  /// The logs that were read to their end.
  private var searched: Set<ImportPlaces.Key> = []

  /// The greatest number of change sets to read. It limits the time of a slice.
  private static let mostRead = 4_000
  /// The greatest number of change sets that may be signed between a write and its own change set.
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

  /// - Parameter keys: The canonical keys of the wanted records.
  init(
    _ transaction: Transaction, table: Int64, keys: Set<Value>, _ places: ImportPlaces,
    _ reader: @escaping (ZoneID) throws -> ChangeSetReader
  ) {
    (self.transaction, self.table, self.keys, self.places, self.reader) = (transaction, table, keys, places, reader)
  }

  /// Returns the merged values of the columns that have a stamp, or nil if the log doesn't contain all of them.
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
    _ ref: RecordRef, _ generation: UInt64, _ column: Int64, _ stamp: LocalStamp, _ global: Stamp, _ zone: ZoneCounters
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
    let last = try transaction.catalog.heads.of(stamp.author, zone.id).applied
    guard last > 0 else { return nil }
    if !stamp.time.isImport {
      let first = try number(of: stamp, zone.id, last)
      for number in first...min(first + Self.mostLate, last) {
        if try take(number, of: stamp.author, zone), let value = try find() { return value }
      }
      return nil
    }
    let key = ImportPlaces.Key(table: table, zone: zone.id, author: stamp.author)
    guard !searched.contains(key) else { return nil }
    let begin = min(places.numbers[key] ?? 1, last)
    for numbers in [begin..<last + 1, 1..<begin] {
      for number in numbers {
        places.numbers[key] = number
        if try take(number, of: stamp.author, zone), let value = try find() { return value }
        if read.count >= Self.mostRead { return nil }
      }
    }
    searched.insert(key)
    return nil
  }

  /// Returns the number of the first change set that is not earlier than the stamp. A change set may contain earlier
  /// writes, but never later ones.
  private func number(of stamp: LocalStamp, _ zone: Int64, _ last: UInt64) throws -> UInt64 {
    var (low, high) = (UInt64(1), last)
    while low < high {
      let middle = low + (high - low) / 2
      if try transaction.log.time(middle, of: stamp.author, in: zone) < stamp.time {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /// Reads a change set. Returns false if it was read before, or the limit is reached.
  private func take(_ number: UInt64, of author: Int64, _ zone: ZoneCounters) throws -> Bool {
    let place = Place(zone: zone.id, author: author, number: number)
    guard read.count < Self.mostRead, read.insert(place).inserted else { return false }
    do {
      let log = LogReader(transaction: transaction, zone: zone.id, reader: try reader(zone.zone))
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
