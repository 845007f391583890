import Foundation
import MeshControl
import Testing

extension Daemons {
  /// The recoveries of the guide "Backup and restore" that need a stopped daemon or another machine. ReplacedFileTests
  /// has the others.
  @Suite struct BackupProcessTests {
    private struct Saved {
      let home: String
      let database: String
    }

    /// Saves the laptop's home and database with one row. Then all devices get another row, and the laptop's daemon is
    /// stopped.
    private func saved(_ laptop: MeshProcess, _ daemon: Child) async throws -> Saved {
      let saved = Saved(home: "\(laptop.directory)/saved-home", database: "\(laptop.directory)/saved.db")
      try await laptop.sqlite("INSERT INTO notes VALUES ('mon', 'monday', 1)")
      try await laptop.settled(with: "tower")
      try await laptop.done("backup", saved.database)
      // The daemon is running, so its socket is copied as well.
      let copied = try await laptop.start(["cp", "-a", laptop.home, saved.home], executable: MeshProcess.env)
      #expect(try await copied.finished(within: MeshProcess.deadline).status == 0)
      try await laptop.sqlite("INSERT INTO notes VALUES ('tue', 'tuesday', 2)")
      try await laptop.settled(with: "tower")
      #expect(try await daemon.terminate().status == 0)
      return saved
    }

    private func put(_ saved: String, at place: String, _ node: MeshProcess) async throws {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place + suffix) }
      let copied = try await node.start(["cp", "-a", saved, place], executable: MeshProcess.env)
      #expect(try await copied.finished(within: MeshProcess.deadline).status == 0)
    }

    private func expectAll(_ tower: MeshProcess, _ other: MeshProcess, _ ids: String) async throws {
      for node in [tower, other] {
        try await eventually("\(ids) are everywhere", within: .seconds(90)) {
          try await node.sqlite("SELECT id FROM notes ORDER BY id").split(separator: "\n").joined(separator: " ") == ids
        }
      }
      try await other.settled(with: "tower")
      #expect(try await other.rows() == tower.rows())
    }

    @Test("a backup names its tables and its home, and has all rows with and without the daemon")
    func report() async throws {
      try await MeshProcess.scope { tower in
        let daemon = try await tower.found()
        try await tower.insertNotes(0..<500, prefix: "n")
        let running = try await tower.report(BackupReport.self, "backup", "\(tower.directory)/running.db")
        #expect(running.tables == ["notes", "tags"] && running.home == tower.home && running.bytes > 0)
        #expect(running.lackingAssets == LackingAssets())
        #expect(try await tower.run("backup", "\(tower.directory)/running.db").status == 5, "no file is overwritten")
        _ = try await daemon.terminate()
        try await tower.done("backup", "\(tower.directory)/stopped.db")
        for name in ["running", "stopped"] {
          let count = try await tower.start(
            ["sqlite3", "\(tower.directory)/\(name).db", "PRAGMA integrity_check; SELECT count(*) FROM notes"],
            executable: MeshProcess.env)
          #expect(try await count.finished(within: MeshProcess.deadline).stdout == "ok\n500\n")
        }
      }
    }

    @Test("a backup says how many BLOBs it lacks")
    func lackingBLOBs() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await laptop.done("asset", "policy", "notes", "on-demand")
        try await tower.sqlite("INSERT INTO notes VALUES ('film', randomblob(3000000), 1)")
        try await tower.done("wait")
        let lacking = LackingAssets(absent: .init(assets: 1, bytes: 3_000_000))
        let report = try await laptop.report(BackupReport.self, "backup", "\(laptop.directory)/one.db")
        #expect(report.lackingAssets == lacking)
        let text = try await laptop.done("backup", "\(laptop.directory)/two.db").stdout
        #expect(text.contains("1 BLOB (3.0 MB) on demand, evicted, or on no connected device"))
        let whole = try await tower.report(BackupReport.self, "backup", "\(tower.directory)/whole.db")
        #expect(whole.lackingAssets == LackingAssets())
      }
    }

    @Test("a file that is restored while the daemon is stopped gets its missing rows back")
    func fileStopped() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let saved = try await saved(laptop, daemons.laptop)
        try await put(saved.database, at: laptop.database, laptop)
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'before the start', 3)")
        _ = try await laptop.serve()
        try await expectAll(tower, laptop, "mon tue wed")
      }
    }

    @Test("an older home with the newer file continues with a new instance")
    func home() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let saved = try await saved(laptop, daemons.laptop)
        let before = try await laptop.status().instance
        try await put(saved.home, at: laptop.home, laptop)
        let instance = try await laptop.status().instance
        #expect(instance != before)
        _ = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'after the start', 3)")
        try await expectAll(tower, laptop, "mon tue wed")
        #expect(try await laptop.status().instance == instance)
        #expect(try await tower.status().complaints.allSatisfy { !$0.contains("two change sets") })
      }
    }

    @Test("an older home and file on the same machine lose nothing, even if they write before they meet others")
    func both() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let saved = try await saved(laptop, daemons.laptop)
        try await put(saved.home, at: laptop.home, laptop)
        try await put(saved.database, at: laptop.database, laptop)
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'before the start', 3)")
        _ = try await laptop.serve()
        try await expectAll(tower, laptop, "mon tue wed")
      }
    }

    @Test("a home and a file go to another machine")
    func otherMachine() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, new) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        let saved = try await saved(laptop, try await laptop.serve())
        try FileManager.default.removeItem(atPath: laptop.home)
        try await put(saved.home, at: new.home, new)
        try await put(saved.database, at: new.database, new)
        try new.configure(database: new.database)
        _ = try await new.serve()
        try await new.sqlite("INSERT INTO notes VALUES ('wed', 'on the new one', 3)")
        try await expectAll(tower, new, "mon tue wed")
      }
    }

    @Test("a file without its home joins again")
    func lostHome() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        _ = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        let saved = try await saved(laptop, try await laptop.serve())
        try FileManager.default.removeItem(atPath: laptop.home)
        try await put(saved.database, at: laptop.database, laptop)
        let joined = try await laptop.done(
          "init", "--database", laptop.database, "--link", "-", "--device", "laptop-2",
          input: try await tower.invite() + "\n")
        #expect(joined.stdout.contains("notes (already here), tags (already here)"), "\(joined.stdout)")
        #expect(joined.stderr.hasSuffix("Joined. Next: mesh serve\n"), "\(joined.stderr)")
        try await tower.done("device", "revoke", "laptop")
        _ = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('wed', 'under the new home', 3)")
        try await expectAll(tower, laptop, "mon tue wed")
      }
    }

    @Test("a copy of a home does not open the original's database while the original is there")
    func copiedHome() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, copy) = (nodes[0], nodes[1])
        _ = try await (try await tower.found()).terminate()
        try FileManager.default.copyItem(atPath: tower.home, toPath: copy.home)
        for verb in ["status", "serve"] {
          let refused = try await copy.run(verb)
          #expect(refused.status == 5 && refused.stderr.contains("is a copy of the home"), "\(refused)")
        }
        #expect(try await copy.run("doctor").status == 1)
        // The original is where it was.
        try await tower.done("status")
        // The copy takes its place.
        try FileManager.default.moveItem(atPath: tower.home, toPath: tower.home + ".old")
        try await copy.done("status")
      }
    }

    @Test("text that is no path of a file is refused", arguments: [":memory:", "file:a.db", "file:a.db?mode=memory"])
    func noFile(name: String) async throws {
      try await MeshProcess.scope { node in
        let refused = try await node.run("init", "--database", name, "--account", "alice", "--device", "tower")
        #expect(refused.status == 5 && refused.stderr.contains("is not the path of a database file"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: node.home))
      }
    }
  }
}
