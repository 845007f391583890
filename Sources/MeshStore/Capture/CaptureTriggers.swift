import Foundation
import MeshCore

/// The triggers of one table, as SQL text. They use built-in SQL only, so every program's writes fire them.
struct CaptureTriggers {
  let schema: TableSchema
  let form: KeyForm
  let keyName: String
  let table: Int64
  let layout: Int64

  /// Nil where the table's key is not one column with a built-in collation.
  init?(_ schema: TableSchema, table: Int64, layout: Int64) {
    guard let form = KeyForm(schema), let key = schema.keyColumn else { return nil }
    self.schema = schema
    self.form = form
    self.keyName = key.name
    self.table = table
    self.layout = layout
  }

  /// What makes a trigger fire. An update that leaves the record its key fires `update`, one that does not `move`. Where something
  /// beside the key is `UNIQUE`, `replace` and `retake` name, before an insert and an update, the rows that it would displace: SQLite
  /// tells nobody of what `REPLACE` deletes.
  enum Event: String, CaseIterable {
    case insert, update, move, delete, replace, retake

    /// It is there, and what it is, for the table's indexes.
    var followsIndexes: Bool { self == .replace || self == .retake }
  }

  /// `mesh_pending.op`.
  enum Operation: Int {
    case insert = 1
    case update = 2
    case delete = 3
  }

  /// All names of our triggers begin so.
  static let prefix = "mesh_capture_"

  static func name(_ table: Int64, _ event: Event) -> String { "\(prefix)\(table)_\(event.rawValue)" }

  /// Nil where the table needs no such trigger: one that is nothing but its key has no columns to change.
  func sql(_ event: Event) -> String? {
    switch event {
    case .insert: trigger(event, on: "INSERT", [note(.insert, key: new(keyName))])
    case .delete: trigger(event, on: "DELETE", [note(.delete, key: old(keyName))])
    case .update: update(changes(notingTouches: true))
    case .move: move([requireAssets, requireNoRoot], isMarked: true)
    case .replace: trigger(event, "BEFORE", on: "INSERT", rivals)
    case .retake: trigger(event, "BEFORE", on: "UPDATE", rivals)
    }
  }

  /// A record's identity is immutable: a new key is a delete of the old record and an insert of the new one. The delete is marked:
  /// what refers to the old key may be about to get the new one.
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

  /// The triggers of earlier formats, which noted the same writes, the earliest first. Before format 9 a `move` refused nothing, before
  /// format 11 no new key for a root, and both noted deletes without the mark. Before format 12 an `update` noted no touches.
  func earlier(_ event: Event) -> [String] {
    switch event {
    case .move: [move([], isMarked: false), move([requireAssets], isMarked: false)].compactMap(\.self)
    case .update: [update(changes(notingTouches: false))].compactMap(\.self)
    case .insert, .delete, .replace, .retake: []
    }
  }

  private var oldKey: String { "\(old(keyName)) COLLATE \(form.collation.sql)" }

  private func trigger(
    _ event: Event, _ moment: String = "AFTER", on statement: String, when condition: String? = nil, _ body: [String]
  ) -> String? {
    if body.isEmpty { return nil }
    // `IS NOT 1` rather than `= 0`: if the row of mesh_state were lost, writes would be noted all the same.
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

  /// Refuses a new key for a row that waits for an asset: the new record would have no more than the row shows, and the asset would go
  /// with the old one, everywhere.
  private var requireAssets: String {
    """
    SELECT RAISE(ABORT, '\(Self.refusal)') WHERE EXISTS (
        SELECT 1 FROM mesh_asset_use u JOIN mesh_record r ON r.tbl = u.tbl AND r."key" = u."key" AND r.zone = u.zone
        WHERE u.tbl = \(table) AND u."key" = \(form.canonicalSQL(old(keyName))) AND u.shown = 0 AND r.held IS NULL)
    """
  }

  /// Refuses a new key for the root of a share: the share is made of the record with that key, in acts that are signed. Its delete
  /// would end the share for everybody, and the new record would be a private one.
  private var requireNoRoot: String {
    """
    SELECT RAISE(ABORT, '\(Self.rootRefusal)') WHERE EXISTS (
        SELECT 1 FROM mesh_zone WHERE role IN (\(ZoneStanding.Role.owned.rawValue), \(ZoneStanding.Role.readWrite.rawValue))
          AND stopped = 0 AND root_gone = 0 AND root_table = '\(schema.name.replacing("'", with: "''"))' COLLATE NOCASE
          AND root_key = \(form.canonicalSQL(old(keyName))))
    """
  }

  static let rootRefusal =
    "mesh: a share is made of this row, and its key names the share; end the share (mesh share stop, or mesh share leave) before "
    + "the row gets another key, or insert another row and share that"

  static let refusal =
    "mesh: a BLOB of this row is not on this machine; fetch it (mesh asset fetch) before the row gets another key"

  /// For each index the rows that have what the new one has, with an update of no column: a flush looks whether they are there.
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

  /// One statement for each word. LIMIT keeps SQLite from folding the inner query into the outer and computing the
  /// mask twice.
  ///
  /// An update that changes none of these columns is noted with the mask 0 if the table's definition is not the one that the trigger
  /// was made for: it may have changed a column that is new. `Session.noteTouches` makes something of it.
  private func changes(notingTouches: Bool) -> [String] {
    let touches =
      notingTouches
      ? " OR (SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = \(schema.name.quotedText)) "
        + "IS NOT (SELECT sql FROM mesh_table WHERE id = \(table))" : ""
    return words.enumerated().map { word, mask in
      """
      \(Self.into) SELECT \(table), \(layout), \(new(keyName)), \(Operation.update.rawValue), \(word), mask, \(Self.wall)
          FROM (SELECT \(mask) AS mask LIMIT 1) WHERE mask <> 0\(touches)
      """
    }
  }

  /// The names that an update trigger has for the columns of its layout, in their order. `ALTER TABLE … RENAME COLUMN` puts the new
  /// name there, so the trigger tells what a column is called now.
  static func columns(ofUpdate sql: String) -> [String] {
    sql.components(separatedBy: "((OLD.").dropFirst().compactMap { term in
      let name = term.components(separatedBy: " COLLATE BINARY IS NOT ")[0]
      guard name.hasPrefix("\""), name.hasSuffix("\""), name.count > 2 else { return name.isEmpty ? nil : name }
      return name.dropFirst().dropLast().replacingOccurrences(of: "\"\"", with: "\"")
    }
  }

  /// For each 63 columns, the expression of their mask.
  private var words: [String] {
    let names = Layout.names(of: schema, form)
    return stride(from: 0, to: names.count, by: Layout.wordSize).map { start in
      names[start..<min(start + Layout.wordSize, names.count)].enumerated()
        .map { "((\(changed($0.element))) << \($0.offset))" }
        .joined(separator: "\n      | ")
    }
  }

  /// BINARY, since NOCASE does not see 'milk' become 'Milk'; the type, since 1 and 1.0 are equal.
  private func changed(_ column: String) -> String {
    let (old, new) = (old(column), new(column))
    return "\(old) COLLATE BINARY IS NOT \(new) OR typeof(\(old)) <> typeof(\(new))"
  }

  private func old(_ column: String) -> String { "OLD.\(column.quotedName)" }
  private func new(_ column: String) -> String { "NEW.\(column.quotedName)" }

  private static let into = #"INSERT INTO mesh_pending (tbl, layout, "key", op, word, mask, wall)"#

  /// SQLite keeps whole milliseconds; as a Julian day they are a double that is exact to 0.04 ms, so rounding finds
  /// them again. (`unixepoch('subsec')` is NULL before 3.42.)
  static let wall = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"
}
