import MeshCore

/// A synchronized table of this file, with the statements that records need.
final class TableForm {
  struct Column {
    /// `mesh_column.id`.
    let id: Int64
    let schema: TableSchema.Column
    var name: String { schema.name }
  }

  /// `mesh_table.id`.
  let id: Int64
  let schema: TableSchema
  /// Its records are in no share.
  let isPrivate: Bool
  /// False of one that was dropped, or never here: nothing but its name and the form of its keys is known.
  let isHere: Bool
  let form: KeyForm
  let keyName: String
  let keyAffinity: Affinity
  /// What is replicated, in the table's order; the key only where `form.keyIsColumn`.
  let columns: [Column]
  /// Index in `columns` of the key, where it is among them.
  let keyColumn: Int?
  /// Column number → index in `columns`.
  let indexes: [Int64: Int]
  /// Column → the columns that were renamed to it here, the last name first.
  let origins: [Int64: [Int64]]
  /// A column that the table had → what it is called now.
  let successors: [Int64: Int64]
  /// References of this table, and to it. Set once, when all tables are known.
  var references: [Reference] = []
  var referrers: [Reference] = []

  /// By which SQLite's rowid can be asked for; nil where there is none, where columns have all its names, and where BLOBs cannot be
  /// opened by it: SQLite takes a column's place in the table for its place in the row, and virtual columns have none there.
  let rowidName: String?
  /// Columns of a row by its key; in the place of a long BLOB zeros, which take no memory, since it is not read here.
  let select: String
  let selectKey: String
  let delete: String

  init(
    id: Int64, schema: TableSchema, key: TableSchema.Column, form: KeyForm, columns: [Column], isPrivate: Bool = false,
    isHere: Bool = true, origins: [Int64: Int64] = [:]
  ) {
    self.id = id
    self.schema = schema
    self.isPrivate = isPrivate
    self.isHere = isHere
    self.form = form
    self.keyName = key.name
    self.keyAffinity = key.affinity
    self.columns = columns
    self.keyColumn = columns.firstIndex { $0.schema.isKey }
    self.indexes = Dictionary(columns.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    (self.origins, self.successors) = Self.renamings(columns, origins)
    let table = "main.\(schema.name.quotedName)"
    let place = "FROM \(table) WHERE \(key.name.quotedName) = ?"
    let names =
      columns.isEmpty ? "1" : columns.map { Self.value($0, isStrict: schema.isStrict) }.joined(separator: ", ")
    let taken = Set(schema.columns.map(\.name.folded))
    let hasVirtual = schema.columns.contains { $0.generated == .virtual }
    self.rowidName =
      schema.isWithoutRowid || hasVirtual ? nil : ["rowid", "oid", "_rowid_"].first { !taken.contains($0.folded) }
    self.select = "SELECT \(names) \(place)"
    self.selectKey = "SELECT \(key.name.quotedName) \(place)"
    self.delete = "DELETE \(place)"
  }

  /// A synchronized table that has gone, or lost its key; nil where nobody noted how its keys were compared.
  convenience init?(gone table: TrackedTable) {
    guard let collation = table.keyCollation.flatMap(Collation.init(sql:)) else { return nil }
    self.init(absent: table.id, name: table.name, collation: collation, isPrivate: table.isPrivate)
  }

  /// A table that was never synchronized here: keys are met in their canonical form only.
  convenience init(unknown id: Int64, name: String) {
    self.init(absent: id, name: name, collation: .binary, isPrivate: false)
  }

  private convenience init(absent id: Int64, name: String, collation: Collation, isPrivate: Bool) {
    let key = TableSchema.Column(
      name: "", declaredType: "", notNull: true, collation: "", isKey: true, generated: .no, affinity: .blob)
    let schema = TableSchema(
      name: name, columns: [], isRowidAlias: false, isAutoincrement: false, isWithoutRowid: false,
      isStrict: false, foreignKeys: [], uniqueIndexes: [], triggers: [])
    self.init(
      id: id, schema: schema, key: key, form: KeyForm(collation: collation, keyIsColumn: true), columns: [],
      isPrivate: isPrivate, isHere: false)
  }

  /// A name that the table has again is no former one.
  private static func renamings(
    _ columns: [Column], _ origins: [Int64: Int64]
  ) -> (origins: [Int64: [Int64]], successors: [Int64: Int64]) {
    var (found, successors): ([Int64: [Int64]], [Int64: Int64]) = ([:], [:])
    if origins.isEmpty { return (found, successors) }
    var seen = Set(columns.map(\.id))
    for column in columns {
      var former = origins[column.id]
      while let id = former, seen.insert(id).inserted {
        found[column.id, default: []].append(id)
        successors[id] = column.id
        former = origins[id]
      }
    }
    return (found, successors)
  }

  private static func value(_ column: Column, isStrict: Bool) -> String {
    let name = column.name.quotedName
    if column.schema.isKey || isStrict && column.schema.affinity != .blob { return name }
    return
      "CASE WHEN typeof(\(name)) = 'blob' AND length(\(name)) > \(Limits.inlineBlob) THEN zeroblob(length(\(name))) "
      + "ELSE \(name) END"
  }

  /// Whether a new row's spelling of its key is sent: it is, or the key could be spelled otherwise.
  ///
  /// - Parameter key: In its canonical form.
  func sendsSpelling(_ spelling: Value, of key: Value) -> Bool { spelling != key || form.hasOtherSpellings(key) }

  /// The current row of `select`.
  func row(_ statement: Statement) -> [Value] {
    columns.indices.map { $0 == keyColumn ? statement.value($0) : statement.cell($0) }
  }

  /// A BLOB of the column can be written in place, without the row being in memory: it is the last of a rowid table, and nothing in the
  /// schema is computed from it.
  func writesInPlace(_ index: Int) -> Bool { isLast(index) && ties(index).isEmpty }

  private func isLast(_ index: Int) -> Bool { schema.columns.last?.name == columns[index].name }

  /// Why a BLOB of the column cannot be written in place wherever the column is.
  private func ties(_ index: Int) -> [String] {
    let generated = schema.columns.filter { $0.generated != .no }.map(\.name)
    var ties = schema.isWithoutRowid ? ["the table is WITHOUT ROWID"] : []
    if !generated.isEmpty { ties.append("the table has generated columns (\(generated.joined(separator: ", ")))") }
    if ties.isEmpty, rowidName == nil { ties.append("columns have all names of the rowid (rowid, oid, _rowid_)") }
    return ties + schema.ties.all + (schema.ties.columns[columns[index].name.folded] ?? [])
  }

  /// For a person: what stands in the way of a BLOB that is too long for the column, and what to do.
  func advice(_ index: Int) -> String {
    let reasons = ties(index) + (isLast(index) ? [] : ["the column is not the last one"])
    return
      "\(columns[index].name) takes BLOBs of \(StoreLimits.assetInMemory >> 20) MiB and no more, because \(reasons.joined(separator: "; because ")); "
      + "change that, or give the BLOB a table of its own"
  }

  /// Whether an asset is written over the one that a row shows chunk by chunk, without the row being written anew. No trigger runs then:
  /// where an app has some they are not passed by.
  func isPatched(_ asset: Asset, over old: Asset, in index: Int) -> Bool {
    asset.size > StoreLimits.assetInStatement && asset.size == old.size && ties(index).isEmpty
      && schema.triggers.isEmpty
  }

  /// Whether an asset of this size can be put into the column: elsewhere than in the last one SQLite has the whole row in memory.
  func takes(_ size: Int, in index: Int) -> Bool { size <= StoreLimits.assetInMemory || writesInPlace(index) }

  /// The reference that a record's zone follows: a table's only one. Those of several are in the private zone, or where they came
  /// from.
  var parent: Reference? {
    isPrivate || schema.foreignKeys.count != 1 ? nil : references.first
  }

  func index(named name: String) -> Int? {
    let folded = name.folded
    return columns.firstIndex { $0.name.folded == folded }
  }

  /// Key first, then these columns; what the row has already is overwritten.
  func upsert(_ chosen: [Int]) -> String {
    let values = chosen.filter { $0 != keyColumn }.map { columns[$0].name.quotedName }
    let key = keyName.quotedName
    let names = ([key] + values).joined(separator: ", ")
    let marks = Array(repeating: "?", count: values.count + 1).joined(separator: ", ")
    // The key as well: its spelling may be another.
    let updates = ([key] + values).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return "INSERT INTO main.\(schema.name.quotedName) (\(names)) VALUES (\(marks)) "
      + "ON CONFLICT (\(key)) DO UPDATE SET \(updates)"
  }

  /// These columns, then the key.
  func update(_ chosen: [Int]) -> String {
    let assignments = chosen.map { "\(columns[$0].name.quotedName) = ?" }.joined(separator: ", ")
    return "UPDATE main.\(schema.name.quotedName) SET \(assignments) WHERE \(keyName.quotedName) = ?"
  }

  /// Keys of the rows whose column refers to a parent's key.
  func keysReferring(_ column: Int) -> String {
    "SELECT \(keyName.quotedName) FROM main.\(schema.name.quotedName) WHERE \(columns[column].name.quotedName) = ?"
  }

  /// The value of a column without a stamp, as far as a literal tells it.
  func defaultValue(_ column: Int) -> Value { columns[column].schema.defaultValue ?? .null }

  /// False of a key that the table's key column would make another value of: another machine's column has another type.
  func keeps(_ key: Value) -> Bool {
    switch (keyAffinity, key) {
    case (.text, .integer), (.text, .real): false
    case (.integer, .text(let bytes)), (.numeric, .text(let bytes)), (.real, .text(let bytes)):
      !Affinity.isNumber(bytes)
    default: true
    }
  }

  /// The key of a parent in this table that a child's value names.
  func parentKey(_ value: Value) -> Value {
    switch (value, keyAffinity) {
    case (.text(let bytes), .integer), (.text(let bytes), .numeric), (.text(let bytes), .real):
      Int64(String(decoding: bytes, as: UTF8.self)).map(Value.integer) ?? form.canonical(value)
    case (.integer(let integer), .text):
      form.canonical(.text(String(integer)))
    default:
      form.canonical(value)
    }
  }
}

/// One foreign key: always to the parent's primary key.
struct Reference: Hashable {
  let child: Int64
  /// Index in the child's columns.
  let column: Int
  let parent: Int64
  let action: ForeignKeyAction

  /// True where the child loses the value, and not its row, with its parent.
  var isReset: Bool { action == .setNull || action == .setDefault }
}

extension Affinity {
  /// True where a column of this affinity keeps the value as it is. Errs on the side of false.
  func keeps(_ value: Value) -> Bool {
    switch value {
    case .null, .blob, .asset: true
    case .text(let bytes): self == .text || self == .blob || !Self.mayBeNumber(bytes)
    case .integer: self != .real && self != .text
    case .real(let bits):
      switch self {
      case .real, .blob: true
      case .text: false
      case .integer, .numeric: Int64(exactly: Double(bitPattern: bits)) == nil
      }
    }
  }

  /// What a column with a numeric affinity makes a number of: a sign, digits with a point, an exponent, and white space around it.
  static func isNumber(_ text: [UInt8]) -> Bool {
    guard mayBeNumber(text) else { return false }
    let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0d).contains(byte) }
    var rest = text.drop(while: isSpace)
    while rest.last.map(isSpace) == true { rest.removeLast() }
    func skipSign() { if rest.first == 0x2b || rest.first == 0x2d { rest.removeFirst() } }
    func skipDigits() -> Int {
      let digits = rest.prefix { (0x30...0x39).contains($0) }
      rest.removeFirst(digits.count)
      return digits.count
    }
    skipSign()
    var digits = skipDigits()
    if rest.first == 0x2e {
      rest.removeFirst()
      digits += skipDigits()
    }
    guard digits > 0 else { return false }
    if rest.first == 0x65 || rest.first == 0x45 {
      rest.removeFirst()
      skipSign()
      guard skipDigits() > 0 else { return false }
    }
    return rest.isEmpty
  }

  private static func mayBeNumber(_ text: [UInt8]) -> Bool {
    guard let first = text.first(where: { $0 != 0x20 && !(0x09...0x0d).contains($0) }) else { return false }
    return (0x30...0x39).contains(first) || first == 0x2b || first == 0x2d || first == 0x2e
  }
}
