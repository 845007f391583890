/// The version of mesh.
public struct MeshVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
  private let numbers: [Int]

  /// The version that this program has.
  public static let current = MeshVersion(numbers: [0, 1, 0])

  private init(numbers: [Int]) { self.numbers = numbers }

  /// Reads a version such as `1.2.3`. Returns nil for another text.
  package init?(_ text: String) {
    let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
    guard numbers.count == 3, numbers.allSatisfy({ ($0 ?? -1) >= 0 }) else { return nil }
    self.init(numbers: numbers.compactMap(\.self))
  }

  /// The three numbers with dots between them.
  public var description: String { numbers.map { "\($0)" }.joined(separator: ".") }

  public static func < (one: Self, other: Self) -> Bool { one.numbers.lexicographicallyPrecedes(other.numbers) }

  /// The header of each answer that has the version of the node.
  package static let header = "mesh-version"
}
