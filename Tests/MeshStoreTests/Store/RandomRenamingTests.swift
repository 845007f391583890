import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Three machines that rename a table at different times, untrack and track it, while their programs edit, insert and delete.
@Suite struct RandomRenamingTests {
  private struct Machine {
    let peer: Peer
    let name: String
    var table = "t"
    var isAdopted = false
  }

  /// What programs did: each value is written once.
  private struct Ledger {
    var written: Set<String> = []
    /// A program that had it in its row replaced or deleted it.
    var superseded: Set<String> = []
  }

  private static let keys = (0..<6).map { "k\($0)" }

  @Test("no write and no delete is lost while machines rename a table", arguments: TestSeeds.through(32 as UInt64))
  func renames(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT)"
    var machines = try (1...3).map { number in
      Machine(peer: try Peer(UInt8(number), schema: schema, track: ["t"]), name: "m\(number)")
    }
    var ledger = Ledger()
    for key in Self.keys.prefix(4) { try write(machines[0], key, "first-\(key)", &ledger) }
    try synchronize(machines.map(\.peer))
    for step in 0..<60 {
      let index = Int.random(in: 0..<machines.count, using: &generator)
      try act(&machines, index, step, &ledger, &generator)
    }
    for index in machines.indices {
      if machines[index].table == "t" { try rename(&machines[index]) }
      if !machines[index].isAdopted { try adopt(&machines[index]) }
    }
    for _ in 0..<2 { try synchronize(machines.map(\.peer)) }
    try check(machines.map(\.peer), ledger)
  }

  private func act(
    _ machines: inout [Machine], _ index: Int, _ step: Int, _ ledger: inout Ledger, _ generator: inout SplitMix64
  ) throws {
    let machine = machines[index]
    let key = Self.keys[Int.random(in: 0..<Self.keys.count, using: &generator)]
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<8: try write(machine, key, "\(machine.name)-\(step)", &ledger)
    case 8..<10: try delete(machine, key, &ledger)
    case 10..<12: try machine.peer.flush()
    case 12..<16:
      let other = Int.random(in: 0..<machines.count, using: &generator)
      if other != index { try machine.peer.pull(from: machines[other].peer) }
    case 16: try machine.peer.reopen()
    case 17 where machine.table == "t": try rename(&machines[index])
    case 18..<20 where machine.table == "u" && !machine.isAdopted: try adopt(&machines[index])
    default: break
    }
  }

  private func shown(_ machine: Machine, _ key: String) throws -> String? {
    try machine.peer.rows("SELECT a FROM \(machine.table) WHERE id = '\(key)'").first?
      .trimmingPrefix("\"").description.split(separator: "\"").first.map(String.init)
  }

  private func write(_ machine: Machine, _ key: String, _ value: String, _ ledger: inout Ledger) throws {
    if let before = try shown(machine, key) {
      ledger.superseded.insert(before)
      try machine.peer.run("UPDATE \(machine.table) SET a = '\(value)' WHERE id = '\(key)'")
    } else {
      try machine.peer.run("INSERT INTO \(machine.table) VALUES ('\(key)', '\(value)')")
    }
    ledger.written.insert(value)
  }

  private func delete(_ machine: Machine, _ key: String, _ ledger: inout Ledger) throws {
    guard let before = try shown(machine, key) else { return }
    ledger.superseded.insert(before)
    try machine.peer.run("DELETE FROM \(machine.table) WHERE id = '\(key)'")
  }

  private func rename(_ machine: inout Machine) throws {
    try machine.peer.run("ALTER TABLE t RENAME TO u")
    machine.table = "u"
  }

  private func adopt(_ machine: inout Machine) throws {
    let peer = machine.peer
    try peer.upkeep()
    try peer.flush()
    try peer.store.tables.untrack(["t"])
    try peer.store.tables.track(tables: ["u"], now: peer.now)
    machine.isAdopted = true
  }

  private func check(_ peers: [Peer], _ ledger: Ledger) throws {
    let rows = try peers[0].rows("SELECT id, a FROM u ORDER BY id")
    try expectEqual(peers, "SELECT id, a FROM u ORDER BY id", rows)
    let visible = Set(
      try peers[0].rows("SELECT a FROM u").map { String($0.dropFirst().dropLast()) })
    #expect(visible.isDisjoint(with: ledger.superseded), "what somebody replaced or deleted is there again")
    let listed = try peers.reduce(into: Set<String>()) { listed, peer in
      for conflict in try peer.store.conflicts.list(limit: 1_000) {
        if case .text(let bytes) = conflict.loserValue { listed.insert(String(decoding: bytes, as: UTF8.self)) }
      }
    }
    let lost = ledger.written.subtracting(ledger.superseded).subtracting(visible).subtracting(listed)
    #expect(lost.isEmpty, "written, and neither shown nor listed")
  }
}
