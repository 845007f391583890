import Foundation
import Testing

extension Daemons {
  /// Long BLOBs between running daemons.
  @Suite struct AssetProcessTests {
    /// The size in bytes of a BLOB whose download takes a while.
    private static let size = 24 << 20
    private static let content = "SELECT id, typeof(text), length(text), stars FROM notes ORDER BY id"

    private func staged(_ node: MeshProcess) -> Int {
      let directory = node.home + "/staging"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
      return names.reduce(0) { sum, name in
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory + "/" + name)
        return sum + ((attributes?[.size] as? Int) ?? 0)
      }
    }

    private func expectEqual(_ a: MeshProcess, _ b: MeshProcess) async throws {
      try await eventually("the BLOBs are there") {
        try await b.number("SELECT count(*) FROM mesh_asset_use WHERE NOT shown") == 0
      }
      #expect(try await a.rows() == b.rows())
      #expect(try await b.sqlite("PRAGMA integrity_check") == "ok\n")
      // The overwritten BLOB stays so that it can be restored, and nothing else stays.
      let kept = try await b.number("SELECT coalesce(sum(size), 0) FROM mesh_kept")
      #expect(staged(b) == kept)
    }

    @Test("a receiver that is killed during a download keeps its chunks and completes the BLOB")
    func aReceiverKilledWhileABLOBComesGoesOnWithTheChunksItHas() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.sqlite("INSERT INTO notes VALUES ('film', randomblob(\(Self.size)), 1)")
        try await eventually("the row is there") { try await laptop.number("SELECT count(*) FROM notes") == 1 }
        try await eventually("some chunks came") { staged(laptop) > Self.size / 8 }
        await daemons.laptop.kill()
        let survived = staged(laptop)
        // The download may have been faster than this check.
        let isThere = try await laptop.number("SELECT count(*) FROM notes WHERE length(text) = \(Self.size)") == 1
        #expect(isThere || survived > 0)
        try await tower.sqlite("UPDATE notes SET stars = 2")
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        #expect(try await laptop.number("SELECT stars FROM notes") == 2)
        try await expectEqual(tower, laptop)
      }
    }

    @Test("the other machine has all rows and BLOBs once wait succeeds")
    func whoeverWaitedMayLoseItsDisk() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.sqlite("INSERT INTO notes VALUES ('film', randomblob(\(Self.size)), 1)")
        try await tower.sqlite("INSERT INTO notes VALUES ('photo', randomblob(50000), 1)")
        try await tower.done("wait")
        await daemons.tower.kill()
        await daemons.laptop.kill()
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE length(text) >= 50000") == 2)
        #expect(try await tower.rows() == laptop.rows())
      }
    }

    @Test("an on-demand BLOB is fetched on request, and its only copy can't be evicted")
    func aMachineDoesWithoutABLOBThatAnotherHas() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await laptop.done("asset", "policy", "notes", "on-demand")
        try await tower.sqlite("INSERT INTO notes VALUES ('film', randomblob(3000000), 1)")
        let waited = try await tower.done("wait")
        #expect(waited.stdout.contains("laptop is without 1 BLOB (3.0 MB), which it does not download"))
        let waitedThere = try await laptop.done("wait")
        #expect(waitedThere.stdout.contains("  this machine is without 1 BLOB (3.0 MB): mesh asset list says why."))
        #expect(try await laptop.number("SELECT count(*) FROM notes WHERE text IS NULL") == 1)
        #expect(try await laptop.done("asset", "show", "notes", "film", "text").stdout.contains("on-demand"))
        let refused = try await tower.run(["asset", "evict", "notes", "film"])
        #expect(refused.status == 5 && refused.stderr.contains("may be the last one"), "the laptop has none")
        try await laptop.done("asset", "fetch", "notes", "film")
        #expect(try await laptop.number("SELECT length(text) FROM notes") == 3_000_000)
        #expect(try await tower.done("asset", "evict", "notes", "film").stdout.contains("evicted"))
        #expect(try await tower.number("SELECT count(*) FROM notes WHERE text IS NULL") == 1)
        try await tower.done("verify")
        let last = try await laptop.run(["asset", "evict", "notes", "film"])
        #expect(last.status == 5, "now it is the only one that has it")
        await daemons.laptop.kill()
        try await tower.done("asset", "policy", "notes", "always")
        #expect(try await tower.run(["asset", "fetch", "notes", "film", "--timeout", "1s"]).status == 1)
        try await eventually("it says that nobody has it") {
          try await tower.done("asset", "show", "notes", "film").stdout.contains("absent")
        }
        #expect(try await tower.done("asset", "evict", "notes", "film").stdout.contains("evicted"), "it stops waiting")
        _ = try await laptop.serve("--peer", try await tower.address())
        try await tower.done("asset", "fetch", "notes", "film")
        try await tower.settled(with: "laptop")
        try await expectEqual(laptop, tower)
      }
    }

    @Test("asset fetch downloads all BLOBs of a table and rejects an unknown one")
    func allBLOBsOfATableAreFetched() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await laptop.done("asset", "policy", "notes", "on-demand")
        try await tower.sqlite("INSERT INTO notes VALUES ('a', randomblob(3000000), 1), ('b', randomblob(50000), 1)")
        try await tower.done("wait")
        #expect(try await laptop.done("asset", "fetch", "notes").stdout == "Every row of notes has its BLOBs.\n")
        #expect(try await laptop.number("SELECT sum(length(text)) FROM notes") == 3_050_000)
        let report = try await laptop.done("asset", "fetch", "notes", "--json").stdout
        #expect(report.contains(#""assets""#) && report.contains(#""complete""#))
        let unknown = try await laptop.run(["asset", "fetch", "nots"])
        #expect(unknown.status == 5 && unknown.stderr.contains("no synchronized table is called nots"))
      }
    }

    @Test("status, doctor and fetch name a BLOB whose column is missing, and fetch doesn't wait")
    func aBLOBThatCannotBeKeptHereIsNamedAndNotWaitedFor() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("ALTER TABLE notes ADD COLUMN scan BLOB")
        try await tower.sqlite("INSERT INTO notes VALUES ('paper', 't', 1, randomblob(50000))")
        try await eventually("the row is there") { try await laptop.number("SELECT count(*) FROM notes") == 1 }
        let reason = "no such column here: mesh schema --apply"
        #expect(try await laptop.done("status").stdout.contains("1 BLOB (50 kB): the table has \(reason)"))
        let doctor = try await laptop.run(["doctor"])
        #expect(doctor.status == 1 && doctor.stdout.contains("1 BLOB is waited for and can't be kept"))
        let fetched = try await laptop.run(["asset", "fetch", "notes", "paper", "--timeout", "10m"])
        #expect(fetched.status == 1 && fetched.stdout.contains(reason))
        try await laptop.done("schema", "--apply")
        try await laptop.done("asset", "fetch", "notes", "paper")
        #expect(try await laptop.number("SELECT length(scan) FROM notes") == 50_000)
        #expect(try await !laptop.done("status").stdout.contains("BLOB"))
      }
    }

    @Test("a download completes after its source is killed and starts again")
    func aGiverKilledInBetweenIsAskedAgain() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.sqlite("INSERT INTO notes VALUES ('film', randomblob(\(Self.size)), 1)")
        try await eventually("some chunks came") { staged(laptop) > Self.size / 8 }
        await daemons.tower.kill()
        _ = try await tower.serve("--peer", try await laptop.address())
        try await tower.settled(with: "laptop")
        try await expectEqual(tower, laptop)
        // The value is changed back, in place of the present one.
        try await laptop.sqlite("UPDATE notes SET text = CAST(substr(text, 2) || x'07' AS BLOB)")
        try await laptop.sqlite("INSERT INTO notes SELECT 'copy', text, 0 FROM notes")
        try await laptop.settled(with: "tower")
        try await expectEqual(laptop, tower)
      }
    }
  }
}
