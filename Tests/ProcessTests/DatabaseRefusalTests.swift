import Foundation
import MeshControl
import Testing

/// Databases that a node can't use, and tables that it can't synchronize.
@Suite struct DatabaseRefusalTests {
  private func refusal(_ mesh: MeshProcess) async throws -> String {
    let finished = try await mesh.run("init", "--database", mesh.database)
    #expect(finished.status == ExitStatus.refused.rawValue)
    #expect(!FileManager.default.fileExists(atPath: mesh.home), "nothing is left of it")
    return finished.stderr
  }

  private func write(_ bytes: [UInt8], _ mesh: MeshProcess) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: mesh.database))
  }

  @Test("init rejects a file that isn't a database and leaves it unchanged")
  func aFileThatIsNoDatabaseIsLeftAsItWas() async throws {
    try await MeshProcess.scope { mesh in
      let text = Array(String(repeating: "milk, bread, eggs\n", count: 100).utf8)
      try write(text, mesh)
      #expect(try await refusal(mesh).contains("\(mesh.database) is not a SQLite database"))
      #expect(FileManager.default.contents(atPath: mesh.database) == Data(text))
    }
  }

  @Test("the error about a file of random bytes says that it may be encrypted")
  func aFileThatLooksEncryptedIsCalledSo() async throws {
    try await MeshProcess.scope { mesh in
      var generator = SystemRandomNumberGenerator()
      try write((0..<8192).map { _ in UInt8.random(in: 0...255, using: &generator) }, mesh)
      #expect(try await refusal(mesh).contains("encrypted"))
    }
  }

  @Test("init rejects another account's database and leaves neither a home nor changes")
  func aDatabaseOfAnotherAccountLeavesNoKeys() async throws {
    try await MeshProcess.scope { mesh in
      try await mesh.done("init", "--database", mesh.database)
      let account = try await mesh.status().account
      let other = "\(mesh.directory)/other"
      let finished = try await mesh.run("init", "--home", other, "--database", mesh.database)
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(
        finished.stderr.contains("\(mesh.database) belongs to the account \(account), and the home \(other) has no"))
      #expect(!FileManager.default.fileExists(atPath: other))
      #expect(try await mesh.number("SELECT count(*) FROM mesh_account") == 1, "nothing is written to it")
      #expect(try await mesh.run("status").status == 0)
    }
  }

  @Test("init rejects a directory in place of a database") func aDirectoryIsNoDatabase() async throws {
    try await MeshProcess.scope { mesh in
      try FileManager.default.createDirectory(atPath: mesh.database, withIntermediateDirectories: false)
      #expect(try await refusal(mesh).contains("directory"))
    }
  }

  @Test("init names the missing directory of a database") func aDirectoryThatIsNotThereIsNamed() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("init", "--database", "\(mesh.directory)/nowhere/x.db")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("\(mesh.directory)/nowhere"))
    }
  }

  @Test(
    "init rejects a read-only database file and says what to make writable",
    .enabled(if: geteuid() != 0, "permissions do not bind root"))
  func aFileThatCannotBeWrittenIsRefused() async throws {
    try await MeshProcess.scope { mesh in
      try await mesh.sqlite(MeshProcess.schema)
      try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: mesh.database)
      #expect(try await refusal(mesh).contains("make file and directory writable"))
    }
  }

  @Test("init says that another process locks the database, and succeeds afterwards")
  func aDatabaseThatAnotherProgramHasLockedIsCalledSo() async throws {
    try await MeshProcess.scope { mesh in
      try await mesh.sqlite(MeshProcess.schema)
      let holder = try await mesh.python(
        """
        import signal, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        print("locked", flush=True)
        signal.pause()
        """)
      try await eventually("the lock is held") { holder.output.contains("locked") }
      #expect(try await refusal(mesh).contains("is locked by another process"))
      await holder.kill()
      #expect(try await mesh.run("init", "--database", mesh.database).status == 0)
    }
  }

  @Test("track lists every table it can't synchronize with its reason and changes nothing")
  func everythingThatIsWrongWithTheTablesIsSaidAtOnceAndNothingIsDone() async throws {
    try await MeshProcess.scope { mesh in
      try await mesh.sqlite(
        """
        CREATE TABLE fine (id TEXT PRIMARY KEY NOT NULL);
        CREATE TABLE keyless (a);
        CREATE TABLE pairs (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b));
        CREATE TABLE nullable (id TEXT PRIMARY KEY);
        CREATE TABLE numbered (id INTEGER PRIMARY KEY);
        CREATE TABLE people (id TEXT PRIMARY KEY NOT NULL, mail TEXT UNIQUE);
        CREATE TABLE outside (id TEXT PRIMARY KEY NOT NULL);
        CREATE TABLE children (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES outside(id));
        CREATE TABLE bound (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES fine(id) ON DELETE RESTRICT);
        CREATE TABLE special (id TEXT PRIMARY KEY NOT NULL);
        CREATE TRIGGER special_insert AFTER INSERT ON special BEGIN SELECT app_only(NEW.id); END;
        CREATE VIEW seen AS SELECT id FROM fine;
        """)
      try await mesh.done("init", "--database", mesh.database)
      let expected = [
        ("keyless", "no primary key"), ("pairs", "several columns"), ("nullable", "NOT NULL"),
        ("numbered", "--integer-keys"), ("people", "mail is UNIQUE"),
        ("children", "outside, which is not synchronized"),
        ("bound", "ON DELETE RESTRICT"), ("special", "app_only"), ("seen", "view"), ("nowhere", "no such table"),
        ("mesh_state", "reserved"),
      ]
      let finished = try await mesh.run(["track", "fine"] + expected.map(\.0))
      #expect(finished.status == ExitStatus.refused.rawValue)
      let lines = finished.stderr.split(separator: "\n")
      for (table, reason) in expected {
        #expect(lines.contains { $0.contains("\(table): ") && $0.contains(reason) }, "\(table)")
      }
      #expect(lines.count == expected.count)
      #expect(try await mesh.number("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'mesh_capture%'") == 0)
      try await mesh.done("track", "fine", "numbered", "--integer-keys")
    }
  }
}
