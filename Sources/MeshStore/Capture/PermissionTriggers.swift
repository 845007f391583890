import MeshCore

/// The triggers of one table that keep programs from writing records of shares which are read-only here. They are there only
/// while there is such a share, and use built-in SQL only.
///
/// A record belongs to such a share if it is in `mesh_record`, or if it refers, by its table's only foreign key, to one that is.
/// Receivers ask the same of every change set.
struct PermissionTriggers {
  let table: TableForm
  /// The table that its zone follows.
  let parent: TableForm?
  /// Columns that no other device has: programs may fill them, since nobody is sent what they have.
  let local: Set<Int64>

  init(_ table: TableForm, _ catalog: Catalog, local: Set<Int64>) {
    self.table = table
    self.local = local
    parent = table.parent.flatMap { catalog.table($0.parent) }
  }

  enum Event: String, CaseIterable {
    case insert, update, delete
    /// Another row has taken the record's place: SQLite tells no trigger of what `REPLACE` deletes. Afterwards, since before it
    /// nobody knows whether the statement does so or, as `OR IGNORE`, nothing at all.
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

  /// Nil where the event needs none: a new record without a parent is the private zone's.
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

  /// An update of a column that was here when the trigger was made, and that others have. One that a migration has just added, or that
  /// this device alone has, is not among them.
  private var changed: String {
    let columns = table.columns.filter { !local.contains($0.id) }.map(\.name)
    return ([table.keyName] + columns).map { name in
      let (old, new) = ("OLD.\(name.quotedName)", "NEW.\(name.quotedName)")
      return "\(old) COLLATE BINARY IS NOT \(new) OR typeof(\(old)) <> typeof(\(new))"
    }.joined(separator: "\n    OR ")
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
        AND zone IN (\(ZoneBook.unwritable)))
    """
  }
}

extension TableForm {
  /// Columns that no description of the table has; none where there is no description.
  func columns(besides others: [FoldedName: Set<FoldedName>]) -> Set<Int64> {
    guard let known = others[schema.name.folded] else { return [] }
    return Set(columns.filter { !known.contains($0.name.folded) }.map(\.id))
  }
}

extension Session {
  /// The columns of other devices' tables, by table.
  func foreignColumns() throws -> [FoldedName: Set<FoldedName>] {
    let descriptions = try sql.all("SELECT bytes FROM mesh_foreign_schema") { row in
      var reader = ByteReader(row.bytes(0))
      return try SchemaDescription(from: &reader)
    }
    return descriptions.reduce(into: [:]) { known, description in
      known[description.name.folded, default: []].formUnion(description.columns.map(\.name.folded))
    }
  }

  /// Makes the triggers that the zones ask for, and drops those that they don't.
  func updatePermissions() throws {
    // Tables may have come or changed in this very transaction.
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
