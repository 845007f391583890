import MeshCore

/// The three triggers of one table, as SQL text. They use built-in SQL only, so every program's writes fire them.
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

  enum Event: String, CaseIterable {
    case insert, update, delete

    /// `mesh_pending.op`.
    var op: Int {
      switch self {
      case .insert: 1
      case .update: 2
      case .delete: 3
      }
    }
  }

  /// All names of our triggers begin so.
  static let prefix = "mesh_capture_"

  static func name(_ table: Int64, _ event: Event) -> String { "\(prefix)\(table)_\(event.rawValue)" }

  func sql(_ event: Event) -> String {
    let statements =
      switch event {
      case .insert: [note(.insert, key: new(keyName), when: nil)]
      case .delete: [note(.delete, key: old(keyName), when: nil)]
      case .update: update
      }
    // `IS NOT 1` rather than `= 0`: if the row of mesh_state were lost, writes would be noted all the same.
    return """
      CREATE TRIGGER \(Self.name(table, event).quotedName) AFTER \(event.rawValue.uppercased()) ON \(schema.name.quotedName)
      WHEN (SELECT applying FROM mesh_state WHERE id = 1) IS NOT 1
      BEGIN
      \(statements.map { "  \($0);" }.joined(separator: "\n"))
      END
      """
  }

  /// A record's identity is immutable: a new key is a delete of the old record and an insert of the new one.
  private var update: [String] {
    let keys = "\(old(keyName)) COLLATE \(form.collation.sql)"
    let moved = "\(keys) IS NOT \(new(keyName))"
    let stayed = "\(keys) IS \(new(keyName))"
    return [note(.delete, key: old(keyName), when: moved), note(.insert, key: new(keyName), when: moved)]
      + words.enumerated().map { noteChanges(word: $0.offset, mask: $0.element, when: stayed) }
  }

  private func note(_ event: Event, key: String, when condition: String?) -> String {
    "\(Self.into) SELECT \(table), \(layout), \(key), \(event.op), 0, 0, \(Self.wall)"
      + (condition.map { " WHERE \($0)" } ?? "")
  }

  private func noteChanges(word: Int, mask: String, when condition: String) -> String {
    """
    \(Self.into) SELECT \(table), \(layout), \(new(keyName)), \(Event.update.op), \(word), mask, \(Self.wall)
        FROM (SELECT \(mask) AS mask) WHERE mask <> 0 AND \(condition)
    """
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
  private static let wall = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"
}
