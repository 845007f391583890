import Foundation
import GRDB
import MeshCore

@testable import MeshStore

/// A database file of our own in a directory that goes away, with capture, and three kinds of programs that write it.
final class CaptureBench {
  let directory: URL
  let file: DatabaseFile
  var path: String { file.path }

  init(_ schema: String = "", track: [String] = [], integerKeys: Bool = false) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("mesh-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    file = try DatabaseFile(path: directory.appendingPathComponent("app.db").path)
    try file.write { db in
      try MeshTables.create(db)
      for sql in MeshTables.replication { try db.execute(sql: sql) }
      try db.execute(sql: schema)
      if !track.isEmpty { try Capture.install(db, tables: track, integerKeys: integerKeys) }
    }
  }

  deinit {
    try? file.close()
    try? FileManager.default.removeItem(at: directory)
  }

  func execute(_ sql: String) throws { try file.queue.writeWithoutTransaction { try $0.execute(sql: sql) } }

  /// What the triggers noted, one line a row, such as `item update 'k' [title done]`; the log is emptied.
  func noted() throws -> [String] {
    let rows = try entries()
    try execute("DELETE FROM mesh_pending")
    return rows.map(\.line)
  }

  func entries() throws -> [Entry] {
    try file.read { db in
      let sql = """
        SELECT t.name, p.layout, quote(p.key) AS key, p.op, p.word, p.mask, p.wall
        FROM mesh_pending p JOIN mesh_table t ON t.id = p.tbl ORDER BY p.id
        """
      return try Row.fetchAll(db, sql: sql).map { try Entry($0, db) }
    }
  }

  struct Entry {
    var table: String
    var key: String
    var op: Int
    var word: Int
    var mask: Int64
    var wall: Int64
    var columns: [String]

    init(_ row: Row, _ db: Database) throws {
      (table, key, op) = (row["name"], row["key"], row["op"])
      (word, mask, wall) = (row["word"], row["mask"], row["wall"])
      let layout = try Layout.read(db, id: row["layout"])
      columns = try (layout?.numbers(word: word, mask: mask) ?? []).map { number in
        let id = layout?.columns[number]
        return try String.fetchOne(db, sql: "SELECT name FROM mesh_column WHERE id = ?", arguments: [id]) ?? "?"
      }
    }

    var line: String {
      switch (op, word, mask) {
      case (1, 0, 0): "\(table) insert \(key)"
      case (2, _, _): "\(table) update \(key) [\(columns.joined(separator: " "))]"
      case (3, 0, 0): "\(table) delete \(key)"
      case (3, 1, 0): "\(table) rekey \(key)"
      default: "\(table) \(op)/\(word)/\(mask) \(key)"
      }
    }
  }
}

/// A program that writes the file with statements; a statement that fails does not stop those after it.
enum Writer: CaseIterable, Sendable {
  case grdb, shell, python

  func run(_ statements: [String], on path: String, foreignKeys: Bool = false, recursiveTriggers: Bool = false) throws {
    let pragmas = [
      "PRAGMA busy_timeout = 5000", "PRAGMA foreign_keys = \(foreignKeys ? 1 : 0)",
      "PRAGMA recursive_triggers = \(recursiveTriggers ? 1 : 0)",
    ]
    switch self {
    case .grdb: try runGRDB(pragmas + statements, path)
    case .shell:
      try spawn(["sqlite3", "-batch", path], input: (pragmas + statements).map { "\($0);\n" }.joined())
    case .python:
      let input = try JSONEncoder().encode(pragmas + statements)
      try spawn(["python3", "-c", Self.pythonProgram, path], input: String(decoding: input, as: UTF8.self))
    }
  }

  private static let pythonProgram = """
    import json, sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    for statement in json.load(sys.stdin):
        try:
            connection.execute(statement).fetchall()
        except sqlite3.Error:
            pass
    connection.close()
    """

  private func runGRDB(_ statements: [String], _ path: String) throws {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { db in
      for statement in statements {
        do { try db.execute(sql: statement) } catch is DatabaseError {}
      }
      if db.isInsideTransaction { try db.rollback() }
    }
    try queue.close()
  }

  private func spawn(_ arguments: [String], input: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try pipe.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
