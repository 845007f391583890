import MeshCore

/// A write to a column with a policy, or one that moves the column's row to another list, and so to another zone.
struct Tally: Sendable {
  enum Write: Sendable {
    case count(Int)
    case best(Int)
    case least(Int)
    case note(String)
    case move(list: Value)
  }

  let key: Value
  let write: Write
  /// True if it creates the row first. All other values are older than any part then, if one device does this.
  let creates: Bool

  var record: RecordName { RecordName(table: AppSchema.tally.name, key: key) }

  static let policies: [String: ColumnPolicy] = [
    "count": .counter, "best": .greatest, "least": .least, "note": .keepBoth,
  ]

  var sql: [(String, [Value])] {
    let (column, value): (String, Value) =
      switch write {
      case .count(let number): ("count = count +", .integer(Int64(number)))
      case .best(let number): ("best =", .integer(Int64(number)))
      case .least(let number): ("least =", .integer(Int64(number)))
      case .note(let text): ("note =", .text(text))
      case .move(let list): ("list =", list)
      }
    let update = ("UPDATE tally SET \(column) ? WHERE id = ?", [value, key])
    return creates ? [("INSERT OR IGNORE INTO tally (id) VALUES (?)", [key]), update] : [update]
  }
}

extension Tally: CustomStringConvertible {
  var description: String {
    let text =
      switch write {
      case .count(let number): "count by \(number)"
      case .best(let number): "best=\(number)"
      case .least(let number): "least=\(number)"
      case .note(let text): "note=\(text)"
      case .move(let list): "list=\(list.shown)"
      }
    return "tally \(key.shown) \(text)"
  }
}

/// The writes of one app to a row.
struct TalliedWrites {
  struct Values {
    var counts: [Int] = []
    var best: [Int] = []
    var least: [Int] = []
    var notes: [String] = []
  }

  /// The values that it was told are committed.
  private(set) var sure = Values()
  /// The counts of `sure` from before the first start of the node. They are part of the row that the node takes in.
  private(set) var takenIn: [Int] = []
  /// The values that may be committed, because the machine died or its disk failed while they were written.
  private(set) var unsure = Values()

  /// Whether the app may have inserted the row. Its next writes to the row are then part of
  /// the insert.
  private(set) var mayHaveInserted = false

  mutating func add(_ tally: Tally, isBeforeStart: Bool) {
    sure.add(tally)
    if isBeforeStart, case .count(let number) = tally.write { takenIn.append(number) }
    mayHaveInserted = mayHaveInserted || tally.creates
  }

  mutating func doubt(_ tally: Tally) { unsure.add(tally) }
}

extension TalliedWrites.Values {
  fileprivate mutating func add(_ tally: Tally) {
    switch tally.write {
    case .count(let number): counts.append(number)
    case .best(let number): best.append(number)
    case .least(let number): least.append(number)
    case .note(let text): notes.append(text)
    case .move: break
    }
  }

  /// Takes out some counts, and returns them.
  mutating func takeCounts(_ taken: [Int]) -> Self {
    for count in taken { if let index = counts.lastIndex(of: count) { counts.remove(at: index) } }
    return Self(counts: taken)
  }

  var onlyCounts: Self { Self(counts: counts) }
  var withoutCounts: Self { Self(best: best, least: least, notes: notes) }

  static func + (left: Self, right: Self) -> Self {
    Self(
      counts: left.counts + right.counts, best: left.best + right.best, least: left.least + right.least,
      notes: left.notes + right.notes)
  }
}

extension AppWriter {
  /// The number of rows of each account.
  private static let tallies = 3

  /// Returns a write to a row of `AppSchema.tally`. If there are several accounts, any account writes to rows that it
  /// sees.
  mutating func tally() -> Tally {
    written += 1
    let number = Int.random(in: 0..<Self.tallies, using: &generator)
    let letter = place.map { String(UnicodeScalar(UInt8(97 + $0.account))) } ?? ""
    let own = Value.text("c\(number)\(letter)")
    // Devices that create one row at the same time all begin with 0, and increments add up. This is not so for values
    // that replace another one. So one device creates most rows.
    let isFirst = isFirstDevice
    let shared = generator.once(in: 2) ? known[AppSchema.tally.name]?.randomElement(using: &generator) : nil
    let key = shared ?? own
    let isOwn = key == own
    let isOfMany = key.shown.hasPrefix("c\(Self.tallies - 1)")
    let kind = Int.random(in: 0..<10, using: &generator)
    let amount = Int.random(in: -3...9, using: &generator)
    let value = Int.random(in: -10_000...10_000, using: &generator)
    let list = generator.once(in: 4) ? nil : known["list"]?.randomElement(using: &generator)
    if isOfMany { return Tally(key: key, write: .count(amount), creates: isOwn) }
    let write: Tally.Write =
      switch kind {
      case 0..<2 where isOwn && isFirst && place != nil: .move(list: list ?? .null)
      case 2: .best(value)
      case 3: .least(value)
      case 4: .note("n\(node)-\(written)")
      default: .count(amount)
      }
    return Tally(key: key, write: write, creates: isOwn && isFirst)
  }
}
