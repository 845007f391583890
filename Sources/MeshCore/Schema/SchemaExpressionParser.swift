extension SchemaExpression {
  /// Parses SQL text.
  ///
  /// - Parameters:
  ///   - table: The name by which columns may be qualified.
  ///   - columns: The table's columns. Nil accepts any name.
  /// - Throws: `SchemaRefusal` with the reason why the grammar doesn't include the text.
  package init(
    sql: String, in place: Place, table: String = "", columns: Set<FoldedName>? = nil
  ) throws(SchemaRefusal) {
    try self.init(tokens: SQLTokens.all(sql)[...], in: place, table: table, columns: columns)
  }

  /// Parses tokens to their end.
  ///
  /// - Throws: `SchemaRefusal` with the reason why the grammar doesn't include them, or `size` if the expression is
  /// beyond one of the limits.
  package init(
    tokens: ArraySlice<SQLToken>, in place: Place, table: String, columns: Set<FoldedName>?
  ) throws(SchemaRefusal) {
    var parser = SchemaExpressionParser(tokens: tokens, place: place, table: table.folded, columns: columns)
    self = try parser.expression(.lowest)
    guard parser.tokens.isEmpty else { throw SchemaRefusal(.syntax) }
    let isShort = count { if case .apply(.concatenate, let parts) = $0 { parts.count - 1 } else { 0 } }
    guard depth <= Self.depthLimit, count({ _ in 1 }) <= Self.nodeLimit, isShort <= Self.concatenationLimit else {
      throw SchemaRefusal(.size)
    }
    var writer = ByteWriter()
    write(to: &writer)
    guard writer.bytes.count <= Self.byteLimit else { throw SchemaRefusal(.size) }
  }
}

/// A precedence-climbing parser for SQLite's table of operators.
private struct SchemaExpressionParser {
  typealias Expression = SchemaExpression

  var tokens: ArraySlice<SQLToken>
  let place: SchemaExpression.Place
  let table: FoldedName
  let columns: Set<FoldedName>?
  private var nesting = 0

  /// The greatest nesting of calls of `expression` and `operand`. A printed expression needs three for each level of
  /// depth.
  private static let nestingLimit = 4 * SchemaExpression.depthLimit

  init(tokens: ArraySlice<SQLToken>, place: SchemaExpression.Place, table: FoldedName, columns: Set<FoldedName>?) {
    self.tokens = tokens
    self.place = place
    self.table = table
    self.columns = columns
  }

  enum Level: Int {
    case lowest = 1
    case and, not, equality, comparison, escape, bits, sum, product, concatenation, operand

    var next: Level { Level(rawValue: rawValue + 1) ?? .operand }
  }

  private static let infix: [String: (SchemaExpression.Operation, Level)] = [
    "or": (.or, .lowest), "and": (.and, .and),
    "=": (.equal, .equality), "==": (.equal, .equality), "<>": (.unequal, .equality), "!=": (.unequal, .equality),
    "<": (.less, .comparison), "<=": (.lessOrEqual, .comparison),
    ">": (.greater, .comparison), ">=": (.greaterOrEqual, .comparison),
    "&": (.bitAnd, .bits), "|": (.bitOr, .bits), "<<": (.shiftLeft, .bits), ">>": (.shiftRight, .bits),
    "+": (.add, .sum), "-": (.subtract, .sum),
    "*": (.multiply, .product), "/": (.divide, .product), "%": (.remainder, .product),
    "||": (.concatenate, .concatenation),
  ]

  // MARK: Tokens

  private var next: SQLToken? { tokens.first }

  private mutating func skip(_ keyword: String) -> Bool {
    guard next?.keyword == keyword else { return false }
    tokens.removeFirst()
    return true
  }

  private mutating func skip(symbol: String) -> Bool {
    guard next == .symbol(symbol) else { return false }
    tokens.removeFirst()
    return true
  }

  private mutating func require(symbol: String) throws(SchemaRefusal) {
    guard skip(symbol: symbol) else { throw SchemaRefusal(.syntax) }
  }

  private mutating func require(_ keyword: String) throws(SchemaRefusal) {
    guard skip(keyword) else { throw SchemaRefusal(.syntax) }
  }

  // MARK: Operators

  mutating func expression(_ minimum: Level) throws(SchemaRefusal) -> Expression {
    nesting += 1
    defer { nesting -= 1 }
    var left = try operand()
    // The operator that made `left` in this loop. `a AND b AND c` is one list, so it is no deeper than it looks.
    var chain: Expression.Operation?
    while let token = next {
      if token.keyword == "collate" {
        left = .collate(left, try collation())
        chain = nil
      } else if let symbol = Self.symbol(token), let (operation, level) = Self.infix[symbol] {
        guard level.rawValue >= minimum.rawValue else { break }
        tokens.removeFirst()
        let right = try expression(level.next)
        if chain == operation, Self.isChained(operation), case .apply(_, let operands) = left {
          left = .apply(operation, operands + [right])
        } else {
          left = .apply(operation, [left, right])
        }
        chain = operation
      } else if minimum.rawValue <= Level.equality.rawValue, let test = try test(left) {
        left = test
        chain = nil
      } else {
        break
      }
    }
    return left
  }

  private static func symbol(_ token: SQLToken) -> String? {
    if case .symbol(let symbol) = token { symbol } else { token.keyword }
  }

  private static func isChained(_ operation: Expression.Operation) -> Bool {
    operation == .or || operation == .and || operation == .concatenate
  }

  private mutating func collation() throws(SchemaRefusal) -> ColumnCollation {
    tokens.removeFirst()
    guard let name = tokens.popFirst()?.name else { throw SchemaRefusal(.syntax) }
    guard let collation = ColumnCollation(sql: name) else { throw SchemaRefusal(.collation, name) }
    return collation
  }

  /// Parses an operator on the level of `=` that is not a plain binary operator. Returns nil if there is none.
  private mutating func test(_ left: Expression) throws(SchemaRefusal) -> Expression? {
    if skip("isnull") { return .apply(.isNull, [left]) }
    if skip("notnull") { return .apply(.notNull, [left]) }
    if skip("is") {
      var isNegated = skip("not")
      if skip("distinct") {
        try require("from")
        isNegated.toggle()
      }
      let right = try expression(.comparison)
      if right == .literal(.null) { return .apply(isNegated ? .notNull : .isNull, [left]) }
      return .apply(isNegated ? .isNot : .is, [left, right])
    }
    let rest = tokens
    let isNegated = skip("not")
    switch next?.keyword {
    case "null" where isNegated:
      tokens.removeFirst()
      return .apply(.notNull, [left])
    case "between":
      tokens.removeFirst()
      let lower = try expression(.not)
      try require("and")
      return .apply(isNegated ? .notBetween : .between, [left, lower, try expression(.comparison)])
    case "in":
      tokens.removeFirst()
      guard skip(symbol: "(") else { throw SchemaRefusal(.subquery) }
      return .apply(isNegated ? .notIn : .in, [left] + (try list()))
    case "like":
      tokens.removeFirst()
      return .apply(isNegated ? .notLike : .like, [left] + (try pattern()))
    case "glob":
      tokens.removeFirst()
      return .apply(isNegated ? .notGlob : .glob, [left] + (try pattern()))
    case "match", "regexp": throw SchemaRefusal(.function, next?.keyword ?? "")
    default:
      tokens = rest
      return nil
    }
  }

  private mutating func pattern() throws(SchemaRefusal) -> [Expression] {
    let pattern = try expression(.comparison)
    guard case .literal(.text(let bytes)) = pattern, bytes.count <= SchemaExpression.patternLimit,
      bytes.count(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "*") }) <= SchemaExpression.wildcardLimit
    else { throw SchemaRefusal(.pattern) }
    guard skip("escape") else { return [pattern] }
    let escape = try expression(.bits)
    guard case .literal(.text(let bytes)) = escape, bytes.count == 1 else { throw SchemaRefusal(.pattern) }
    return [pattern, escape]
  }

  /// Parses a list up to the closing parenthesis, and consumes that too.
  private mutating func list() throws(SchemaRefusal) -> [Expression] {
    if skip(symbol: ")") { return [] }
    var elements = [try expression(.lowest)]
    while skip(symbol: ",") { elements.append(try expression(.lowest)) }
    try require(symbol: ")")
    return elements
  }

  // MARK: Operands

  private mutating func operand() throws(SchemaRefusal) -> Expression {
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= Self.nestingLimit else { throw SchemaRefusal(.size) }
    guard let token = tokens.popFirst() else { throw SchemaRefusal(.syntax) }
    switch token {
    case .text(let text): return .literal(.text(text))
    case .blob(let bytes): return .literal(.blob(bytes))
    case .number(let text): return .literal(try Self.number(text, isNegative: false))
    case .name(let name, let isDoubleQuoted):
      if isDoubleQuoted, let columns, !columns.contains(name.folded), next != .symbol(".") {
        return .literal(.text(name))
      }
      return try column(name)
    case .symbol("("):
      let inside = try expression(.lowest)
      try require(symbol: ")")
      return inside
    case .symbol("-"):
      if case .number(let text) = next {
        tokens.removeFirst()
        return .literal(try Self.number(text, isNegative: true))
      }
      return Self.negated(try operand())
    case .symbol("+"): return .apply(.plus, [try operand()])
    case .symbol("~"): return .apply(.complement, [try operand()])
    case .symbol: throw SchemaRefusal(.syntax)
    case .word(let word): return try self.word(word)
    }
  }

  private mutating func word(_ word: String) throws(SchemaRefusal) -> Expression {
    if columns?.contains(word.folded) != true {
      switch word.asciiLowercased {
      case "true": return .apply(.yes, [])
      case "false": return .apply(.no, [])
      default: break
      }
    }
    switch word.asciiLowercased {
    case "null": return .literal(.null)
    case "current_time": return .apply(.currentTime, [])
    case "current_date": return .apply(.currentDate, [])
    case "current_timestamp": return .apply(.currentTimestamp, [])
    case "not": return .apply(.not, [try expression(.not)])
    case "case": return try choice()
    case "cast": return try cast()
    case "exists", "select", "values", "with": throw SchemaRefusal(.subquery)
    case let name:
      guard skip(symbol: "(") else { return try column(word) }
      return try call(name)
    }
  }

  private mutating func column(_ word: String) throws(SchemaRefusal) -> Expression {
    var name = word
    if skip(symbol: ".") {
      guard word.folded == table, let qualified = tokens.popFirst()?.name else { throw SchemaRefusal(.column, word) }
      name = qualified
    }
    guard place == .row, columns?.contains(name.folded) ?? true else { throw SchemaRefusal(.column, name) }
    return .column(name)
  }

  private mutating func choice() throws(SchemaRefusal) -> Expression {
    var operands: [Expression] = []
    let hasBase = next?.keyword != "when"
    if hasBase { operands.append(try expression(.lowest)) }
    try require("when")
    repeat {
      operands.append(try expression(.lowest))
      try require("then")
      operands.append(try expression(.lowest))
    } while skip("when")
    if skip("else") { operands.append(try expression(.lowest)) }
    try require("end")
    return .apply(hasBase ? .chooseOf : .choose, operands)
  }

  private mutating func cast() throws(SchemaRefusal) -> Expression {
    try require(symbol: "(")
    let operand = try expression(.lowest)
    try require("as")
    var words: [String] = []
    while let word = next?.name {
      words.append(word)
      tokens.removeFirst()
    }
    // The size in a type has no effect.
    if skip(symbol: "(") {
      while let token = next, token != .symbol(")") { tokens.removeFirst() }
      try require(symbol: ")")
    }
    try require(symbol: ")")
    guard !words.isEmpty else { throw SchemaRefusal(.syntax) }
    return .cast(operand, Affinity(declaredType: words.joined(separator: " "), isStrict: false))
  }

  // MARK: Functions

  private mutating func call(_ name: String) throws(SchemaRefusal) -> Expression {
    guard let operation = Expression.Operation.functions[name] else { throw SchemaRefusal(.function, name) }
    if next?.keyword == "distinct" || next == .symbol("*") { throw SchemaRefusal(.syntax) }
    let operands = try list()
    if next?.keyword == "filter" || next?.keyword == "over" { throw SchemaRefusal(.syntax) }
    guard let arguments = operation.arguments, arguments.contains(operands.count) else { throw SchemaRefusal(.syntax) }
    try checkCost(operation, operands, name)
    return .apply(operation, operands)
  }

  /// Throws if a call could cost more than its row's length justifies.
  private func checkCost(
    _ operation: Expression.Operation, _ operands: [Expression], _ name: String
  ) throws(SchemaRefusal) {
    switch operation {
    case .trim, .ltrim, .rtrim, .instr, .jsonType:
      guard operands.dropFirst().allSatisfy(Self.isShort) else { throw SchemaRefusal(.pattern) }
    case .strftime:
      guard Self.isShort(operands[0]) else { throw SchemaRefusal(.pattern) }
    case .random, .uuid:
      guard place == .initial else { throw SchemaRefusal(.function, name) }
    case .randomblob:
      guard place == .initial, case .literal(.integer(1...SchemaExpression.randomLimit)) = operands[0] else {
        throw SchemaRefusal(.function, name)
      }
    case .hex:
      // For any other operand, it doubles the length.
      guard case .apply(.randomblob, _) = operands[0] else { throw SchemaRefusal(.function, name) }
    default: break
    }
  }

  private static func isShort(_ operand: Expression) -> Bool {
    guard case .literal(.text(let bytes)) = operand else { return false }
    return bytes.count <= SchemaExpression.patternLimit
  }

  // MARK: Numbers

  /// A number in parentheses after a minus comes from the printed literal.
  private static func negated(_ operand: Expression) -> Expression {
    switch operand {
    case .literal(.integer(let integer)) where integer >= 0: .literal(.integer(-integer))
    case .literal(.real(let bits)) where Double(bitPattern: bits).sign == .plus:
      .literal(.real(-Double(bitPattern: bits)))
    default: .apply(.negate, [operand])
    }
  }

  private static func number(_ text: String, isNegative: Bool) throws(SchemaRefusal) -> Value {
    let lower = text.asciiLowercased
    if lower.hasPrefix("0x") {
      guard (3...18).contains(lower.utf8.count), let bits = UInt64(lower.dropFirst(2), radix: 16) else {
        throw SchemaRefusal(.syntax)
      }
      let number = Int64(bitPattern: bits)
      guard !isNegative || number > .min else { throw SchemaRefusal(.syntax) }
      return .integer(isNegative ? -number : number)
    }
    let signed = (isNegative ? "-" : "") + lower
    if let integer = Int64(signed) { return .integer(integer) }
    guard lower.utf8.allSatisfy({ (0x30...0x39).contains($0) || ".e+-".utf8.contains($0) }), let real = Double(signed)
    else { throw SchemaRefusal(.syntax) }
    return .real(real)
  }
}
