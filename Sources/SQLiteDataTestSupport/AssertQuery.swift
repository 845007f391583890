import CustomDump
import Dependencies
@_exported public import DependenciesTestSupport
import IssueReporting
import SQLiteData
public import SQLiteDataQueries

public import protocol GRDB.DatabaseWriter

/// Runs a statement and compares its results, drawn as a table, with an expected text.
///
/// ```swift
/// assertQuery(Reminder.select { ($0.title, $0.isCompleted) }) {
///   """
///   ┌────────────┬───────┐
///   │ "Get milk" │ false │
///   │ "Walk"     │ true  │
///   └────────────┴───────┘
///   """
/// }
/// ```
///
/// Without an expected text, the function reports an issue that shows the results, ready to be pasted.
///
/// - Parameters:
///   - includeSQL: Whether to compare the SQL as well. The first closure then holds the SQL, and the closure `results`
///     holds the table.
///   - query: The statement. It runs in a transaction that can write, and the transaction is committed.
///   - database: Where to run it. The default is the default database.
public func assertQuery<QueryValue: QueryRepresentable>(
  includeSQL: Bool = false, _ query: some SQLiteDataQueries.Statement<QueryValue>,
  database: (any DatabaseWriter)? = nil,
  sql: (() -> String)? = nil, results: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  QueryAssertion(fileID: fileID, filePath: filePath, line: line, column: column)
    .check(query.query, includeSQL, database, sql, results) { try query.fetchAll($0).map { [dumped($0)] } }
}

/// Runs a statement with several results and compares them, drawn as a table, with an expected text.
public func assertQuery<V1: QueryRepresentable, V2: QueryRepresentable, each V3: QueryRepresentable>(
  includeSQL: Bool = false, _ query: some SQLiteDataQueries.Statement<(V1, V2, repeat each V3)>,
  database: (any DatabaseWriter)? = nil,
  sql: (() -> String)? = nil, results: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  QueryAssertion(fileID: fileID, filePath: filePath, line: line, column: column)
    .check(query.query, includeSQL, database, sql, results) { db in
      var rows: [[String]] = []
      for row in try query.fetchAll(db) { rows.append(cells(of: row)) }
      return rows
    }
}

/// Runs a query over one table and compares its rows, drawn as a table, with an expected text.
public func assertQuery<From: SQLiteDataQueries.Table>(
  includeSQL: Bool = false, _ query: some SelectStatement<(), From, ()>,
  database: (any DatabaseWriter)? = nil,
  sql: (() -> String)? = nil, results: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  QueryAssertion(fileID: fileID, filePath: filePath, line: line, column: column)
    .check(query.query, includeSQL, database, sql, results) { try query.fetchAll($0).map { [dumped($0)] } }
}

/// Runs a query over joined tables and compares its rows, drawn as a table, with an expected text.
public func assertQuery<From: SQLiteDataQueries.Table, J1: SQLiteDataQueries.Table, each J2: SQLiteDataQueries.Table>(
  includeSQL: Bool = false, _ query: some SelectStatement<(), From, (J1, repeat each J2)>,
  database: (any DatabaseWriter)? = nil,
  sql: (() -> String)? = nil, results: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  QueryAssertion(fileID: fileID, filePath: filePath, line: line, column: column)
    .check(query.query, includeSQL, database, sql, results) { db in
      var rows: [[String]] = []
      for row in try query.fetchAll(db) { rows.append(cells(of: row)) }
      return rows
    }
}

/// Runs a statement that returns nothing, such as an update, and compares its SQL with an expected text.
public func assertQuery(
  includeSQL: Bool = false, _ query: some SQLiteDataQueries.Statement<()>,
  database: (any DatabaseWriter)? = nil,
  sql: (() -> String)? = nil, results: (() -> String)? = nil,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  QueryAssertion(fileID: fileID, filePath: filePath, line: line, column: column)
    .check(query.query, includeSQL, database, sql, results) { db in
      try query.execute(db)
      return []
    }
}

private struct QueryAssertion {
  let fileID: StaticString
  let filePath: StaticString
  let line: UInt
  let column: UInt

  func check(
    _ query: QueryFragment, _ includesSQL: Bool, _ database: (any DatabaseWriter)?,
    _ sql: (() -> String)?, _ results: (() -> String)?,
    fetch: (Database) throws -> [[String]]
  ) {
    @Dependency(\.defaultDatabase) var defaultDatabase
    if includesSQL { compare(query.debugDescription, sql, "SQL") }
    let expected = includesSQL ? results : results ?? sql
    do {
      let rows = try (database ?? defaultDatabase).write { try fetch($0) }
      compare(rows.isEmpty ? "(No results)" : drawnTable(rows), expected, "results")
    } catch {
      compare(String(describing: error), expected, "results")
    }
  }

  private func compare(_ actual: String, _ expected: (() -> String)?, _ subject: String) {
    assertInlineSnapshot(
      of: actual, as: .lines, subject, matches: expected,
      fileID: fileID, filePath: filePath, line: line, column: column)
  }
}

func dumped(_ value: Any) -> String {
  var text = ""
  customDump(value, to: &text)
  return text
}

/// The elements of a tuple.
private func cells(of row: Any) -> [String] {
  Mirror(reflecting: row).children.map { dumped($0.value) }
}

/// Draws rows of cells. A cell may have several lines.
func drawnTable(_ rows: [[String]]) -> String {
  let cells = rows.map { row in row.map { $0.split(separator: "\n", omittingEmptySubsequences: false) } }
  let widths = (0..<(rows.first?.count ?? 0)).map { column in
    cells.lazy.flatMap { $0[column] }.map(\.count).max() ?? 0
  }
  let isTall = cells.contains { row in row.contains { $0.count > 1 } }

  func rule(_ start: String, _ cross: String, _ end: String) -> String {
    start + widths.map { String(repeating: "─", count: $0 + 2) }.joined(separator: cross) + end
  }

  var lines = [rule("┌", "┬", "┐")]
  for (index, row) in cells.enumerated() {
    if isTall, index > 0 { lines.append(rule("├", "┼", "┤")) }
    for line in 0..<(row.map(\.count).max() ?? 0) {
      let texts = zip(row, widths).map { cell, width in
        let text = line < cell.count ? cell[line] : ""
        return text + String(repeating: " ", count: width - text.count)
      }
      lines.append("│ " + texts.joined(separator: " │ ") + " │")
    }
  }
  lines.append(rule("└", "┴", "┘"))
  return lines.joined(separator: "\n")
}
