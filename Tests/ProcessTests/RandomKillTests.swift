import MeshControl
import Testing

extension Daemons {
  @Suite struct RandomKillTests {
    /// Runs three nodes. Programs write, delete and refer at random while daemons are killed, stopped and started at
    /// random. A seed determines the actions, but not their exact times.
    @Test("nodes that are killed at random while programs write become equal", arguments: [UInt64(1), 7])
    func nodesThatAreKilledAtRandomWhileProgramsWriteAreEqualInTheEnd(seed: UInt64) async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        var random = Random(state: seed)
        var daemons: [Child?] = [try await nodes[0].found(device: "a")]
        var addresses = [try await nodes[0].address()]
        for (node, device) in zip(nodes.dropFirst(), ["b", "c"]) {
          try await node.join(nodes[0], device: device)
          daemons.append(try await node.serve())
          addresses.append(try await node.address())
        }
        for _ in 0..<40 {
          let index = Int.random(in: 0..<3, using: &random)
          switch Int.random(in: 0..<10, using: &random) {
          case 0..<7:
            try await nodes[index].sqlite(transaction(&random))
          case 7..<9:
            guard let daemon = daemons[index] else { continue }
            if Bool.random(using: &random) { await daemon.kill() } else { _ = try await daemon.terminate() }
            daemons[index] = nil
          default:
            if daemons[index] == nil { daemons[index] = try await nodes[index].serve("--listen", addresses[index]) }
          }
        }
        for index in 0..<3 where daemons[index] == nil {
          daemons[index] = try await nodes[index].serve("--listen", addresses[index])
        }
        try await eventually("all have all") { try await haveAll(nodes) }
        let rows = try await whole(nodes[0])
        #expect(!rows.isEmpty)
        for node in nodes {
          #expect(try await whole(node) == rows)
          // A tag whose note is gone is in the table of the machine that wrote it, and that machine lists it.
          let dangling = try await node.number("SELECT count(*) FROM tags WHERE note NOT IN (SELECT id FROM notes)")
          #expect(try await node.status().held["shown-here-only"] ?? 0 == dangling)
          #expect(try await node.status().complaints.isEmpty)
          #expect(try await node.sqlite("PRAGMA integrity_check") == "ok\n")
        }
        #expect(
          try await Set([nodes[0].status(), nodes[1].status(), nodes[2].status()].map(\.zones[0].digest)).count == 1)
      }
    }

    /// Returns the rows whose references are valid. Foreign keys are turned off, so a program can write others.
    private func whole(_ node: MeshProcess) async throws -> String {
      try await node.sqlite(
        """
        SELECT 'notes', quote(id), quote(text), quote(stars) FROM notes ORDER BY id;
        SELECT 'tags', quote(id), quote(note), quote(name) FROM tags WHERE note IN (SELECT id FROM notes) ORDER BY id;
        """)
    }

    private func haveAll(_ nodes: [MeshProcess]) async throws -> Bool {
      var vectors: Set<[String: UInt64]> = []
      for node in nodes {
        let status = try await node.status()
        guard status.pending == 0 else { return false }
        vectors.insert(status.zones[0].vector)
      }
      return vectors.count == 1
    }

    /// Returns a few statements about few records, so that they conflict. Foreign keys are turned off, as in the shell.
    private func transaction(_ random: inout Random) -> String {
      let statements = (0..<Int.random(in: 1...20, using: &random)).map { _ in
        let note = Int.random(in: 0..<20, using: &random)
        let tag = Int.random(in: 0..<20, using: &random)
        return switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: "INSERT OR REPLACE INTO notes VALUES ('n\(note)', hex(randomblob(8)), \(tag));"
        case 2: "UPDATE notes SET stars = stars + 1 WHERE id = 'n\(note)';"
        case 3: "INSERT OR REPLACE INTO tags VALUES ('t\(tag)', 'n\(note)', hex(randomblob(8)));"
        case 4: "UPDATE tags SET name = hex(randomblob(8)) WHERE id = 't\(tag)';"
        default: "DELETE FROM notes WHERE id = 'n\(note)';"
        }
      }
      return "BEGIN IMMEDIATE;\(statements.joined())COMMIT;"
    }
  }
}

/// The random number generator SplitMix64.
private struct Random: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }
}
