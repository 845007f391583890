import Foundation
import MeshControl
import Testing

/// One database has one node.
@Suite struct OneNodeTests {
  /// Copies the home as a backup would: with the same keys and the same database.
  private func copyHome(_ mesh: MeshProcess) async throws -> String {
    let copy = "\(mesh.directory)/copy"
    try FileManager.default.createDirectory(
      atPath: copy, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for name in try FileManager.default.contentsOfDirectory(atPath: mesh.home)
    where !["control.sock", "lock"].contains(name) {
      try FileManager.default.copyItem(atPath: "\(mesh.home)/\(name)", toPath: "\(copy)/\(name)")
    }
    return copy
  }

  @Test("mesh rejects a second home on a served database and names the first")
  func aSecondNodeOnAFileThatIsServedIsToldOfTheFirst() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      let copy = try await copyHome(mesh)
      for verb in [["serve", "--listen", "127.0.0.1:0"], ["track", "notes"], ["status"]] {
        let finished = try await mesh.run(verb + ["--home", copy])
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("\(copy) is a copy of the home \(mesh.home)"))
        #expect(finished.stderr.contains(mesh.database))
      }
      try FileManager.default.createSymbolicLink(
        atPath: "\(mesh.directory)/link.db", withDestinationPath: mesh.database)
      let other = try await mesh.run(
        "init", "--home", "\(mesh.directory)/new", "--database", "\(mesh.directory)/link.db")
      #expect(other.status == ExitStatus.refused.rawValue)
      #expect(
        other.stderr.contains("is used by another node of the home \(mesh.home)"), "a link leads to the same file")
      #expect(other.stderr.contains("process \(daemon.pid)"))
      #expect(other.stderr.contains("or name another file with --database"), "the new home has no config.toml")
    }
  }

  @Test("a copied home opens the database once the first home is moved away")
  func aCopyOpensTheFileOnceTheFirstHomeIsMovedAway() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      let copy = try await copyHome(mesh)
      await daemon.kill()
      // The copy takes the place of the first home, which is moved away.
      try FileManager.default.moveItem(atPath: mesh.home, toPath: "\(mesh.directory)/former")
      #expect(try await mesh.run("status", "--home", copy).status == 0)
    }
  }

  @Test("verbs about records know what programs wrote since the daemon was stopped")
  func verbsTakeInWhatWasWritten() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      try await mesh.sqlite("INSERT INTO notes (id, text) VALUES ('a', 'first'), ('b', 'gone')")
      try await eventually("the rows are flushed") {
        try await mesh.report(StatusReport.self, "status").pending == 0
      }
      _ = try await daemon.terminate()
      try await mesh.sqlite("DELETE FROM notes WHERE id = 'b'")
      #expect(try await mesh.done("explain", "record", "notes", "b").stdout.contains("deleted"))
      try await mesh.sqlite("UPDATE notes SET text = 'second' WHERE id = 'a'")
      try await mesh.done("restore", "notes", "b")
      try await mesh.sqlite("UPDATE notes SET text = 'third' WHERE id = 'a'")
      try await mesh.done("restore", "notes", "a", "--column", "text")
      #expect(try await mesh.sqlite("SELECT id, text FROM notes ORDER BY id") == "a|second\nb|gone\n")
      try await mesh.done("untrack", "tags")
      try await mesh.done("untrack", "notes")
      #expect(try await mesh.done("explain", "record", "notes", "a").stdout.contains("held: untracked"))
    }
  }

  @Test("status says whether a daemon runs, also if the database is missing")
  func statusWithoutDatabase() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      try FileManager.default.moveItem(atPath: mesh.database, toPath: "\(mesh.database).moved")
      let running = try await mesh.run("status")
      #expect(running.status == ExitStatus.refused.rawValue && running.stdout == "node  running\n", "\(running)")
      #expect(try await daemon.terminate().status == 0)
      let stopped = try await mesh.run("status")
      #expect(stopped.status == ExitStatus.refused.rawValue)
      #expect(stopped.stdout.hasPrefix("node  not running"), "\(stopped)")
      let json = try await mesh.run("status", "--json")
      #expect(json.stdout.isEmpty && json.stderr.contains("database.missing"))
    }
  }

  @Test("a command doesn't recreate a missing database and says to put it back")
  func aDatabaseThatIsGoneIsNotMadeAnew() async throws {
    try await MeshProcess.scope { mesh in
      #expect(try await mesh.found().terminate().status == 0)
      try FileManager.default.moveItem(atPath: mesh.database, toPath: "\(mesh.directory)/away.db")
      for verb in [["serve", "--listen", "127.0.0.1:0"], ["status"], ["track", "notes"]] {
        let finished = try await mesh.run(verb)
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("\(mesh.database), the database of this node"))
        #expect(finished.stderr.contains("Put it back"))
        #expect(!FileManager.default.fileExists(atPath: mesh.database))
      }
      try FileManager.default.moveItem(atPath: "\(mesh.directory)/away.db", toPath: mesh.database)
      _ = try await mesh.serve()
    }
  }
}
