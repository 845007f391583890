import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Tracks tables, and compares them with what is merged.
struct TableAnswers: NodePart {
  let context: NodeContext

  /// The time for flushing tracked rows without a daemon. A daemon flushes the rest of a large table.
  private static let flushPatience = Duration.controlTimeout

  func track(_ request: TrackRequest) throws -> TrackReport {
    try database.beginGuard()
    let known = Set(try store.tables().map(\.name))
    let policies = try request.policies.mapValues { columns in
      try columns.mapValues { name in
        guard let policy = ColumnPolicy(name: name) else { throw Self.unknownPolicy(name) }
        return policy
      }
    }
    // `track` lists what is wrong with a table, which may be that it doesn't exist.
    try store.checkPolicies(policies.filter { try store.hasTable($0.key) })
    let tables = try store.track(
      tables: request.tables, private: request.privateTables, integerKeys: request.integerKeys, now: time.milliseconds()
    )
    if !policies.isEmpty { try store.setPolicies(policies, now: time.milliseconds()) }
    try replica.schemaChanged()
    // Imported rows become records now, so that a row that is deleted next can be restored. If that fails, the rows
    // stay pending, and the daemon flushes them.
    if !isRunning { _ = try? driver.workAlone(until: .now + Self.flushPatience) }
    return TrackReport(
      tables: tables.map { table in
        TrackReport.Table(
          name: table.name, isPrivate: table.isPrivate, isShareable: table.isShareable,
          rows: known.contains(table.name) ? 0 : table.rows)
      })
  }

  private static func unknownPolicy(_ name: String) -> Refusal {
    let known = ColumnPolicy.allCases.map(\.name).joined(separator: ", ")
    return Refusal(
      code: "policy.unknown", message: "There is no policy \(printable(name)). The policies are \(known).")
  }

  func untrack(_ tables: [String]) throws -> UntrackReport {
    try database.beginGuard()
    try driver.workOff()
    guard try store.pendingCount() == 0 else { throw Refusal.rowsPending("untracking would lose them") }
    try store.untrack(tables)
    try replica.schemaChanged()
    return UntrackReport(tables: tables)
  }

  nonisolated(nonsending) func rescan(_ tables: [String]) async throws -> RescanReport {
    try database.beginGuard()
    let before = replica.compared
    try store.rescan(tables: tables)
    replica.databaseChanged()
    try await driver.work(whileRowsWaitBehind: "more can't be noted") { try store.isComparing() }
    return RescanReport(
      tables: try tables.isEmpty ? store.tables().map(\.name) : tables, rows: replica.compared.rows - before.rows,
      differences: replica.compared.differences - before.differences)
  }
}
