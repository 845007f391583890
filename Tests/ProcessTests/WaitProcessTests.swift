import MeshControl
import Testing

extension Daemons {
  @Suite struct WaitProcessTests {
    @Test("wait goes on while an address is dialled, and ends when its device is connected")
    func waitOutlastsAnAbsence() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let address = try await tower.address()
        await daemons.tower.kill()
        await daemons.laptop.kill()
        try await laptop.insertNotes(0..<3, prefix: "l")
        _ = try await laptop.serve()
        let tried = try await laptop.run("wait", "--timeout", "1s")
        #expect(tried.status == ExitStatus.noMember.rawValue)
        #expect(tried.stderr.contains("\(address), tried since 2"))
        let waiting = try await laptop.start(["wait"])
        let restarted = try await tower.serve("--listen", address)
        #expect(try await waiting.finished(within: MeshProcess.deadline).status == 0)
        #expect(try await tower.number("SELECT count(*) FROM notes") == 3)

        // The tower dials no address, and the laptop returns to it.
        await restarted.kill()
        try await tower.insertNotes(0..<3, prefix: "t")
        _ = try await tower.serve("--listen", address)
        #expect(try await tower.run("wait").status == 0)
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 6)
      }
    }

    @Test("a device that restarts many times is dialled soon each time, and its goodbye is told as its own")
    func restarts() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let address = try await tower.address()
        var daemon = daemons.tower
        for _ in 0..<8 {
          #expect(try await daemon.terminate().status == 0)
          daemon = try await tower.serve("--listen", address)
          let begun = ContinuousClock.now
          try await laptop.connected(to: "tower")
          #expect(ContinuousClock.now - begun < .seconds(4))
        }
        #expect(daemons.laptop.log.contains("closed the session: the node stops"))
      }
    }

    @Test("wait names the devices that are not connected, with the change sets that they lack")
    func absentDevices() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, spare) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        try await spare.join(tower, device: "spare")
        _ = try await laptop.serve()
        try await tower.insertNotes(0..<3, prefix: "t")
        try await tower.settled(with: "laptop")
        let waited = try await tower.done("wait").stdout
        #expect(waited.contains("Every connected device has everything.\nNot connected: spare ("), "\(waited)")
        let peers = try await tower.status().peers
        let incoming = try #require(peers.first { $0.name == "laptop" })
        #expect(incoming.address == nil && incoming.incoming?.hasPrefix("127.0.0.1:") == true)
        #expect(try await tower.done("peers").stdout.contains("incoming from 127.0.0.1  yes"))
        let back = try await laptop.status().peers.first { $0.name == "tower" }
        #expect(try await back?.address == tower.address() && back?.incoming == nil)
        let doctor = try await tower.run("doctor").stdout
        let id = try #require(peers.first { $0.name == "spare" }?.device)
        #expect(doctor.contains("remove it: mesh device revoke \(id)"))
      }
    }

    @Test("a refused untrack leaves nothing to wait for")
    func refusedUntrack() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let refused = try await tower.run("untrack", "notse")
        #expect(refused.status != 0)
        for node in [tower, laptop] {
          let waited = try await node.run("wait", "--timeout", "20s")
          #expect(waited.status == 0, "\(waited.stderr)")
        }
      }
    }

    @Test("a node that knows no other device says so immediately")
    func nobodyToWaitFor() async throws {
      try await MeshProcess.scope { mesh in
        _ = try await mesh.found()
        let alone = try await mesh.run("wait", "--timeout", "10m")
        #expect(alone.status == ExitStatus.noMember.rawValue && alone.stderr.contains("mesh device invite"))
      }
    }

    @Test("a revoked device's wait says that it was revoked, and the doctor says no more about its peers")
    func aRevokedDeviceIsToldSo() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        await daemons.laptop.kill()
        try await tower.done("device", "revoke", "laptop")
        _ = try await laptop.serve()
        let waited = try await laptop.run("wait")
        #expect(waited.status == ExitStatus.refused.rawValue)
        #expect(waited.stderr.contains("revoked this device") && !waited.stderr.contains("--peer"))
        let checked = try await laptop.run("doctor").stdout
        #expect(checked.contains("revoked this device") && !checked.contains("never reached"))
      }
    }

    private static let many = 20_000

    @Test("schema --apply returns when the new table and column have their rows")
    func appliedSchemaIsFilled() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<Self.many, prefix: "n")
        try await tower.done("wait")
        try await tower.sqlite(
          "ALTER TABLE notes ADD COLUMN done INTEGER; CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL)")
        try await tower.done("track", "lists")
        try await tower.sqlite("UPDATE notes SET done = 1; INSERT INTO lists SELECT id FROM notes")
        try await tower.done("wait")
        try await laptop.done("schema", "--apply")
        #expect(try await laptop.number("SELECT count(*) FROM lists") == Self.many)
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE done = 1") == Self.many)
      }
    }

    @Test("track returns when the table has the rows of other devices, and wait when a new column has its values")
    func ownMigrationIsFilled() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<Self.many, prefix: "n")
        try await tower.done("wait")
        let lists = "CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL)"
        try await tower.sqlite("ALTER TABLE notes ADD COLUMN done INTEGER; \(lists)")
        try await tower.done("track", "lists")
        try await tower.sqlite("UPDATE notes SET done = 1; INSERT INTO lists SELECT id FROM notes")
        try await tower.done("wait")
        try await laptop.sqlite(lists)
        try await laptop.done("track", "lists")
        #expect(try await laptop.number("SELECT count(*) FROM lists") == Self.many)
        try await laptop.sqlite("ALTER TABLE notes ADD COLUMN done INTEGER")
        try await laptop.done("wait")
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE done = 1") == Self.many)
      }
    }

    @Test("the tables have the rows of a share when share join and schema --apply have returned")
    func aJoinedShareIsFilled() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        _ = try await alice.found(device: "alice")
        try await alice.sqlite(
          "INSERT INTO notes VALUES ('n1', 'milk', 1); INSERT INTO tags VALUES ('t1', 'n1', 'fresh')")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        let invited = try await alice.done("share", "invite", "Shared", "--permission", "read-only")
        try await bob.done("init", "--database", bob.database, "--account", "bob", "--device", "bob")
        _ = try await bob.serve()
        let invite = String(try #require(invited.stdout.split(separator: "\n").last))
        try await bob.done("share", "join", "-", "--yes", input: invite + "\n")
        try await bob.done("schema", "--apply")
        #expect(try await bob.sqlite("SELECT name FROM tags") == "fresh\n")
      }
    }

    @Test("a row that was deleted after track and before the first serve can be restored")
    func aTrackedRowIsARecord() async throws {
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite(MeshProcess.schema + "INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await mesh.done("init", "--database", mesh.database, "--account", "alice")
        try await mesh.done("track", "notes", "tags")
        #expect(try await mesh.status().pending == 0)
        try await mesh.sqlite("DELETE FROM notes")
        _ = try await mesh.serve()
        try await eventually("the delete is signed") { try await mesh.status().pending == 0 }
        try await mesh.done("restore", "notes", "n1")
        #expect(try await mesh.sqlite("SELECT text FROM notes") == "milk\n")
      }
    }
  }
}
