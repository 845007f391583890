/// Hybrid time: 48 bits of milliseconds since 1970, 16 bits of counter. Times below 2⁴⁸ are import times (see
/// `init(importedAt:)`).
public struct HybridTime: Hashable, Comparable, Sendable {
  public let value: UInt64

  public static let zero = HybridTime(0)

  public init(_ value: UInt64) { self.value = value }

  /// Times outside 48 bits are clamped; counter 0.
  public init(milliseconds: Int64) {
    value = UInt64(min(max(milliseconds, 0), (1 << 48) - 1)) << 16
  }

  /// The time right after this one; the last is its own.
  public var next: HybridTime { HybridTime(value.saturatingAdding(1)) }

  /// The greatest generation that a change set signed at this time gives a record.
  ///
  /// An author's time is later than that of everything it has merged, and one change set raises a record by two generations at
  /// most. So an honest author is always within the bound, whatever was undone since. The bound is in what was signed, so that
  /// every device judges alike, and it leaves room above each generation that a merged record can have.
  public var greatestGeneration: UInt64 { value.saturatingMultiplied(by: 2) }

  public var milliseconds: Int64 { Int64(value >> 16) }
  public var counter: UInt16 { UInt16(truncatingIfNeeded: value) }

  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension HybridTime {
  private static let imports: UInt64 = 1 << 48

  /// The time of a value that nobody edited: a row that was there before its table was synchronized, or what a migration filled
  /// in. It lies before every time that a clock gives, so the value loses against every edit. Of two import times the one that was
  /// noted first is the greater: a device that joins with an older copy of a table loses against the mesh.
  ///
  /// - Parameter time: When it was noted; rounded up to a millisecond.
  public init(importedAt time: HybridTime) {
    self.init(Self.imports - 1 - UInt64(min(time.wholeMilliseconds.milliseconds, Int64(Self.imports - 2))))
  }

  public static let lastImport = HybridTime(imports - 1)

  public var isImport: Bool { value < Self.imports }

  /// When it was noted. Zero, the import time of the first versions, tells nothing, and is its own.
  public var noted: HybridTime {
    isImport && self != .zero ? HybridTime(milliseconds: Int64(Self.imports - 1 - value)) : self
  }

  /// The first time with counter 0 that is not before this one.
  public var wholeMilliseconds: HybridTime {
    counter == 0 ? self : HybridTime(milliseconds: milliseconds + 1)
  }
}

/// Gives hybrid times, each strictly greater than every one given or witnessed here.
public struct HybridClock: Sendable, Equatable {
  /// The greatest time given or witnessed.
  public private(set) var last: HybridTime

  public init(last: HybridTime = .zero) { self.last = last }

  /// The time that was noted (milliseconds), clamped to now, where that is greater than all before; else the next after them.
  public mutating func tick(noted: Int64, now: Int64) -> HybridTime {
    let wanted = HybridTime(milliseconds: min(noted, now))
    last = max(wanted, last.next)
    return last
  }

  public mutating func witness(_ time: HybridTime) {
    if time > last { last = time }
  }
}

/// When a column was last written, and by whom. Totally ordered; the author breaks ties, and nothing else does.
public struct Stamp: Hashable, Comparable, Sendable {
  public let time: HybridTime
  public let author: Author

  public init(time: HybridTime, author: Author) {
    self.time = time
    self.author = author
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.time == right.time ? left.author < right.author : left.time < right.time
  }
}
