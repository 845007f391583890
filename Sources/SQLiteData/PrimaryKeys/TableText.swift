/// The text of a CREATE TABLE statement whose parts can be replaced.
///
/// The other parts stay unchanged, with their comments and line breaks.
struct TableText {
  /// A constraint of a column or of the table.
  struct Constraint {
    enum Kind { case primaryKey, notNull, unique, defaultValue, other }
    var kind: Kind
    /// The constraint with its name, if it has one.
    var range: Range<String.Index>
    /// The tokens of the constraint without its name.
    var tokens: ArraySlice<SQLPiece>
  }

  struct Column {
    var name: SQLPiece
    /// The words of the type.
    var type: Range<String.Index>?
    var constraints: [Constraint]
  }

  /// A part that can't be read.
  struct Unreadable: Error {
    var text: String
  }

  private let sql: String
  private(set) var columns: [Column] = []
  private(set) var constraints: [Constraint] = []
  /// The commas before the constraints of the table, by the start of the constraint.
  private var commas: [String.Index: String.Index] = [:]
  private var start: String.Index
  private var edits: [(range: Range<String.Index>, text: String)] = []

  init(_ sql: String) throws {
    self.sql = sql
    let tokens = sql.sqlPieces
    guard let open = tokens.firstIndex(where: { $0.keyword == "(" }) else { throw Unreadable(text: sql) }
    start = tokens[open].range.upperBound
    var reader = Reader(tokens: tokens, position: open + 1)
    var comma: String.Index?
    while let token = reader.next, token.keyword != ")" {
      if reader.isTableConstraint {
        while reader.isTableConstraint {
          let constraint = try reader.constraint()
          constraints.append(constraint)
          if let comma { commas[constraint.range.lowerBound] = comma }
          comma = nil
        }
      } else {
        columns.append(try reader.column())
      }
      comma = reader.next?.range.lowerBound
      guard reader.skip(",") || reader.next?.keyword == ")" else {
        throw Unreadable(text: reader.next.map { String(sql[$0.range.lowerBound...]) } ?? sql)
      }
    }
    guard reader.next != nil else { throw Unreadable(text: sql) }
  }

  func column(_ name: String) -> Column? {
    columns.first { $0.name.text.lowercased() == name.lowercased() }
  }

  // MARK: Edits

  mutating func replace(_ range: Range<String.Index>, with text: String) {
    edits.append((range, text))
  }

  /// Changes the type of a column to TEXT.
  mutating func makeText(_ column: Column) {
    if let type = column.type {
      replace(type, with: "TEXT")
    } else {
      insert(" TEXT", after: column)
    }
  }

  /// Inserts text after the type of a column.
  mutating func insert(_ text: String, after column: Column) {
    let end = column.type?.upperBound ?? column.name.range.upperBound
    replace(end..<end, with: text)
  }

  /// Inserts text after a constraint.
  mutating func insert(_ text: String, after constraint: Constraint) {
    replace(constraint.range.upperBound..<constraint.range.upperBound, with: text)
  }

  /// Removes the parts of a primary key about the order and the choice of numbers.
  mutating func makePlain(_ primaryKey: Constraint) {
    for token in primaryKey.tokens where ["ASC", "AUTOINCREMENT", "DESC"].contains(token.keyword) {
      replace(token.range, with: "")
    }
  }

  /// Inserts a column in front of the others.
  mutating func insertFirst(_ definition: String) {
    replace(start..<start, with: "\n  \(definition),")
  }

  /// Removes a constraint with the comma before it.
  mutating func remove(_ constraint: Constraint) {
    let comma = commas[constraint.range.lowerBound]
    replace((comma ?? constraint.range.lowerBound)..<constraint.range.upperBound, with: "")
  }

  /// Returns the statement with all edits, with another name for the table.
  func renamed(_ name: String) -> String {
    var result = "CREATE TABLE main.\(name.quotedName) ("
    var position = start
    // Edits at one position keep the order in which they were made.
    for edit in edits.enumerated().sorted(by: {
      ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
    }).map(\.element) {
      result += sql[position..<edit.range.lowerBound] + edit.text
      position = edit.range.upperBound
    }
    return result + sql[position...]
  }
}

extension String {
  /// The name in double quotes.
  var quotedName: String { "\"\(replacing("\"", with: "\"\""))\"" }
  /// The text as an SQL literal.
  var quotedText: String { "'\(replacing("'", with: "''"))'" }
}

/// Reads the definitions of a CREATE TABLE statement according to SQLite's grammar.
private struct Reader {
  let tokens: [SQLPiece]
  var position: Int

  var next: SQLPiece? { position < tokens.count ? tokens[position] : nil }

  private func keyword(_ offset: Int = 0) -> String? {
    position + offset < tokens.count ? tokens[position + offset].keyword : nil
  }

  var isTableConstraint: Bool {
    switch keyword() {
    case "CONSTRAINT", "CHECK", "UNIQUE": true
    case "PRIMARY", "FOREIGN": keyword(1) == "KEY"
    default: false
    }
  }

  mutating func skip(_ words: String...) -> Bool {
    for (offset, word) in words.enumerated() where keyword(offset) != word { return false }
    position += words.count
    return true
  }

  private mutating func skipToken() throws {
    guard next != nil else { throw TableText.Unreadable(text: "") }
    position += 1
  }

  /// Skips parentheses with their contents.
  private mutating func skipGroup() throws {
    guard keyword() == "(" else { throw TableText.Unreadable(text: next?.text ?? "") }
    var depth = 0
    repeat {
      if keyword() == "(" { depth += 1 } else if keyword() == ")" { depth -= 1 }
      try skipToken()
    } while depth > 0
  }

  private mutating func skipConflictClause() throws {
    if skip("ON", "CONFLICT") { try skipToken() }
  }

  mutating func column() throws -> TableText.Column {
    guard let name = next else { throw TableText.Unreadable(text: "") }
    position += 1
    let first = position
    // A type consists of any words, and numbers in parentheses, before a constraint.
    while let word = next, word.keyword != ",", word.keyword != ")", !isColumnConstraint {
      if word.keyword == "(" { try skipGroup() } else { position += 1 }
    }
    let type = first < position ? tokens[first].range.lowerBound..<tokens[position - 1].range.upperBound : nil
    var column = TableText.Column(name: name, type: type, constraints: [])
    while let word = next, word.keyword != ",", word.keyword != ")" { column.constraints.append(try constraint()) }
    return column
  }

  private var isColumnConstraint: Bool {
    switch keyword() {
    case "CONSTRAINT", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "AS", "DEFERRABLE": true
    case "PRIMARY": keyword(1) == "KEY"
    case "GENERATED": keyword(1) == "ALWAYS"
    default: false
    }
  }

  /// Reads a constraint of a column or of the table.
  mutating func constraint() throws -> TableText.Constraint {
    guard let start = next?.range.lowerBound else { throw TableText.Unreadable(text: "") }
    if skip("CONSTRAINT") { try skipToken() }
    let first = position
    let kind = try skipConstraint()
    guard position > 0 else { throw TableText.Unreadable(text: "") }
    return TableText.Constraint(
      kind: kind, range: start..<tokens[position - 1].range.upperBound, tokens: tokens[first..<position])
  }

  private mutating func skipConstraint() throws -> TableText.Constraint.Kind {
    if skip("PRIMARY", "KEY") {
      if keyword() == "(" { try skipGroup() }
      if !skip("ASC") { _ = skip("DESC") }
      try skipConflictClause()
      _ = skip("AUTOINCREMENT")
      return .primaryKey
    }
    if skip("NOT", "NULL") {
      try skipConflictClause()
      return .notNull
    }
    if skip("UNIQUE") {
      if keyword() == "(" { try skipGroup() }
      try skipConflictClause()
      return .unique
    }
    if skip("DEFAULT") {
      if keyword() == "(" {
        try skipGroup()
      } else {
        if !skip("-") { _ = skip("+") }
        try skipToken()
      }
      return .defaultValue
    }
    try skipOtherConstraint()
    return .other
  }

  private mutating func skipOtherConstraint() throws {
    if skip("NULL") {
      try skipConflictClause()
    } else if skip("CHECK") {
      try skipGroup()
      try skipConflictClause()
    } else if skip("COLLATE") {
      try skipToken()
    } else if skip("GENERATED", "ALWAYS", "AS") || skip("AS") {
      try skipGroup()
      if !skip("STORED") { _ = skip("VIRTUAL") }
    } else if skip("FOREIGN", "KEY") {
      try skipGroup()
      guard skip("REFERENCES") else { throw TableText.Unreadable(text: next?.text ?? "") }
      try skipReference()
    } else if skip("REFERENCES") {
      try skipReference()
    } else {
      throw TableText.Unreadable(text: next?.text ?? "")
    }
  }

  /// Skips the table, the columns and the rules of a reference.
  private mutating func skipReference() throws {
    try skipToken()
    if keyword() == "(" { try skipGroup() }
    while true {
      if skip("ON", "DELETE") || skip("ON", "UPDATE") {
        if skip("SET") || skip("NO") { try skipToken() } else { try skipToken() }
      } else if skip("MATCH") {
        try skipToken()
      } else if skip("NOT", "DEFERRABLE") || skip("DEFERRABLE") {
        if skip("INITIALLY") { try skipToken() }
      } else {
        return
      }
    }
  }
}
