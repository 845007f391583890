import Foundation

/// The actions of other programs on a node's database.
extension MeshProcess {
  /// The SQL of two tables. The second one has a reference to the first.
  static let schema = """
    CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, text TEXT, stars INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE tags (id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES notes(id) ON DELETE CASCADE, name TEXT);
    """

  /// Runs the `sqlite3` shell on the database, and returns its output.
  @discardableResult
  func sqlite(_ sql: String) async throws -> String {
    try await tool("sqlite3", "-batch", "-bail", "-cmd", ".timeout 20000", database, input: sql)
  }

  func number(_ sql: String) async throws -> Int {
    let text = try await sqlite(sql)
    guard let number = Int(text.split(separator: "\n").first ?? "") else { throw Unexpected("no number: \(text)") }
    return number
  }

  /// Adds notes in one transaction.
  func insertNotes(_ numbers: Range<Int>, prefix: String) async throws {
    try await sqlite(
      """
      WITH RECURSIVE i(n) AS (SELECT \(numbers.lowerBound) UNION ALL SELECT n + 1 FROM i WHERE n + 1 < \(numbers.upperBound))
      INSERT INTO notes(id, text, stars) SELECT '\(prefix)' || n, 'note number ' || n, n % 6 FROM i;
      """)
  }

  /// Returns the contents of the two tables, including the types of the values.
  func rows() async throws -> String {
    try await sqlite(
      """
      SELECT 'notes', quote(id), quote(text), quote(stars) FROM notes ORDER BY id;
      SELECT 'tags', quote(id), quote(note), quote(name) FROM tags ORDER BY id;
      """)
  }

  /// Runs Python with `script` as its program and the database's path as its argument, without waiting for it.
  func python(_ script: String) async throws -> Child {
    let python = ProcessInfo.processInfo.environment["MESH_TEST_PYTHON"]
    return try await start(
      (python == nil ? ["python3"] : []) + ["-c", script, database], executable: python ?? Self.env)
  }

  @discardableResult
  func tool(_ arguments: String..., input: String) async throws -> String {
    let finished = try await start(arguments, executable: Self.env, input: input).finished(within: Self.deadline)
    guard finished.status == 0 else { throw Unexpected("\(arguments): \(finished)") }
    return finished.stdout
  }

  /// The program that finds other programs on the path.
  static let env = "/usr/bin/env"
}
