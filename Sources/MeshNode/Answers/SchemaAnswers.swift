import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Reports and adopts the tables of other devices.
struct SchemaAnswers: NodePart {
  let context: NodeContext

  func schema() throws -> SchemaReport {
    let missing = try missing()
    return try report(missing, leftOut: missing.flatMap(\.leftOut), isApplied: false)
  }

  /// Creates, renames and extends the tables that can be adopted. Peers, programs and other commands have their turn in
  /// between.
  nonisolated(nonsending) func apply() async throws -> SchemaReport {
    let missing = try missing()
    // Schemas that peers describe in the meantime were not examined.
    let taken = Set(missing.filter { $0.refusal == nil }.map(\.table.folded))
    func wanted() throws -> [SchemaDescription] {
      try store.foreignSchemas(trusts: devices.isTrusted).filter { taken.contains($0.name.folded) }
    }
    var leftOut: [String] = []
    guard !taken.isEmpty else { return try report(missing, leftOut: leftOut, isApplied: true) }
    try database.beginGuard()
    if missing.contains(where: { $0.former != nil }) {
      let former = try store.renameTables(wanted(), trusts: devices.isTrusted)
      if !former.isEmpty { _ = try TableAnswers(context: context).untrack(former) }
    }
    while true {
      let adoption = try store.adopt(wanted(), trusts: devices.isTrusted, now: time.milliseconds())
      leftOut += adoption.leftOut
      try replica.schemaChanged()
      driver.performActions()
      guard adoption.hasMore else { return try report(missing, leftOut: leftOut, isApplied: true) }
      try await Task.sleep(for: WorkLoop.turn)
    }
  }

  private func missing() throws -> [Store.MissingSchema] { try store.missingSchema(trusts: devices.isTrusted) }

  private func report(
    _ missing: [Store.MissingSchema], leftOut: [String], isApplied: Bool
  ) throws -> SchemaReport {
    SchemaReport(
      applied: isApplied,
      missing: missing.map {
        SchemaReport.Missing(
          table: $0.table, exists: $0.exists, former: $0.former, columns: $0.columns, statements: $0.statements,
          refusal: $0.refusal)
      },
      different: try foreignSchemas().map { different in
        SchemaReport.Difference(
          table: different.table, column: different.column, device: different.device.description,
          name: devices.name(of: different.device), here: different.here, there: different.there)
      }, leftOut: try store.leftOut(trusts: devices.isTrusted) + leftOut,
      policies: try store.columnPolicies().map {
        SchemaReport.Policy(table: $0.table, column: $0.column, policy: $0.policy.name)
      })
  }

  /// Returns the schema differences of other devices. Those of revoked devices don't matter.
  func foreignSchemas() throws -> [Store.SchemaDifference] {
    try store.schemaDifferences(trusts: devices.isTrusted).filter {
      devices.name(of: $0.device) != nil && !replica.isRevoked($0.device)
    }
  }
}
