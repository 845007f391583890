/// A record by its names: what two nodes call it, whatever their numbers for tables are.
public struct RecordName: Hashable, Comparable, Sendable {
  public let table: String
  /// In canonical form.
  public let key: Value

  public init(table: String, key: Value) {
    self.table = table
    self.key = key
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.table == right.table ? left.key < right.key : left.table < right.table
  }
}
