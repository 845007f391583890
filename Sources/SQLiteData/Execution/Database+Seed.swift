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
  /// All rows of one type are inserted by one prepared statement.
  public func seed(@SeedBuilder _ rows: () throws -> SeedBuilder.Rows) throws {
    var inserts: [ObjectIdentifier: RowInsert] = [:]
    try rows().visit { row in
      let type = ObjectIdentifier(Swift.type(of: row))
      let insert = try inserts[type] ?? RowInsert(row, in: self)
      inserts[type] = insert
      try insert.run(with: row, in: self)
    }
  }
}

/// Inserts the rows of one type.
private final class RowInsert {
  private let statement: RowStatement
  private var encoder: RowEncoder

  init<Row: SQLiteDataQueries.Table>(_ row: Row, in db: Database) throws {
    statement = try RowStatement(Row.insert { row }.query, in: db)
    encoder = RowEncoder(bindingTo: statement)
  }

  func run<Row: SQLiteDataQueries.Table>(with row: Row, in db: Database) throws {
    if try !statement.run(with: row, &encoder) { try Row.insert { row }.execute(db) }
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

    fileprivate func visit(_ body: (any SQLiteDataQueries.Table) throws -> Void) rethrows {
      switch self {
      case .row(let row): try body(row)
      case .rows(let rows): for row in rows { try body(row) }
      case .parts(let parts): for part in parts { try part.visit(body) }
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
}
