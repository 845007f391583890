import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Each unhealthy state has its own check.
  @Suite struct DoctorTests {
    /// Returns the checks that are not ok, by name.
    private func faults(_ mesh: MeshProcess, _ arguments: String...) async throws -> [String: HealthCheck] {
      let finished = try await mesh.run(["doctor", "--json"] + arguments)
      let report = try ControlJSON.decode(DoctorReport.self, from: Array(finished.stdout.utf8))
      #expect(finished.status == (report.healthy ? ExitStatus.done : ExitStatus.no).rawValue)
      let faults = report.checks.filter { $0.state != .ok }
      #expect(report.healthy == faults.isEmpty)
      for fault in faults { #expect(fault.wayOut != nil, "\(fault.name)") }
      return Dictionary(faults.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private func node(_ mesh: MeshProcess) async throws {
      try await mesh.sqlite(MeshProcess.schema)
      try await mesh.done("init", "--database", mesh.database)
      try await mesh.done("track", "notes", "tags")
    }

    @Test("the doctor finds no fault in a healthy node, with or without its daemon")
    func aHealthyNodeIsHealthyWithAndWithoutItsDaemon() async throws {
      try await MeshProcess.scope { mesh in
        try await node(mesh)
        #expect(try await faults(mesh, "--deep").isEmpty)
        _ = try await mesh.serve()
        #expect(try await faults(mesh, "--deep").isEmpty)
        let report = try await mesh.report(DoctorReport.self, "doctor")
        #expect(report.checks.contains { $0.name == "write-ahead-log" && $0.what.contains("is guarded") })
        #expect(report.checks.contains { $0.name == "sqlite" && $0.what.contains("SQLite 3.") })
      }
    }

    @Test("the doctor says why a node's home or database can't be opened")
    func aNodeThatDoesNotOpenSaysWhy() async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await faults(mesh)["home"]?.what.contains("there is no node's home") == true)
        try await node(mesh)
        try FileManager.default.moveItem(atPath: mesh.database, toPath: "\(mesh.directory)/away.db")
        #expect(try await faults(mesh)["database"]?.what.contains("is not there") == true)
        try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: mesh.database))
        #expect(try await faults(mesh)["database"]?.what.contains("is not a SQLite database") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: mesh.home)
        #expect(try await faults(mesh)["home"]?.wayOut?.contains("chmod 700 \(mesh.home)") == true)
      }
    }

    @Test("the doctor reports a device that lacks changes and is away, and tables that only other devices have")
    func membersAndSchemas() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.settled(with: "laptop")
        for node in [tower, laptop] {
          let faults = try await faults(node)
          #expect(faults["members"] == nil && faults["schema"] == nil)
        }
        try await tower.sqlite("CREATE TABLE extra (id TEXT PRIMARY KEY NOT NULL, v)")
        try await tower.done("track", "extra")
        try await tower.sqlite("INSERT INTO extra VALUES ('e', 1)")
        try await tower.settled(with: "laptop")
        let lacking = try #require(try await faults(laptop)["schema"])
        #expect(lacking.what.contains("Other devices have the table extra"))
        #expect(lacking.wayOut?.contains("mesh schema --apply") == true)
        try await laptop.done("schema", "--apply")
        #expect(try await faults(laptop)["schema"] == nil)
        #expect(try await daemons.laptop.terminate().status == 0)
        try await tower.insertNotes(0..<3, prefix: "n")
        try await eventually("the changes wait") { try await faults(tower)["members"] != nil }
        let waiting = try #require(try await faults(tower)["members"])
        #expect(
          waiting.what.hasPrefix("laptop is not connected, and ") && waiting.figures["changeSets", default: 0] > 0)
        _ = try await laptop.serve()
        try await tower.settled(with: "laptop")
        #expect(try await faults(tower)["members"] == nil)
      }
    }

    @Test("the doctor reports a dropped trigger, capturing that was turned off, and a renamed table")
    func writesThatAreNotCapturedAreToldAndWhatANodeRepairsToo() async throws {
      try await MeshProcess.scope { mesh in
        try await node(mesh)
        let trigger = try await mesh.sqlite(
          "SELECT name FROM sqlite_schema WHERE tbl_name = 'notes' AND name GLOB 'mesh_capture_*_update'")
        try await mesh.sqlite("DROP TRIGGER \(trigger.trimmingCharacters(in: .newlines))")
        #expect(try await faults(mesh)["triggers"]?.what.contains("notes") == true)
        let daemon = try await mesh.serve()
        try await eventually("the trigger is created again") {
          try await faults(mesh)["triggers"]?.what.contains("created again") == true
        }
        try await mesh.sqlite("UPDATE mesh_state SET applying = 1")
        try await eventually("the mark is taken back") { try await faults(mesh)["silence"]?.figures["times"] == 1 }
        #expect(try await daemon.terminate().status == 0)
        try await mesh.sqlite("ALTER TABLE tags RENAME TO labels")
        let gone = try #require(try await faults(mesh)["table"])
        #expect(gone.what.contains("tags") && gone.what.contains("renamed to labels"))
        #expect(gone.wayOut?.contains("mesh track labels") == true)
        _ = try await mesh.serve()
        try await eventually("status has an alarm") {
          try await mesh.run("status").stdout.contains("No write to labels is captured. mesh doctor says why.")
        }
      }
    }

    @Test("wait, verify and the doctor report rows that a program replaced by their rowid, and a rescan deletes them")
    func rowsReplacedByTheirRowID() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'eggs', 0)")
        try await tower.settled(with: "laptop")
        try await tower.sqlite(
          "REPLACE INTO notes (rowid, id, text) SELECT rowid, 'n3', 'bread' FROM notes WHERE id = 'n1'")
        let waited = try await tower.run("wait")
        #expect(waited.status == ExitStatus.no.rawValue && waited.stdout.contains("1 row has vanished from notes"))
        let verified = try await tower.run("verify")
        #expect(verified.status == ExitStatus.no.rawValue && verified.stdout.contains("rows here are not sent"))
        let fault = try #require(try await faults(tower)["table"])
        #expect(fault.what.contains("1 row has vanished from notes unnoticed"))
        try await tower.done("rescan", "notes")
        try await tower.settled(with: "laptop")
        #expect(try await tower.run("verify").status == 0)
        #expect(try await faults(tower)["table"] == nil)
        #expect(try await laptop.sqlite("SELECT id FROM notes ORDER BY id") == "n2\nn3\n")
      }
    }

    @Test("the doctor reports held records and a peer's address that doesn't answer")
    func recordsThatAreHeldAndAddressesThatNobodyAnswersAreNamed() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await laptop.sqlite("DELETE FROM notes")
        try await tower.sqlite("INSERT INTO tags VALUES ('t1', 'nowhere', 'x')")
        try await laptop.settled(with: "tower")
        let held = try #require(try await faults(laptop)["held"])
        #expect(held.figures["missing-parent"] == 1 && held.what.hasPrefix("1 record is kept"))
        let zones = try await laptop.report(DoctorReport.self, "doctor").checks.filter { $0.name == "zone" }
        #expect(zones.contains { $0.what.contains("had the same as tower") })
      }
      try await MeshProcess.scope { mesh in
        try await node(mesh)
        try mesh.configure(peers: ["127.0.0.1:1"])
        _ = try await mesh.serve()
        try await eventually("the address is dialled") {
          try await faults(mesh)["peer"]?.what.contains("127.0.0.1:1") == true
        }
      }
    }

    @Test("the doctor names the process whose reader keeps the write-ahead log long")
    func aReaderThatKeepsTheLogLongIsNamed() async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        try await mesh.sqlite("CREATE TABLE other (x)")
        let reader = try await mesh.python(
          """
          import signal, sqlite3, sys
          db = sqlite3.connect(sys.argv[1], isolation_level=None)
          db.execute("BEGIN")
          db.execute("SELECT count(*) FROM other").fetchone()
          print("reading", flush=True)
          signal.pause()
          """)
        try await eventually("it reads") { reader.output.contains("reading") }
        for _ in 0..<4 { try await mesh.sqlite("INSERT INTO other VALUES (zeroblob(20000000))") }
        let fault = try #require(try await faults(mesh)["write-ahead-log"])
        #expect(fault.state == .alarm)
        #expect(fault.what.contains("process \(reader.pid) (python"))
        #expect(try await mesh.status().complaints.contains { $0.contains("\(reader.pid)") })
        await reader.kill()
        try await eventually("the log is emptied") { try await faults(mesh)["write-ahead-log"] == nil }
        #expect(try await mesh.number("SELECT count(*) FROM other") == 4)
      }
    }

    @Test("doctor --deep finds a damaged page of the database")
    func aDamagedFileIsFoundByReadingAllOfIt() async throws {
      try await MeshProcess.scope { mesh in
        try await node(mesh)
        try await mesh.insertNotes(0..<5_000, prefix: "n")
        let page = try await mesh.number("SELECT rootpage FROM sqlite_schema WHERE name = 'notes'")
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: mesh.database))
        try handle.seek(toOffset: UInt64(page - 1) * 4096)
        try handle.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        try handle.close()
        #expect(try await faults(mesh, "--deep")["integrity"] != nil)
      }
    }
  }
}
