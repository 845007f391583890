import MeshCore

/// Work on many rows that goes on slice by slice, beside everything else.
public struct WorkInProgress: Hashable, Sendable {
  public enum Task: Hashable, Sendable {
    /// Rows of a table are taken in.
    case takeIn
    /// Rows of a table are compared with what is merged.
    case compare
    /// What a table no longer shows is read back from the change log.
    case recall
    /// What is held, or shown in part, is looked at again: a table or a column may be here now.
    case show
  }

  public var task: Task
  /// Nil where it is about all.
  public var table: String?
  /// Rows, records or change sets.
  public var done: Int
  public var total: Int
}

extension Store {
  /// Empty nearly always. Where a table is large its rows are counted for that.
  public func workInProgress() throws -> [WorkInProgress] {
    try read { session in
      try session.slicing() + session.recalling() + session.showing()
    }
  }
}

extension Session {
  fileprivate func slicing() throws -> [WorkInProgress] {
    let found = try sql.all("SELECT tbl, task, done FROM mesh_import ORDER BY tbl") {
      ($0.integer(0), $0.integer(1), Int($0.integer(2)))
    }
    return try found.compactMap { id, task, done in
      guard let table = catalog.table(id) else { return nil }
      let rows = Int(try sql.integer("SELECT count(*) FROM main.\(table.schema.name.quotedName)") ?? 0)
      return WorkInProgress(
        task: task == TableSlice.Task.takeIn.rawValue ? .takeIn : .compare, table: table.schema.name, done: done,
        total: max(rows, done))
    }
  }

  fileprivate func recalling() throws -> [WorkInProgress] {
    let found = try sql.all(
      """
      SELECT tbl, (SELECT count(*) FROM mesh_log WHERE zone = r.zone AND (author, number) <= (r.author, r.number)),
        (SELECT count(*) FROM mesh_log WHERE zone = r.zone)
      FROM mesh_recall r ORDER BY tbl
      """
    ) { ($0.integer(0), Int($0.integer(1)), Int($0.integer(2))) }
    return try found.map {
      WorkInProgress(task: .recall, table: try catalog.tableName($0.0), done: $0.1, total: $0.2)
    }
  }

  /// Records that are in their tables whole drop out: what is left is counted.
  fileprivate func showing() throws -> [WorkInProgress] {
    let found = try sql.all(
      """
      SELECT done, (SELECT count(*) FROM mesh_record WHERE zone = s.zone AND extra IS NOT NULL
        AND (mesh_record.tbl > s.tbl OR (mesh_record.tbl = s.tbl AND mesh_record.key > s.key)))
      FROM mesh_show s
      """
    ) { (done: Int($0.integer(0)), left: Int($0.integer(1))) }
    let (done, left) = found.reduce((0, 0)) { ($0.0 + $1.done, $0.1 + $1.left) }
    return done + left == 0 ? [] : [WorkInProgress(task: .show, table: nil, done: done, total: done + left)]
  }
}
