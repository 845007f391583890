/// A record by its names, which all nodes share. Each node has its own numbers for tables.
package struct RecordName: Hashable, Comparable, Sendable {
  /// The table's name, which all nodes share.
  package let table: String
  /// The key in canonical form.
  package let key: Value

  package init(table: String, key: Value) {
    self.table = table
    self.key = key
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.table == right.table ? left.key < right.key : left.table < right.table
  }
}
