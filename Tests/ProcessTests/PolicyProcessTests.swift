import Foundation
import MeshControl
import Testing

extension Daemons {
  @Suite struct PolicyTests {
    /// Increments note n1 one by one, in a transaction each, as a program that knows nothing of mesh.
    private static let increment = """
      import sqlite3, sys
      db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
      for _ in range(COUNT): db.execute("UPDATE notes SET stars = stars + 1 WHERE id = 'n1'")
      """

    @Test("a counter that four programs on three machines increment 10,000 times, with partitions, ends exact")
    func exactCounter() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, phone) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await tower.done("track", "notes", "--policy", "stars=counter")
        try await tower.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 0)")
        try await laptop.join(tower, device: "laptop")
        try await phone.join(tower, device: "phone")
        var laptopDaemon = try await laptop.serve()
        let phoneDaemon = try await phone.serve()
        for (node, names) in [(tower, ["laptop", "phone"]), (laptop, ["tower"]), (phone, ["tower"])] {
          for name in names { try await node.connected(to: name) }
        }
        // The policy comes with the schema, without a command.
        for node in nodes {
          try await eventually("the policy is known") {
            try await node.report(SchemaReport.self, "schema").policies.map(\.policy) == ["counter"]
          }
          try await eventually("the row is here") { try await node.number("SELECT count(*) FROM notes") == 1 }
        }
        let count = 2_500
        let script = Self.increment.replacingOccurrences(of: "COUNT", with: "\(count)")
        var programs: [Child] = []
        for node in [tower, tower, laptop, phone] { programs.append(try await node.python(script)) }
        // Partitions: the laptop leaves and returns twice while all programs write, and the phone is killed.
        for _ in 0..<2 {
          #expect(try await laptopDaemon.terminate().status == 0)
          let before = try await laptop.number("SELECT stars FROM notes")
          // On a slow machine, the laptop's program may have ended before the laptop has left again.
          try await eventually("programs write alone") {
            if programs[2].result != nil { return true }
            return try await laptop.number("SELECT stars FROM notes") > before + 50
          }
          laptopDaemon = try await laptop.serve()
          try await laptop.connected(to: "tower")
        }
        await phoneDaemon.kill()
        for program in programs {
          let finished = try await program.finished(within: .seconds(300))
          #expect(finished.status == 0, "\(finished)")
        }
        _ = try await phone.serve()
        try await phone.settled(with: "tower")
        try await laptop.settled(with: "tower")
        try await eventually("all increments are everywhere") {
          for node in nodes where try await node.number("SELECT stars FROM notes") != 4 * count { return false }
          return true
        }
        for node in nodes { #expect(try await node.number("SELECT stars FROM notes") == 4 * count) }
        let explained = try await tower.done("explain", "record", "notes", "n1").stdout
        #expect(explained.contains("stars (counted by device-") && explained.contains("stars (assigned)"))
        #expect(try await tower.run("conflicts").stdout == "No conflicts.\n")
      }
    }

    @Test("mesh track refuses a policy that doesn't exist or doesn't fit, and mesh schema lists the others")
    func refusedPolicies() async throws {
      try await MeshProcess.scope(nodes: 1) { nodes in
        let node = nodes[0]
        _ = try await node.found()
        for (arguments, message) in [
          (["notes", "--policy", "stars=most"], "last, greatest, least, counter"),
          (["notes", "--policy", "text=counter"], "a counter needs INTEGER"),
          (["notes", "--policy", "likes=counter"], "has no column likes"),
          (["notes", "tags", "--policy", "stars=counter"], "--policy TABLE.COLUMN=POLICY"),
          (["notes", "--policy", "stars"], "--policy likes=counter"),
        ] {
          let refused = try await node.run(["track"] + arguments)
          #expect(refused.status != 0 && refused.stderr.contains(message), "\(refused)")
        }
        #expect(try await node.report(SchemaReport.self, "schema").policies.isEmpty)
        try await node.done("track", "notes", "tags", "--policy", "notes.stars=greatest")
        #expect(try await node.done("schema").stdout.contains("greatest"))
        try await node.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 5)")
        try await eventually("the row is sent") { try await node.status().pending == 0 }
        try await node.sqlite("UPDATE notes SET stars = 3")
        try await eventually("the value gives way") { try await node.number("SELECT stars FROM notes") == 5 }
        let again = try await node.done("track", "notes", "--policy", "stars=last").stdout
        #expect(again.contains("notes  tracked already") && again.contains("policy  notes.stars: last"))
        #expect(try await node.report(SchemaReport.self, "schema").policies.isEmpty)
        try await node.sqlite("UPDATE notes SET stars = 3")
        try await eventually("the write is sent") { try await node.status().pending == 0 }
        #expect(try await node.number("SELECT stars FROM notes") == 3)
      }
    }

    @Test("a file that is restored from a copy loses no increment, neither those of the copy nor those after it")
    func restoredCounter() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.done("track", "notes", "--policy", "stars=counter")
        try await eventually("the policy is known") {
          try await laptop.report(SchemaReport.self, "schema").policies.count == 1
        }
        let copy = "\(laptop.directory)/copy.db"
        try await laptop.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 5)")
        try await laptop.settled(with: "tower")
        try await laptop.sqlite("UPDATE notes SET stars = stars + 1")
        try await laptop.settled(with: "tower")
        try await laptop.done("backup", copy)
        try await laptop.sqlite("UPDATE notes SET stars = stars + 3")
        try await tower.sqlite("UPDATE notes SET stars = stars + 10")
        try await laptop.settled(with: "tower")
        try await laptop.sqlite(".restore \(copy)\nUPDATE notes SET stars = stars + 100;")
        try await laptop.done("wait")
        for node in [tower, laptop] {
          try await eventually("every increment") { try await node.number("SELECT stars FROM notes") == 119 }
        }
        try await tower.sqlite("UPDATE notes SET stars = stars + 1")
        try await laptop.sqlite("UPDATE notes SET stars = stars + 1")
        for node in [tower, laptop] {
          try await eventually("later increments") { try await node.number("SELECT stars FROM notes") == 121 }
        }
      }
    }

    @Test("increments that are pending when a file is copied count once, on another machine and after a restore")
    func copiedCounter() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, phone) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await tower.done("track", "notes", "--policy", "stars=counter")
        try await tower.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 5)")
        try await laptop.join(tower, device: "laptop")
        try await phone.join(tower, device: "phone")
        let daemon = try await laptop.serve()
        try await laptop.settled(with: "tower")
        try await eventually("the policy is known") {
          try await laptop.report(SchemaReport.self, "schema").policies.count == 1
        }
        #expect(try await daemon.terminate().status == 0)
        try await laptop.sqlite("UPDATE notes SET stars = stars + 1")
        let copy = "\(laptop.directory)/copy.db"
        try FileManager.default.removeItem(atPath: phone.database)
        for path in [phone.database, copy] {
          try FileManager.default.copyItem(atPath: laptop.database, toPath: path)
        }
        let next = try await laptop.serve()
        _ = try await phone.serve()
        try await laptop.sqlite("UPDATE notes SET stars = stars + 20")
        try await phone.sqlite("UPDATE notes SET stars = stars + 300")
        for node in nodes {
          try await eventually("each increment counts once") {
            try await node.number("SELECT stars FROM notes") == 326
          }
        }
        let complaints = try await phone.status().complaints
        #expect(complaints.contains { $0.contains("compare notes 'n1'") }, "\(complaints)")
        try await laptop.settled(with: "tower")
        #expect(try await next.terminate().status == 0)
        try FileManager.default.removeItem(atPath: laptop.database)
        try FileManager.default.moveItem(atPath: copy, toPath: laptop.database)
        try await laptop.sqlite("UPDATE notes SET stars = stars + 4000")
        _ = try await laptop.serve()
        for node in nodes {
          try await eventually("each increment counts once") {
            try await node.number("SELECT stars FROM notes") == 4326
          }
        }
        #expect(try await tower.run("conflicts").stdout == "No conflicts.\n")
      }
    }
  }
}
