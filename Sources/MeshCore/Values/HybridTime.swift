/// A hybrid time: 48 bits of milliseconds since 1970, and 16 bits of counter. Times below 2⁴⁸ are import times (see
/// `init(importedAt:)`).
package struct HybridTime: Hashable, Comparable, Sendable {
  /// The milliseconds in the upper 48 bits, and the counter in the lower 16.
  package let value: UInt64

  /// The time before all others. The first versions gave it to imported values.
  package static let zero = HybridTime(0)

  /// Creates a time from its 64 bits.
  package init(_ value: UInt64) { self.value = value }

  /// Creates a time with counter 0. Times outside 48 bits are clamped.
  package init(milliseconds: Int64) {
    value = UInt64(min(max(milliseconds, 0), (1 << 48) - 1)) << 16
  }

  /// The time right after this one. The last time is its own successor.
  package var next: HybridTime { HybridTime(value.saturatingAdding(1)) }

  /// The greatest generation that a change set signed at this time may give a record.
  ///
  /// An author's time is later than every time that it has merged, and one change set raises a record by at most two
  /// generations. So an honest author always stays within the bound, even after reverts. The bound depends only on
  /// signed data, so every device judges alike. It leaves room above each generation that a merged record can have.
  package var greatestGeneration: UInt64 { value.saturatingMultiplied(by: 2) }

  /// The milliseconds since 1970.
  package var milliseconds: Int64 { Int64(value >> 16) }
  /// The place among the times of one millisecond.
  package var counter: UInt16 { UInt16(truncatingIfNeeded: value) }

  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension HybridTime {
  private static let imports: UInt64 = 1 << 48

  /// Creates the time of a value that nobody edited: one in a row that was there before its table was synchronized, or
  /// that a migration filled in.
  ///
  /// The time lies before every time that a clock gives, so the value loses against every edit. Of two import times,
  /// the one that was noted first is the greater. Therefore a device that joins with an older copy of a table loses
  /// against the mesh.
  ///
  /// - Parameter time: The time at which the value was noted, rounded up to a millisecond.
  package init(importedAt time: HybridTime) {
    self.init(Self.imports - 1 - UInt64(min(time.wholeMilliseconds.milliseconds, Int64(Self.imports - 2))))
  }

  /// The greatest import time. Every time that a clock gives is later.
  package static let lastImport = HybridTime(imports - 1)

  /// Whether the time is one of a value that nobody edited.
  package var isImport: Bool { value < Self.imports }

  /// The time at which an imported value was noted. Zero, the import time of the first versions, carries no such time,
  /// and returns itself. Other times return themselves too.
  package var noted: HybridTime {
    isImport && self != .zero ? HybridTime(milliseconds: Int64(Self.imports - 1 - value)) : self
  }

  /// The first time with counter 0 that is not before this one.
  package var wholeMilliseconds: HybridTime {
    counter == 0 ? self : HybridTime(milliseconds: milliseconds + 1)
  }
}

/// A clock whose hybrid times are strictly greater than all times that it gave or witnessed before.
package struct HybridClock: Sendable, Equatable {
  /// The greatest time given or witnessed.
  package private(set) var last: HybridTime

  /// Creates a clock that gives times after `last`.
  package init(last: HybridTime = .zero) { self.last = last }

  /// Returns the next time. It is the noted time in milliseconds, clamped to `now`, if that is greater than all earlier
  /// times. Otherwise it is the time right after the last one.
  package mutating func tick(noted: Int64, now: Int64) -> HybridTime {
    let wanted = HybridTime(milliseconds: min(noted, now))
    last = max(wanted, last.next)
    return last
  }

  /// Makes all further times greater than this one.
  package mutating func witness(_ time: HybridTime) {
    if time > last { last = time }
  }
}

/// The time and the author of a column's last write. Stamps are totally ordered: the author breaks ties, and nothing
/// else does.
package struct Stamp: Hashable, Comparable, Sendable {
  /// When the value was written, by its author's hybrid clock.
  package let time: HybridTime
  /// The author that wrote it.
  package let author: Author

  package init(time: HybridTime, author: Author) {
    self.time = time
    self.author = author
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.time == right.time ? left.author < right.author : left.time < right.time
  }
}
