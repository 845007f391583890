/// A record by its names, which all nodes share. Each node has its own numbers for tables.
public struct RecordName: Hashable, Comparable, Sendable {
  public let table: String
  /// The key in canonical form.
  public let key: Value

  public init(table: String, key: Value) {
    self.table = table
    self.key = key
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.table == right.table ? left.key < right.key : left.table < right.table
  }
}
