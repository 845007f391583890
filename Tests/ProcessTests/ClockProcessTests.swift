import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Daemons whose wall clock is ahead, by libfaketime.
  @Suite struct ClockProcessTests {
    /// Returns the environment of a process whose wall clock is 20 minutes ahead.
    private static func ahead() throws -> [String: String] {
      let places = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib").map {
        "/usr/lib/\($0)/faketime/libfaketime.so.1"
      }
      let library = try #require(places.first { FileManager.default.fileExists(atPath: $0) }, "tools/setup test")
      return ["LD_PRELOAD": library, "FAKETIME": "+20m", "DONT_FAKE_MONOTONIC": "1"]
    }

    private func clock(_ mesh: MeshProcess) async throws -> HealthCheck? {
      try await mesh.report(DoctorReport.self, "doctor").checks.first { $0.name == "clock" }
    }

    @Test("a device holds its writes pending while its clock is ahead of its peers' clocks")
    func aDeviceSignsNothingWhileItsPeersSayThatItsClockIsWrong() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        let wrong = try await laptop.serve(environment: Self.ahead())
        try await eventually("the tower's time is here") { try await clock(laptop)?.state == .alarm }
        try await laptop.sqlite("INSERT INTO notes VALUES ('late', 'written under a wrong clock', 1)")
        try await eventually("it is captured") { try await laptop.status().pending == 1 }
        #expect(try await clock(laptop)?.what.contains("seconds ahead of 1 of 1 other devices of the account") == true)
        #expect(try await laptop.status().complaints.contains { $0.contains("Local writes stay pending") })
        let waited = try await laptop.run("wait", "--timeout", "1s")
        #expect(
          waited.status == 1 && waited.stdout.contains("not sent yet, because this machine's clock is"), "\(waited)")
        #expect(try await clock(tower)?.state == .ok)
        try await tower.sqlite("INSERT INTO notes VALUES ('early', 'waits behind it', 1)")
        #expect(try await wrong.terminate().status == 0)
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await tower.number("SELECT count(*) FROM notes") == 2)
        #expect(try await clock(laptop)?.state == .ok)
      }
    }

    @Test("a change set signed ahead of time waits at other devices until it is restamped")
    func whatWasSignedAheadOfTimeWaitsAndIsRestamped() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        let peers = [try await tower.address()]
        try laptop.configure(peers: [])
        let wrong = try await laptop.serve(environment: Self.ahead())
        try await laptop.sqlite("INSERT INTO notes VALUES ('far', 'signed alone', 1)")
        try await eventually("it is signed") { try await laptop.status().pending == 0 }
        #expect(try await wrong.terminate().status == 0)
        try laptop.configure(peers: peers)
        _ = try await laptop.serve()
        try await laptop.connected(to: "tower")
        try await eventually("it waits at the tower") { try await clock(tower)?.what.contains("laptop") == true }
        #expect(try await tower.number("SELECT count(*) FROM notes") == 0)
        #expect(try await clock(laptop)?.wayOut?.contains("mesh device restamp") == true)
        try await laptop.done("device", "restamp")
        try await laptop.settled(with: "tower")
        #expect(try await tower.rows() == laptop.rows())
        #expect(try await tower.number("SELECT count(*) FROM notes") == 1)
        for node in [tower, laptop] { #expect(try await clock(node)?.state == .ok) }
        #expect(try await laptop.run("device", "restamp").status != 0)
      }
    }
  }
}
