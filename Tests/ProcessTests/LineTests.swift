import MeshControl
import Testing

extension Daemons {
  @Suite struct LineTests {
    /// Runs A, B and C, of which only B is connected to the others.
    private func line(
      _ body: (_ nodes: [MeshProcess], _ middle: Child) async throws -> Void
    ) async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        _ = try await nodes[0].found(device: "a")
        try await nodes[1].join(nodes[0], device: "b")
        try await nodes[2].join(nodes[0], device: "c")
        let middle = try await nodes[1].serve()
        try nodes[2].configure(peers: [try await nodes[1].address()])
        _ = try await nodes[2].serve()
        try await nodes[1].connected(to: "a")
        try await nodes[1].connected(to: "c")
        try await body(nodes, middle)
      }
    }

    private func areEqual(_ nodes: [MeshProcess]) async throws -> Bool {
      let digests = try await [nodes[0].status(), nodes[1].status(), nodes[2].status()].map { $0.zones.map(\.digest) }
      return digests[0] == digests[1] && digests[1] == digests[2]
    }

    @Test("rows pass between two nodes through a third that connects them")
    func rowsReachTheEndOfTheLineThroughTheMiddle() async throws {
      try await line { nodes, _ in
        try await nodes[0].insertNotes(0..<500, prefix: "a")
        try await eventually("C has the rows of A") { try await nodes[2].number("SELECT count(*) FROM notes") == 500 }
        try await nodes[2].sqlite("UPDATE notes SET text = 'from C' WHERE id = 'a0'")
        try await eventually("A has the row of C") {
          try await nodes[0].number("SELECT count(*) FROM notes WHERE text = 'from C'") == 1
        }
        #expect(try await nodes[0].status().peers.filter(\.connected).map(\.name) == ["b"])
        #expect(try await nodes[2].status().peers.filter(\.connected).map(\.name) == ["b"])
        for (node, other) in [(0, "c"), (2, "a")] {
          try await eventually("each end knows that the other one has everything") {
            try await nodes[node].status().peers.first { $0.name == other }?.behind.there == 0
          }
          let members = try await nodes[node].report(DoctorReport.self, "doctor").checks.filter { $0.name == "members" }
          #expect(members.map(\.state) == [.ok])
        }
      }
    }

    @Test("a killed middle node brings both ends together after it restarts")
    func aMiddleThatWasKilledBringsTheEndsTogetherAgain() async throws {
      try await line { nodes, middle in
        try await nodes[0].insertNotes(0..<100, prefix: "before")
        try await eventually("C has the rows of A") { try await nodes[2].number("SELECT count(*) FROM notes") == 100 }
        let address = try await nodes[1].address()
        await middle.kill()
        try await nodes[0].insertNotes(0..<200, prefix: "a")
        try await nodes[2].insertNotes(0..<200, prefix: "c")
        try await nodes[2].sqlite("UPDATE notes SET stars = 9 WHERE id = 'before1'")
        _ = try await nodes[1].serve("--listen", address)
        try await eventually("all have all") {
          for node in nodes where try await node.number("SELECT count(*) FROM notes") < 500 { return false }
          return try await areEqual(nodes)
        }
        #expect(try await nodes[0].rows() == nodes[1].rows())
        #expect(try await nodes[0].rows() == nodes[2].rows())
        #expect(try await nodes[0].number("SELECT stars FROM notes WHERE id = 'before1'") == 9)
      }
    }
  }
}
