import Foundation
import GRDB
import MeshControl
import Testing

extension Daemons {
  @Suite struct TwoMachineTests {
    @Test("the status of both nodes shows the session, equal digests and nothing behind")
    func theStatusOfBothSaysThatTheyAreConnectedAndEqual() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.insertNotes(0..<10, prefix: "t")
        try await tower.settled(with: "laptop")
        let (here, there) = (try await tower.status(), try await laptop.status())
        #expect(here.running && there.running)
        #expect(here.account == there.account && here.device != there.device)
        #expect(here.pending == 0 && here.held.isEmpty && here.complaints.isEmpty)
        #expect(here.zones.map(\.records) == [10])
        #expect(here.zones.map(\.digest) == there.zones.map(\.digest))
        #expect(here.zones.map(\.vector) == there.zones.map(\.vector))
        #expect(here.peers.map(\.device) == [there.device])
        #expect(there.peers.map(\.address) == [here.listen])
        #expect(there.peers.map(\.behind) == [PeerReport.Behind(here: 0, there: 0)])
      }
    }

    @Test("rows written by the sqlite3 shell, Python and GRDB reach the other node")
    func rowsOfTheShellOfPythonAndOfGRDBArrive() async throws {
      try await MeshProcess.pair { tower, laptop, _ in
        try await tower.sqlite("INSERT INTO notes VALUES ('shell', 'from the shell', 1)")
        let python = try await tower.python(
          """
          import sqlite3, sys
          with sqlite3.connect(sys.argv[1], timeout=20) as db:
            db.execute("INSERT INTO notes VALUES ('python', 'from Python', 2)")
            db.executemany("INSERT INTO tags VALUES (?, 'python', 'x')", [(f"t{i}",) for i in range(3)])
          """)
        #expect(try await python.finished(within: MeshProcess.deadline).status == 0)
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        let queue = try DatabaseQueue(path: tower.database, configuration: configuration)
        try await queue.write { db in
          try db.execute(sql: "INSERT INTO notes VALUES ('grdb', ?, 3)", arguments: ["from GRDB"])
        }
        try queue.close()
        try await tower.settled(with: "laptop")
        #expect(try await laptop.number("SELECT count(*) FROM notes") == 3)
        #expect(try await laptop.number("SELECT count(*) FROM tags") == 3)
        #expect(try await tower.rows() == laptop.rows())
      }
    }

    @Test("rows written while the daemon is down are sent when it is back")
    func rowsWrittenWhileADaemonIsDownAreSentWhenItIsBack() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        #expect(try await daemons.laptop.terminate().status == 0)
        try await laptop.insertNotes(0..<50, prefix: "offline")
        try await laptop.sqlite(
          "UPDATE notes SET text = 'changed' WHERE id = 'offline7'; DELETE FROM notes WHERE id = 'offline8'")
        #expect(try await laptop.status().pending == 52)
        #expect(try await !laptop.status().running)
        try await tower.insertNotes(0..<50, prefix: "meanwhile")
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        #expect(try await tower.number("SELECT count(*) FROM notes") == 99)
        #expect(try await tower.rows() == laptop.rows())
      }
    }

    @Test("a node dials a peer again when the peer is back on its address")
    func aNodeThatComesBackOnItsAddressIsDialledAgain() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let address = try await tower.address()
        await daemons.tower.kill()
        try await laptop.insertNotes(0..<3, prefix: "l")
        try await eventually("the laptop notices") { try await !laptop.isConnected(to: "tower") }
        #expect(try await laptop.run("wait", "--timeout", "1s").status == ExitStatus.noMember.rawValue)
        #expect(try await laptop.run("verify", "--timeout", "1s").status == ExitStatus.noMember.rawValue)
        _ = try await tower.serve("--listen", address)
        try await laptop.settled(with: "tower")
        #expect(try await tower.number("SELECT count(*) FROM notes") == 3)
      }
    }
  }
}
