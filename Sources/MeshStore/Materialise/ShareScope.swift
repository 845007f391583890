import MeshCore

/// What of a share's records this schema shows: the root, and what refers to it by its table's only foreign key, and so on. So nobody
/// who may write to a share puts rows into tables that have no part in it.
struct ShareScope {
  private let root: RecordName
  private let catalog: Catalog
  private var known: [Int64: Bool] = [:]

  /// Nil of a zone that may have any record.
  init?(_ zone: Int64, _ catalog: Catalog) throws {
    guard let root = try catalog.zones().entries[zone]?.root else { return nil }
    self.root = root
    self.catalog = catalog
  }

  mutating func has(_ ref: RecordRef, _ table: TableForm) -> Bool {
    isRoots(table) ? ref.key == root.key : hasAll(table)
  }

  /// Any record of the table.
  mutating func hasAll(_ table: TableForm) -> Bool {
    if let known = known[table.id] { return known }
    var (table, seen) = (table, Set<Int64>())
    let first = table.id
    var isPart = false
    while !isPart, let parent = table.parent.flatMap({ catalog.table($0.parent) }), seen.insert(table.id).inserted {
      isPart = isRoots(parent)
      table = parent
    }
    known[first] = isPart
    return isPart
  }

  private func isRoots(_ table: TableForm) -> Bool {
    table.schema.name.asciiLowercased == root.table.asciiLowercased
  }
}
