import GRDB
import MeshCore

/// Finds the children that are deleted with their parent, although the writer had foreign keys turned off.
///
/// A child stays if a program inserted or updated it, or a row below it, after the parent's delete: the program goes on
/// with rows that it still sees. A finder belongs to one transaction.
struct CascadeFinder {
  private let transaction: Transaction
  /// The ids of the last notes of inserts and updates to a table, or to one below it, as far as they are known.
  private var lastWrites: [Int64: Int64] = [:]
  private var hasCollected = false

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Returns keys of children that are deleted with their parent.
  mutating func deletedKeys(_ cascade: FlushPlan.Cascade, limit: Int) throws -> [Value] {
    guard let child = transaction.catalog.table(cascade.reference.child) else { return [] }
    let query = child.keysReferring(cascade.reference.column)
    let keys = try transaction.sql.all("\(query) LIMIT \(limit)", [cascade.parent]) { $0.value(0) }
    guard !keys.isEmpty, try lastWrite(at: child) > cascade.note else { return keys }
    try collectWrites()
    return try transaction.sql.all(
      "\(query) AND NOT \(PendingTable.isWritten(child)) LIMIT \(limit)", [cascade.parent, .integer(cascade.note)]
    ) { $0.value(0) }
  }

  /// Returns the children that are not deleted with their parent.
  mutating func stayingRecords(_ cascade: FlushPlan.Cascade) throws -> [RecordRef] {
    guard let child = transaction.catalog.table(cascade.reference.child), try lastWrite(at: child) > cascade.note else {
      return []
    }
    let query = child.keysReferring(cascade.reference.column)
    // With foreign keys on, the children are gone, and nothing has to be collected.
    guard try transaction.sql.exists("\(query) LIMIT 1", [cascade.parent]) else { return [] }
    try collectWrites()
    return try transaction.sql.all(
      "\(query) AND \(PendingTable.isWritten(child))", [cascade.parent, .integer(cascade.note)]
    ) { RecordRef(table: child.id, key: child.form.canonical($0.value(0))) }
  }

  /// Returns the id of the last note of an insert or an update to the table, or to one below it.
  private mutating func lastWrite(at child: TableForm) throws -> Int64 {
    if let known = lastWrites[child.id] { return known }
    var (tables, next): (Set<Int64>, [TableForm]) = ([child.id], [child])
    var last: Int64 = 0
    while let table = next.popLast() {
      last = max(last, try transaction.pending.lastWrite(in: table.id))
      for reference in table.referrers where reference.action == .cascade && tables.insert(reference.child).inserted {
        if let below = transaction.catalog.table(reference.child) { next.append(below) }
      }
    }
    lastWrites[child.id] = last
    return last
  }

  private mutating func collectWrites() throws {
    guard !hasCollected else { return }
    try transaction.pending.collectWritten(transaction.catalog.allTables)
    hasCollected = true
  }
}
