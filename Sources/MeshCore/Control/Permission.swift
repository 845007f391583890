/// What a member of a zone may do. The owner may all.
public enum Permission: UInt8, Codable, Sendable, CaseIterable, Comparable {
  case readOnly = 1
  case readWrite = 2

  /// As people read and type it.
  public var name: String {
    switch self {
    case .readOnly: "read-only"
    case .readWrite: "read-write"
    }
  }

  public init?(name: String) {
    guard let permission = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = permission
  }

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
