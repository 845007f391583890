import Foundation

/// The columns that an INSERT, UPDATE or DELETE returns of each row.
struct ReturningClause: Sendable {
  var columns: [QueryFragment] = []

  /// Makes the clause from columns. SQLite takes them here without the name of the table.
  init<T: Table>(_ fragments: [QueryFragment], of table: T.Type) {
    var prefix = QueryFragment()
    prefix.append(quote: table._qualifier)
    prefix.append(raw: ".")
    columns = fragments.map { $0.removing(prefix: prefix.sql) }
  }

  init() {}

  func append(to fragment: inout QueryFragment) {
    guard !columns.isEmpty else { return }
    fragment.append(raw: "\nRETURNING ")
    fragment.append(_joined(columns, ", "))
  }
}

extension QueryFragment {
  /// Returns a fragment that is one qualified column, or a list of them, without the qualifier.
  func removing(prefix: String) -> QueryFragment {
    guard placeholders.isEmpty, sql.hasPrefix(prefix) else { return self }
    let columns = sql.components(separatedBy: ", ")
    guard columns.allSatisfy({ $0.hasPrefix(prefix) && $0.dropFirst(prefix.count).isQuotedName }) else { return self }
    return QueryFragment(columns.map { String($0.dropFirst(prefix.count)) }.joined(separator: ", "))
  }
}

extension Substring {
  fileprivate var isQuotedName: Bool {
    count > 2 && first == "\"" && last == "\"" && !dropFirst().dropLast().contains("\"")
  }
}

/// The action of SQLite for a row that violates a constraint.
public struct ConflictResolution: Sendable {
  let sql: String

  /// Undoes the statement and keeps the transaction.
  public static let abort = ConflictResolution(sql: "ABORT")
  /// Ends the statement and keeps what it did so far.
  public static let fail = ConflictResolution(sql: "FAIL")
  /// Leaves out the row.
  public static let ignore = ConflictResolution(sql: "IGNORE")
  /// Deletes the rows that are in the way.
  public static let replace = ConflictResolution(sql: "REPLACE")
  /// Undoes the transaction.
  public static let rollback = ConflictResolution(sql: "ROLLBACK")
}
