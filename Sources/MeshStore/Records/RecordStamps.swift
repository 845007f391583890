import MeshCore

/// A stamp with its author's number in this file.
struct LocalStamp: Hashable {
  var author: Int64
  var time: HybridTime
}

/// A record's stamps as they are stored: one stamp for most columns, and the columns that differ. The covered columns
/// are listed, so that a column added later has no stamp.
struct RecordStamps: Hashable {
  var base: LocalStamp
  /// The `mesh_layout.id` of the columns that the base covers.
  var layout: Int64
  /// The exceptions in ascending order of their columns.
  var exceptions: [Exception] = []
  /// The stamp of the generation's birth or delete, or nil if it equals the base.
  var life: LocalStamp?

  struct Exception: Hashable {
    var column: Int64
    var stamp: LocalStamp
  }

  /// Returns the stamp of a column that has one.
  func stamp(of column: Int64) -> LocalStamp { exceptions.first { $0.column == column }?.stamp ?? base }

  /// Every stamp, also the one of the birth or delete.
  var all: Set<LocalStamp> { Set(exceptions.map(\.stamp) + [base] + (life.map { [$0] } ?? [])) }

  /// The greatest time of all stamps.
  var latest: HybridTime { exceptions.reduce(max(base.time, life?.time ?? .zero)) { max($0, $1.stamp.time) } }

  private enum Flag {
    static let life: UInt64 = 1
  }

  /// The encoding: author (varint) ‖ time (8 bytes) ‖ layout (varint) ‖ 2 × count of exceptions + (1 if life follows)
  /// (varint) ‖ exceptions (column, author, time) ‖ life (author, time).
  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 16)
    Self.write(base, &writer)
    writer.varint(UInt64(layout))
    writer.varint(UInt64(exceptions.count) << 1 | (life == nil ? 0 : Flag.life))
    for exception in exceptions {
      writer.varint(UInt64(exception.column))
      Self.write(exception.stamp, &writer)
    }
    if let life { Self.write(life, &writer) }
    return writer.bytes
  }

  init(base: LocalStamp, layout: Int64, exceptions: [Exception] = [], life: LocalStamp? = nil) {
    self.base = base
    self.layout = layout
    self.exceptions = exceptions
    self.life = life
  }

  init(_ bytes: [UInt8]) throws(FormatError) {
    var reader = ByteReader(bytes)
    base = try Self.read(&reader)
    layout = Int64(try reader.count(Int(Int32.max), "layout"))
    let counts = try reader.varint()
    for _ in 0..<(counts >> 1) {
      exceptions.append(
        Exception(column: Int64(try reader.count(Int.max, "column")), stamp: try Self.read(&reader)))
    }
    if counts & Flag.life != 0 { life = try Self.read(&reader) }
    try reader.end()
  }

  private static func write(_ stamp: LocalStamp, _ writer: inout ByteWriter) {
    writer.varint(UInt64(stamp.author))
    writer.uint64(stamp.time.value)
  }

  private static func read(_ reader: inout ByteReader) throws(FormatError) -> LocalStamp {
    let author = try reader.count(Int(Int32.max), "author")
    return LocalStamp(author: Int64(author), time: HybridTime(try reader.uint64()))
  }

  /// Packs the stamps of cells. The base covers the same columns as before, as far as they still exist.
  ///
  /// - Parameters:
  ///   - columns: The columns in ascending order, with their stamps.
  ///   - previous: The columns that the record's base covered.
  init(
    _ columns: [(column: Int64, stamp: LocalStamp)], life: LocalStamp?, previous: [Int64]?,
    layout: ([Int64]) throws -> Int64
  ) rethrows {
    let all = columns.map(\.column)
    // The usual new record has one stamp. Counting stamps took a seventh of a merge of thousands of them.
    if previous == nil, let only = columns.first?.stamp, columns.allSatisfy({ $0.stamp == only }) {
      self.init(base: only, layout: try layout(all), life: life == only ? nil : life)
      return
    }
    let present = Set(all)
    let covered = previous.flatMap { !$0.isEmpty && $0.allSatisfy(present.contains) ? $0 : nil } ?? all
    let inBase = Set(covered)
    var counts: [LocalStamp: Int] = [:]
    for entry in columns where inBase.contains(entry.column) { counts[entry.stamp, default: 0] += 1 }
    let most = counts.max { ($0.value, $1.key.time, $1.key.author) < ($1.value, $0.key.time, $0.key.author) }?.key
    let base = most ?? life ?? LocalStamp(author: 0, time: .zero)
    self.init(
      base: base, layout: try layout(covered),
      exceptions: columns.filter { $0.stamp != base || !inBase.contains($0.column) }
        .map { Exception(column: $0.column, stamp: $0.stamp) },
      life: life == base ? nil : life)
  }
}
