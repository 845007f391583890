import MeshCore

// MARK: - What an app's own connection reads of the records

/// The stamps of a record, for the functions of an app's connection.
package struct RecordFacts {
  private let stamps: RecordStamps

  /// Creates the facts from `mesh_record.stamps`, or returns nil if the bytes are no stamps.
  package init?(stamps bytes: [UInt8]) {
    guard let stamps = try? RecordStamps(bytes) else { return nil }
    self.stamps = stamps
  }

  private var all: [LocalStamp] { [stamps.base] + stamps.exceptions.map(\.stamp) + [stamps.life].compactMap(\.self) }

  /// The time of the last write, in milliseconds since 1970.
  package var lastWrite: Int64 { all.map(\.time.noted.milliseconds).max() ?? 0 }

  /// How much of the record a device has.
  package enum Reach: Int64 {
    /// Nothing, as far as this device knows.
    case none
    /// A version of it.
    case some
    /// The record as it is here.
    case all
  }

  /// The number that stands for all authors without a time of their own. A record that moved to another zone has
  /// values of authors that wrote nothing in the new zone.
  package static let otherAuthors: Int64 = 0

  /// - Parameter times: The hybrid times up to which the device has the changes of authors, by `mesh_author.id`.
  package func reach(_ times: [Int64: UInt64]) -> Reach {
    let has = all.map { stamp in
      (times[stamp.author] ?? times[Self.otherAuthors]).map { stamp.time.noted.value <= $0 } ?? false
    }
    return has.allSatisfy(\.self) ? .all : has.contains(true) ? .some : .none
  }
}

extension HeldReason {
  /// An SQL expression with the name of a reason.
  package static func nameSQL(_ number: String) -> String {
    "CASE \(number) \(allCases.map { "WHEN \($0.rawValue) THEN '\($0.name)'" }.joined(separator: " ")) END"
  }
}
