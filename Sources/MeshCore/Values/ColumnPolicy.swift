/// The rule by which concurrent writes to a column become one value. The numbers are those on the wire and in the file.
package enum ColumnPolicy: UInt8, Hashable, Sendable, CaseIterable {
  /// The last edit wins.
  case last = 0
  /// The greatest value wins.
  case greatest = 1
  /// The least value wins.
  case least = 2
  /// An assignment counts as its difference from the value that was there.
  case counter = 3
  /// The last edit wins, and the last values of each author are kept.
  case keepBoth = 4

  /// The name in commands.
  package var name: String {
    switch self {
    case .last: "last"
    case .greatest: "greatest"
    case .least: "least"
    case .counter: "counter"
    case .keepBoth: "keepBoth"
    }
  }

  /// Creates the policy with a name in commands, or nil if there is none.
  package init?(name: String) {
    guard let policy = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = policy
  }

  /// The greatest number of bytes of the name of a column with a policy. The names of its parts contain it.
  package static let nameLimit = 128
}

/// One author's part of a column with a policy. It is a cell of the record like any other, in a column of its own that
/// no table has. Its author writes it, the last edit wins, and the record's other cells tell which value the row shows.
package struct ColumnPart: Hashable, Sendable {
  /// The policy that the part belongs to.
  package let policy: ColumnPolicy
  /// The author that writes the part.
  package let author: Author
  /// The column of the table.
  package let column: String
  /// The place of a kept value among those of its author. Other policies have one part for each author, at 0.
  package let place: Int

  /// The number of values of a column that are kept of each author.
  package static let keptValues = 8

  /// Creates the part of an author in a column.
  package init(_ policy: ColumnPolicy, author: Author, column: String, place: Int = 0) {
    (self.policy, self.author, self.column, self.place) = (policy, author, column, place)
  }

  /// The name of the part's column: `mesh_`, the policy in lower case, the place as a digit if it isn't 0, the author's
  /// device and instance as 80 hexadecimal digits, and the column.
  package var name: String {
    let device = author.device.bytes.reduce(into: "") { $0 += Self.hex($1) }
    let instance = (0..<8).reduce(into: "") {
      $0 += Self.hex(UInt8(truncatingIfNeeded: author.instance.value >> UInt64(56 - 8 * $1)))
    }
    return "mesh_\(Self.prefix(policy, place))_\(device)\(instance)_\(column)"
  }

  /// Reads the name of a column, or returns nil if it isn't a part's.
  package init?(name: String) {
    let prefix = Array("mesh_".utf8)
    let bytes = Array(name.utf8)
    guard bytes.starts(with: prefix) else { return nil }
    for (policy, place) in Self.kinds {
      let start = prefix + Array(Self.prefix(policy, place).utf8) + [UInt8(ascii: "_")]
      guard bytes.starts(with: start), bytes.count > start.count + 2 * Self.authorSize + 1 else { continue }
      let digits = bytes[start.count..<start.count + 2 * Self.authorSize]
      guard bytes[start.count + 2 * Self.authorSize] == UInt8(ascii: "_"), let author = Self.author(Array(digits))
      else {
        return nil
      }
      let column = String(decoding: bytes[(start.count + 2 * Self.authorSize + 1)...], as: UTF8.self)
      guard column.utf8.count <= ColumnPolicy.nameLimit else { return nil }
      self.init(policy, author: author, column: column, place: place)
      return
    }
    return nil
  }

  private static let authorSize = 40

  private static let kinds: [(ColumnPolicy, Int)] =
    [(.greatest, 0), (.least, 0), (.counter, 0)] + (0..<keptValues).map { (.keepBoth, $0) }

  private static func prefix(_ policy: ColumnPolicy, _ place: Int) -> String {
    policy.name.asciiLowercased + (place == 0 ? "" : "\(place)")
  }

  private static func hex(_ byte: UInt8) -> String {
    let digits = Array("0123456789abcdef")
    return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
  }

  private static func author(_ digits: [UInt8]) -> Author? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in digits {
      let value: UInt8
      switch digit {
      case 0x30...0x39: value = digit - 0x30
      case 0x61...0x66: value = digit - 0x61 + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    guard bytes.count == authorSize, let device = DeviceID(Array(bytes[..<32])) else { return nil }
    let instance = bytes[32...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Author(device: device, instance: InstanceID(instance))
  }
}

/// The value that a row shows in a column with parts.
package struct ColumnFold: Sendable {
  /// The column's own value, or its default if it has no cell.
  package let base: Value
  /// The stamp of the column's own value. Greatest and least parts that are not later don't count.
  package let since: Stamp?
  /// The parts of the column, in the order in which they were added.
  package private(set) var parts: [Part] = []

  /// One author's part with its stamp.
  package struct Part: Sendable {
    /// The policy that the part belongs to.
    package let policy: ColumnPolicy
    /// When the part was written, and by which author.
    package let stamp: Stamp
    /// The author's count, or the greatest or least value that it wrote.
    package let value: Value
  }

  /// Creates a fold without parts.
  package init(base: Value, since: Stamp?) { (self.base, self.since) = (base, since) }

  /// Adds an author's part.
  package mutating func add(_ policy: ColumnPolicy, _ stamp: Stamp, _ value: Value) {
    parts.append(Part(policy: policy, stamp: stamp, value: value))
  }

  /// The sum of the increments. A part that is not an integer counts as 0.
  package var sum: Int128 {
    parts.reduce(0) { sum, part in
      guard part.policy == .counter, case .integer(let value) = part.value else { return sum }
      return sum + Int128(value)
    }
  }

  /// The base and the increments, or nil if the base is not an integer.
  package var total: Int128? {
    guard case .integer(let base) = base else { return nil }
    return Int128(base) + sum
  }

  /// The value that the row shows, or nil if parts don't apply to a base of this kind.
  package var shown: Value? {
    switch base {
    case .blob, .asset: return nil
    case .null, .integer, .real, .text: break
    }
    var shown = total.map { Value.integer(Int64(clamping: $0)) } ?? base
    for policy in [ColumnPolicy.greatest, .least] {
      for part in parts where part.policy == policy && since.map({ part.stamp > $0 }) ?? true {
        if policy.beats(part.value, shown) { shown = part.value }
      }
    }
    return shown
  }
}

extension ColumnPolicy {
  /// Whether the policy compares values, so that one gives way to another.
  package var isComparison: Bool { self == .greatest || self == .least }

  /// Returns whether a value replaces the one that is shown. NULL and BLOBs replace nothing.
  package func beats(_ value: Value, _ shown: Value) -> Bool {
    switch value {
    case .null, .blob, .asset: return false
    case .integer, .real, .text: break
    }
    if shown == .null { return isComparison }
    return switch self {
    case .greatest: value > shown
    case .least: value < shown
    case .last, .counter, .keepBoth: false
    }
  }
}
