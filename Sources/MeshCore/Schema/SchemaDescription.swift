/// A table's schema as data. A member sends it to others, so that they can create the table or add columns to theirs.
///
/// It is part of a message of the session. The receiver builds SQL from it and quotes the names itself. It never
/// executes received text. Expressions of the table are in `rules`, which travel in a message of their own.
package struct SchemaDescription: Hashable, Sendable {
  /// The name of the table.
  package var name: String
  /// The columns in the table's order.
  package var columns: [Column]
  /// The index in `columns` of the primary key, which is `NOT NULL`.
  package var key: Int
  /// The references to primary keys, at most `foreignKeyLimit`.
  package var foreignKeys: [ForeignKey]
  /// True for a `STRICT` table.
  package var isStrict: Bool
  /// True for a `WITHOUT ROWID` table.
  package var isWithoutRowid: Bool
  /// True for `INTEGER PRIMARY KEY AUTOINCREMENT`.
  package var isAutoincrement: Bool
  /// True if the table's records are never part of a share. Such a table is sent only to the account's own devices.
  package var isPrivate: Bool
  /// The table's rules, or nil if none were sent or the sender isn't entitled to set them.
  package var rules: SchemaRules?
  /// The policies of columns that the sender is entitled to set.
  package var policies: [ColumnPolicySetting] = []
  /// The names that the table and its columns had before, if the sender is entitled to say so.
  package var formerNames = FormerNames()

  package init(
    name: String, columns: [Column], key: Int, foreignKeys: [ForeignKey] = [], isStrict: Bool = false,
    isWithoutRowid: Bool = false, isAutoincrement: Bool = false, isPrivate: Bool = false, rules: SchemaRules? = nil
  ) {
    self.name = name
    self.columns = columns
    self.key = key
    self.foreignKeys = foreignKeys
    self.isStrict = isStrict
    self.isWithoutRowid = isWithoutRowid
    self.isAutoincrement = isAutoincrement
    self.isPrivate = isPrivate
    self.rules = rules
  }

  /// A column of the table.
  package struct Column: Hashable, Sendable {
    /// The name of the column.
    package var name: String
    /// A type that `isDeclaredType` allows. It may be empty.
    package var declaredType: String
    /// True if the column is declared `NOT NULL`.
    package var notNull: Bool
    /// The column's collation for comparisons and indexes.
    package var collation: ColumnCollation
    /// The literal after `DEFAULT`, or nil if there is none.
    package var defaultValue: Value?

    package init(
      name: String, declaredType: String = "", notNull: Bool = false, collation: ColumnCollation = .binary,
      defaultValue: Value? = nil
    ) {
      self.name = name
      self.declaredType = declaredType
      self.notNull = notNull
      self.collation = collation
      self.defaultValue = defaultValue
    }
  }

  /// A reference to the primary key of `parent`.
  package struct ForeignKey: Hashable, Sendable {
    /// The index in `columns`.
    package var column: Int
    /// The name of the referenced table.
    package var parent: String
    /// The action on the row when its parent is deleted.
    package var onDelete: ForeignKeyAction
    /// The action on the row when its parent's key changes.
    package var onUpdate: ForeignKeyAction

    package init(column: Int, parent: String, onDelete: ForeignKeyAction, onUpdate: ForeignKeyAction = .noAction) {
      self.column = column
      self.parent = parent
      self.onDelete = onDelete
      self.onUpdate = onUpdate
    }
  }

  /// Bytes of a declared type. It is longer than any in use (`DECIMAL(10,5)`, `UNSIGNED BIG INT`).
  package static let declaredTypeLimit = 64
  /// Bytes of a literal default. A default is a small constant, and every row of an added column may carry it.
  package static let defaultLimit = 4 << 10
  /// Foreign keys of one table. SQLite has no limit, but a sensible table has at most one for each column.
  package static let foreignKeyLimit = 256
}

/// SQLite's built-in collations. The numbers are those on the wire.
package enum ColumnCollation: UInt8, Hashable, Sendable, CaseIterable {
  /// Compares bytes.
  case binary = 0
  /// Ignores the case of A to Z.
  case nocase = 1
  /// Ignores blanks at the end.
  case rtrim = 2
}

/// The action of a foreign key when its parent is deleted or its key changes. The numbers are those on the wire.
package enum ForeignKeyAction: UInt8, Hashable, Sendable, CaseIterable {
  /// Refuses at the end of the statement or transaction.
  case noAction = 0
  /// Refuses at once.
  case restrict = 1
  /// Sets the reference to NULL.
  case setNull = 2
  /// Sets the reference to its default.
  case setDefault = 3
  /// Deletes the row, or gives it the parent's new key.
  case cascade = 4
}

// MARK: - Wire form

extension SchemaDescription {
  private enum TableFlag {
    static let strict: UInt8 = 1
    static let withoutRowid: UInt8 = 2
    static let autoincrement: UInt8 = 4
    static let isPrivate: UInt8 = 8
    static let all = strict | withoutRowid | autoincrement | isPrivate
  }

  private enum ColumnFlag {
    static let notNull: UInt8 = 1
    static let hasDefault: UInt8 = 2
    static let all = notNull | hasDefault
  }

  /// Writes name · flags · columns (name, declared type, flags, collation, default if flagged) · key · foreign keys
  /// (column, parent, on delete, on update). The rules, the policies and the former names are
  /// written separately.
  package func write(to writer: inout ByteWriter) {
    writer.text(name)
    writer.byte(
      (isStrict ? TableFlag.strict : 0) | (isWithoutRowid ? TableFlag.withoutRowid : 0)
        | (isAutoincrement ? TableFlag.autoincrement : 0) | (isPrivate ? TableFlag.isPrivate : 0))
    writer.list(columns) { writer, column in
      writer.text(column.name)
      writer.text(column.declaredType)
      writer.byte((column.notNull ? ColumnFlag.notNull : 0) | (column.defaultValue == nil ? 0 : ColumnFlag.hasDefault))
      writer.byte(column.collation.rawValue)
      column.defaultValue?.write(to: &writer)
    }
    writer.varint(key)
    writer.list(foreignKeys) { writer, reference in
      writer.varint(reference.column)
      writer.text(reference.parent)
      writer.byte(reference.onDelete.rawValue)
      writer.byte(reference.onUpdate.rawValue)
    }
  }

  /// Reads and checks a description. The result satisfies `check()`.
  package init(from reader: inout ByteReader) throws(FormatError) {
    name = try reader.text(Limits.name, "table name")
    let flags = try reader.byte()
    guard flags & ~TableFlag.all == 0 else { throw .unknown("table flags") }
    isStrict = flags & TableFlag.strict != 0
    isWithoutRowid = flags & TableFlag.withoutRowid != 0
    isAutoincrement = flags & TableFlag.autoincrement != 0
    isPrivate = flags & TableFlag.isPrivate != 0
    columns = try reader.list(Limits.columns, "columns") { reader throws(FormatError) in
      try Column(from: &reader)
    }
    key = try reader.count(Limits.columns, "key")
    foreignKeys = try reader.list(Self.foreignKeyLimit, "foreign keys") { reader throws(FormatError) in
      try ForeignKey(from: &reader)
    }
    try check()
  }
}

extension SchemaDescription.Column {
  fileprivate init(from reader: inout ByteReader) throws(FormatError) {
    name = try reader.text(Limits.name, "column name")
    declaredType = try reader.text(SchemaDescription.declaredTypeLimit, "declared type")
    let flags = try reader.byte()
    guard flags & ~3 == 0 else { throw .unknown("column flags") }
    notNull = flags & 1 != 0
    guard let collation = ColumnCollation(rawValue: try reader.byte()) else { throw .unknown("collation") }
    self.collation = collation
    defaultValue = flags & 2 != 0 ? try Value(from: &reader) : nil
  }
}

extension SchemaDescription.ForeignKey {
  fileprivate init(from reader: inout ByteReader) throws(FormatError) {
    column = try reader.count(Limits.columns, "foreign key column")
    parent = try reader.text(Limits.name, "parent table")
    onDelete = try Self.action(&reader)
    onUpdate = try Self.action(&reader)
  }

  private static func action(_ reader: inout ByteReader) throws(FormatError) -> ForeignKeyAction {
    guard let action = ForeignKeyAction(rawValue: try reader.byte()) else { throw .unknown("foreign key action") }
    return action
  }
}

// MARK: - Shares

extension [SchemaDescription] {
  /// Returns the tables whose records can be in shares made of records of these tables: the tables that reference one
  /// of them and nothing else, and so on. Other accounts need no other tables.
  package func shared(from roots: some Sequence<String>) -> [SchemaDescription] {
    let open = filter { !$0.isPrivate }
    let children = Dictionary(
      grouping: open.filter { $0.foreignKeys.count == 1 }, by: { $0.foreignKeys[0].parent.folded })
    var names = Set(roots.map(\.folded))
    var next = names.sorted()
    while let parent = next.popLast() {
      for table in children[parent] ?? [] where names.insert(table.name.folded).inserted {
        next.append(table.name.folded)
      }
    }
    return open.filter { names.contains($0.name.folded) }
  }
}

// MARK: - Rules

extension SchemaDescription {
  /// Throws if a rule does not hold. A description that passes becomes one `CREATE TABLE` statement and nothing else.
  package func check() throws(FormatError) {
    try Self.check(name: name, "table name")
    guard columns.indices.contains(key) else { throw .invalid("the key is a column") }
    guard columns.count <= Limits.columns else { throw .limit("columns") }
    guard foreignKeys.count <= Self.foreignKeyLimit else { throw .limit("foreign keys") }
    var seen: Set<FoldedName> = []
    for column in columns {
      try Self.check(name: column.name, "column name")
      guard seen.insert(column.name.folded).inserted else { throw .invalid("column names differ") }
      guard Self.isDeclaredType(column.declaredType) else { throw .invalid("declared type") }
      if let value = column.defaultValue { try Self.check(default: value) }
    }
    for reference in foreignKeys {
      guard columns.indices.contains(reference.column) else { throw .invalid("a foreign key starts at a column") }
      try Self.check(name: reference.parent, "parent table")
      guard reference.onDelete != .restrict else { throw .invalid("no ON DELETE RESTRICT") }
    }
    try checkForm()
    try rules?.check(for: self)
  }

  private func checkForm() throws(FormatError) {
    if isStrict {
      let types: Set<String> = ["int", "integer", "real", "text", "blob", "any"]
      guard columns.allSatisfy({ types.contains($0.declaredType.asciiLowercased) }) else {
        throw .invalid("types of a STRICT table")
      }
    }
    if isAutoincrement {
      guard !isWithoutRowid, columns[key].declaredType.asciiLowercased == "integer" else {
        throw .invalid("AUTOINCREMENT is for INTEGER PRIMARY KEY")
      }
    }
  }

  static func check(name: String, _ what: String) throws(FormatError) {
    guard (1...Limits.name).contains(name.utf8.count) else { throw .limit(what) }
    guard !name.utf8.contains(0), !isReserved(name) else { throw .invalid(what) }
  }

  static func check(default value: Value) throws(FormatError) {
    switch value {
    case .text(let bytes):
      guard bytes.count <= defaultLimit else { throw .limit("default") }
      // A literal can't contain a NUL, and SQL text is UTF-8.
      guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { throw .invalid("default") }
    case .blob(let bytes):
      guard bytes.count <= defaultLimit else { throw .limit("default") }
    case .real(let bits):
      guard !Double(bitPattern: bits).isNaN else { throw .invalid("default") }
    case .null, .integer:
      break
    case .asset:
      throw .limit("default")
    }
  }

  /// Returns whether a name belongs to SQLite or to mesh, in upper or lower case.
  package static func isReserved(_ name: String) -> Bool {
    let folded = name.folded
    return folded.begins(with: "sqlite_") || folded.begins(with: "mesh_")
  }

  /// Returns whether a text is an acceptable declared type. It may be empty. Otherwise it consists of words (letters,
  /// digits, `_`) separated by one space, followed by at most one `(n)` or `(n,m)` of digits. None of the words may
  /// begin a column's constraint.
  package static func isDeclaredType(_ text: String) -> Bool {
    guard text.utf8.count <= declaredTypeLimit else { return false }
    if text.isEmpty { return true }
    var words = text[...]
    if text.hasSuffix(")") {
      guard let open = text.firstIndex(of: "("), isSize(text[open...].dropFirst().dropLast()) else { return false }
      words = text[..<open]
    }
    return words.split(separator: " ", omittingEmptySubsequences: false).allSatisfy(isTypeWord)
  }

  private static func isTypeWord(_ word: Substring) -> Bool {
    guard let first = word.utf8.first, !isDigit(first) else { return false }
    let plain = word.utf8.allSatisfy { isDigit($0) || $0 == UInt8(ascii: "_") || isLetter($0) }
    return plain && !constraintWords.contains(String(word).asciiLowercased)
  }

  private static func isSize(_ text: Substring) -> Bool {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false)
    return numbers.count <= 2 && numbers.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isDigit) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

  private static let constraintWords: Set<String> = [
    "always", "as", "check", "collate", "constraint", "default", "deferrable", "foreign", "generated", "not", "null",
    "on", "primary", "references", "unique",
  ]
}

extension String {
  /// The text in lower case as SQLite folds `NOCASE` text: A to Z only.
  package var asciiLowercased: String { String(decoding: folded.bytes, as: UTF8.self) }

  /// The form in which SQLite compares the name.
  package var folded: FoldedName { FoldedName(self) }
}

/// A name of a table or column in the form in which SQLite compares names: byte by byte, with A to Z folded. Swift's
/// `String` considers two texts equal that differ in how they compose a letter, but a file can have a column under
/// each.
package struct FoldedName: Hashable, Comparable, Sendable {
  /// The bytes of the name in UTF-8, with A to Z in lower case.
  package let bytes: [UInt8]

  /// Folds a name.
  package init(_ name: String) {
    bytes = name.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
  }

  /// - Parameter prefix: The prefix in lower case.
  func begins(with prefix: StaticString) -> Bool {
    prefix.withUTF8Buffer { bytes.starts(with: $0) }
  }

  package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}
