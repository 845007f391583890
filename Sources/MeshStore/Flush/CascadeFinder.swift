import GRDB
import MeshCore

/// Finds the children that are deleted with their parent, although the writer had foreign keys turned off.
///
/// A child stays if a program inserted or updated it, or a row below it, after the parent's delete: the program goes on
/// with rows that it still sees.
struct CascadeFinder {
  private let transaction: Transaction
  /// The ids of the last notes of inserts and updates, by table, as far as they are known.
  private var lastWrites: [Int64: Int64] = [:]

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Returns keys of children that are deleted with their parent.
  mutating func deletedKeys(_ cascade: FlushPlan.Cascade, limit: Int) throws -> [Value] {
    guard let child = transaction.catalog.table(cascade.reference.child) else { return [] }
    let query = child.keysReferring(cascade.reference.column)
    guard let written = try writtenRecords(child, since: cascade.note) else {
      return try transaction.sql.all("\(query) LIMIT \(limit)", [cascade.parent]) { $0.value(0) }
    }
    return try written.select(
      "\(query) AND \(child.keyName.quotedName) NOT IN (\(written.keys(of: child))) LIMIT \(limit)", cascade.parent,
      transaction.sql)
  }

  /// Returns the children that are not deleted with their parent.
  mutating func stayingRecords(_ cascade: FlushPlan.Cascade) throws -> [RecordRef] {
    guard let child = transaction.catalog.table(cascade.reference.child),
      let written = try writtenRecords(child, since: cascade.note)
    else { return [] }
    let query = child.keysReferring(cascade.reference.column)
    return try written.select(
      "\(query) AND \(child.keyName.quotedName) IN (\(written.keys(of: child)))", cascade.parent, transaction.sql
    ).map { RecordRef(table: child.id, key: child.form.canonical($0)) }
  }

  /// Returns the records that programs wrote after a note, and those above them, or nil if nothing was written.
  private mutating func writtenRecords(_ child: TableForm, since note: Int64) throws -> PendingTable.WrittenRecords? {
    var (tables, next, steps): ([Int64], [TableForm], [PendingTable.WrittenRecords.Step]) = ([child.id], [child], [])
    while let parent = next.popLast() {
      for reference in parent.referrers where reference.action == .cascade {
        guard let table = transaction.catalog.table(reference.child) else { continue }
        steps.append(.init(child: table, column: table.columns[reference.column].name, parent: parent.id))
        guard !tables.contains(table.id) else { continue }
        tables.append(table.id)
        next.append(table)
      }
    }
    for table in tables where lastWrites[table] == nil {
      lastWrites[table] = try transaction.pending.lastWrite(in: table)
    }
    guard tables.contains(where: { lastWrites[$0, default: 0] > note }) else { return nil }
    return PendingTable.WrittenRecords(note: note, tables: tables, steps: steps)
  }
}
