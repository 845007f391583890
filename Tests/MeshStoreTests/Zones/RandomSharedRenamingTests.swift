import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// The owner's two machines and a participant's rename a table of a share at different times, while their programs edit, insert and
/// delete.
@Suite struct RandomSharedRenamingTests {
  private struct Machine {
    let member: Member
    let name: String
    var table = "steps"
    var isAdopted = false
  }

  /// What programs did: each value is written once.
  private struct Ledger {
    var written: Set<String> = []
    /// A program that had it in its row replaced or deleted it.
    var superseded: Set<String> = []
  }

  private static let keys = (0..<5).map { "k\($0)" }

  @Test(
    "no write and no delete is lost while members rename a table of their share",
    arguments: TestSeeds.through(24 as UInt64))
  func renames(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var machines = [
      Machine(member: try SharedList.alice(), name: "alice"), Machine(member: try SharedList.laptop(), name: "laptop"),
      Machine(member: try SharedList.bob(), name: "bob"),
    ]
    try machines[0].member.run("DELETE FROM steps")
    var ledger = Ledger()
    for key in Self.keys.prefix(3) { try write(machines[0], key, "first-\(key)", &ledger) }
    try converge(machines.map(\.member))
    for step in 0..<50 {
      let index = Int.random(in: 0..<machines.count, using: &generator)
      try act(&machines, index, step, &ledger, &generator)
    }
    for index in machines.indices {
      if machines[index].table == "steps" { try rename(&machines[index]) }
      if !machines[index].isAdopted { try adopt(&machines[index]) }
    }
    try converge(machines.map(\.member))
    try check(machines.map(\.member), ledger)
  }

  private func act(
    _ machines: inout [Machine], _ index: Int, _ step: Int, _ ledger: inout Ledger, _ generator: inout SplitMix64
  ) throws {
    let machine = machines[index]
    let key = Self.keys[Int.random(in: 0..<Self.keys.count, using: &generator)]
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<8: try write(machine, key, "\(machine.name)-\(step)", &ledger)
    case 8..<10: try delete(machine, key, &ledger)
    case 10..<12: try machine.member.settle()
    case 12..<16:
      let other = machines[Int.random(in: 0..<machines.count, using: &generator)].member
      for zone in machine.member.standings.map(\.zone)
      where other !== machine.member && other.standings.contains(where: { $0.zone == zone }) {
        try machine.member.pull(zone, from: other)
      }
    case 16: try machine.member.reopen()
    case 17 where machine.table == "steps": try rename(&machines[index])
    case 18..<20 where machine.table == "moves" && !machine.isAdopted: try adopt(&machines[index])
    default: break
    }
  }

  private func write(_ machine: Machine, _ key: String, _ value: String, _ ledger: inout Ledger) throws {
    if let before = try shown(machine, key) {
      ledger.superseded.insert(before)
      try machine.member.run("UPDATE \(machine.table) SET title = '\(value)' WHERE id = '\(key)'")
    } else if try machine.member.rows("SELECT id FROM reminders WHERE id = 'r1'").isEmpty {
      return
    } else {
      try machine.member.run("INSERT INTO \(machine.table) VALUES ('\(key)', 'r1', '\(value)')")
    }
    ledger.written.insert(value)
  }

  private func shown(_ machine: Machine, _ key: String) throws -> String? {
    try machine.member.rows("SELECT title FROM \(machine.table) WHERE id = '\(key)'").first
  }

  private func delete(_ machine: Machine, _ key: String, _ ledger: inout Ledger) throws {
    guard let before = try shown(machine, key) else { return }
    ledger.superseded.insert(before)
    try machine.member.run("DELETE FROM \(machine.table) WHERE id = '\(key)'")
  }

  private func rename(_ machine: inout Machine) throws {
    try machine.member.run("ALTER TABLE steps RENAME TO moves")
    machine.table = "moves"
  }

  private func adopt(_ machine: inout Machine) throws {
    let member = machine.member
    try member.settle()
    try member.store.tables.untrack(["steps"])
    try member.store.tables.track(tables: ["moves"], now: member.now)
    machine.isAdopted = true
  }

  private func check(_ members: [Member], _ ledger: Ledger) throws {
    let rows = try members.map { try $0.rows("SELECT id, reminder, title FROM moves ORDER BY id") }
    #expect(Set(rows).count == 1, "\(rows)")
    #expect(try Set(members.map { try $0.store.zones.digest(SharedList.share) }).count == 1)
    let visible = Set(try members[0].rows("SELECT title FROM moves"))
    #expect(visible.isDisjoint(with: ledger.superseded), "what somebody replaced or deleted is there again")
    let listed = try members.reduce(into: Set<String>()) { listed, member in
      for conflict in try member.store.conflicts.list(limit: 1_000) {
        if case .text(let bytes) = conflict.loserValue { listed.insert(String(decoding: bytes, as: UTF8.self)) }
      }
    }
    let lost = ledger.written.subtracting(ledger.superseded).subtracting(visible).subtracting(listed)
    #expect(lost.isEmpty, "written, and neither shown nor listed")
  }
}
