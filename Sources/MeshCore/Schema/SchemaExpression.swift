/// An SQL expression in a closed grammar. It is the part of a default, a `CHECK` or an index that another device may
/// send.
///
/// It reads one row and nothing else. It has no subqueries and no parameters, and its functions produce no more text
/// than they read. Received text is never executed. SQLite runs `sql`, which is printed from this form with all names
/// quoted.
package indirect enum SchemaExpression: Hashable, Sendable {
  /// A constant.
  case literal(Value)
  /// A column of the row, by its name.
  case column(String)
  /// An expression compared by a collation: `COLLATE`.
  case collate(SchemaExpression, ColumnCollation)
  /// A conversion: `CAST`.
  case cast(SchemaExpression, Affinity)
  /// An operation on operands, in the order in which SQL writes them.
  case apply(Operation, [SchemaExpression])

  /// The greatest depth of nested operands.
  package static let depthLimit = 32
  /// The greatest number of operands in total.
  package static let nodeLimit = 256
  /// The greatest number of bytes on the wire.
  package static let byteLimit = 4_096
  /// Bytes of a pattern, a format, or a text that is searched for. The cost of a search is proportional to their
  /// length.
  package static let patternLimit = 64
  /// The greatest number of `%` and `*` in a pattern.
  package static let wildcardLimit = 4
  /// The greatest number of `||` in an expression. Each can add another copy of the longest value of the row.
  package static let concatenationLimit = 16
  /// The greatest number of bytes that `randomblob` returns.
  package static let randomLimit: Int64 = 64

  /// An operation on operands. The numbers are those on the wire.
  package enum Operation: UInt8, Hashable, Sendable, CaseIterable {
    /// `TRUE`.
    case yes = 0
    /// `FALSE`, `CURRENT_TIME`, `CURRENT_DATE`, `CURRENT_TIMESTAMP`.
    case no, currentTime, currentDate, currentTimestamp
    /// `NOT`.
    case not = 8
    /// Unary `-`, unary `+`, `~`.
    case negate, plus, complement
    /// `OR`.
    case or = 16
    /// The binary operators from `AND` to `>>`.
    case and, equal, unequal, `is`, isNot, less, lessOrEqual, greater, greaterOrEqual, bitAnd, bitOr, shiftLeft,
      shiftRight
    /// The binary operators `+`, `-`, `*`, `/`, `%` and `||`.
    case add, subtract, multiply, divide, remainder, concatenate
    /// `IS NULL`.
    case isNull = 48
    /// `IS NOT NULL`, `BETWEEN`, `IN`, `LIKE`, `GLOB` and their negations.
    case notNull, between, notBetween, `in`, notIn, like, notLike, glob, notGlob
    /// `CASE`, and `CASE` with a base. The operands are the base, the pairs, and the expression after `ELSE`.
    case choose, chooseOf
    /// The function `length`.
    case length = 64
    /// Functions of the same names that compute a value from their arguments.
    case abs, lower, upper, trim, ltrim, rtrim, typeof, coalesce, ifnull, nullif, iif, min, max, round, instr, substr
    /// SQLite's date and time functions of the same names.
    case date, time, datetime, julianday, strftime, unixepoch
    /// `json_valid` and `json_type`.
    case jsonValid, jsonType
    /// Functions for defaults. `uuid` is one of SQLiteData.
    case hex, random, randomblob, uuid
  }

  /// The place in a table where an expression is used.
  package enum Place: Sendable {
    /// A `CHECK` or an index, which reads the row.
    case row
    /// A default, which reads no column and may be random.
    case initial
  }

  /// The names of the columns that the expression reads.
  package var columns: Set<FoldedName> {
    switch self {
    case .literal: []
    case .column(let name): [name.folded]
    case .collate(let operand, _), .cast(let operand, _): operand.columns
    case .apply(_, let operands): operands.reduce(into: []) { $0.formUnion($1.columns) }
    }
  }

  /// The expression with column names in lower case, so that equal expressions of two machines print alike.
  package var normalized: SchemaExpression {
    switch self {
    case .literal: self
    case .column(let name): .column(name.asciiLowercased)
    case .collate(let operand, let collation): .collate(operand.normalized, collation)
    case .cast(let operand, let type): .cast(operand.normalized, type)
    case .apply(let operation, let operands): .apply(operation, operands.map(\.normalized))
    }
  }

  var depth: Int {
    switch self {
    case .literal, .column: 1
    case .collate(let operand, _), .cast(let operand, _): 1 + operand.depth
    case .apply(_, let operands): 1 + (operands.map(\.depth).max() ?? 0)
    }
  }

  func count(_ isCounted: (SchemaExpression) -> Int) -> Int {
    switch self {
    case .literal, .column: isCounted(self)
    case .collate(let operand, _), .cast(let operand, _): isCounted(self) + operand.count(isCounted)
    case .apply(_, let operands): operands.reduce(isCounted(self)) { $0 + $1.count(isCounted) }
    }
  }
}

extension SchemaExpression.Operation {
  /// The operation in SQL. For a function, it is its name.
  package var sql: String {
    switch self {
    case .yes: "TRUE"
    case .no: "FALSE"
    case .currentTime: "CURRENT_TIME"
    case .currentDate: "CURRENT_DATE"
    case .currentTimestamp: "CURRENT_TIMESTAMP"
    case .not: "NOT"
    case .negate, .subtract: "-"
    case .plus, .add: "+"
    case .complement: "~"
    case .or: "OR"
    case .and: "AND"
    case .equal: "="
    case .unequal: "<>"
    case .is: "IS"
    case .isNot: "IS NOT"
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    case .bitAnd: "&"
    case .bitOr: "|"
    case .shiftLeft: "<<"
    case .shiftRight: ">>"
    case .multiply: "*"
    case .divide: "/"
    case .remainder: "%"
    case .concatenate: "||"
    case .isNull: "ISNULL"
    case .notNull: "NOTNULL"
    case .between: "BETWEEN"
    case .notBetween: "NOT BETWEEN"
    case .in: "IN"
    case .notIn: "NOT IN"
    case .like: "LIKE"
    case .notLike: "NOT LIKE"
    case .glob: "GLOB"
    case .notGlob: "NOT GLOB"
    case .choose, .chooseOf: "CASE"
    case .jsonValid: "json_valid"
    case .jsonType: "json_type"
    default: "\(self)"
    }
  }

  /// The number of operands that the function takes, or nil if the operation is not a function.
  var arguments: ClosedRange<Int>? {
    switch self {
    case .length, .abs, .lower, .upper, .typeof, .jsonValid, .hex, .randomblob: 1...1
    case .trim, .ltrim, .rtrim, .round, .jsonType: 1...2
    case .coalesce, .min, .max: 2...SchemaExpression.nodeLimit
    case .ifnull, .nullif, .instr: 2...2
    case .iif: 3...3
    case .substr: 2...3
    case .date, .time, .datetime, .julianday, .unixepoch: 0...8
    case .strftime: 1...8
    case .random, .uuid: 0...0
    default: nil
    }
  }

  static let functions = Dictionary(
    allCases.filter { $0.arguments != nil }.map { ($0.sql, $0) }, uniquingKeysWith: { first, _ in first })
}

// MARK: - SQL

extension SchemaExpression {
  /// The expression as SQL text that means the same in every context.
  package var sql: String {
    switch self {
    case .literal(let value): value.literal
    case .column(let name): name.quotedName
    case .collate(let operand, let collation): "(\(operand.sql) COLLATE \(collation.sql))"
    case .cast(let operand, let type): "CAST(\(operand.sql) AS \(type.typeName))"
    case .apply(let operation, let operands): Self.sql(operation, operands.map(\.sql))
    }
  }

  /// Returns SQL text for any operands, also for some that no parser produces: `check` compares the printed text with
  /// its origin.
  private static func sql(_ operation: Operation, _ operands: [String]) -> String {
    let name = operation.sql
    switch operation {
    case .yes, .no, .currentTime, .currentDate, .currentTimestamp: return name
    case .not, .negate, .plus, .complement: return "(\(name) \(operands.joined(separator: ", ")))"
    case .isNull, .notNull: return "(\(operands.joined(separator: ", ")) \(name))"
    case .between, .notBetween:
      return "(\(operands.first ?? "") \(name) \(operands.dropFirst().joined(separator: " AND ")))"
    case .in, .notIn: return "(\(operands.first ?? "") \(name) (\(operands.dropFirst().joined(separator: ", "))))"
    case .like, .notLike, .glob, .notGlob:
      return "(\(operands.first ?? "") \(name) \(operands.dropFirst().joined(separator: " ESCAPE ")))"
    case .choose, .chooseOf: return choice(operands, hasBase: operation == .chooseOf)
    default:
      return operation.arguments == nil
        ? "(\(operands.joined(separator: " \(name) ")))" : "\(name)(\(operands.joined(separator: ", ")))"
    }
  }

  private static func choice(_ operands: [String], hasBase: Bool) -> String {
    var (text, rest) = ("CASE", operands[...])
    if hasBase, let base = rest.popFirst() { text += " \(base)" }
    while rest.count > 1 { text += " WHEN \(rest.removeFirst()) THEN \(rest.removeFirst())" }
    if let last = rest.popFirst() { text += " ELSE \(last)" }
    return text + " END"
  }
}

// MARK: - Wire form

extension SchemaExpression {
  private enum Tag {
    static let literal: UInt8 = 0
    static let column: UInt8 = 1
    static let collate: UInt8 = 2
    static let cast: UInt8 = 3
    static let apply: UInt8 = 4
  }

  /// Writes the tag, then one of: value · name · collation, operand · type, operand · operation, list of operands.
  package func write(to writer: inout ByteWriter) {
    switch self {
    case .literal(let value):
      writer.byte(Tag.literal)
      value.write(to: &writer)
    case .column(let name):
      writer.byte(Tag.column)
      writer.text(name)
    case .collate(let operand, let collation):
      writer.byte(Tag.collate)
      writer.byte(collation.rawValue)
      operand.write(to: &writer)
    case .cast(let operand, let type):
      writer.byte(Tag.cast)
      writer.byte(type.rawValue)
      operand.write(to: &writer)
    case .apply(let operation, let operands):
      writer.byte(Tag.apply)
      writer.byte(operation.rawValue)
      writer.list(operands) { $1.write(to: &$0) }
    }
  }

  /// Reads and checks an expression. The result is what the parser returns for its own SQL text.
  package init(from reader: inout ByteReader, in place: Place) throws(FormatError) {
    var nodes = Self.nodeLimit
    let start = reader.consumed
    self = try Self.read(&reader, depth: Self.depthLimit, nodes: &nodes)
    guard reader.consumed - start <= Self.byteLimit else { throw .limit("expression") }
    try check(in: place)
  }

  private static func read(
    _ reader: inout ByteReader, depth: Int, nodes: inout Int
  ) throws(FormatError) -> SchemaExpression {
    nodes -= 1
    guard depth > 0, nodes >= 0 else { throw .limit("expression") }
    switch try reader.byte() {
    case Tag.literal: return .literal(try Value(from: &reader))
    case Tag.column: return .column(try reader.text(Limits.name, "column name"))
    case Tag.collate:
      guard let collation = ColumnCollation(rawValue: try reader.byte()) else { throw .unknown("collation") }
      return .collate(try read(&reader, depth: depth - 1, nodes: &nodes), collation)
    case Tag.cast:
      guard let type = Affinity(rawValue: try reader.byte()) else { throw .unknown("type of a cast") }
      return .cast(try read(&reader, depth: depth - 1, nodes: &nodes), type)
    case Tag.apply:
      guard let operation = Operation(rawValue: try reader.byte()) else { throw .unknown("operation") }
      let count = try reader.count(nodeLimit, "operands")
      var operands: [SchemaExpression] = []
      for _ in 0..<count { operands.append(try read(&reader, depth: depth - 1, nodes: &nodes)) }
      return .apply(operation, operands)
    default: throw .unknown("expression")
    }
  }

  /// Throws unless the parser returns this expression for its own SQL text. The parser's rules are therefore the only
  /// rules.
  package func check(in place: Place) throws(FormatError) {
    guard literals.allSatisfy({ (try? SchemaDescription.check(default: $0)) != nil }) else {
      throw .invalid("literals of an expression")
    }
    guard let parsed = try? SchemaExpression(sql: sql, in: place), parsed == self else {
      throw .invalid("expressions of the grammar")
    }
  }

  private var literals: [Value] {
    switch self {
    case .literal(let value): [value]
    case .column: []
    case .collate(let operand, _), .cast(let operand, _): operand.literals
    case .apply(_, let operands): operands.flatMap(\.literals)
    }
  }
}
