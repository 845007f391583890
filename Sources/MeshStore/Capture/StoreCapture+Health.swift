import CSQLite
import GRDB
import MeshCore

// MARK: - Is the file as it should be

extension StoreCapture {
  /// The reason why writes are not captured now. `schemaChanged` repairs the faults that can be repaired.
  package enum Fault: Hashable, Sendable {
    /// The table is synchronized but not in the file.
    case tableMissing(String, Fate)
    /// The table's key is not usable.
    case keyUnfit(String)
    /// The table's key differs from the key when the table joined the mesh, or is compared differently. The value is
    /// the earlier key.
    case keyChanged(String, was: String)
    /// Some of the table's triggers are missing or altered.
    case triggers(String)
    /// The mark that turns capture off is committed.
    case silenced
  }

  /// The reason why a synchronized table is not in the file.
  package enum Fate: Hashable, Sendable {
    case renamed(to: String)
    case dropped
    /// The table disappeared before the store was opened.
    case notKnown
  }

  /// Returns the synchronized tables that are not in the file, by name.
  package func missingTables() throws -> [String: Fate] {
    let noted = repairs.fates
    return try read { transaction in
      let renamed = try Capture.renamed(transaction.db)
      let gone = try TrackedTable.all(transaction.db).filter { $0.schema == nil }.map { table -> (String, Fate) in
        // Nobody has looked since the table disappeared.
        let seen: Fate? = renamed[table.id].map(Fate.renamed) ?? (table.schemaRow == nil ? nil : .dropped)
        let kept = try transaction.tableList.newName(of: table.name).map(Fate.renamed)
        let fate = seen ?? noted[table.name] ?? kept ?? .notKnown
        if case .renamed(let name) = fate, try TableSchema.kind(transaction.db, name) == nil {
          return (table.name, Fate.notKnown)
        }
        return (table.name, fate)
      }
      return Dictionary(gone, uniquingKeysWith: { first, _ in first })
    }
  }

  package func faults() throws -> [Fault] {
    let missing = try missingTables()
    return try read { transaction in
      var faults = try TrackedTable.all(transaction.db).compactMap { try Capture.fault($0, missing, transaction.db) }
      if try transaction.state.isSilent() { faults.append(.silenced) }
      return faults
    }
  }

  /// Returns the synchronized tables that mesh would not accept in their current form. Each text names the rule and the
  /// way out.
  package func trackingFaults() throws -> [String] {
    try read { try $0.trackingFaults().map(\.description) }
  }

  /// The faults that were found and repaired since the store was opened.
  package struct Repairs: Hashable, Sendable {
    /// How often a committed mark that turns capture off was removed.
    package var silences = 0
    /// How often missing or altered triggers were recreated, by table.
    package var triggers: [String: Int] = [:]
    /// The fate of the tables that disappeared.
    var fates: [String: Fate] = [:]

    mutating func note(wasSilent: Bool, _ findings: [CaptureFinding]) {
      if wasSilent { silences += 1 }
      for finding in findings where finding.reasons.contains(.tableMissing) {
        fates[finding.name] = finding.newName.map(Fate.renamed) ?? .dropped
      }
      for finding in findings where finding.isTampering { triggers[finding.name, default: 0] += 1 }
    }
  }
}

extension Transaction {
  func trackingFaults() throws -> [TrackingRules.Violation] {
    try TrackingRules.laterViolations(db)
      + catalog.allTables.filter(isSharedInPart).map { table in
        let keys = table.schema.foreignKeys.count
        return TrackingRules.Violation(
          table: table.schema.name,
          text:
            "it has \(keys) foreign keys: its rows in shares stay there, and new rows join no share; to share new rows, drop "
            + "all foreign keys but one")
      }
  }

  /// Returns whether the table has several foreign keys, but its records joined a share when it had one.
  private func isSharedInPart(_ table: TableForm) throws -> Bool {
    try table.schema.foreignKeys.count > 1 && !table.isPrivate && catalog.zones().isRouted
      && recordRows.isShared(table.id)
  }
}

extension CaptureFinding {
  /// True if the triggers were missing or altered, and no change of the table explains it.
  fileprivate var isTampering: Bool {
    !reasons.isDisjoint(with: [.triggersMissing, .triggersAltered])
      && reasons.isDisjoint(with: [.layoutChanged, .recreated, .returned])
  }
}

extension Capture {
  /// Returns the fault of a table without changing anything.
  fileprivate static func fault(
    _ table: TrackedTable, _ missing: [String: StoreCapture.Fate], _ db: Database
  ) throws -> StoreCapture.Fault? {
    guard let schema = table.schema else { return .tableMissing(table.name, missing[table.name] ?? .notKnown) }
    if table.hasAnotherKey {
      let was = [table.keyName, table.keyClass, table.keyCollation.map { "COLLATE \($0)" }].compactMap(\.self)
      return .keyChanged(table.name, was: was.joined(separator: " "))
    }
    guard let layout = table.layout,
      let triggers = CaptureTriggers(
        schema, table: table.id, layout: layout, isUTF16: try TextEncoding.isUTF16(db))
    else {
      return .keyUnfit(table.name)
    }
    // The triggers that depend on indexes are missing until a node has seen a new index. Without them, everything is
    // captured except `REPLACE`.
    for event in CaptureTriggers.Event.allCases where !event.followsIndexes && !event.followsPolicies {
      let found = try String.fetchOne(
        db.cachedStatement(sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?"),
        arguments: [CaptureTriggers.name(table.id, event)])
      if found != triggers.sql(event) { return .triggers(table.name) }
    }
    return nil
  }
}
