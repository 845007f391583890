import MeshCore

/// The way in which one node's app spells its tables: the case of their names, and the order of their columns. SQLite
/// doesn't distinguish names by case, so the tables are the same as those of the other nodes.
struct Spelling: Sendable {
  private enum Letters: CaseIterable { case lower, upper, capitalized }

  private let letters: Letters
  /// The seed of the orders of columns, or nil for the orders in `AppSchema`.
  private let order: UInt64?

  /// The spelling in `AppSchema`.
  static let plain = Spelling(letters: .lower, order: nil)

  private init(letters: Letters, order: UInt64?) { (self.letters, self.order) = (letters, order) }

  /// Draws a spelling.
  init(_ generator: inout SplitMix64) {
    letters = Letters.allCases.randomElement(using: &generator) ?? .lower
    order = generator.next()
  }

  func name(_ name: String) -> String {
    switch letters {
    case .lower: name
    case .upper: name.uppercased()
    case .capitalized: name.prefix(1).uppercased() + name.dropFirst()
    }
  }

  /// Returns the statement that creates a table.
  ///
  /// - Parameter name: The name of the table, if it is another one.
  func sql(_ table: AppSchema.Table, isStrict: Bool = false, named other: String? = nil) -> String {
    let sql = table.sql(isStrict: isStrict)
    guard let open = sql.firstIndex(of: "("), let close = sql.lastIndex(of: ")") else { return sql }
    var columns = Self.definitions(sql[sql.index(after: open)..<close])
    if let order {
      var generator = SplitMix64(seed: order, stream: UInt64(table.name.utf8.reduce(0) { $0 + Int($1) }))
      columns.shuffle(using: &generator)
    }
    let spelled = columns.map { column in
      let end = column.firstIndex(of: " ") ?? column.endIndex
      return name(String(column[..<end])) + column[end...]
    }
    let known = letters == .lower && order == nil
    let body = known ? String(sql[sql.index(after: open)..<close]) : spelled.joined(separator: ", ")
    return "CREATE TABLE \(name(other ?? table.name)) (\(body)\(sql[close...])"
  }

  /// Splits the inside of a statement at its commas that are in no parentheses.
  private static func definitions(_ body: Substring) -> [String] {
    var (definitions, depth) = ([""], 0)
    for character in body where character != "\n" {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if character == ",", depth == 0 {
        definitions.append("")
      } else if character != " " || definitions[definitions.count - 1].last.map({ $0 != " " }) ?? false {
        definitions[definitions.count - 1].append(character)
      }
    }
    return definitions
  }
}
