import MeshCore

/// The triggers of one table that keep programs from writing records of shares that are read-only here. They exist only
/// while there is such a share, and use only built-in SQL.
///
/// A record belongs to such a share if it is in `mesh_record`, or if it refers to a record of the share by its table's
/// only foreign key. Receivers check the same for every change set.
struct PermissionTriggers {
  let table: TableForm
  /// The table that decides the zone of its records.
  let parent: TableForm?
  /// The columns that no other device has. Programs may fill them, because their values are not sent.
  let local: Set<Int64>

  init(_ table: TableForm, _ catalog: Catalog, local: Set<Int64>) {
    self.table = table
    self.local = local
    parent = table.parent.flatMap { catalog.table($0.parent) }
  }

  enum Event: String, CaseIterable {
    case insert, update, delete
    /// Another row has replaced the record: SQLite fires no trigger for rows that `REPLACE` deletes. The trigger runs
    /// afterwards, because only then is it known whether the statement replaces rows or, with `OR IGNORE`, does
    /// nothing.
    case replace, rekey

    var moment: String {
      switch self {
      case .insert, .update, .delete: "BEFORE \(rawValue.uppercased())"
      case .replace: "AFTER INSERT"
      case .rekey: "AFTER UPDATE"
      }
    }
  }

  static let prefix = "mesh_permit_"

  static func name(_ table: Int64, _ event: Event) -> String { "\(prefix)\(table)_\(event.rawValue)" }

  /// Returns the trigger's SQL, or nil if the event needs none. A new record without a parent belongs to the private
  /// zone.
  func sql(_ event: Event) -> String? {
    let conditions =
      switch event {
      case .insert: [reference("NEW")].compactMap(\.self)
      case .update: [record("OLD"), reference("NEW")].compactMap(\.self)
      case .delete: [record("OLD")]
      case .replace, .rekey: [record("NEW")]
      }
    guard !conditions.isEmpty else { return nil }
    let changes = event == .update || event == .rekey ? "(\(changed))\n  AND " : ""
    return """
      CREATE TRIGGER \(Self.name(table.id, event).quotedName) \(event.moment) ON \(table.schema.name.quotedName)
      WHEN (SELECT applying FROM mesh_state WHERE id = 1) IS NOT 1 AND \(changes)(\(conditions.joined(separator: "\n  OR ")))
      BEGIN
        SELECT RAISE(ABORT, '\(ZoneStanding.refusal)');
      END
      """
  }

  /// The condition for an update of a column that existed when the trigger was made and that others have. It leaves out
  /// columns that a migration has just added, and columns that only this device has.
  private var changed: String {
    let columns = table.columns.filter { !local.contains($0.id) }.map(\.name)
    let changes = ([table.keyName] + columns).map { name in
      let (old, new) = ("OLD.\(name.quotedName)", "NEW.\(name.quotedName)")
      return "\(old) COLLATE BINARY IS NOT \(new) OR typeof(\(old)) <> typeof(\(new))"
    }
    return Self.any(of: changes[...])
  }

  /// Joins conditions with OR. SQLite refuses an expression that is deeper than 1,000, and a chain is as deep as it is
  /// long.
  private static func any(of conditions: ArraySlice<String>) -> String {
    guard conditions.count > 100 else { return conditions.joined(separator: "\n    OR ") }
    let middle = conditions.startIndex + conditions.count / 2
    return "(\(any(of: conditions[..<middle])))\n    OR (\(any(of: conditions[middle...])))"
  }

  private func record(_ row: String) -> String {
    Self.isReadOnly(table.id, "\(row).\(table.keyName.quotedName)", table.form)
  }

  private func reference(_ row: String) -> String? {
    guard let reference = table.parent, let parent else { return nil }
    return Self.isReadOnly(parent.id, "\(row).\(table.columns[reference.column].name.quotedName)", parent.form)
  }

  private static func isReadOnly(_ table: Int64, _ key: String, _ form: KeyForm) -> String {
    """
    EXISTS (SELECT 1 FROM mesh_record WHERE tbl = \(table) AND "key" = \(form.canonicalSQL(key)) AND held IS NULL AND generation & 1
        AND zone IN (\(ZoneTable.unwritable)))
    """
  }
}

extension TableForm {
  /// Returns the columns that no description of the table has. Returns none if there is no description.
  func columns(besides others: [FoldedName: Set<FoldedName>]) -> Set<Int64> {
    guard let known = others[schema.name.folded] else { return [] }
    return Set(columns.filter { !known.contains($0.name.folded) }.map(\.id))
  }
}

extension Transaction {
  /// Returns the columns of other devices' tables, by table.
  func foreignColumns() throws -> [FoldedName: Set<FoldedName>] {
    try foreignSchemas.list().reduce(into: [:]) { known, entry in
      known[entry.table.name.folded, default: []].formUnion(entry.table.columns.map(\.name.folded))
    }
  }

  /// Creates the triggers that the zones require, and drops the others.
  ///
  /// If an app has changed the schema since the last look, `SchemaChange.note` does this after it has looked. This function
  /// notes the schema as seen, so the change would never be looked at.
  func updatePermissions() throws {
    guard try !Capture.needsUpdate(db) else { return }
    // Tables may have been added or changed in this transaction.
    try catalog.refresh(db)
    let isNeeded = try catalog.zones().entries.values.contains { $0.role == .readOnly || $0.role == .ended }
    var wanted: [String: String] = [:]
    if isNeeded {
      let others = try foreignColumns()
      for table in catalog.allTables {
        let triggers = PermissionTriggers(table, catalog, local: table.columns(besides: others))
        for event in PermissionTriggers.Event.allCases {
          wanted[PermissionTriggers.name(table.id, event)] = triggers.sql(event)
        }
      }
    }
    let found = try sql.all(
      """
      SELECT name, sql FROM main.sqlite_schema
      WHERE type = 'trigger' AND substr(name, 1, \(PermissionTriggers.prefix.utf8.count)) = '\(PermissionTriggers.prefix)'
      """, []
    ) { ($0.text(0), $0.text(1)) }
    var isChanged = false
    for (name, text) in found where wanted[name] != text {
      try sql.run("DROP TRIGGER main.\(name.quotedName)")
      isChanged = true
    }
    let right = Set(found.filter { wanted[$0.0] == $0.1 }.map(\.0))
    for (name, text) in wanted.sorted(by: { $0.key < $1.key }) where !right.contains(name) {
      try sql.run(text)
      isChanged = true
    }
    if isChanged { try Capture.noteSchemaVersion(db) }
  }
}
