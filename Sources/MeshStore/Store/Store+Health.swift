import CSQLite
import GRDB
import MeshCore

// MARK: - Is the file as it should be

extension Store {
  /// Why writes are not captured now. `schemaChanged` repairs what can be repaired.
  public enum CaptureFault: Hashable, Sendable {
    /// The table is synchronized and not in the file.
    case tableMissing(String, Fate)
    /// Its key is none that can be used.
    case keyUnfit(String)
    /// Its key is another than when it joined the mesh, or is compared otherwise: what it was.
    case keyChanged(String, was: String)
    /// Some of its triggers are missing, or not what they should be.
    case triggers(String)
    /// The mark that silences capture is committed.
    case silenced
  }

  /// What became of a synchronized table that is not in the file.
  public enum Fate: Hashable, Sendable {
    case renamed(to: String)
    case dropped
    /// It went before the store was opened.
    case notKnown
  }

  /// Synchronized tables that are not in the file, by name.
  public func missingTables() throws -> [String: Fate] {
    let noted = repairs.fates
    return try read { session in
      let renamed = try Capture.renamed(session.db)
      let gone = try TrackedTable.all(session.db).filter { $0.schema == nil }.map { table -> (String, Fate) in
        // Nobody has looked since it went.
        let seen: Fate? = renamed[table.id].map(Fate.renamed) ?? (table.schemaRow == nil ? nil : .dropped)
        let fate = seen ?? noted[table.name] ?? .notKnown
        if case .renamed(let name) = fate, try TableSchema.kind(session.db, name) == nil {
          return (table.name, Fate.notKnown)
        }
        return (table.name, fate)
      }
      return Dictionary(gone, uniquingKeysWith: { first, _ in first })
    }
  }

  public func captureFaults() throws -> [CaptureFault] {
    let missing = try missingTables()
    return try read { session in
      var faults = try TrackedTable.all(session.db).compactMap { try Capture.fault($0, missing, session.db) }
      if try session.sql.exists("SELECT 1 FROM mesh_state WHERE applying <> 0") { faults.append(.silenced) }
      return faults
    }
  }

  /// Tables that are synchronized and would not be taken as they are now, each with the rule and the way out.
  public func trackingFaults() throws -> [String] {
    try read { try $0.trackingFaults().map(\.description) }
  }

  /// What was found and put right since the store was opened.
  public struct Repairs: Hashable, Sendable {
    /// Times that a committed mark of silence was taken back.
    public var silences = 0
    /// Times that triggers were made anew which should have been there, by table.
    public var triggers: [String: Int] = [:]
    /// What became of tables that went.
    var fates: [String: Fate] = [:]

    mutating func note(wasSilent: Bool, _ findings: [CaptureFinding]) {
      if wasSilent { silences += 1 }
      for finding in findings where finding.reasons.contains(.tableMissing) {
        fates[finding.name] = finding.newName.map(Fate.renamed) ?? .dropped
      }
      for finding in findings where finding.isTampering { triggers[finding.name, default: 0] += 1 }
    }
  }

  /// When the oldest row of the pending log was written, by the writer's clock, in milliseconds since 1970; nil where there is
  /// none but those that were taken in.
  public func oldestPending() throws -> Int64? {
    try read { try $0.sql.integer("SELECT min(wall) FROM mesh_pending WHERE wall > 0") }
  }
}

extension Session {
  func trackingFaults() throws -> [TrackingRules.Violation] {
    try TrackingRules.laterViolations(db)
      + catalog.allTables.filter(isSharedInPart).map { table in
        let keys = table.schema.foreignKeys.count
        return TrackingRules.Violation(
          table: table.schema.name,
          text:
            "it has \(keys) foreign keys: what is in a share stays there, and what is written anew goes into none; keep one, "
            + "if new rows are to be shared")
      }
  }

  /// Its records came into a share while it had one foreign key.
  private func isSharedInPart(_ table: TableForm) throws -> Bool {
    try table.schema.foreignKeys.count > 1 && !table.isPrivate && catalog.zones().isRouted
      && sql.exists(
        """
        SELECT 1 FROM mesh_record WHERE tbl = ? AND held IS NULL AND generation & 1
          AND zone IN (SELECT id FROM mesh_zone WHERE root_table IS NOT NULL AND NOT stopped) LIMIT 1
        """, [.integer(table.id)])
  }
}

extension CaptureFinding {
  /// The triggers were not what they should be, and no change of the table explains it.
  fileprivate var isTampering: Bool {
    !reasons.isDisjoint(with: [.triggersMissing, .triggersAltered])
      && reasons.isDisjoint(with: [.layoutChanged, .recreated, .returned])
  }
}

extension Capture {
  /// Nothing is changed.
  fileprivate static func fault(
    _ table: TrackedTable, _ missing: [String: Store.Fate], _ db: Database
  ) throws -> Store.CaptureFault? {
    guard let schema = table.schema else { return .tableMissing(table.name, missing[table.name] ?? .notKnown) }
    if table.hasAnotherKey {
      let was = [table.keyName, table.keyClass, table.keyCollation.map { "COLLATE \($0)" }].compactMap(\.self)
      return .keyChanged(table.name, was: was.joined(separator: " "))
    }
    guard let layout = table.layout, let triggers = CaptureTriggers(schema, table: table.id, layout: layout) else {
      return .keyUnfit(table.name)
    }
    // Those that follow the indexes are not there till a node has seen a new one, and all is captured without them but `REPLACE`.
    for event in CaptureTriggers.Event.allCases where !event.followsIndexes {
      let found = try String.fetchOne(
        db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?",
        arguments: [CaptureTriggers.name(table.id, event)])
      if found != triggers.sql(event) { return .triggers(table.name) }
    }
    return nil
  }
}

/// Reading a whole database on a connection of its own.
public enum IntegrityCheck {
  /// SQLite's words for the first fault; nil where there is none. Seconds per gigabyte. Table by table, so that no snapshot is
  /// kept for longer than one of them takes.
  public static func firstFault(inDatabase path: String) throws -> String? {
    do {
      let connection = try GuardConnection(path: path, vfs: nil)
      defer { connection.close() }
      for table in try connection.texts("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0") {
        let finding = try connection.texts("PRAGMA main.quick_check(\(table.quotedName))").first
        if let finding, finding != "ok" { return finding }
      }
      return nil
    } catch let error as DatabaseError {
      throw StoreError(error, path: path)
    }
  }
}
