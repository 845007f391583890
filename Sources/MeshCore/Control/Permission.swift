/// A member's permission in a zone. The owner may do everything.
package enum Permission: UInt8, Sendable, CaseIterable, Comparable {
  /// The account's own writes to the zone are refused by every device.
  case readOnly = 1
  /// The account's writes are merged by every member.
  case readWrite = 2

  /// The name that messages show.
  package var name: String {
    switch self {
    case .readOnly: "read-only"
    case .readWrite: "read-write"
    }
  }

  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
