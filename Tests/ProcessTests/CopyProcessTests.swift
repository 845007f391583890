import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Homes and databases that are copied or restored.
  @Suite struct CopyProcessTests {
    @Test("a copied home and database write as another instance and lose no row")
    func aHomeThatIsCopiedWholeWritesAsAnotherInstanceAndLosesNothing() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, copy) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        let daemon = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('before', 'shared', 0)")
        try await laptop.settled(with: "tower")
        #expect(try await daemon.terminate().status == 0)
        try FileManager.default.copyItem(atPath: laptop.home, toPath: copy.home)
        try FileManager.default.copyItem(atPath: laptop.database, toPath: copy.database)
        try copy.configure(database: copy.database)
        let instance = try await laptop.status().instance
        _ = try await laptop.serve()
        _ = try await copy.serve()
        #expect(try await laptop.status().instance == instance)
        #expect(try await copy.status().instance != instance)
        try await laptop.sqlite("INSERT INTO notes VALUES ('one', 'by the first', 1)")
        try await copy.sqlite("INSERT INTO notes VALUES ('two', 'by the copy', 2)")
        // They take over each other's sessions with the tower, but each gets its turn.
        for node in nodes {
          try await eventually("all rows are here") { try await node.number("SELECT count(*) FROM notes") == 3 }
        }
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await copy.rows() == tower.rows())
        for node in [laptop, copy] {
          #expect(
            try await node.status().complaints.contains { $0.contains("as a device of its own") })
        }
        #expect(try await tower.status().complaints.allSatisfy { !$0.contains("two change sets") })
      }
    }

    @Test("a database copied to another device's home syncs that device's writes without loss")
    func aDatabaseThatIsCopiedToAnotherDeviceIsWrittenAsThatDevice() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (tower, laptop, phone) = (nodes[0], nodes[1], nodes[2])
        _ = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        try await phone.join(tower, device: "phone")
        let daemon = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('before', 'shared', 0)")
        try await laptop.settled(with: "tower")
        #expect(try await daemon.terminate().status == 0)
        try FileManager.default.removeItem(atPath: phone.database)
        try FileManager.default.copyItem(atPath: laptop.database, toPath: phone.database)
        _ = try await laptop.serve()
        _ = try await phone.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('one', 'by the laptop', 1)")
        try await phone.sqlite("INSERT INTO notes VALUES ('two', 'by the phone', 2)")
        for node in nodes {
          try await eventually("all rows are here") { try await node.number("SELECT count(*) FROM notes") == 3 }
        }
        try await laptop.settled(with: "tower")
        try await phone.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await phone.rows() == tower.rows())
      }
    }

    @Test("a device with a restored database and mark repairs its fork and loses no row")
    func anOlderFileAndMarkThatWriteBeforeTheyMeetAnybodyForkAndAreMended() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await laptop.sqlite("INSERT INTO notes VALUES ('early', 'shared', 0)")
        try await laptop.settled(with: "tower")
        #expect(try await daemons.laptop.terminate().status == 0)
        let peer = try await tower.address()
        let kept = [laptop.database, "\(laptop.home)/highwater"]
        for path in kept { try FileManager.default.copyItem(atPath: path, toPath: path + ".older") }
        let first = try await laptop.serve("--peer", peer)
        try await laptop.sqlite("INSERT INTO notes VALUES ('sent', 'before the restore', 1)")
        try await laptop.settled(with: "tower")
        #expect(try await first.terminate().status == 0)
        for path in kept {
          try FileManager.default.removeItem(atPath: path)
          try FileManager.default.moveItem(atPath: path + ".older", toPath: path)
        }
        try laptop.configure(peers: [])
        let alone = try await laptop.serve()
        try await laptop.sqlite("INSERT INTO notes VALUES ('written', 'after the restore', 1)")
        try await eventually("it is signed") { try await laptop.status().pending == 0 }
        #expect(try await alone.terminate().status == 0)
        _ = try await laptop.serve("--peer", peer)
        try await eventually("it is written again") {
          try await tower.number("SELECT count(*) FROM notes WHERE id = 'written'") == 1
        }
        try await laptop.settled(with: "tower")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await laptop.status().complaints.contains { $0.contains("writes on as a new instance") })
        #expect(try await tower.status().complaints.contains { $0.contains("two change sets") })
        // Rows that only the lost file had come back from the device that merged them.
        for node in [tower, laptop] {
          try await eventually("it is back") {
            try await node.number("SELECT count(*) FROM notes WHERE text = 'before the restore'") == 1
          }
        }
      }
    }
  }
}
