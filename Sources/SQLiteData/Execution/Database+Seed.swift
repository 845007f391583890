public import GRDB
public import SQLiteDataQueries

extension Database {
  /// Inserts rows and drafts in the order in which they are listed.
  ///
  /// ```swift
  /// try db.seed {
  ///   RemindersList(id: 1, title: "Personal")
  ///   for title in ["Get milk", "Call mom"] {
  ///     Reminder.Draft(title: title, remindersListID: 1)
  ///   }
  /// }
  /// ```
  ///
  /// Neighbours of one type are inserted by one prepared statement.
  public func seed(@SeedBuilder _ rows: () throws -> [any SQLiteDataQueries.Table]) throws {
    var rest = try rows()[...]
    while let first = rest.first {
      let count = try insertRun(of: first, rest)
      rest = rest.dropFirst(count)
    }
  }

  /// Inserts the first rows that are of one type, and returns their number.
  private func insertRun<Row: SQLiteDataQueries.Table>(
    of first: Row, _ rest: ArraySlice<any SQLiteDataQueries.Table>
  ) throws -> Int {
    let count = try _insert(rest, with: Row.insert { first }.query)
    if count > 0 { return count }
    // The SQL of a value of the row isn't a placeholder.
    try Row.insert { first }.execute(self)
    return 1
  }
}

/// Collects the rows that ``GRDB/Database/seed(_:)`` inserts.
@resultBuilder
public enum SeedBuilder {
  /// A row, or the rows of a part of the closure.
  public enum Rows {
    case row(any SQLiteDataQueries.Table)
    case rows([any SQLiteDataQueries.Table])
    case parts([Rows])

    fileprivate func append(to rows: inout [any SQLiteDataQueries.Table]) {
      switch self {
      case .row(let row): rows.append(row)
      case .rows(let more): rows.append(contentsOf: more)
      case .parts(let parts): for part in parts { part.append(to: &rows) }
      }
    }
  }

  public static func buildExpression(_ row: any SQLiteDataQueries.Table) -> Rows { .row(row) }

  public static func buildExpression(_ rows: [any SQLiteDataQueries.Table]) -> Rows { .rows(rows) }

  public static func buildBlock(_ components: Rows...) -> Rows {
    components.count == 1 ? components[0] : .parts(components)
  }

  public static func buildArray(_ components: [Rows]) -> Rows { .parts(components) }

  public static func buildOptional(_ component: Rows?) -> Rows { component ?? .rows([]) }

  public static func buildEither(first component: Rows) -> Rows { component }

  public static func buildEither(second component: Rows) -> Rows { component }

  public static func buildFinalResult(_ component: Rows) -> [any SQLiteDataQueries.Table] {
    var rows: [any SQLiteDataQueries.Table] = []
    component.append(to: &rows)
    return rows
  }
}
