import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Tracks tables, compares them with what is merged, and adopts those of other devices.
struct TableAnswers: NodePart {
  let context: NodeContext

  /// The time for flushing tracked rows without a daemon. A daemon flushes the rest of a large table.
  private static let flushPatience = Duration.controlTimeout
  /// The time for a moment in which no program has written since the last flush.
  private static let untrackPatience = Duration.seconds(10)

  nonisolated(nonsending) func track(_ request: TrackRequest) async throws -> TrackReport {
    try database.beginGuard()
    let known = Set(try store.tables.list().map(\.name))
    let policies = try request.policies.mapValues { columns in
      try columns.mapValues { name in
        guard let policy = ColumnPolicy(name: name) else { throw Self.unknownPolicy(name) }
        return policy
      }
    }
    // `track` lists what is wrong with a table, which may be that it doesn't exist.
    try store.schema.checkPolicies(policies.filter { try store.tables.hasTable($0.key) })
    let tables = try store.tables.track(
      tables: request.tables, private: request.privateTables, shareable: request.shareableTables,
      integerKeys: request.integerKeys, now: time.milliseconds())
    if !policies.isEmpty { try store.schema.setPolicies(policies, now: time.milliseconds()) }
    try AcceptedDatabase(home: home).settle(store)
    try replica.schemaChanged()
    // Imported rows become records now, so that a row that is deleted next can be restored. If that fails, the rows
    // stay pending, and the daemon flushes them.
    if !isRunning { _ = try? await driver.workAlone(until: .now + Self.flushPatience) }
    return TrackReport(
      tables: tables.map { table in
        TrackReport.Table(
          name: table.name, isPrivate: table.isPrivate, isShareable: table.isShareable,
          rows: known.contains(table.name) ? 0 : table.rows, wasTracked: known.contains(table.name))
      },
      warnings: try differentKeys().filter { different in
        tables.contains { $0.name.folded == different.table.folded }
      }.map { "\($0.what) \($0.wayOut)" })
  }

  private static func unknownPolicy(_ name: String) -> Refusal {
    let known = ColumnPolicy.allCases.map(\.name).joined(separator: ", ")
    return Refusal(
      code: "policy.unknown", message: "there is no policy \(printable(name)). The policies are \(known).")
  }

  nonisolated(nonsending) func untrack(_ tables: [String]) async throws -> UntrackReport {
    try database.beginGuard()
    let deadline = ContinuousClock.now + Self.untrackPatience
    while true {
      try await driver.workOff(until: .now + Self.flushPatience)
      // A call that is refused may have noted changes of the schema before, for which there is work.
      let result = Result { try store.tables.untrack(tables) }
      try replica.schemaChanged()
      do {
        try result.get()
        break
      } catch is PendingWrites {
        // If rows are still pending then, the request is refused.
        guard ContinuousClock.now < deadline else { throw Refusal.rowsPending("untracking would lose them") }
        try await Task.sleep(for: Self.look)
      }
    }
    return UntrackReport(tables: tables)
  }

  nonisolated(nonsending) func rescan(_ tables: [String]) async throws -> RescanReport {
    try database.beginGuard()
    let before = replica.compared
    try store.capture.rescan(tables: tables)
    replica.databaseChanged()
    try await driver.work(whileRowsWaitBehind: "more can't be noted") { try store.capture.isComparing() }
    return RescanReport(
      tables: try tables.isEmpty ? store.tables.list().map(\.name) : tables, rows: replica.compared.rows - before.rows,
      differences: replica.compared.differences - before.differences)
  }

  // MARK: The schema of other devices

  func schema() throws -> SchemaReport {
    let missing = try missing()
    return try report(missing, leftOut: missing.flatMap(\.leftOut), isApplied: false)
  }

  /// Creates, renames and extends the tables that can be adopted. Peers, programs and other commands have their turn in
  /// between.
  nonisolated(nonsending) func applySchema() async throws -> SchemaReport {
    let missing = try missing()
    // Schemas that peers describe in the meantime were not examined.
    let taken = Set(missing.filter { $0.refusal == nil }.map(\.table.folded))
    func wanted() throws -> [SchemaDescription] {
      try store.schema.foreign(trusts: devices.isTrusted).filter { taken.contains($0.name.folded) }
    }
    var leftOut: [String] = []
    guard !taken.isEmpty else { return try report(missing, leftOut: leftOut, isApplied: true) }
    try database.beginGuard()
    if missing.contains(where: { $0.former != nil }) {
      let former = try store.schema.renameTables(wanted(), trusts: devices.isTrusted)
      if !former.isEmpty { _ = try await untrack(former) }
    }
    while true {
      let start = ContinuousClock.now
      let adoption = try store.schema.adopt(wanted(), trusts: devices.isTrusted, now: time.milliseconds())
      try AcceptedDatabase(home: home).settle(store)
      leftOut += adoption.leftOut
      try replica.schemaChanged()
      driver.performActions()
      guard adoption.hasMore else { return try report(missing, leftOut: leftOut, isApplied: true) }
      // The new columns cause work, after which rows of peers are merged.
      try await Task.sleep(for: max(WorkLoop.turn, ContinuousClock.now - start))
    }
  }

  private func missing() throws -> [StoreSchema.Missing] { try store.schema.missing(trusts: devices.isTrusted) }

  private func report(
    _ missing: [StoreSchema.Missing], leftOut: [String], isApplied: Bool
  ) throws -> SchemaReport {
    SchemaReport(
      applied: isApplied,
      missing: missing.map {
        SchemaReport.Missing(
          table: $0.table, exists: $0.exists, former: $0.former, columns: $0.columns, renamed: $0.renamed,
          statements: $0.statements, refusal: $0.refusal)
      },
      different: try foreignSchemas().map { different in
        SchemaReport.Difference(
          table: different.table, column: different.column, device: different.device.description,
          name: devices.name(of: different.device), here: different.here, there: different.there)
      }, leftOut: try store.schema.leftOut(trusts: devices.isTrusted) + leftOut,
      undescribed: try store.held.undescribed(),
      policies: try store.schema.columnPolicies().map {
        SchemaReport.Policy(table: $0.table, column: $0.column, policy: $0.policy.name)
      })
  }

  /// A table whose key is different on another device.
  struct DifferentKey {
    let table: String
    let what: String
    let wayOut: String
  }

  func differentKeys() throws -> [DifferentKey] {
    try foreignSchemas().filter(\.isKey).map { different in
      DifferentKey(
        table: different.table,
        what: "The key of \(different.table) is \(different.here) here and \(printable(different.there)) on "
          + "\(devices.name(of: different.device) ?? ""): two records there can be one here, or the other way round.",
        wayOut:
          "Before more is written to it, copy the rows into a table of another name with one key on every machine. "
          + "Run mesh track on that, and mesh untrack \(different.table).")
    }
  }

  /// Returns the schema differences of other devices. Those of revoked devices don't matter.
  func foreignSchemas() throws -> [StoreSchema.Difference] {
    try store.schema.differences(trusts: devices.isTrusted).filter {
      devices.name(of: $0.device) != nil && !replica.isExcluded($0.device)
    }
  }
}
