import MeshCore

/// Work on many rows that goes on slice by slice, beside all other work.
package struct WorkInProgress: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Importing the rows of a table.
    case takeIn
    /// Comparing the rows of a table with the merged values.
    case compare
    /// Reading values back from the change log that a table no longer shows.
    case recall
    /// Checking held and partly shown records again, because a table or a column may be here now.
    case show
  }

  package var task: Kind
  /// The table, or nil if the work concerns all tables.
  package var table: String?
  /// The number of rows, records or change sets that are done.
  package var done: Int
  package var total: Int
}

extension StoreFigures {
  /// Returns the work in progress. It is almost always empty. It counts the rows of the tables, which takes time if a
  /// table is large.
  package func workInProgress() throws -> [WorkInProgress] {
    try read { transaction in
      let work = CurrentWork(transaction: transaction)
      return try work.slicing() + work.recalling() + work.showing()
    }
  }
}

/// Finds the work in progress.
private struct CurrentWork: InTransaction {
  let transaction: Transaction

  func slicing() throws -> [WorkInProgress] {
    try work.imports().compactMap { id, task, done in
      guard let table = catalog.table(id) else { return nil }
      let rows = Int(try sql.integer("SELECT count(*) FROM main.\(table.schema.name.quotedName)") ?? 0)
      return WorkInProgress(
        task: task == TableSlice.Purpose.takeIn.rawValue ? .takeIn : .compare, table: table.schema.name, done: done,
        total: max(rows, done))
    }
  }

  func recalling() throws -> [WorkInProgress] {
    try work.recalls().map {
      WorkInProgress(task: .recall, table: try catalog.tableName($0.table), done: $0.done, total: $0.total)
    }
  }

  /// Returns the progress of showing records. It counts the remaining records, because those that are wholly in their
  /// tables drop out.
  func showing() throws -> [WorkInProgress] {
    let (done, left) = try work.shows()
    return done + left == 0 ? [] : [WorkInProgress(task: .show, table: nil, done: done, total: done + left)]
  }
}
