import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Programs with foreign keys turned off, such as Python's `sqlite3`, write rows before the rows that they refer to.
  @Suite struct ForeignKeysOffProcessTests {
    private func rows(_ node: MeshProcess) async throws -> String {
      try await node.sqlite("SELECT id, note, name FROM tags ORDER BY id")
    }

    /// Runs statements with Python, each in its own transaction. The node sends the writes in the pauses between them.
    private func python(_ node: MeshProcess, _ statements: [String]) async throws -> String {
      let quoted = statements.map { "\"\($0)\"" }.joined(separator: ", ")
      let script = """
        import sqlite3, sys, time
        connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
        for statement in [\(quoted)]:
            print(connection.execute(statement).rowcount)
            time.sleep(0.5)
        """
      let finished = try await node.python(script).finished(within: MeshProcess.deadline)
      guard finished.status == 0 else { throw Unexpected("python: \(finished)") }
      return finished.stdout
    }

    @Test("both machines have a child that Python writes before its parent, with updates in between")
    func aChildBeforeItsParent() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let counts = try await python(
          tower,
          [
            "INSERT INTO tags VALUES ('t1', 'n1', 'first')", "UPDATE tags SET name = 'second' WHERE id = 't1'",
            "INSERT INTO notes VALUES ('n1', 'late', 1)",
          ])
        #expect(counts == "1\n1\n1\n", "each statement finds the row")
        try await tower.settled(with: "laptop")
        for node in [tower, laptop] {
          try await eventually("the child is shown") { try await rows(node) == "t1|n1|second\n" }
          #expect(try await node.report(HeldReport.self, "held").counts.isEmpty)
        }
      }
    }

    @Test("no machine loses a row if a key is renamed half a second before the references to it")
    func aKeyIsRenamedFirst() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite(
          "INSERT INTO notes VALUES ('old', 'x', 1); INSERT INTO tags VALUES ('t1', 'old', 'a'), ('t2', 'old', 'b')")
        try await tower.settled(with: "laptop")
        let counts = try await python(
          tower, ["UPDATE notes SET id = 'new'", "UPDATE tags SET note = 'new' WHERE note = 'old'"])
        #expect(counts == "1\n2\n")
        try await tower.settled(with: "laptop")
        for node in [tower, laptop] {
          try await eventually("the children follow") { try await rows(node) == "t1|new|a\nt2|new|b\n" }
          #expect(try await node.sqlite("SELECT id FROM notes") == "new\n")
          #expect(try await node.report(HeldReport.self, "held").counts.isEmpty)
        }
      }
    }

    @Test("the key of a share's root record can't be changed, and the refusal names the remedies")
    func theRootKeepsItsKey() async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        try await mesh.sqlite("INSERT INTO notes VALUES ('n1', 'shared', 1), ('n2', 'private', 1)")
        try await mesh.done("share", "create", "notes", "n1", "--title", "Shared")
        let rename = "UPDATE notes SET id = 'n9' WHERE id = 'n1'"
        let error = await #expect(throws: Unexpected.self) { try await mesh.sqlite(rename) }
        #expect(error.map { "\($0)" }?.contains("end the share (mesh share stop, or mesh share leave)") == true)
        try await mesh.sqlite("UPDATE notes SET id = 'n8' WHERE id = 'n2'")
        #expect(try await mesh.sqlite("SELECT id FROM notes ORDER BY id") == "n1\nn8\n")
        try await mesh.done("share", "stop", "Shared")
        try await mesh.sqlite(rename)
      }
    }
  }
}
