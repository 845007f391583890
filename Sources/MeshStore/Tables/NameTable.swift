import MeshCore

/// The numbers of tables and columns.
struct NameTable {
  let sql: Connection

  /// A query for the tables that were synchronized here until a person stopped it. Their records don't count as held.
  static let untracked = """
    SELECT id FROM mesh_table WHERE tracked = 0
      AND (layout IS NOT NULL OR id IN (SELECT origin FROM mesh_table WHERE origin IS NOT NULL))
    """

  /// Returns whether the table was synchronized here until a person stopped it.
  func isUntracked(_ table: Int64) throws -> Bool {
    try sql.exists("SELECT 1 FROM mesh_table WHERE id = ? AND id IN (\(Self.untracked))", [.integer(table)])
  }
}
