/// What a member of a zone may do. The owner may all.
public enum Permission: UInt8, Sendable, CaseIterable, Comparable {
  case readOnly = 1
  case readWrite = 2

  /// As people read it.
  public var name: String {
    switch self {
    case .readOnly: "read-only"
    case .readWrite: "read-write"
    }
  }

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
