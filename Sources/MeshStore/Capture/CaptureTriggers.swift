import Foundation
import MeshCore

/// The triggers of one table, as SQL text. They use only built-in SQL, so they fire for every program's writes.
struct CaptureTriggers {
  let schema: TableSchema
  let form: KeyForm
  let keyName: String
  let table: Int64
  let layout: Int64
  /// The numbers of the columns that have a policy.
  let policies: [String: Int64]
  /// Whether the file keeps texts as UTF-16.
  let isUTF16: Bool

  /// Returns nil unless the table's key is one column with a built-in collation.
  init?(
    _ schema: TableSchema, table: Int64, layout: Int64, policies: [String: Int64] = [:], isUTF16: Bool = false
  ) {
    guard let form = KeyForm(schema), let key = schema.keyColumn else { return nil }
    self.schema = schema
    self.form = form
    self.keyName = key.name
    self.table = table
    self.layout = layout
    self.policies = policies
    self.isUTF16 = isUTF16
  }

  /// The events that fire a trigger. `update` is an update that keeps the record's key, and `move` is one that changes
  /// it. If the table has a `UNIQUE` constraint besides the key, `replace` and `retake` run before an insert and an
  /// update. They note the rows that the statement would displace, because SQLite fires no trigger for rows that
  /// `REPLACE` deletes. If columns have a policy, `was` and `displace` note the values that an update and an insert
  /// replace.
  enum Event: String, CaseIterable {
    case insert, update, move, delete, replace, retake, was, displace

    /// Whether the trigger's existence and text depend on the table's indexes.
    var followsIndexes: Bool { self == .replace || self == .retake }
    /// Whether the trigger's existence and text depend on the policies of columns. Without it, writes are noted anyway.
    var followsPolicies: Bool { self == .was || self == .displace }
  }

  /// The values of `mesh_pending.op`.
  enum Operation: Int {
    case insert = 1
    case update = 2
    case delete = 3
  }

  /// The prefix of the names of all capture triggers.
  static let prefix = "mesh_capture_"

  static func name(_ table: Int64, _ event: Event) -> String { "\(prefix)\(table)_\(event.rawValue)" }

  /// Returns the trigger's SQL, or nil if the table needs no such trigger. A table that has only a key has no columns
  /// to change.
  func sql(_ event: Event) -> String? {
    switch event {
    case .insert: insert(requireText)
    case .delete: trigger(event, on: "DELETE", [note(.delete, key: old(keyName))])
    case .update: update(changes())
    case .move: move([requireAssets, requireNoRoot] + requireText, isMarked: true)
    case .replace: trigger(event, "BEFORE", on: "INSERT", rivals)
    case .retake: trigger(event, "BEFORE", on: "UPDATE", rivals)
    case .was: trigger(event, on: "UPDATE", when: "\(oldKey) IS \(new(keyName))", formerValues)
    case .displace: trigger(event, "BEFORE", on: "INSERT", displacedValues)
    }
  }

  private func insert(_ conditions: [String]) -> String? {
    trigger(.insert, on: "INSERT", conditions + [note(.insert, key: new(keyName))])
  }

  /// Returns the trigger for a changed key. A record's identity is immutable, so a new key is a delete of the old
  /// record and an insert of the new one. The delete is marked, because rows that refer to the old key may be about to
  /// get the new one.
  private func move(_ conditions: [String], isMarked: Bool) -> String? {
    trigger(
      .move, on: "UPDATE", when: "\(oldKey) IS NOT \(new(keyName))",
      conditions + [
        note(.delete, key: old(keyName), word: isMarked ? PendingSlice.rekeyed : 0), note(.insert, key: new(keyName)),
      ])
  }

  private func update(_ changes: [String]) -> String? {
    trigger(.update, on: "UPDATE", when: "\(oldKey) IS \(new(keyName))", changes)
  }

  /// Returns the triggers of earlier formats that noted the same writes, earliest first. Before format 9, a `move`
  /// refused nothing. Before format 11, it allowed a new key for a root, and deletes were noted without the mark.
  /// Before format 12, an `update` noted no touches. Before format 15, a `move` refused a new key for any row with a root's
  /// key. Before format 20, any text could be a key in UTF-16. Before format 22, an `update` compared the types in all
  /// columns.
  func earlier(_ event: Event) -> [String] {
    switch event {
    case .move:
      [
        move([], isMarked: false), move([requireAssets], isMarked: false),
        move([requireAssets, requireNoRoot(besidesRivals: false)], isMarked: true),
        move([requireAssets, requireNoRoot], isMarked: true),
      ].compactMap(\.self)
    case .update:
      [
        update(changes(notingTouches: false, comparingTypes: true)), update(changes(comparingTypes: true)),
      ].compactMap(\.self)
    case .insert: [insert([])].compactMap(\.self)
    case .delete, .replace, .retake, .was, .displace: []
    }
  }

  private var oldKey: String { "\(old(keyName)) COLLATE \(form.collation.sql)" }

  private func trigger(
    _ event: Event, _ moment: String = "AFTER", on statement: String, when condition: String? = nil, _ body: [String]
  ) -> String? {
    if body.isEmpty { return nil }
    // `IS NOT 1` is used instead of `= 0` so that writes are noted even if the row of mesh_state is lost.
    return """
      CREATE TRIGGER \(Self.name(table, event).quotedName) \(moment) \(statement) ON \(schema.name.quotedName)
      WHEN \(condition.map { "\($0) AND " } ?? "")(SELECT applying FROM mesh_state WHERE id = 1) IS NOT 1
      BEGIN
      \(body.map { "  \($0);" }.joined(separator: "\n"))
      END
      """
  }

  private func note(_ operation: Operation, key: String, word: Int64 = 0) -> String {
    "\(Self.into) VALUES (\(table), \(layout), \(key), \(operation.rawValue), \(word), 0, \(Self.wall))"
  }

  /// Refuses a new key for a row that waits for an asset. The new record would have no more than the row shows, and the
  /// asset would be deleted with the old record on all devices.
  private var requireAssets: String {
    """
    SELECT RAISE(ABORT, '\(Self.refusal)') WHERE EXISTS (
        SELECT 1 FROM mesh_asset_use u JOIN mesh_record r ON r.tbl = u.tbl AND r."key" = u."key" AND r.zone = u.zone
        WHERE u.tbl = \(table) AND u."key" = \(form.canonicalSQL(old(keyName))) AND u.shown = 0 AND r.held IS NULL)
    """
  }

  /// Refuses a new key for the root of a share. The share is made of the record with that key, in signed acts. Its
  /// delete would end the share for everybody, and the new record would be a private one.
  private var requireNoRoot: String { requireNoRoot(besidesRivals: true) }

  /// - Parameter besidesRivals: Whether a row of another zone, for which the root is held, may get another key.
  private func requireNoRoot(besidesRivals: Bool) -> String {
    let key = form.canonicalSQL(old(keyName))
    let rival = """

          AND NOT EXISTS (SELECT 1 FROM mesh_record WHERE tbl = \(table) AND "key" = \(key) AND zone = mesh_zone.id
            AND held = \(HeldReason.slotTaken.rawValue))
      """
    return """
      SELECT RAISE(ABORT, '\(Self.rootRefusal)') WHERE EXISTS (
          SELECT 1 FROM mesh_zone WHERE role IN (\(ZoneStanding.Role.owned.rawValue), \(ZoneStanding.Role.readWrite.rawValue))
            AND stopped = 0 AND root_gone = 0 AND root_table = '\(schema.name.replacing("'", with: "''"))' COLLATE NOCASE
            AND root_key = \(key)\(besidesRivals ? rival : ""))
      """
  }

  /// Refuses a key that is no valid text. Other machines, and mesh itself, would read it as the key of another row.
  private var requireText: [String] {
    isUTF16 ? ["SELECT RAISE(ABORT, '\(Self.textRefusal)') WHERE \(TextEncoding.isBroken(new(keyName)))"] : []
  }

  static let textRefusal =
    "mesh: the key is no valid UTF-16 text, so other machines would read another key; use another key"

  static let rootRefusal =
    "mesh: a share is made of this row, and its key names the share; end the share (mesh share stop, or mesh share leave) before "
    + "the row gets another key, or insert another row and share that"

  static let refusal =
    "mesh: a BLOB of this row is not on this machine; fetch it (mesh asset fetch) before the row gets another key"

  /// For each index, notes the rows that have the new row's values, as an update of no column. A flush checks whether
  /// they still exist.
  private var rivals: [String] {
    schema.uniqueIndexes.filter(\.isPlain).map { index in
      let terms = zip(index.columns.compactMap(\.self), index.collations).map { column, collation in
        "\(column.quotedName) = \(new(column)) COLLATE \(collation.quotedName)"
      }
      return """
        \(Self.into) SELECT \(table), \(layout), \(keyName.quotedName), \(Operation.update.rawValue), 0, 0, \(Self.wall)
            FROM \(schema.name.quotedName) WHERE \(terms.joined(separator: " AND ")) AND \(keyName.quotedName) IS NOT \(new(keyName))
        """
    }.sorted()
  }

  /// Notes the former values of columns with a policy that an update changes. BLOBs are not noted.
  private var formerValues: [String] {
    policies.sorted { $0.value < $1.value }.map { name, column in
      """
      \(Self.intoFormer) SELECT \(table), \(layout), \(new(keyName)), \(PendingSlice.Op.was), \(column), 0, \(Self.wall), \(old(name))
          WHERE typeof(\(old(name))) <> 'blob' AND (\(changed(name, comparingTypes: true)))
      """
    }
  }

  /// Notes the values of a row with the key of a new row, which the insert may replace.
  private var displacedValues: [String] {
    policies.sorted { $0.value < $1.value }.map { name, column in
      let key = keyName.quotedName
      return """
        \(Self.intoFormer) SELECT \(table), \(layout), \(key), \(PendingSlice.Op.was), \(column), 0, \(Self.wall), \(name.quotedName)
            FROM \(schema.name.quotedName) WHERE \(key) = \(new(keyName)) AND typeof(\(name.quotedName)) <> 'blob'
        """
    }
  }

  private static let intoFormer = #"INSERT INTO mesh_pending (tbl, layout, "key", op, word, mask, wall, was)"#

  /// Returns one statement for each word of the mask. LIMIT keeps SQLite from folding the inner query into the outer
  /// one and computing the mask twice.
  ///
  /// If an update changes none of these columns, it is noted with the mask 0, provided that the table's definition has
  /// changed since the trigger was made. The update may have changed a new column. `Transaction.noteTouches` handles this
  /// note.
  private func changes(notingTouches: Bool = true, comparingTypes: Bool = false) -> [String] {
    let touches =
      notingTouches
      ? " OR (SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = \(schema.name.quotedText)) "
        + "IS NOT (SELECT sql FROM mesh_table WHERE id = \(table))" : ""
    return words(comparingTypes: comparingTypes).enumerated().map { word, mask in
      """
      \(Self.into) SELECT \(table), \(layout), \(new(keyName)), \(Operation.update.rawValue), \(word), mask, \(Self.wall)
          FROM (SELECT \(mask) AS mask LIMIT 1) WHERE mask <> 0\(touches)
      """
    }
  }

  /// Returns the names that an update trigger has for the columns of its layout, in their order. `ALTER TABLE … RENAME
  /// COLUMN` changes the names there, so the trigger shows a column's current name.
  static func columns(ofUpdate sql: String) -> [String] {
    sql.components(separatedBy: "((OLD.").dropFirst().compactMap { term in
      let name = term.components(separatedBy: " COLLATE BINARY IS NOT ")[0]
      guard name.hasPrefix("\""), name.hasSuffix("\""), name.count > 2 else { return name.isEmpty ? nil : name }
      return name.dropFirst().dropLast().replacingOccurrences(of: "\"\"", with: "\"")
    }
  }

  /// Returns the expressions of the masks, one for every 63 columns.
  private func words(comparingTypes: Bool) -> [String] {
    let untyped = Set(schema.columns.filter { $0.affinity == .blob }.map(\.name))
    let names = Layout.names(of: schema, form)
    return stride(from: 0, to: names.count, by: Layout.wordSize).map { start in
      names[start..<min(start + Layout.wordSize, names.count)].enumerated()
        .map { place, name in
          "((\(changed(name, comparingTypes: comparingTypes || untyped.contains(name)))) << \(place))"
        }
        .joined(separator: "\n      | ")
    }
  }

  /// Compares with BINARY, because NOCASE doesn't see that 'milk' becomes 'Milk'.
  ///
  /// - Parameter comparingTypes: Whether 1 and 1.0 differ, which SQLite calls equal. Only a column without an affinity
  ///   has both: an INTEGER column keeps 1, and a REAL column 1.0.
  private func changed(_ column: String, comparingTypes: Bool) -> String {
    let (old, new) = (old(column), new(column))
    return "\(old) COLLATE BINARY IS NOT \(new)" + (comparingTypes ? " OR typeof(\(old)) <> typeof(\(new))" : "")
  }

  private func old(_ column: String) -> String { "OLD.\(column.quotedName)" }
  private func new(_ column: String) -> String { "NEW.\(column.quotedName)" }

  private static let into = #"INSERT INTO mesh_pending (tbl, layout, "key", op, word, mask, wall)"#

  /// Returns the wall time in milliseconds. SQLite keeps whole milliseconds. As a Julian day, they are a double that is
  /// exact to 0.04 ms, so rounding restores them. (`unixepoch('subsec')` is NULL before 3.42.)
  static let wall = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"
}
