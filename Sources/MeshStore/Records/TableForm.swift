import MeshCore

/// A synchronized table of this file, with the statements that records need.
final class TableForm {
  struct Column {
    /// The `mesh_column.id`.
    let id: Int64
    let schema: TableSchema.Column
    var name: String { schema.name }
  }

  /// The `mesh_table.id`.
  let id: Int64
  let schema: TableSchema
  /// Whether its records are never part of a share.
  let isPrivate: Bool
  /// False for a table that was dropped or never here. Then only its name and the form of its keys are known.
  let isHere: Bool
  /// Whether the file keeps texts as UTF-16.
  let isUTF16: Bool
  let form: KeyForm
  let keyName: String
  let keyAffinity: Affinity
  /// The replicated columns in the table's order. They include the key only if `form.keyIsColumn`.
  let columns: [Column]
  /// The index of the key in `columns`, if it is among them.
  let keyColumn: Int?
  /// The index in `columns` for each column number.
  let indexes: [Int64: Int]
  /// For each column, the columns that were renamed to it here, most recent name first.
  let origins: [Int64: [Int64]]
  /// For each former column of the table, its current column.
  let successors: [Int64: Int64]
  /// For each column whose name was another column's before, that column.
  let leftTo: [Int64: Int64]
  /// The last name of each column that was renamed, even if another column has that name now.
  let formerNames: [Int64: Int64]
  /// The references of this table, and the references to it. They are set once, when all tables are known.
  var references: [Reference] = []
  var referrers: [Reference] = []

  /// The name by which SQLite's rowid can be queried. Nil if there is none, if columns have all its names, or if BLOBs
  /// can't be opened by it. SQLite takes a column's place in the table for its place in the row, which differs if there
  /// are virtual columns.
  let rowidName: String?
  /// Selects the columns of a row by its key. In place of a long BLOB, it returns zeros, which take no memory, because
  /// the BLOB is not read here.
  let select: String
  let selectKey: String
  let delete: String

  init(
    id: Int64, schema: TableSchema, key: TableSchema.Column, form: KeyForm, columns: [Column], isPrivate: Bool = false,
    isHere: Bool = true, isUTF16: Bool = false, origins: [Int64: Int64] = [:]
  ) {
    self.id = id
    self.schema = schema
    self.isPrivate = isPrivate
    self.isHere = isHere
    self.isUTF16 = isUTF16
    self.form = form
    self.keyName = key.name
    self.keyAffinity = key.affinity
    self.columns = columns
    self.keyColumn = columns.firstIndex { $0.schema.isKey }
    self.indexes = Dictionary(columns.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    (self.origins, self.successors) = Self.renamings(columns, origins)
    self.leftTo = Self.reused(Set(columns.map(\.id)), origins)
    formerNames = origins
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

  /// Creates the form of a synchronized table that has disappeared or lost its key. Returns nil if the comparison of
  /// its keys was never noted.
  convenience init?(gone table: TrackedTable) {
    guard let collation = table.keyCollation.flatMap(ColumnCollation.init(sql:)) else { return nil }
    self.init(absent: table.id, name: table.name, collation: collation, isPrivate: table.isPrivate)
  }

  /// Creates the form of a table that was never synchronized here. Its keys occur only in canonical form.
  convenience init(unknown id: Int64, name: String) {
    self.init(absent: id, name: name, collation: .binary, isPrivate: false)
  }

  private convenience init(absent id: Int64, name: String, collation: ColumnCollation, isPrivate: Bool) {
    let key = TableSchema.Column(
      name: "", declaredType: "", notNull: true, collation: "", isKey: true, generated: .no, affinity: .blob)
    let schema = TableSchema(
      name: name, columns: [], isRowidAlias: false, isAutoincrement: false, isWithoutRowid: false,
      isStrict: false, foreignKeys: [], uniqueIndexes: [], triggers: [])
    self.init(
      id: id, schema: schema, key: key, form: KeyForm(collation: collation, keyIsColumn: true), columns: [],
      isPrivate: isPrivate, isHere: false)
  }

  /// Returns the renamings of columns. A name that the table has again is not a former name.
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

  private static func reused(_ columns: Set<Int64>, _ origins: [Int64: Int64]) -> [Int64: Int64] {
    var leftTo: [Int64: Int64] = [:]
    for column in columns.sorted() {
      var (former, seen) = (origins[column], Set([column]))
      while let id = former, seen.insert(id).inserted, !columns.contains(id) { former = origins[id] }
      if let former, former != column, columns.contains(former) { leftTo[former] = leftTo[former] ?? column }
    }
    return leftTo
  }

  private static func value(_ column: Column, isStrict: Bool) -> String {
    let name = column.name.quotedName
    if column.schema.isKey || isStrict && column.schema.affinity != .blob { return name }
    return
      "CASE WHEN typeof(\(name)) = 'blob' AND length(\(name)) > \(Limits.inlineBlob) THEN zeroblob(length(\(name))) "
      + "ELSE \(name) END"
  }

  /// Returns whether a new row's spelling of its key is sent. It is sent if it differs from the canonical form, or if
  /// the key could be spelled differently.
  ///
  /// - Parameter key: The key in canonical form.
  func sendsSpelling(_ spelling: Value, of key: Value) -> Bool { spelling != key || form.hasOtherSpellings(key) }

  /// Returns the values of the current row of `select`.
  func row(_ statement: PreparedStatement) -> [Value] {
    columns.indices.map { $0 == keyColumn ? statement.value($0) : statement.cell($0) }
  }

  /// Returns whether a BLOB of the column can be written in place, without holding the row in memory. This requires the
  /// last column of a rowid table, and nothing in the schema may be computed from it.
  func writesInPlace(_ index: Int) -> Bool { isLast(index) && ties(index).isEmpty }

  private func isLast(_ index: Int) -> Bool { schema.columns.last?.name == columns[index].name }

  /// Returns the reasons why a BLOB of the column can't be written in place, whatever the column's position.
  private func ties(_ index: Int) -> [String] {
    let generated = schema.columns.filter { $0.generated != .no }.map(\.name)
    var ties = schema.isWithoutRowid ? ["the table is WITHOUT ROWID"] : []
    if !generated.isEmpty { ties.append("the table has generated columns (\(generated.joined(separator: ", ")))") }
    if ties.isEmpty, rowidName == nil { ties.append("columns have all names of the rowid (rowid, oid, _rowid_)") }
    return ties + schema.ties.all + (schema.ties.columns[columns[index].name.folded] ?? [])
  }

  /// Returns advice for a person about a BLOB that is too long for the column: the obstacles, and what to do.
  func advice(_ index: Int) -> String {
    let reasons = ties(index) + (isLast(index) ? [] : ["the column is not the last one"])
    return
      "\(columns[index].name) takes BLOBs of \(StoreLimits.assetInMemory >> 20) MiB and no more, because \(reasons.joined(separator: "; because ")); "
      + "change that, or give the BLOB a table of its own"
  }

  /// Returns whether an asset is written chunk by chunk over the one that a row shows, without rewriting the row. No
  /// trigger runs then, so this is not done if an app has some.
  func isPatched(_ asset: Asset, over old: Asset, in index: Int) -> Bool {
    asset.size > StoreLimits.assetInStatement && asset.size == old.size && ties(index).isEmpty
      && schema.triggers.isEmpty
  }

  /// Returns whether an asset of this size can be written into the column. In all columns except the last, SQLite holds
  /// the whole row in memory.
  func takes(_ size: Int, in index: Int) -> Bool { size <= StoreLimits.assetInMemory || writesInPlace(index) }

  /// The reference that decides a record's zone: the table's only reference. Records of tables with several references
  /// are in the private zone, or stay in the zone from which they came.
  var parent: Reference? {
    isPrivate || schema.foreignKeys.count != 1 ? nil : references.first
  }

  func index(named name: String) -> Int? {
    let folded = name.folded
    return columns.firstIndex { $0.name.folded == folded }
  }

  /// Returns a statement for the key and then these columns. It overwrites the values of an existing row.
  func upsert(_ chosen: [Int]) -> String {
    let values = chosen.filter { $0 != keyColumn }.map { columns[$0].name.quotedName }
    let key = keyName.quotedName
    let names = ([key] + values).joined(separator: ", ")
    let marks = Array(repeating: "?", count: values.count + 1).joined(separator: ", ")
    // The key is included, because its spelling may have changed.
    let updates = ([key] + values).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return "INSERT INTO main.\(schema.name.quotedName) (\(names)) VALUES (\(marks)) "
      + "ON CONFLICT (\(key)) DO UPDATE SET \(updates)"
  }

  /// Returns a statement for these columns and then the key.
  func update(_ chosen: [Int]) -> String {
    let assignments = chosen.map { "\(columns[$0].name.quotedName) = ?" }.joined(separator: ", ")
    return "UPDATE main.\(schema.name.quotedName) SET \(assignments) WHERE \(keyName.quotedName) = ?"
  }

  /// Returns a query for the keys of the rows whose column refers to a parent's key.
  func keysReferring(_ column: Int) -> String {
    "SELECT \(keyName.quotedName) FROM main.\(schema.name.quotedName) WHERE \(columns[column].name.quotedName) = ?"
  }

  /// Returns the value of a column without a stamp, as far as a literal gives it.
  func defaultValue(_ column: Int) -> Value { columns[column].schema.defaultValue ?? .null }

  /// Returns whether the file keeps the value unchanged. A file in UTF-16 replaces what is no valid text.
  func holds(_ value: Value) -> Bool {
    guard isUTF16, case .text(let bytes) = value else { return true }
    return bytes.survivesUTF16
  }

  /// Returns false for a key that the table's key column would convert to another value. The column on another machine
  /// has another type then.
  func keeps(_ key: Value) -> Bool {
    switch (keyAffinity, key) {
    case (.text, .integer), (.text, .real): false
    case (.integer, .text(let bytes)), (.numeric, .text(let bytes)), (.real, .text(let bytes)):
      !Affinity.isNumber(bytes) && holds(key)
    default: holds(key)
    }
  }

  /// Returns whether the table has the key's row. A row that SQLite finds by converting the key is another record's.
  func hasRow(_ key: Value, _ sql: Connection) throws -> Bool {
    try isHere && keeps(key) && sql.exists(selectKey, [key])
  }

  /// Returns whether a reference finds its parent in this table. As SQLite does, it converts the value to the key's type.
  func hasParent(_ value: Value, _ sql: Connection) throws -> Bool { try isHere && sql.exists(selectKey, [value]) }

  /// Returns the key of the parent in this table that a child's value names.
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

/// One foreign key. It always refers to the parent's primary key.
struct Reference: Hashable {
  let child: Int64
  /// The index in the child's columns.
  let column: Int
  let parent: Int64
  let action: ForeignKeyAction

  /// Whether the child loses only the value, and not its row, with its parent.
  var isReset: Bool { action == .setNull || action == .setDefault }
}

extension Affinity {
  /// Returns whether a column of this affinity keeps the value unchanged. In doubtful cases it returns false.
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

  /// Returns whether a column with a numeric affinity converts the text to a number: a sign, digits with a point, an
  /// exponent, and white space around them.
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

extension [UInt8] {
  /// Whether SQLite reads the same bytes again after it has converted the text to UTF-16. It replaces U+FFFE and U+FFFF,
  /// too.
  fileprivate var survivesUTF16: Bool {
    if allSatisfy({ $0 < 0x80 }) { return true }
    guard let text = String(validating: self, as: UTF8.self) else { return false }
    return !text.unicodeScalars.contains { $0.value == 0xfffe || $0.value == 0xffff }
  }
}
