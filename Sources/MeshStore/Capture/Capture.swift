import GRDB
import MeshCore

/// Keeps the capture triggers of the synchronized tables correct. Every call is made inside a write transaction, and
/// does nothing if there is nothing to do.
enum Capture {
  /// Validates the tables and starts capturing them. Tables that are captured already keep their numbers.
  ///
  /// - Parameters:
  ///   - tables: The names of tables, in upper or lower case.
  ///   - privateTables: Further tables, which are never part of a share.
  ///   - shareableTables: Further tables, whose rows may be shared although the tables were private before.
  ///   - integerKeys: True if equal integer keys of two machines may be one record.
  /// - Throws: `StoreError` (`schemaRefused`) with every reason for every table.
  /// - Returns: The tables, in the order given. Their existing rows are not imported yet.
  @discardableResult
  static func install(
    _ db: Database, tables: [String], private privateTables: [String] = [], shareable shareableTables: [String] = [],
    integerKeys: Bool = false
  ) throws -> [TrackedTable] {
    try MeshTables.create(db)
    try TrackingRules.validate(
      db, tables: tables, private: privateTables, shareable: shareableTables, integerKeys: integerKeys)
    let privateNames = Set(privateTables.map(\.folded))
    let shareableNames = Set(shareableTables.map(\.folded))
    let policies = try ColumnPolicies.all(db)
    var installed: [TrackedTable] = []
    for name in tables + privateTables + shareableTables {
      guard let schema = try TableSchema.read(db, name) else { continue }
      try TableList.register(
        db, schema.name, isPrivate: privateNames.contains(name.folded),
        endsPrivacy: shareableNames.contains(name.folded), integerKeys: integerKeys)
      guard let entry = try TrackedTable.read(db, name: schema.name), !installed.contains(where: { $0.id == entry.id })
      else { continue }
      _ = try bringUpToDate(db, entry, policies)
      if let table = try TrackedTable.read(db, name: schema.name) { installed.append(table) }
    }
    try anchor(db)
    try noteSchemaVersion(db)
    return installed
  }

  /// Ends the capture of a table. Its number, columns and pending rows stay.
  ///
  /// - Returns: False if no such table is captured.
  @discardableResult
  static func remove(_ db: Database, table name: String) throws -> Bool {
    guard let table = try TrackedTable.read(db, name: name) else { return false }
    try drop(db, table.id)
    try TableList.untrack(db, table.id)
    try noteSchemaVersion(db)
    return true
  }

  /// Brings the triggers up to date if the schema is not the one for which they were made.
  ///
  /// - Returns: The tables whose capture was incomplete. Usually there are none, and the call costs two small reads.
  static func update(_ db: Database, force: Bool = false) throws -> [CaptureFinding] {
    if try !force && !needsUpdate(db) { return [] }
    let renamed = try dropStrays(db)
    for (table, name) in renamed { try TableList.noteSuccessor(db, of: table, name) }
    var findings: [CaptureFinding] = []
    let policies = try ColumnPolicies.all(db)
    let tables = try TrackedTable.all(db)
    let exchanged = try exchanged(db, tables)
    for table in tables {
      var finding = try bringUpToDate(db, table, policies)
      finding.newName = renamed[table.id]
      if finding.reasons.contains(.recreated), exchanged.contains(table.id) { finding.reasons.insert(.exchanged) }
      if !finding.reasons.isEmpty { findings.append(finding) }
    }
    try anchor(db)
    try noteSchemaVersion(db)
    return findings
  }

  /// Returns whether the schema has changed since the triggers were last checked.
  static func needsUpdate(_ db: Database) throws -> Bool {
    try StateTable.schemaVersion(db) != schemaVersion(db)
  }
}

extension Capture {
  private static func bringUpToDate(
    _ db: Database, _ table: TrackedTable, _ policies: [FoldedName: ColumnPolicies]
  ) throws -> CaptureFinding {
    var finding = CaptureFinding(table: table.id, name: table.name, reasons: [])
    guard let schema = table.schema, let form = table.form, let key = schema.keyColumn else {
      // It is reported once, when it disappears.
      if table.schemaRow == nil { return finding }
      finding.reasons.insert(table.schema == nil ? .tableMissing : table.hasAnotherKey ? .keyChanged : .keyUnfit)
      try drop(db, table.id)
      try TableList.noteMissing(db, table.id)
      return finding
    }
    var policies = policies
    let before = try table.layout.flatMap { try Layout.read(db, id: $0) }
    let layout = try Layout.intern(
      db, table: table.id, current: table.layout, key: key.name, columns: Layout.names(of: schema, form))
    if layout.id != table.layout { finding.reasons.insert(.layoutChanged) }
    if let before {
      let renamed = try RenamedColumns(db, table.id, before, layout)
      finding.reused = renamed.reused
      for (old, new) in renamed.names {
        try PolicyTable.follow(db, (table.name, old), to: (table.name, new))
        policies[table.name.folded] = try ColumnPolicies.all(db)[table.name.folded]
      }
      finding.newColumns = layout.columns.filter { !before.columns.contains($0) }
      let lost = before.columns.filter { !layout.columns.contains($0) }
      if !lost.isEmpty { finding.reasons.insert(.columnsLost) }
      finding.lostColumns = try lost.compactMap { try Layout.columnName(db, id: $0) }
    }
    let noted = policies[table.name.folded]?.columns(of: schema, layout) ?? [:]
    guard
      let triggers = CaptureTriggers(
        schema, table: table.id, layout: layout.id, policies: noted, isUTF16: try TextEncoding.isUTF16(db))
    else {
      return finding
    }
    var found = 0
    for event in CaptureTriggers.Event.allCases {
      let reason = try put(db, triggers, event)
      // Without these triggers, writes are noted as assignments.
      if event.followsPolicies { continue }
      // An app that creates or drops a UNIQUE index changes no trigger.
      if let reason { finding.reasons.insert(event.followsIndexes ? .indexesChanged : reason) }
      if reason != .triggersMissing { found += triggers.sql(event) == nil ? 0 : 1 }
    }
    // Dropping a table drops its triggers. Somebody who drops only the triggers leaves the table in its place.
    let row = try schemaRow(db, schema.name)
    if table.layout != nil, found == 0, table.schemaRow != row {
      finding.reasons.insert(table.schemaRow == nil ? .returned : .recreated)
    }
    try TableList.noteCapture(db, table.id, layout: layout.id, row: row, key: key)
    return finding
  }

  /// Returns the tables that have each other's places in `sqlite_schema`. If `VACUUM` moves the places, all move in the
  /// same direction.
  private static func exchanged(_ db: Database, _ tables: [TrackedTable]) throws -> Set<Int64> {
    var (owners, takes): ([Int64: Int64], [Int64: Int64]) = ([:], [:])
    for table in tables { if let row = table.schemaRow { owners[row] = table.id } }
    for table in tables where table.schemaRow != nil {
      guard let row = try schemaRow(db, table.name), let owner = owners[row], owner != table.id else { continue }
      takes[table.id] = owner
    }
    return Set(
      takes.keys.filter { table in
        var next = takes[table]
        for _ in takes where next != table { next = next.flatMap { takes[$0] } }
        return next == table
      })
  }

  private static func schemaRow(_ db: Database, _ table: String) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT rowid FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE"),
      arguments: [table])
  }

  /// Keeps the rowids of synchronized tables in `sqlite_schema` from being used again. SQLite gives a new table the
  /// greatest rowid plus one, so this creates an object of mesh after every synchronized table.
  private static func anchor(_ db: Database) throws {
    if try TableList.isAnchored(db) { return }
    try db.execute(sql: "DROP VIEW IF EXISTS main.mesh_anchor; CREATE VIEW main.mesh_anchor AS SELECT 1")
  }

  /// Creates or replaces one trigger if necessary. Returns the earlier fault, apart from an older layout.
  private static func put(
    _ db: Database, _ triggers: CaptureTriggers, _ event: CaptureTriggers.Event
  ) throws -> CaptureFinding.Reasons? {
    let name = CaptureTriggers.name(triggers.table, event)
    let wanted = triggers.sql(event)
    let found = try String.fetchOne(
      db.cachedStatement(sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?"),
      arguments: [name])
    if found == wanted { return nil }
    if found != nil { try db.execute(sql: "DROP TRIGGER main.\(name.quotedName)") }
    if let wanted { try db.execute(sql: wanted) }
    if let found, triggers.earlier(event).contains(found) { return nil }
    return found == nil ? .triggersMissing : .triggersAltered
  }

  private static func drop(_ db: Database, _ table: Int64) throws {
    for event in CaptureTriggers.Event.allCases {
      try db.execute(sql: "DROP TRIGGER IF EXISTS main.\(CaptureTriggers.name(table, event).quotedName)")
    }
  }

  /// Changes a table while it has no capture triggers, and gives it the same triggers again.
  static func withoutTriggers<T>(_ db: Database, _ table: Int64, _ change: () throws -> T) throws -> T {
    let texts = try CaptureTriggers.Event.allCases.compactMap { event in
      try String.fetchOne(
        db.cachedStatement(sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?"),
        arguments: [CaptureTriggers.name(table, event)])
    }
    try drop(db, table)
    let result = try change()
    for text in texts { try db.execute(sql: text) }
    return result
  }

  /// Drops stray triggers.
  ///
  /// - Returns: The current names of renamed tables, by their number.
  private static func dropStrays(_ db: Database) throws -> [Int64: String] {
    let strays = try strays(db)
    for stray in strays { try db.execute(sql: "DROP TRIGGER main.\(stray.name.quotedName)") }
    return renamed(strays)
  }

  /// Returns the current names of renamed tables, by their number, until their triggers are brought up to date.
  static func renamed(_ db: Database) throws -> [Int64: String] { renamed(try strays(db)) }

  private static func renamed(_ strays: [Stray]) -> [Int64: String] {
    Dictionary(
      strays.compactMap { stray in stray.owner.flatMap { $0.schema == nil ? ($0.id, stray.place) : nil } },
      uniquingKeysWith: { first, _ in first })
  }

  /// A trigger of mesh on a table that should have no such trigger. It follows a table that was renamed.
  private struct Stray {
    let name: String
    let place: String
    /// The table to which it belongs, by the trigger's name.
    let owner: TrackedTable?
  }

  private static func strays(_ db: Database) throws -> [Stray] {
    let rows = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT name, tbl_name FROM main.sqlite_schema
          WHERE type = 'trigger' AND substr(name, 1, \(CaptureTriggers.prefix.utf8.count)) = '\(CaptureTriggers.prefix)'
          """))
    var proper: [String: TrackedTable] = [:]
    for table in try TrackedTable.all(db) {
      for event in CaptureTriggers.Event.allCases { proper[CaptureTriggers.name(table.id, event)] = table }
    }
    return rows.compactMap { row in
      let (name, place): (String, String) = (row["name"], row["tbl_name"])
      let owner = proper[name]
      return owner?.name.folded == place.folded ? nil : Stray(name: name, place: place, owner: owner)
    }
  }

  private static func schemaVersion(_ db: Database) throws -> Int64? {
    try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA main.schema_version"))
  }

  static func noteSchemaVersion(_ db: Database) throws {
    try StateTable.note(schemaVersion: schemaVersion(db), db)
  }
}
