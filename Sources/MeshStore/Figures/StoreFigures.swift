import GRDB
package import MeshCore

/// The numbers that a person or an app wants to know.
package struct StoreFigures: StorePart {
  let access: StoreAccess

  package struct Status: Hashable, Sendable {
    /// The number of rows in the pending log.
    package var pending: Int
    /// The number of records that are alive and not shown, by reason.
    package var held: [HeldReason: Int]
    /// The number of live records, by zone.
    package var records: [ZoneID: Int]
    /// The number of losing values that are kept.
    package var conflicts: Int
    /// The reason why an author's change sets can never be merged.
    package var malformed: [Author: String]
  }

  package func status() throws -> Status {
    try read { transaction in
      let counts = try HeldRecords(transaction: transaction).counts()
      var malformed: [Author: String] = [:]
      for (author, reason) in try transaction.catalog.heads.malformed() {
        malformed[try transaction.catalog.author(author)] = reason
      }
      return Status(
        pending: try transaction.pending.count(), held: counts,
        records: try transaction.zoneRows.liveCounts(),
        conflicts: try transaction.conflicts.count(), malformed: malformed)
    }
  }

  /// Returns the number of rows that can't be sent. It reads only records that have a message.
  package func unsentCount() throws -> Int { try read { try $0.held.countOfUnsent() } }

  /// Returns the number of records whose rows are older than the merged values, because their tables refuse those
  /// values.
  package func refusedCount() throws -> Int { try read { try $0.held.count(.editRefused) } }

  /// Returns the app's triggers that have written to synchronized tables while merged rows were written, since the
  /// start, each with the table. Their writes were reverted.
  package func intrudingTriggers() throws -> [String: String] {
    try read { transaction in
      Dictionary(transaction.sql.intruders.map { ($0.trigger, $0.table) }, uniquingKeysWith: min)
    }
  }

  /// Returns the number of live records that are not shown, by the displayed name of the reason.
  package func heldCounts() throws -> [String: Int] {
    var counts = Dictionary(try status().held.map { ($0.key.name, $0.value) }, uniquingKeysWith: +)
    let rewrites = try read { try $0.work.rewriteCount() }
    if rewrites > 0 { counts["to-write-again"] = rewrites }
    return counts
  }

  /// Returns the time at which the oldest row of the pending log was written, by the writer's clock, in milliseconds
  /// since 1970. Returns nil if there is none. Imported rows don't count.
  package func oldestPending() throws -> Int64? {
    try read { try $0.pending.oldest() }
  }
}

extension Transaction {
  func dataVersion() throws -> Int { Int(try sql.integer("PRAGMA main.data_version") ?? 0) }
}
