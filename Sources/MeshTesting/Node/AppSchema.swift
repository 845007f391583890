package import MeshCore

/// The tables of the simulated app. They are small, and contain one of each case that replication has to handle.
enum AppSchema {
  struct Table {
    let name: String
    let key: String
    /// The columns without the key, unless the key has several spellings.
    let columns: [Column]
    let keyCollation: ColumnCollation
    let sql: String
    /// A column, and its definition in another version of the app, which refuses rows that the first version takes.
    var stricter: (of: String, definition: String)?
    /// A column in which a version of the app allows no value twice.
    var unique: String?
    /// Whether no other table refers to it. An app may drop such a table, and no rows of other tables are deleted.
    var isChildless: Bool { name != "list" && name != "folder" }
    /// The table of its only reference, to which its records belong. Nil if it has none, or several from the beginning.
    var parent: String? {
      let references = firstColumns.compactMap(\.reference)
      return references.count == 1 ? references[0].parent : nil
    }
    /// Whether it refers to nothing. Its records can become shares, and start in the private zone.
    var isRoot: Bool { columns.allSatisfy { $0.reference == nil } }
  }

  /// The text that marks a table with a stricter column.
  static let mark = "CONSTRAINT strict"

  struct Column {
    let name: String
    var defaultValue = Value.null
    var reference: Reference?
    /// True if it is missing at first, and added at a different time on each node.
    var isAdded = false
    /// The former name, if the column is renamed and added under its new name.
    var formerly: String?
    /// True if apps may drop it.
    var isDropped = false
    /// Whether a node's table may lack it.
    var mayLack: Bool { isAdded || isDropped }
  }

  struct Reference {
    let parent: String
    /// False for `SET NULL`.
    let cascades: Bool
  }

  static let tables = mixed + [leg, stock]

  /// All tables. With shares there is one more, whose records belong to records that belong to others.
  static let all = tables + [step]

  /// The tables of every app.
  static func tables(_ plan: FaultPlan, hasShares: Bool) -> [Table] {
    (hasShares ? all : tables) + (plan.counts > 0 ? [tally] : [])
  }

  /// The tables of random statements.
  static let mixed = [list, item, folder, tag]

  /// The name of the table to which `step` refers.
  static let items = item.name

  /// The tables into which apps write long BLOBs.
  static let withAssets = [item.name, tag.name]

  static func table(_ name: String) -> Table? { (all + [tally]).first { $0.name == name } }

  private static let list = Table(
    name: "list", key: "id",
    columns: [
      Column(name: "title", defaultValue: .text("")), Column(name: "rank"),
      Column(name: "mood", defaultValue: .text("calm"), isAdded: true, isDropped: true),
    ],
    keyCollation: .binary,
    sql: """
      CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', rank REAL)
      """, unique: "title")

  private static let item = Table(
    name: "item", key: "id",
    columns: [
      Column(name: "list", reference: Reference(parent: "list", cascades: true)), Column(name: "title"),
      Column(name: "photo"), Column(name: "done", defaultValue: .integer(0)),
      Column(name: "folder", reference: Reference(parent: "folder", cascades: false), isAdded: true),
    ],
    keyCollation: .binary,
    sql: """
      CREATE TABLE item (
        id TEXT PRIMARY KEY NOT NULL, list TEXT NOT NULL REFERENCES list(id) ON DELETE CASCADE,
        title TEXT, photo BLOB, done INTEGER NOT NULL DEFAULT 0)
      """, stricter: ("title TEXT", "title TEXT \(mark) NOT NULL CHECK (done % 2 = 0 OR length(title) % 3 <> 1)"),
    unique: "title")

  private static let step = Table(
    name: "step", key: "id",
    columns: [Column(name: "item", reference: Reference(parent: "item", cascades: false)), Column(name: "text")],
    keyCollation: .binary,
    sql: """
      CREATE TABLE step (
        id TEXT PRIMARY KEY NOT NULL, item TEXT REFERENCES item(id) ON DELETE SET NULL, text TEXT)
      """)

  private static let folder = Table(
    name: "folder", key: "id",
    columns: [
      Column(name: "parent", reference: Reference(parent: "folder", cascades: false)),
      Column(name: "name", isDropped: true), Column(name: "label", isAdded: true, formerly: "name"),
    ],
    keyCollation: .binary,
    sql: """
      CREATE TABLE folder (
        id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES folder(id) ON DELETE SET NULL, name TEXT)
      """)

  private static let tag = Table(
    name: "tag", key: "name",
    columns: [
      Column(name: "name"), Column(name: "color"), Column(name: "note", isDropped: true),
      Column(name: "size", isAdded: true, isDropped: true), Column(name: "remark", isAdded: true, formerly: "note"),
    ],
    keyCollation: .nocase,
    sql: """
      CREATE TABLE tag (name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, color INTEGER, note TEXT) WITHOUT ROWID
      """, stricter: ("color INTEGER", "color INTEGER \(mark) CHECK (color % 4 <> 1)"))

  /// A table in which a transaction writes a whole group of rows with one value. A reader that sees two values in a
  /// group sees half of a unit.
  static let leg = Table(
    name: "leg", key: "id", columns: [Column(name: "value")], keyCollation: .binary,
    sql: "CREATE TABLE leg (id TEXT PRIMARY KEY NOT NULL, value TEXT)")

  static let groups = 4
  static let groupSize = 5

  /// A table to which programs write thousands of rows.
  static let stock = Table(
    name: "stock", key: "id", columns: [Column(name: "amount")], keyCollation: .binary,
    sql: "CREATE TABLE stock (id TEXT PRIMARY KEY NOT NULL, amount INTEGER)")

  /// A table of which each column has a policy. Only plans with counts have it.
  static let tally = Table(
    name: "tally", key: "id",
    columns: [
      Column(name: "list", reference: Reference(parent: "list", cascades: false)),
      Column(name: "count", defaultValue: .integer(0)), Column(name: "best"), Column(name: "least"),
      Column(name: "note"),
    ],
    keyCollation: .binary,
    sql: """
      CREATE TABLE tally (
        id TEXT PRIMARY KEY NOT NULL, list TEXT REFERENCES list(id) ON DELETE SET NULL,
        count INTEGER NOT NULL DEFAULT 0, best INTEGER, least INTEGER, note TEXT)
      """)

  /// Returns the tables that a write to one of them can change.
  static func affected(by table: String) -> [String] {
    if table == "folder" { return ["item", "folder"] }
    let related = ["list", "item", "step"]
    return related.contains(table) ? related : [table]
  }

  /// Returns the statement that adds a column.
  ///
  /// - Parameters:
  ///   - refers: False if the column is not to be a foreign key.
  ///   - name: The name of the table, if it is another one.
  static func addition(
    _ table: Table, _ column: Column, refers: Bool = true, spelling: Spelling = .plain, to name: String? = nil
  ) -> String {
    var clause = column.defaultValue == .null ? "" : " DEFAULT '\(column.defaultValue.shown)'"
    if refers, let reference = column.reference { clause += " REFERENCES \(reference.parent) ON DELETE SET NULL" }
    return "ALTER TABLE \(spelling.name(name ?? table.name)) ADD COLUMN \(spelling.name(column.name)) TEXT\(clause)"
  }

  /// Returns the name of a table while its app has renamed it.
  static func away(_ table: Table) -> String { "\(table.name)_away" }

  /// The tables that apps may rename for a while. No other table refers to them.
  static let movable = [tag, leg, stock]

  /// Returns the name of the index for a column that allows no value twice, regardless of case.
  static func index(_ table: Table) -> String { "app_unique_\(table.name)" }
}

extension AppSchema.Column {
  /// Returns the value of this column in a record that has none: the default, or the canonical key for a key with
  /// several spellings.
  func unsent(_ record: RecordName) -> Value {
    AppSchema.table(record.table)?.key == name ? record.key : defaultValue
  }
}

extension AppSchema.Table {
  /// Returns the form by which the merge identifies a key.
  func canonical(_ key: Value) -> Value {
    guard keyCollation == .nocase, case .text(let bytes) = key else { return key }
    return .text(bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 })
  }

  /// Returns the definition, with its stricter column if it has one.
  func sql(isStrict: Bool) -> String {
    guard isStrict, let stricter else { return sql }
    return sql.replacing(stricter.of, with: stricter.definition)
  }

  /// The columns that exist from the beginning.
  var firstColumns: [AppSchema.Column] { columns.filter { !$0.isAdded } }
}

extension RecordName: CustomStringConvertible {
  package var description: String { "\(table)/\(key.shown)" }
}

/// Rows by record, values by column.
package typealias Contents = [RecordName: [String: Value]]

extension Value {
  /// Whether the value travels as an asset.
  var isLongBLOB: Bool { if case .blob(let bytes) = self { Asset.isAsset(size: bytes.count) } else { false } }

  /// The value as a trace shows it.
  var shown: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let bits): "\(Double(bitPattern: bits))"
    case .text(let bytes): bytes.count > 24 ? "text[\(bytes.count)]" : String(decoding: bytes, as: UTF8.self)
    case .blob(let bytes): "blob[\(bytes.count)]"
    case .asset(let asset): "asset[\(asset.size)]"
    }
  }
}
