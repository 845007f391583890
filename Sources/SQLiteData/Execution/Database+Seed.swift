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
  public static func buildExpression(_ row: any SQLiteDataQueries.Table) -> [any SQLiteDataQueries.Table] { [row] }

  public static func buildExpression(_ rows: [any SQLiteDataQueries.Table]) -> [any SQLiteDataQueries.Table] { rows }

  public static func buildBlock(_ components: [any SQLiteDataQueries.Table]...) -> [any SQLiteDataQueries.Table] {
    components.flatMap { $0 }
  }

  public static func buildArray(_ components: [[any SQLiteDataQueries.Table]]) -> [any SQLiteDataQueries.Table] {
    components.flatMap { $0 }
  }

  public static func buildOptional(_ component: [any SQLiteDataQueries.Table]?) -> [any SQLiteDataQueries.Table] {
    component ?? []
  }

  public static func buildEither(first component: [any SQLiteDataQueries.Table]) -> [any SQLiteDataQueries.Table] {
    component
  }

  public static func buildEither(second component: [any SQLiteDataQueries.Table]) -> [any SQLiteDataQueries.Table] {
    component
  }
}
