public import MeshCore

/// The tables of the simulated app: small, and with one of each thing that replication must get right.
enum AppSchema {
  struct Table {
    let name: String
    let key: String
    /// Without the key, unless it has several spellings.
    let columns: [Column]
    let keyCollation: Collation
    let sql: String
    /// A column's definition, and what a version of the app has in its place: it refuses rows that the other takes.
    var stricter: (of: String, definition: String)?
    /// A column of which a version of the app wants no value twice.
    var unique: String?
    /// None refers to it, but for itself: an app may drop it, and nothing else goes.
    var isChildless: Bool { name != "list" && name != "folder" }
    /// The table of its only reference, to which its records belong; nil where it has none, or several from the beginning.
    var parent: String? {
      let references = firstColumns.compactMap(\.reference)
      return references.count == 1 ? references[0].parent : nil
    }
    /// It refers to nothing: its records can be made shares, and begin in the private zone.
    var isRoot: Bool { columns.allSatisfy { $0.reference == nil } }
  }

  /// By which a table that has a stricter column is known.
  static let mark = "CONSTRAINT strict"

  struct Column {
    let name: String
    var defaultValue = Value.null
    var reference: Reference?
    /// Not there at first: added at each node at another time.
    var isAdded = false
    /// Added under its new name, where a column is renamed.
    var formerly: String?
    /// Apps may drop it.
    var isDropped = false
    /// A node's table may lack it.
    var mayLack: Bool { isAdded || isDropped }
  }

  struct Reference {
    let parent: String
    /// Else `SET NULL`.
    let cascades: Bool
  }

  static let tables = mixed + [leg, stock]

  /// Where there are shares: one more, whose records hang on records that hang on others.
  static let all = tables + [step]

  /// What random statements are about.
  static let mixed = [list, item, folder, tag]

  /// Tables in which apps write long BLOBs.
  static let withAssets = [item.name, tag.name]

  static func table(_ name: String) -> Table? { all.first { $0.name == name } }

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

  /// Rows of which a transaction writes a whole group, with one value: who sees two values in a group sees half of a unit.
  static let leg = Table(
    name: "leg", key: "id", columns: [Column(name: "value")], keyCollation: .binary,
    sql: "CREATE TABLE leg (id TEXT PRIMARY KEY NOT NULL, value TEXT)")

  static let groups = 4
  static let groupSize = 5

  /// Where programs write by the thousand.
  static let stock = Table(
    name: "stock", key: "id", columns: [Column(name: "amount")], keyCollation: .binary,
    sql: "CREATE TABLE stock (id TEXT PRIMARY KEY NOT NULL, amount INTEGER)")

  /// The tables that a write to one of them can change.
  static func affected(by table: String) -> [String] {
    if table == "folder" { return ["item", "folder"] }
    let related = ["list", "item", "step"]
    return related.contains(table) ? related : [table]
  }

  /// The statement that adds a column.
  ///
  /// - Parameter refers: False of one that is to be no foreign key.
  static func addition(_ table: Table, _ column: Column, refers: Bool = true) -> String {
    var clause = column.defaultValue == .null ? "" : " DEFAULT '\(column.defaultValue.shown)'"
    if refers, let reference = column.reference { clause += " REFERENCES \(reference.parent) ON DELETE SET NULL" }
    return "ALTER TABLE \(table.name) ADD COLUMN \(column.name) TEXT\(clause)"
  }

  /// Of the index for a column that has no value twice, whatever its case.
  static func index(_ table: Table) -> String { "app_unique_\(table.name)" }
}

extension AppSchema.Column {
  /// What a record without a value of this column has: the default, or, of a key with several spellings, the canonical one.
  func unsent(_ record: RecordName) -> Value {
    AppSchema.table(record.table)?.key == name ? record.key : defaultValue
  }
}

extension AppSchema.Table {
  /// The form by which the merge knows a key.
  func canonical(_ key: Value) -> Value {
    guard keyCollation == .nocase, case .text(let bytes) = key else { return key }
    return .text(bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 })
  }

  /// With its stricter column, where it has one.
  func sql(isStrict: Bool) -> String {
    guard isStrict, let stricter else { return sql }
    return sql.replacing(stricter.of, with: stricter.definition)
  }

  /// The columns that are there from the beginning.
  var firstColumns: [AppSchema.Column] { columns.filter { !$0.isAdded } }
}

extension RecordName: CustomStringConvertible {
  public var description: String { "\(table)/\(key.shown)" }
}

/// Rows by record, values by column.
public typealias Contents = [RecordName: [String: Value]]

extension Value {
  /// It travels as an asset.
  var isLongBLOB: Bool { if case .blob(let bytes) = self { Asset.isAsset(size: bytes.count) } else { false } }

  /// As a trace shows it.
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
