/// The expressions of a table: defaults that are not literals, `CHECK`s and indexes. It also lists the parts that are
/// not sent.
///
/// A device accepts rules only from devices of its own account and of a share's owner.
package struct SchemaRules: Hashable, Sendable {
  /// The defaults that are not literals, at most one for each column.
  package var defaults: [Default]
  /// The `CHECK`s, at most `checkLimit`.
  package var checks: [Check]
  /// The indexes, and `UNIQUE` constraints that include the key, at most `indexLimit`.
  package var indexes: [Index]
  /// The parts that are not sent, at most `leftOutLimit`.
  package var leftOut: [LeftOut]

  package init(
    defaults: [Default] = [], checks: [Check] = [], indexes: [Index] = [], leftOut: [LeftOut] = []
  ) {
    self.defaults = defaults
    self.checks = checks
    self.indexes = indexes
    self.leftOut = leftOut
  }

  /// A default that is computed, such as `DEFAULT CURRENT_TIMESTAMP`.
  package struct Default: Hashable, Sendable {
    /// The name of the column.
    package var column: String
    /// The expression, which reads no column.
    package var expression: SchemaExpression

    package init(column: String, expression: SchemaExpression) {
      self.column = column
      self.expression = expression
    }
  }

  /// A `CHECK` of a column or of the table. SQLite treats both alike.
  package struct Check: Hashable, Sendable {
    /// The name after `CONSTRAINT`, or nil if there is none.
    package var name: String?
    /// The condition, which a row meets unless it is false.
    package var expression: SchemaExpression

    package init(name: String? = nil, expression: SchemaExpression) {
      self.name = name
      self.expression = expression
    }
  }

  /// An index, or a `UNIQUE` constraint of the table.
  package struct Index: Hashable, Sendable {
    /// The index's name, or nil for a `UNIQUE` constraint inside the table.
    package var name: String?
    /// True only if the index refuses no rows that the key allows.
    package var isUnique: Bool
    /// The terms that the index sorts by, at least one and at most `termLimit`.
    package var terms: [Term]
    /// The expression after `WHERE`.
    package var condition: SchemaExpression?

    package init(name: String?, isUnique: Bool = false, terms: [Term], condition: SchemaExpression? = nil) {
      self.name = name
      self.isUnique = isUnique
      self.terms = terms
      self.condition = condition
    }
  }

  /// One column or expression of an index.
  package struct Term: Hashable, Sendable {
    /// The column, the column with a collation, or the expression.
    package var expression: SchemaExpression
    /// True for `DESC`.
    package var isDescending: Bool

    package init(_ expression: SchemaExpression, isDescending: Bool = false) {
      self.expression = expression
      self.isDescending = isDescending
    }
  }

  /// A part of the table that isn't sent.
  package struct LeftOut: Hashable, Sendable {
    /// A kind of part. The numbers are those on the wire.
    package enum Part: UInt8, Hashable, Sendable, CaseIterable {
      /// The default of a column.
      case initial = 0
      /// The parts that have these names in SQL. `generated` is a generated column, `collation` one that an app
      /// defined.
      case check, index, unique, generated, trigger, collation
    }

    /// The kind of the part.
    package var part: Part
    /// The name of the column, constraint, index or trigger. It may be empty.
    package var name: String
    /// The reason why the part isn't sent.
    package var refusal: SchemaRefusal

    package init(_ part: Part, _ name: String, _ refusal: SchemaRefusal) {
      self.part = part
      self.name = name
      self.refusal = refusal
    }

    /// Returns one line for a person to read. Names are made safe for a terminal.
    package func text(table: String) -> String {
      let (own, table) = (printable(name, limit: 80), printable(table, limit: 80))
      let named = own.isEmpty ? "" : " \(own)"
      let what =
        switch part {
        case .initial: "DEFAULT of \(table).\(own)"
        case .check: "CHECK\(named) on \(table)"
        case .index: "index\(named) on \(table)"
        case .unique: "UNIQUE\(named) on \(table)"
        case .generated: "generated column \(table).\(own)"
        case .trigger: "trigger\(named) on \(table)"
        case .collation: "COLLATE of \(table).\(own)"
        }
      return "\(what): \(refusal.text)"
    }
  }

  /// The greatest number of `CHECK`s of one table.
  package static let checkLimit = 256
  /// The greatest number of indexes of one table.
  package static let indexLimit = 64
  /// The greatest number of terms of one index.
  package static let termLimit = 64
  /// The greatest number of parts that are listed as left out.
  package static let leftOutLimit = 32
  /// The greatest number of bytes that the rules of one table take.
  package static let byteLimit = 64 << 10
}

/// The rules of the table with that name.
package struct NamedRules: Hashable, Sendable {
  /// The name of the table.
  package var table: String
  /// The rules of that table.
  package var rules: SchemaRules

  package init(table: String, rules: SchemaRules) {
    self.table = table
    self.rules = rules
  }
}

// MARK: - Wire form

extension SchemaRules {
  private enum IndexFlag {
    static let unique: UInt8 = 1
    static let condition: UInt8 = 2
    static let all = unique | condition
  }

  /// Writes defaults (column, expression) · checks (name, expression) · indexes (name, flags, terms, condition if
  /// flagged) · left out (part, name, reason, detail).
  package func write(to writer: inout ByteWriter) {
    writer.list(defaults) {
      $0.text($1.column)
      $1.expression.write(to: &$0)
    }
    writer.list(checks) {
      $0.text($1.name ?? "")
      $1.expression.write(to: &$0)
    }
    writer.list(indexes) { writer, index in
      writer.text(index.name ?? "")
      writer.byte((index.isUnique ? IndexFlag.unique : 0) | (index.condition == nil ? 0 : IndexFlag.condition))
      writer.list(index.terms) {
        $0.byte($1.isDescending ? 1 : 0)
        $1.expression.write(to: &$0)
      }
      index.condition?.write(to: &writer)
    }
    writer.list(leftOut) {
      $0.byte($1.part.rawValue)
      $0.text($1.name)
      $0.byte($1.refusal.reason.rawValue)
      $0.text($1.refusal.detail)
    }
  }

  /// Reads the rules, and checks everything that doesn't depend on the table's columns.
  package init(from reader: inout ByteReader) throws(FormatError) {
    let start = reader.consumed
    defaults = try reader.list(Limits.columns, "defaults") { reader throws(FormatError) in
      Default(
        column: try reader.text(Limits.name, "column name"),
        expression: try SchemaExpression(from: &reader, in: .initial))
    }
    checks = try reader.list(Self.checkLimit, "CHECKs") { reader throws(FormatError) in
      Check(name: try Self.name(&reader), expression: try SchemaExpression(from: &reader, in: .row))
    }
    indexes = try reader.list(Self.indexLimit, "indexes") { reader throws(FormatError) in
      try Index(from: &reader)
    }
    leftOut = try reader.list(Self.leftOutLimit, "parts left out") { reader throws(FormatError) in
      guard let part = LeftOut.Part(rawValue: try reader.byte()) else { throw .unknown("part left out") }
      let name = try reader.text(Limits.name, "name")
      guard let reason = SchemaRefusal.Reason(rawValue: try reader.byte()) else { throw .unknown("reason") }
      return LeftOut(part, name, SchemaRefusal(reason, try reader.text(SchemaRefusal.detailLimit, "detail")))
    }
    guard reader.consumed - start <= Self.byteLimit else { throw .limit("rules of a table") }
  }

  fileprivate static func name(_ reader: inout ByteReader) throws(FormatError) -> String? {
    let name = try reader.text(Limits.name, "name")
    return name.isEmpty ? nil : name
  }

  /// Adds the parts that fit, in their order.
  package mutating func leaveOut(_ parts: [LeftOut]) {
    for part in parts where leftOut.count < Self.leftOutLimit {
      var short = part
      short.refusal.detail = part.refusal.detail.cut(to: SchemaRefusal.detailLimit)
      short.name = part.name.cut(to: Limits.name)
      leftOut.append(short)
    }
  }

  /// The wire form (see `write`).
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    write(to: &writer)
    return writer.bytes
  }
}

extension SchemaRules.Index {
  fileprivate init(from reader: inout ByteReader) throws(FormatError) {
    name = try SchemaRules.name(&reader)
    let flags = try reader.byte()
    guard flags & ~3 == 0 else { throw .unknown("index flags") }
    isUnique = flags & 1 != 0
    terms = try reader.list(SchemaRules.termLimit, "terms of an index") { reader throws(FormatError) in
      let isDescending = try reader.flag()
      return SchemaRules.Term(try SchemaExpression(from: &reader, in: .row), isDescending: isDescending)
    }
    condition = flags & 2 != 0 ? try SchemaExpression(from: &reader, in: .row) : nil
  }
}

// MARK: - Rules

extension SchemaRules {
  /// Throws if the rules can't belong to a table with these columns.
  package func check(for table: SchemaDescription) throws(FormatError) {
    guard encoded.count <= Self.byteLimit else { throw .limit("rules of a table") }
    guard checks.count <= Self.checkLimit else { throw .limit("CHECKs") }
    guard indexes.count <= Self.indexLimit else { throw .limit("indexes") }
    let columns = Set(table.columns.map(\.name.folded))
    func check(_ expression: SchemaExpression, _ place: SchemaExpression.Place) throws(FormatError) {
      try expression.check(in: place)
      guard expression.columns.isSubset(of: columns) else { throw .invalid("expressions of the table's columns") }
    }
    var seen: Set<FoldedName> = []
    for initial in defaults {
      let column = table.columns.first { $0.name.folded == initial.column.folded }
      guard let column, column.defaultValue == nil, seen.insert(column.name.folded).inserted else {
        throw .invalid("a column has one default")
      }
      try check(initial.expression, .initial)
    }
    for rule in checks {
      if let name = rule.name { try SchemaDescription.check(name: name, "constraint name") }
      try check(rule.expression, .row)
    }
    for index in indexes {
      try index.check(for: table)
      for term in index.terms { try check(term.expression, .row) }
      if let condition = index.condition { try check(condition, .row) }
    }
  }

  /// Returns the computed default of a column, or nil if it has none. The case of A to Z in the name doesn't matter.
  package func initial(of column: String) -> SchemaExpression? {
    let folded = column.folded
    return defaults.first { $0.column.folded == folded }?.expression
  }
}

extension SchemaRules.Index {
  fileprivate func check(for table: SchemaDescription) throws(FormatError) {
    guard !terms.isEmpty, terms.count <= SchemaRules.termLimit else { throw .invalid("an index has terms") }
    if let name {
      try SchemaDescription.check(name: name, "index name")
    } else {
      guard isUnique, condition == nil, terms.allSatisfy({ $0.column != nil }) else {
        throw .invalid("an index has a name")
      }
    }
    guard !isUnique || isImplied(by: table.columns[table.key]) else { throw .invalid("UNIQUE has the key") }
  }

  /// Returns whether rows that are equal in all terms have equal keys. Such an index refuses no row that the key
  /// allows.
  private func isImplied(by key: SchemaDescription.Column) -> Bool {
    terms.contains { term in
      guard let column = term.column else { return false }
      return column.name.folded == key.name.folded && (column.collation ?? key.collation) == key.collation
    }
  }
}

extension SchemaRules.Term {
  /// The column and its collation, or nil if the term is an expression.
  package var column: (name: String, collation: ColumnCollation?)? {
    switch expression {
    case .column(let name): (name, nil)
    case .collate(.column(let name), let collation): (name, collation)
    default: nil
    }
  }

  /// The term in SQL, as it stands in `CREATE INDEX`.
  package var sql: String {
    // Parentheses would turn a column with a collation into an expression, which the table's constraint doesn't accept.
    let term = column.map { $0.name.quotedName + ($0.collation.map { " COLLATE \($0.sql)" } ?? "") } ?? expression.sql
    return term + (isDescending ? " DESC" : "")
  }
}

extension SchemaRules.Check {
  /// The constraint in SQL, with its name if it has one.
  package var sql: String { "\(name.map { "CONSTRAINT \($0.quotedName) " } ?? "")CHECK (\(expression.sql))" }
}

extension SchemaRules.Index {
  /// Returns the statement that creates the index, or the table's constraint.
  package func sql(table: String, schema: String = "") -> String {
    let terms = terms.map(\.sql).joined(separator: ", ")
    guard let name else { return "UNIQUE (\(terms))" }
    return "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(schema)\(name.quotedName) ON \(table.quotedName) (\(terms))"
      + (condition.map { " WHERE \($0.sql)" } ?? "")
  }

  /// The names of the columns that the index reads.
  package var columns: Set<FoldedName> {
    terms.reduce(into: condition?.columns ?? []) { $0.formUnion($1.expression.columns) }
  }
}

extension String {
  /// Returns the longest beginning that has at most this many bytes in UTF-8.
  fileprivate func cut(to limit: Int) -> String {
    var short = self
    while short.utf8.count > limit { short.removeLast() }
    return short
  }
}
