import GRDB
import MeshCore

/// Finds the children that are deleted with their parent, although the writer had foreign keys turned off.
///
/// A child stays if a program inserted or updated it, or a row below it, after the parent's delete: the program goes on
/// with rows that it still sees. A finder belongs to one transaction.
struct CascadeFinder {
  private let transaction: Transaction
  /// The ids of the last notes of inserts and updates, by table, as far as they are known.
  private var lastWrites: [Int64: Int64] = [:]
  private var hasCollected = false

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Returns keys of children that are deleted with their parent.
  mutating func deletedKeys(_ cascade: FlushPlan.Cascade, limit: Int) throws -> [Value] {
    guard let child = transaction.catalog.table(cascade.reference.child) else { return [] }
    let query = child.keysReferring(cascade.reference.column)
    guard try isWritten(child, since: cascade.note) else {
      return try transaction.sql.all("\(query) LIMIT \(limit)", [cascade.parent]) { $0.value(0) }
    }
    return try transaction.sql.all(
      "\(query) AND NOT \(PendingTable.isWritten(child)) LIMIT \(limit)", [cascade.parent, .integer(cascade.note)]
    ) { $0.value(0) }
  }

  /// Returns the children that are not deleted with their parent.
  mutating func stayingRecords(_ cascade: FlushPlan.Cascade) throws -> [RecordRef] {
    guard let child = transaction.catalog.table(cascade.reference.child) else { return [] }
    let query = child.keysReferring(cascade.reference.column)
    guard try transaction.sql.exists("\(query) LIMIT 1", [cascade.parent]), try isWritten(child, since: cascade.note)
    else { return [] }
    return try transaction.sql.all(
      "\(query) AND \(PendingTable.isWritten(child))", [cascade.parent, .integer(cascade.note)]
    ) { RecordRef(table: child.id, key: child.form.canonical($0.value(0))) }
  }

  /// Returns whether programs wrote to the table, or to one below it, after a note. If they did, all writes are
  /// collected.
  private mutating func isWritten(_ child: TableForm, since note: Int64) throws -> Bool {
    var (tables, next): ([Int64], [TableForm]) = ([child.id], [child])
    while let parent = next.popLast() {
      for reference in parent.referrers where reference.action == .cascade && !tables.contains(reference.child) {
        guard let table = transaction.catalog.table(reference.child) else { continue }
        tables.append(table.id)
        next.append(table)
      }
    }
    for table in tables where lastWrites[table] == nil {
      lastWrites[table] = try transaction.pending.lastWrite(in: table)
    }
    guard tables.contains(where: { lastWrites[$0, default: 0] > note }) else { return false }
    if !hasCollected { try transaction.pending.collectWritten(transaction.catalog.allTables) }
    hasCollected = true
    return true
  }
}
