import Foundation
import MeshControl
import Testing

extension Daemons {
  @Suite struct LifeCycleTests {
    @Test("a second daemon on a home exits and names the first one's process")
    func aSecondDaemonOnAHomeIsRefusedAndNamesTheFirst() async throws {
      try await MeshProcess.scope { mesh in
        let first = try await mesh.found()
        let second = try await mesh.run("serve", "--listen", "127.0.0.1:0")
        #expect(second.status == ExitStatus.refused.rawValue)
        #expect(second.stderr.contains("process \(first.pid)"))
        #expect(try await mesh.status().running)
      }
    }

    @Test("serve exits and names the address if its port is in use") func aPortInUseIsNamed() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        let address = try await tower.address()
        let late = try await laptop.run("serve", "--listen", address)
        #expect(late.status == ExitStatus.refused.rawValue)
        #expect(late.stderr.contains(address))
        #expect(late.stderr.contains("in use"))
        #expect(try await tower.status().running)
      }
    }

    @Test("the daemon exits cleanly on SIGTERM or SIGINT and tells its peer why", arguments: [SIGTERM, SIGINT])
    func aSignalEndsTheDaemonInGoodOrder(signal: Int32) async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        daemons.tower.send(signal)
        #expect(try await daemons.tower.finished(within: MeshProcess.deadline).status == 0)
        #expect(try await !tower.status().running)
        // The text is only in the log, because the status already shows the next attempt.
        try await eventually("the laptop was told") {
          daemons.laptop.log.contains("closed the session: the node stops")
        }
      }
    }

    @Test("the daemon dials a peer that was added to the configuration after SIGHUP")
    func aHangupMakesTheDaemonDialAPeerThatWasWrittenDown() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        try laptop.configure(peers: [])
        let daemon = try await laptop.serve()
        // The device is known from the account and is away. No address is dialled.
        #expect(
          try await laptop.status().peers.map { "\($0.connected) \($0.address ?? "no address")" } == [
            "false no address"
          ])
        try laptop.configure(peers: [try await tower.address()])
        daemon.send(SIGHUP)
        try await laptop.connected(to: "tower")
      }
    }

    @Test("the daemon reports an invalid configuration after SIGHUP and keeps its sessions")
    func aWrongConfigurationIsReportedAndSessionsStay() async throws {
      try await MeshProcess.pair { _, laptop, daemons in
        try laptop.configure(peers: ["nonsense"])
        daemons.laptop.send(SIGHUP)
        try await eventually("it is reported") { daemons.laptop.log.contains("nonsense") }
        #expect(try await laptop.isConnected(to: "tower"))
      }
    }
  }

  @Suite struct GarbageTests {
    @Test("two nodes stay in sync while strangers send garbage to one of them")
    func strangersWhoSendGarbageDoNotKeepTwoNodesFromTheirWork() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        let address = try await tower.address()
        let port = address.split(separator: ":").last ?? ""
        let strangers = try await tower.python(
          """
          import os, socket
          for size in [0, 1, 31, 32, 33, 200, 256, 257, 4096, 1 << 20] * 3:
            try:
              with socket.create_connection(("127.0.0.1", \(port)), timeout=5) as link:
                link.sendall(os.urandom(size))
            except OSError:
              pass
          """)
        for round in 0..<5 { try await tower.insertNotes(round * 100..<round * 100 + 100, prefix: "t") }
        #expect(try await strangers.finished(within: MeshProcess.deadline).status == 0)
        try await laptop.settled(with: "tower")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 500)
        #expect(try await tower.rows() == laptop.rows())
        #expect(try await tower.status().peers.map(\.name) == ["laptop"])
      }
    }
  }
}
