import Foundation
import GRDB
import MeshControl
import SQLiteData
import Testing

@Table private struct Note: Equatable {
  @Column(primaryKey: true) let id: String
  var title = ""
}

@DatabaseFunction
private func loud(_ text: String) -> String { text.uppercased() }

extension Daemons {
  /// A node moves between `mesh serve` and apps on the same database.
  @Suite("Hand-over of a node", .timeLimit(.minutes(10)))
  struct HandOverProcessTests {
    private static let schema = "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '')"

    /// Returns this process as an app on the database of a machine. Its home is the machine's.
    private func app(
      _ mesh: MeshProcess, listen: String = "127.0.0.1:0", prepare: (@Sendable (Database) throws -> Void)? = nil
    ) throws -> (database: any DatabaseWriter, engine: SyncEngine) {
      let database = try withDependencies {
        $0.context = .live
      } operation: {
        var configuration = Configuration()
        if let prepare { configuration.prepareDatabase { try prepare($0) } }
        return try defaultDatabase(path: mesh.database, configuration: configuration)
      }
      let engine = try SyncEngine(
        for: database, tables: Note.self,
        node: NodeConfiguration(home: mesh.home, listen: listen, network: .tcp), startImmediately: false)
      return (database, engine)
    }

    /// Stops an engine, and returns when its node is closed.
    private func stop(_ engine: SyncEngine, _ mesh: MeshProcess) async throws {
      engine.stop()
      try await eventually("the app's node is closed") { try await !mesh.status().running }
    }

    /// Returns the process that runs the node, from the home's lock.
    private func holder(_ mesh: MeshProcess) throws -> Int32? {
      let note = try String(contentsOfFile: "\(mesh.home)/lock", encoding: .utf8)
      return note.split(separator: " ").first.flatMap { Int32($0) }
    }

    @Test("an app that opens another file in place of a killed node's doesn't get the old log")
    func leftLog() async throws {
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite(Self.schema)
        try await mesh.done("init", "--database", mesh.database, "--account", "alice")
        try await mesh.done("track", "notes")
        try await mesh.sqlite("INSERT INTO notes VALUES ('old', 'old')")
        let daemon = try await mesh.serve()
        let other = "\(mesh.directory)/other.db"
        try await mesh.tool("sqlite3", other, input: Self.schema + "; INSERT INTO notes VALUES ('new', 'new');")
        daemon.send(SIGSTOP)
        #expect(rename(other, mesh.database) == 0)
        await daemon.kill()
        let (database, _) = try app(mesh)
        #expect(try await database.read { try String.fetchAll($0, sql: "SELECT id FROM notes") } == ["new"])
        let names = try FileManager.default.contentsOfDirectory(atPath: mesh.directory)
        #expect(names.contains { $0.contains("-wal-former-") })
      }
    }

    @Test("an app leaves its node to a daemon that starts, takes it back when that stops, and loses no write")
    func toDaemonAndBack() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        try await tower.sqlite(Self.schema)
        try await tower.done("init", "--database", tower.database, "--account", "alice", "--device", "tower")
        let address = try MeshProcess.freeAddress()
        let (database, engine) = try app(tower, listen: address)
        try await engine.start()
        #expect(try holder(tower) == getpid())
        try await laptop.join(tower, device: "laptop")
        _ = try await laptop.serve()
        let writer = Task {
          var count = 0
          while !Task.isCancelled {
            let note = Note(id: "n\(count)", title: "\(count)")
            do {
              try await database.write { db in try Note.insert { note }.execute(db) }
            } catch is CancellationError {
              break
            }
            count += 1
            try? await Task.sleep(for: .milliseconds(3))
          }
          return count
        }
        for _ in 0..<3 {
          let daemon = try await tower.start(["serve", "--listen", address])
          try await eventually("the daemon has the node") { try holder(tower) == daemon.pid }
          #expect(try await engine.devices().count == 2, "the app uses the daemon's node")
          #expect(try await daemon.terminate().status == 0)
          try await eventually("the app has taken the node back") { try holder(tower) == getpid() && engine.isRunning }
          #expect(try await engine.devices().count == 2)
        }
        writer.cancel()
        let count = try await writer.value
        try await engine.sendChanges()
        #expect(try await laptop.number("SELECT count(*) FROM notes") == count)
        try await tower.done("verify")
        try await stop(engine, tower)
      }
    }

    @Test("a daemon doesn't leave its node to another daemon or to an app")
    func daemonStays() async throws {
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite(Self.schema)
        try await mesh.done("init", "--database", mesh.database, "--account", "alice", "--device", "tower")
        let daemon = try await mesh.serve()
        let (_, engine) = try app(mesh)
        try await engine.start()
        #expect(try holder(mesh) == daemon.pid)
        let refusal = await #expect(throws: Refusal.self) {
          try await ControlClient(home: mesh.home).perform(YieldRequest(process: Int(getpid())))
        }
        #expect(refusal?.code == "yield.daemon")
        let second = try await mesh.run("serve", "--listen", "127.0.0.1:0")
        #expect(second.status == ExitStatus.refused.rawValue)
        #expect(second.stderr.contains("a daemon (process \(daemon.pid)) serves \(mesh.home). Stop it first"))
        engine.stop()
      }
    }

    @Test("an app keeps its node if only the app has the functions that the schema calls, and its node calls them")
    func functions() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        try await tower.sqlite(
          """
          \(Self.schema); CREATE TABLE log (text TEXT);
          CREATE TRIGGER notes_log AFTER INSERT ON notes BEGIN INSERT INTO log VALUES (loud(new.title)); END
          """)
        try await tower.done("init", "--database", tower.database, "--account", "alice", "--device", "tower")
        let (_, engine) = try app(tower) { $0.add(function: $loud) }
        try await engine.start()
        try await laptop.join(tower, device: "laptop")
        _ = try await laptop.serve()
        let refused = try await tower.run("serve", "--listen", "127.0.0.1:0")
        #expect(refused.status == ExitStatus.refused.rawValue)
        #expect(refused.stderr.contains("the schema calls loud(), which mesh doesn't have"))
        #expect(refused.stderr.contains("(process \(getpid()))"))
        try await laptop.sqlite("INSERT INTO notes VALUES ('a', 'milk')")
        try await eventually("the row of the other device is here, and the app's function was called for it") {
          try await tower.sqlite("SELECT text FROM log") == "MILK\n"
        }
        #expect(try holder(tower) == getpid())
        try await stop(engine, tower)
      }
    }

    /// A process that runs the node of a home and has an older version of mesh, which knows no request of today.
    private static let older = """
      import fcntl, os, socket, sys
      home = os.path.join(os.path.dirname(sys.argv[1]), "home")
      lock = open(os.path.join(home, "lock"), "r+")
      fcntl.flock(lock, fcntl.LOCK_EX)
      lock.truncate(0)
      lock.write("%d daemon\\n" % os.getpid())
      lock.flush()
      body = b'{"error":{"code":"control.route","exit":2,"message":"there is no such route.","reasons":[]}}'
      server = socket.socket(socket.AF_UNIX)
      server.bind(os.path.join(home, "control.sock"))
      server.listen(16)
      while True:
          connection, _ = server.accept()
          if not connection.recv(65536):
              continue
          connection.sendall(b"HTTP/1.1 404 Not Found\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
          connection.close()
      """

    @Test("if the process that runs the node has an older version, daemon and app say so, and no write is lost")
    func olderVersion() async throws {
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite(Self.schema)
        try await mesh.done("init", "--database", mesh.database, "--account", "alice", "--device", "tower")
        let (database, engine) = try app(mesh)
        try await engine.start()
        try await stop(engine, mesh)
        let older = try await mesh.python(Self.older)
        try await eventually("the older one answers") {
          FileManager.default.fileExists(atPath: "\(mesh.home)/control.sock")
        }
        try await database.write { db in try Note.insert { Note(id: "a", title: "kept") }.execute(db) }
        let daemon = try await mesh.run("serve", "--listen", "127.0.0.1:0")
        #expect(daemon.status == ExitStatus.refused.rawValue)
        let remedy = "Update the program that runs the node (mesh serve, or an app), or stop it."
        #expect(daemon.stderr.contains("an older version of mesh") && daemon.stderr.contains(remedy))
        #expect(daemon.stderr.contains("kill \(older.pid)"))
        let error = await #expect(throws: SyncError.self) { try await engine.start() }
        #expect(error?.code == .version)
        #expect(error?.message.contains(remedy) == true)
        await older.kill()
        try await engine.start()
        try await eventually("the write is captured") {
          let status = try await mesh.status()
          return status.pending == 0 && status.zones.first?.records == 1
        }
        try await stop(engine, mesh)
      }
    }

    @Test("of two apps on a database one runs the node, the other takes over, and a daemon gets it from both")
    func twoApps() async throws {
      try await MeshProcess.scope { mesh in
        let first = try await mesh.reminders()
        try await first.type("list Home", until: "Home: 0 open")
        try await first.type("devices", until: "this machine")
        let second = try await mesh.reminders()
        try await second.type("devices", until: "this machine")
        func lock() throws -> String { try String(contentsOfFile: "\(mesh.homeOfReminders)/lock", encoding: .utf8) }
        #expect(try lock().hasPrefix("\(first.pid) "))
        try await second.type("add Home Sweep", until: "Home: 1 open")
        try first.type("quit")
        #expect(try await first.finished(within: MeshProcess.deadline).status == 0)
        try await eventually("the second app runs the node") { try lock().hasPrefix("\(second.pid) ") }
        try await second.type("devices", until: "this machine")
        let third = try await mesh.reminders()
        try await third.type("devices", until: "this machine")
        let daemon = try await mesh.start(["serve", "--home", mesh.homeOfReminders, "--listen", "127.0.0.1:0"])
        try await eventually("the daemon runs the node") { try lock().hasPrefix("\(daemon.pid) ") }
        for app in [second, third] { try await app.type("devices", until: "this machine") }
        #expect(daemon.result == nil)
        #expect(try lock().hasPrefix("\(daemon.pid) "))
        await daemon.kill()
        try await eventually("an app runs the node again") {
          try lock().hasPrefix("\(second.pid) ") || lock().hasPrefix("\(third.pid) ")
        }
        for app in [second, third] { try await app.type("devices", until: "this machine") }
      }
    }

    @Test("an app that is killed at any moment loses nothing that was committed")
    func killed() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (tower, laptop) = (nodes[0], nodes[1])
        let address = try MeshProcess.freeAddress()
        var app = try await tower.reminders(listen: address)
        try await app.type("list Home", until: "Home: 0 open")
        try await app.type("invite", until: "mesh-device")
        let invite = try #require(app.output.split(separator: "\n").last { $0.contains("mesh-device") })
        try await laptop.done(
          "init", "--database", laptop.database, "--link", "-", "--adopt-schema", "--device", "laptop",
          input: "\(invite)\n")
        _ = try await laptop.serve()
        var committed: Set<String> = []
        for round in 0..<15 {
          for number in 0..<400 { try app.type("add Home r\(round)-\(number)") }
          try await Task.sleep(for: .milliseconds(Int.random(in: 0..<700)))
          await app.kill()
          let titles = try await tower.sqlite("SELECT title FROM reminders")
          let kept = Set(titles.split(separator: "\n").map(String.init))
          #expect(committed.subtracting(kept) == [], "rows of earlier rounds")
          committed = kept
          app = try await tower.reminders(listen: address)
        }
        #expect(committed.count > 15)
        try await eventually("every committed row is on the other device", within: .seconds(120)) {
          let titles = try await laptop.sqlite("SELECT title FROM reminders")
          return Set(titles.split(separator: "\n").map(String.init)).isSuperset(of: committed)
        }
        try await app.type("sync", until: "in sync")
        try await laptop.done("verify")
      }
    }
  }
}
