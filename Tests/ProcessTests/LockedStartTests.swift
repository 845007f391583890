import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Daemons that are started while another program has the database locked.
  @Suite struct LockedStartTests {
    /// Starts a program that keeps the write lock.
    private func holder(_ mesh: MeshProcess, _ begin: String = "BEGIN IMMEDIATE") async throws -> Child {
      let holder = try await mesh.python(
        """
        import signal, sqlite3, sys
        db = sqlite3.connect(sys.argv[1], isolation_level=None)
        db.execute("\(begin)")
        db.execute("INSERT INTO notes (id, text) VALUES ('open', 'in the open transaction')")
        signal.signal(signal.SIGUSR1, lambda *_: db.execute("COMMIT"))
        print("locked", flush=True)
        while True: signal.pause()
        """)
      try await eventually("the lock is held") { holder.output.contains("locked") }
      return holder
    }

    private func serve(_ mesh: MeshProcess, _ environment: [String: String] = [:]) async throws -> Child {
      try await mesh.start(["serve", "--listen", "127.0.0.1:0"], environment: environment)
    }

    private func waiting(_ mesh: MeshProcess, _ daemon: Child, for holder: Child) async throws {
      try await eventually("the status names the program") {
        let status = try await mesh.run("status")
        return status.status == ExitStatus.refused.rawValue
          && status.stderr.contains("\(mesh.database) is locked by process \(holder.pid)")
          && daemon.log.contains("\(mesh.database) is locked by process \(holder.pid)")
      }
      #expect(!daemon.log.contains("The node runs."))
    }

    @Test("a daemon waits for another program's transaction, and goes on when it ends")
    func waits() async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await mesh.found().terminate().status == 0)
        let holder = try await holder(mesh)
        let daemon = try await serve(mesh)
        try await waiting(mesh, daemon, for: holder)
        let second = try await serve(mesh)
        let refused = try await second.finished(within: .seconds(5))
        #expect(refused.status == ExitStatus.refused.rawValue)
        #expect(refused.stderr.contains("a daemon (process \(daemon.pid)) serves \(mesh.home)"))
        let patient = try await mesh.start(["wait", "--timeout", "1s"])
        #expect(try await patient.finished(within: .seconds(20)).stderr.contains("is locked by process \(holder.pid)"))
        holder.send(SIGUSR1)
        try await eventually("the node runs") { daemon.log.contains("The node runs.") }
        try await eventually("what was written is flushed") {
          let status = try await mesh.status()
          return status.running && status.pending == 0
        }
        #expect(try await mesh.done("explain", "record", "notes", "open").stdout.contains("in the open transaction"))
        #expect(try await daemon.terminate().status == 0)
      }
    }

    @Test("the doctor doesn't say that nothing keeps the node from working while a program has the lock")
    func doctorNamesLock() async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        let holder = try await holder(mesh)
        let report = try await mesh.run("doctor").stdout
        #expect(report.contains("lock: \(mesh.database) is locked by process \(holder.pid)"), "\(report)")
        #expect(report.contains("work: Nothing but the lock keeps"), "\(report)")
        #expect(report.components(separatedBy: "disk: ").count == 2, "the file and the home are on one disk")
        holder.send(SIGUSR1)
      }
    }

    @Test("a signal ends a daemon at once while it waits for a lock", arguments: [SIGTERM, SIGINT])
    func signal(_ signal: Int32) async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await mesh.found().terminate().status == 0)
        let holder = try await holder(mesh)
        let daemon = try await serve(mesh)
        try await waiting(mesh, daemon, for: holder)
        daemon.send(signal)
        #expect(try await daemon.finished(within: .seconds(5)).status == 0)
        #expect(!FileManager.default.fileExists(atPath: "\(mesh.home)/control.sock"))
        // The home is free: another daemon waits on it.
        try await waiting(mesh, try await serve(mesh), for: holder)
      }
    }

    @Test("the service manager is told why a daemon waits, and that it needs more time")
    func notices() async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await mesh.found().terminate().status == 0)
        let manager = try await mesh.python(
          """
          import os, socket, sys
          manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
          manager.bind(os.path.dirname(sys.argv[1]) + "/notify")
          print("bound", flush=True)
          while True: print(manager.recv(4096).decode(), flush=True)
          """)
        try await eventually("the manager listens") { manager.output.contains("bound") }
        let holder = try await holder(mesh)
        let daemon = try await serve(mesh, ["NOTIFY_SOCKET": "\(mesh.directory)/notify"])
        try await waiting(mesh, daemon, for: holder)
        try await eventually("the reason is shown") {
          manager.output.contains("STATUS=\(mesh.database) is locked by process \(holder.pid)")
            && manager.output.contains("EXTEND_TIMEOUT_USEC=60000000")
        }
        #expect(!manager.output.contains("READY=1"))
        holder.send(SIGUSR1)
        try await eventually("the node runs") { manager.output.contains("READY=1\nSTATUS=\n") }
      }
    }

    @Test("a database without a write-ahead log is waited for as well")
    func rollbackJournal() async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await mesh.found().terminate().status == 0)
        try await mesh.sqlite("PRAGMA journal_mode = DELETE")
        let holder = try await holder(mesh, "BEGIN EXCLUSIVE")
        let daemon = try await serve(mesh)
        try await waiting(mesh, daemon, for: holder)
        holder.send(SIGUSR1)
        try await eventually("the node runs") { daemon.log.contains("The node runs.") }
      }
    }

    @Test("a command without a daemon says for what it waits, and names the program that has the lock")
    func command() async throws {
      try await MeshProcess.scope { mesh in
        #expect(try await mesh.found().terminate().status == 0)
        try await mesh.sqlite("PRAGMA journal_mode = DELETE")
        let holder = try await holder(mesh, "BEGIN EXCLUSIVE")
        let begun = ContinuousClock.now
        let finished = try await mesh.run("accept-file")
        #expect(ContinuousClock.now - begun < .seconds(10))
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("opening \(mesh.database), 1 s"))
        #expect(finished.stderr.contains("\(mesh.database) is locked by process \(holder.pid)"))
      }
    }

    @Test("track returns while a program writes to the table without a pause", arguments: [false, true])
    func busyProgram(hasDaemon: Bool) async throws {
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite(MeshProcess.schema)
        try await mesh.done("init", "--database", mesh.database, "--account", "alice")
        if hasDaemon { _ = try await mesh.serve() }
        let writer = try await mesh.python(
          """
          import random, sqlite3, sys, time
          db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
          end = time.time() + 120
          while time.time() < end:
            db.execute("BEGIN IMMEDIATE")
            for _ in range(\(hasDaemon ? 50 : 1)):
              db.execute("INSERT OR REPLACE INTO notes (id, text) VALUES (?, ?)", (random.randrange(2000), time.time()))
            db.execute("COMMIT")
            print("wrote", flush=True)
          """)
        try await eventually("the program writes") { writer.output.contains("wrote") }
        let track = try await mesh.start(["track", "notes", "tags"])
        #expect(try await track.finished(within: .seconds(40)).status == 0)
        await writer.kill()
      }
    }
  }
}
