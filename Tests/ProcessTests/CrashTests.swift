import MeshControl
import Testing

extension Daemons {
  @Suite struct CrashTests {
    private static let rows = 20_000

    @Test("a receiver that is killed while it catches up keeps its rows and continues")
    func aReceiverKilledWhileCatchingUpGoesOn() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        try await tower.insertNotes(0..<Self.rows, prefix: "n")
        try await eventually("all is flushed") { try await tower.status().pending == 0 }
        let receiver = try await laptop.serve()
        try await eventually("some rows came") { try await laptop.number("SELECT count(*) FROM notes") > 0 }
        await receiver.kill()
        let survived = try await laptop.number("SELECT count(*) FROM notes")
        #expect(survived > 0 && survived < Self.rows)
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == Self.rows)
        #expect(try await tower.rows() == laptop.rows())
        #expect(try await laptop.sqlite("PRAGMA integrity_check") == "ok\n")
      }
    }

    @Test("a node that is killed in the middle of a flush completes the flush later")
    func aWriterKilledInTheMiddleOfFlushingGoesOn() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.insertNotes(0..<Self.rows, prefix: "n")
        try await eventually("it flushes") { try await tower.number("SELECT sum(flush_part) FROM mesh_zone") > 0 }
        await daemons.tower.kill()
        #expect(try await tower.number("SELECT count(*) FROM mesh_pending") > 0)
        // An incomplete unit isn't merged anywhere.
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 0)
        _ = try await tower.serve("--peer", try await laptop.address())
        try await tower.settled(with: "laptop")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == Self.rows)
        #expect(try await tower.rows() == laptop.rows())
      }
    }

    @Test("a daemon that is terminated exits without an error and loses no row")
    func aDaemonThatIsToldToStopLosesNothing() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.insertNotes(0..<5_000, prefix: "n")
        let stopped = try await daemons.tower.terminate()
        #expect(stopped.status == 0)
        #expect(!stopped.stderr.contains("error"))
        _ = try await tower.serve("--peer", try await laptop.address())
        try await tower.settled(with: "laptop")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 5_000)
        #expect(try await tower.rows() == laptop.rows())
      }
    }
  }
}
