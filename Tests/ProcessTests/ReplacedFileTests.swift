import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Databases that are restored, replaced or removed while the daemon runs.
  @Suite struct ReplacedFileTests {
    /// Runs two daemons. The laptop's file has `mon`, and its copy is at the returned path. Then all devices get `tue`.
    private func monday(_ laptop: MeshProcess) async throws -> String {
      let copy = "\(laptop.directory)/monday.db"
      try await laptop.sqlite("INSERT INTO notes VALUES ('mon', 'monday', 1)")
      try await laptop.settled(with: "tower")
      try await laptop.done("backup", copy)
      try await laptop.sqlite("INSERT INTO notes VALUES ('tue', 'tuesday', 2)")
      try await laptop.settled(with: "tower")
      return copy
    }

    private func expectAll(_ tower: MeshProcess, _ laptop: MeshProcess, _ ids: String) async throws {
      try await eventually("\(ids) are everywhere") {
        let (here, there) = (try await laptop.ids(), try await tower.ids())
        return here == ids && there == ids
      }
      try await laptop.settled(with: "tower")
      #expect(try await laptop.rows() == tower.rows())
    }

    @Test("a copy that is restored into the open file deletes nothing on other devices")
    func liveRestore() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let copy = try await monday(laptop)
        try await laptop.sqlite(".restore \(copy)\nINSERT INTO notes VALUES ('wed', 'wednesday', 3);")
        // This comes immediately, without waiting until the sessions are back.
        try await laptop.done("wait")
        try await expectAll(tower, laptop, "mon tue wed")
        #expect(try await tower.status().complaints.allSatisfy { !$0.contains("two change sets") })
        let checks = try await laptop.report(DoctorReport.self, "doctor").checks
        #expect(checks.contains { $0.name == "history" && $0.what.contains("restored") })
      }
    }

    private func refuses(_ laptop: MeshProcess, _ verb: String) async throws -> Bool {
      let finished = try await laptop.run(verb)
      return finished.status == ExitStatus.refused.rawValue && finished.stderr.contains("has nothing of mesh")
        && finished.stderr.contains("mesh accept-file")
    }

    /// Expects that the node refuses its file without writing to it, until a person accepts the file.
    private func expectRefusal(_ laptop: MeshProcess, bytes: Data) async throws {
      try await eventually("the node refuses the file") { try await refuses(laptop, "status") }
      #expect(FileManager.default.contents(atPath: laptop.database) == bytes)
    }

    @Test("a device that has written nothing leaves another program's file alone")
    func fileOfAnotherProgram() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO notes VALUES ('mon', 'monday', 1)")
        try await tower.settled(with: "laptop")
        let other = "\(laptop.directory)/other.db"
        try await laptop.tool(
          "sqlite3", other, input: "CREATE TABLE stamps (id TEXT); INSERT INTO stamps VALUES ('penny');")
        let bytes = try #require(FileManager.default.contents(atPath: other))
        #expect(rename(other, laptop.database) == 0)
        try await expectRefusal(laptop, bytes: bytes)
      }
    }

    @Test("a restored file from before mesh init is used once a person accepts it, and reported once")
    func restoredFromBeforeInit() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let blank = "\(laptop.directory)/blank.db"
        try await laptop.tool(
          "sqlite3", blank, input: MeshProcess.schema + "INSERT INTO notes VALUES ('mon', 'before', 1);")
        for day in ["mon", "tue"] {
          try await laptop.sqlite("INSERT INTO notes VALUES ('\(day)', 'day', 1)")
          try await laptop.settled(with: "tower")
          try await laptop.sqlite(".restore \(blank)")
          try await eventually("the node refuses the file") { try await refuses(laptop, "wait") }
          try await laptop.done("accept-file")
          for verb in ["wait", "verify"] {
            let finished = try await laptop.run(verb)
            #expect(finished.status == ExitStatus.refused.rawValue && finished.stderr.contains("mesh track TABLE"))
          }
          try await laptop.done("track", "notes", "tags")
          try await laptop.settled(with: "tower")
        }
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await tower.ids() == "mon tue")
        let checks = try await laptop.report(DoctorReport.self, "doctor").checks.filter { $0.name == "history" }
        #expect(checks.map(\.state) == [.warning])
        #expect(checks.allSatisfy { $0.what.components(separatedBy: "another device sent change sets").count == 2 })
        #expect(checks.allSatisfy { $0.what.contains("the database had nothing of what this device synchronized") })
        #expect(try await laptop.run("status").stdout.contains("warning"))
        let conflicts = try await laptop.report(ConflictsReport.self, "conflicts").conflicts
        #expect(conflicts.contains { "\($0)".contains("before") })
      }
    }

    @Test("another program's file at the path is left as it is, with and without a daemon")
    func anotherFile() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        _ = try await monday(laptop)
        let other = "\(laptop.directory)/other.db"
        try await laptop.tool(
          "sqlite3", other, input: "CREATE TABLE stamps (id TEXT); INSERT INTO stamps VALUES ('penny');")
        let bytes = try #require(FileManager.default.contents(atPath: other))
        let right = "\(laptop.directory)/right.db"
        try FileManager.default.moveItem(atPath: laptop.database, toPath: right)
        try FileManager.default.moveItem(atPath: other, toPath: laptop.database)
        try await expectRefusal(laptop, bytes: bytes)
        for verb in ["wait", "verify"] { #expect(try await refuses(laptop, verb)) }
        try await tower.sqlite("INSERT INTO notes VALUES ('wed', 'wednesday', 3)")
        #expect(
          try await laptop.report(DoctorReport.self, "doctor").checks.contains { $0.what.contains("nothing of mesh") })
        daemons.laptop.send(SIGTERM)
        _ = try await daemons.laptop.finished(within: MeshProcess.deadline)
        try await expectRefusal(laptop, bytes: bytes)
        #expect(try await refuses(laptop, "serve"))
        try FileManager.default.moveItem(atPath: laptop.database, toPath: other)
        try FileManager.default.moveItem(atPath: right, toPath: laptop.database)
        _ = try await laptop.serve()
        try await expectAll(tower, laptop, "mon tue wed")
      }
    }

    @Test("the log of a killed daemon is moved away from another database at its path")
    func leftLog() async throws {
      try await MeshProcess.pair { _, laptop, daemons in
        _ = try await monday(laptop)
        let other = "\(laptop.directory)/other.db"
        try await laptop.tool(
          "sqlite3", other, input: "CREATE TABLE stamps (id TEXT); INSERT INTO stamps VALUES ('penny');")
        let bytes = try #require(FileManager.default.contents(atPath: other))
        let known = FileManager.default.contents(atPath: "\(laptop.home)/database-log")
        // The node empties a log of such a size, and the next commit begins it again.
        try await laptop.sqlite("CREATE TABLE large AS SELECT randomblob(20000000) AS bytes")
        try await eventually("the home knows the log that has begun again") {
          FileManager.default.contents(atPath: "\(laptop.home)/database-log") != known
        }
        daemons.laptop.send(SIGSTOP)
        let log = try #require(FileManager.default.contents(atPath: laptop.database + "-wal"))
        #expect(rename(other, laptop.database) == 0)
        await daemons.laptop.kill()

        let finished = try await laptop.run("serve")
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("has nothing of mesh"))
        let moved = try #require(
          try FileManager.default.contentsOfDirectory(atPath: laptop.directory).first { $0.contains("-wal-former-") })
        #expect(finished.stderr.contains(moved))
        #expect(FileManager.default.contents(atPath: "\(laptop.directory)/\(moved)") == log)
        #expect(FileManager.default.contents(atPath: laptop.database) == bytes)
      }
    }

    @Test("a backup that took the place of a killed daemon's file is not opened with the old log")
    func leftLogOfOriginal() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let copy = try await monday(laptop)
        daemons.laptop.send(SIGSTOP)
        #expect(rename(copy, laptop.database) == 0)
        await daemons.laptop.kill()
        let bytes = FileManager.default.contents(atPath: laptop.database)
        for verb in ["status", "serve"] {
          let finished = try await laptop.run(verb)
          #expect(finished.status == ExitStatus.refused.rawValue)
          #expect(finished.stderr.contains("mv \(laptop.database)-wal \(laptop.database)-wal-former"))
        }
        #expect(FileManager.default.contents(atPath: laptop.database) == bytes)
        #expect(rename(laptop.database + "-wal", laptop.database + "-wal-former") == 0)
        _ = try await laptop.serve()
        try await expectAll(tower, laptop, "mon tue")
      }
    }

    @Test("a copy that is moved over the open file is opened, and gets its missing rows back")
    func movedOver() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let copy = try await monday(laptop)
        try FileManager.default.removeItem(atPath: laptop.database)
        try FileManager.default.moveItem(atPath: copy, toPath: laptop.database)
        // A program that is reading the file may keep the node from opening it for a moment.
        try await eventually("the node has opened it") { try await laptop.run("wait").status == 0 }
        try await expectAll(tower, laptop, "mon tue")
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'wednesday', 3)")
        try await expectAll(tower, laptop, "mon tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
      }
    }

    @Test("the node follows a directory and a symbolic link that lead elsewhere")
    func replacedDirectory() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        _ = try await tower.found()
        let link = "\(laptop.directory)/current"
        for name in ["one", "two"] {
          try FileManager.default.createDirectory(
            atPath: "\(laptop.directory)/\(name)", withIntermediateDirectories: false)
        }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(laptop.directory)/one")
        try await laptop.done(
          "init", "--database", "\(link)/data.db", "--link", "-", "--adopt-schema", "--device", "laptop",
          input: try await tower.invite() + "\n")
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        try await laptop.done("backup", "\(laptop.directory)/two/data.db")
        try await tower.sqlite("INSERT INTO notes VALUES ('a', 'everywhere', 1)")
        try await laptop.settled(with: "tower")
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(laptop.directory)/two")
        let second = "\(laptop.directory)/two/data.db"
        try await eventually("the second file has the row") {
          try await laptop.start(
            ["sqlite3", "-cmd", ".timeout 20000", second, "SELECT count(*) FROM notes"], executable: MeshProcess.env
          )
          .finished(within: MeshProcess.deadline).stdout == "1\n"
        }
        try await laptop.settled(with: "tower")
      }
    }

    private func expectLostLog(_ laptop: MeshProcess) async throws {
      try await eventually("the doctor names the log") {
        try await laptop.report(DoctorReport.self, "doctor").checks.contains {
          $0.name == "history" && $0.what.contains("was deleted or replaced while programs had it open")
        }
      }
    }

    @Test("a log that is deleted loses no commit", arguments: [["-wal", "-shm"], ["-wal"], ["-shm"]])
    func deletedLog(names: [String]) async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        _ = try await monday(laptop)
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'wednesday', 3)")
        for name in names { try FileManager.default.removeItem(atPath: laptop.database + name) }
        try await expectLostLog(laptop)
        try await laptop.sqlite("INSERT INTO notes VALUES ('thu', 'thursday', 4)")
        try await expectAll(tower, laptop, "mon thu tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
        let files = try FileManager.default.contentsOfDirectory(atPath: laptop.directory)
        #expect(!files.contains { $0.contains("-saved-") })
      }
    }

    @Test("what programs write to another log stays, and what the deleted one had is saved and comes back")
    func otherLog() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        _ = try await monday(laptop)
        daemons.laptop.send(SIGSTOP)
        for name in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: laptop.database + name) }
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'wednesday', 3)")
        daemons.laptop.send(SIGCONT)
        try await expectLostLog(laptop)
        try await expectAll(tower, laptop, "mon tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
        let files = try FileManager.default.contentsOfDirectory(atPath: laptop.directory)
        let saved = try #require(files.first { $0.contains("-saved-") })
        let ids = try await laptop.tool(
          "sqlite3", "\(laptop.directory)/\(saved)", input: "SELECT id FROM notes ORDER BY id;")
        #expect(ids == "mon\ntue\n")
      }
    }

    @Test("a file that was deleted is an alarm, fails wait and verify, and can be saved")
    func deleted() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        _ = try await monday(laptop)
        try FileManager.default.removeItem(atPath: laptop.database)
        for verb in ["wait", "verify", "status"] {
          let finished = try await laptop.run(verb)
          #expect(finished.status == 5 && finished.stderr.contains("was deleted or moved away"), "\(verb): \(finished)")
        }
        let doctor = try await laptop.run("doctor")
        #expect(doctor.status == 1 && doctor.stdout.contains("was deleted or moved away"))
        let saved = "\(laptop.directory)/saved.db"
        try await laptop.done("backup", saved)
        try await tower.sqlite("INSERT INTO notes VALUES ('wed', 'while it was gone', 3)")
        try FileManager.default.moveItem(atPath: saved, toPath: laptop.database)
        try await expectAll(tower, laptop, "mon tue wed")
      }
    }

    private func move(_ file: String, to other: String) throws {
      try FileManager.default.moveItem(atPath: file, toPath: other)
    }

    private func query(_ laptop: MeshProcess, _ file: String, _ sql: String) async throws -> String {
      try await laptop.tool("sqlite3", "-cmd", ".timeout 20000", file, input: sql)
    }

    private func expectMoved(_ laptop: MeshProcess, _ text: String) async throws {
      try await eventually("the status names the new path") {
        let finished = try await laptop.run("status")
        return finished.status == 5 && finished.stderr.contains(text)
      }
    }

    private static let idsQuery = "SELECT group_concat(id, ' ') FROM (SELECT id FROM notes ORDER BY id);"

    @Test("a file that was moved has everything there, and what is written there is synchronized once it is back")
    func movedAway() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        _ = try await monday(laptop)
        let moved = "\(laptop.directory)/moved.db"
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'in the log', 3)")
        try move(laptop.database, to: moved)
        try await expectMoved(laptop, "was moved to \(moved) while the node had it open. It has everything there")
        #expect(try await query(laptop, moved, Self.idsQuery) == "mon tue wed\n")
        _ = try await query(laptop, moved, "INSERT INTO notes VALUES ('thu', 'elsewhere', 4);")
        #expect(!FileManager.default.fileExists(atPath: laptop.database + "-wal"))
        try move(moved, to: laptop.database)
        try await expectAll(tower, laptop, "mon thu tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
        let left = try FileManager.default.contentsOfDirectory(atPath: laptop.directory)
        #expect(!left.contains { $0.hasPrefix("moved.db") || $0.contains("-saved-") })
      }
    }

    @Test("a program that writes to a moved file before it has the last commits loses nothing")
    func movedAndWritten() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        _ = try await monday(laptop)
        let moved = "\(laptop.directory)/moved.db"
        daemons.laptop.send(SIGSTOP)
        try move(laptop.database, to: moved)
        _ = try await query(laptop, moved, "INSERT INTO notes VALUES ('wed', 'elsewhere', 3);")
        daemons.laptop.send(SIGCONT)
        try await expectMoved(laptop, "so the node has saved the database with them as")
        let files = try FileManager.default.contentsOfDirectory(atPath: laptop.directory)
        let saved = try #require(files.first { $0.contains("-saved-") })
        #expect(try await query(laptop, "\(laptop.directory)/\(saved)", Self.idsQuery) == "mon tue\n")
        #expect(try await query(laptop, moved, "PRAGMA integrity_check;") == "ok\n")
        try move(moved, to: laptop.database)
        try await expectAll(tower, laptop, "mon tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
        let checks = try await laptop.report(DoctorReport.self, "doctor").checks
        #expect(checks.contains { $0.name == "history" && $0.what.contains(saved) })
      }
    }

    @Test("a program that uses a moved file under either name is named until it ends")
    func movedAndInUse() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        _ = try await monday(laptop)
        let moved = "\(laptop.directory)/moved.db"
        let writer =
          "import sqlite3, sys; c = sqlite3.connect(sys.argv[1] %, isolation_level=None, timeout=20); "
          + "c.execute(\"INSERT INTO notes VALUES ('#', 'by a program', 3)\"); print('written', flush=True); sys.stdin.read()"
        func program(_ name: String, _ id: String) async throws -> Child {
          let script = writer.replacingOccurrences(of: "%", with: name).replacingOccurrences(of: "#", with: id)
          let program = try await laptop.python(script + "\nimport signal; signal.pause()")
          try await eventually("it has written") { program.output.contains("written") }
          return program
        }
        let former = try await program("", "wed")
        try move(laptop.database, to: moved)
        try await expectMoved(laptop, "process \(former.pid) ")
        await former.kill()
        try await expectMoved(laptop, "It has everything there")
        #expect(try await query(laptop, moved, Self.idsQuery) == "mon tue wed\n")
        let later = try await program("[:-7] + 'moved.db'", "thu")
        try move(moved, to: laptop.database)
        try await expectMoved(laptop, "process \(later.pid)")
        await later.kill()
        try await expectAll(tower, laptop, "mon thu tue wed")
        #expect(try await laptop.sqlite("PRAGMA integrity_check").hasPrefix("ok"))
      }
    }

    @Test("while a program has the old file open, the new file waits, and the program is named")
    func oldFileInUse() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let copy = try await monday(laptop)
        let reader = try await laptop.python(
          "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM notes').fetchall(); "
            + "print('open', flush=True); time.sleep(600)")
        try await eventually("the program has it open") { reader.output.contains("open") }
        try FileManager.default.removeItem(atPath: laptop.database)
        try FileManager.default.moveItem(atPath: copy, toPath: laptop.database)
        // The node may have looked while no file was there.
        try await eventually("verify names the program") {
          let finished = try await laptop.run("verify")
          return finished.status == 5 && finished.stderr.contains("still has the one before open")
            && finished.stderr.contains("process \(reader.pid)")
        }
        await reader.kill()
        try await eventually("it opens the new file") { try await laptop.run("status").status == 0 }
        try await expectAll(tower, laptop, "mon tue")
      }
    }

    @Test("a file that is no database, or another account's, is refused with a reason until the right one is there")
    func wrongFile() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let copy = try await monday(laptop)
        try FileManager.default.removeItem(atPath: laptop.database)
        try "no database".write(toFile: laptop.database + ".new", atomically: true, encoding: .utf8)
        try FileManager.default.moveItem(atPath: laptop.database + ".new", toPath: laptop.database)
        try await eventually("it says so") {
          let finished = try await laptop.run("wait")
          return finished.status == 5 && finished.stderr.contains("is not a SQLite database")
        }
        try await MeshProcess.scope { other in
          try await other.sqlite(MeshProcess.schema)
          try await other.done("init", "--database", other.database, "--account", "eve")
          let account = try await other.status().account
          try FileManager.default.removeItem(atPath: laptop.database)
          try FileManager.default.moveItem(atPath: other.database, toPath: laptop.database)
          try await eventually("it names the other account") {
            let finished = try await laptop.run("wait")
            return finished.status == 5 && finished.stderr.contains("belongs to the account \(account)")
          }
        }
        try FileManager.default.removeItem(atPath: laptop.database)
        try FileManager.default.moveItem(atPath: copy, toPath: laptop.database)
        try await expectAll(tower, laptop, "mon tue")
      }
    }

    @Test("a session lives on while a program has the write lock, and wait names the program")
    func lockedForLong() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await laptop.sqlite("INSERT INTO notes VALUES ('a', 'before', 1)")
        try await laptop.settled(with: "tower")
        let writer = try await laptop.python(
          "import os, sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE'); "
            + "c.execute(\"INSERT INTO notes VALUES ('b', 'long', 1)\"); print('locked', flush=True)\n"
            + "while not os.path.exists(sys.argv[1] + '.go'): time.sleep(0.05)\n"
            + "c.execute('COMMIT')"
        )
        try await eventually("it is locked") { writer.output.contains("locked") }
        try await tower.sqlite("INSERT INTO notes VALUES ('c', 'meanwhile', 1)")
        // The program has the lock until it is told to release it, so an answer means that the command didn't wait for
        // it.
        let waited = try await laptop.run("wait", "--timeout", "3s")
        #expect(waited.status == 1 && waited.stdout.contains("is locked by process"), "\(waited)")
        let verified = try await laptop.run("verify", "--timeout", "1s")
        #expect(verified.status == 1 && verified.stdout.contains("is locked by process"), "\(verified)")
        #expect(try await laptop.isConnected(to: "tower"))
        try Data().write(to: URL(filePath: laptop.database + ".go"))
        try await expectAll(tower, laptop, "a b c")
        #expect(try await laptop.status().complaints.isEmpty)
      }
    }
  }
}

extension MeshProcess {
  fileprivate func ids() async throws -> String {
    try await sqlite("SELECT id FROM notes ORDER BY id").split(separator: "\n").joined(separator: " ")
  }
}
