import MeshCore
import MeshTesting
import Testing

@testable import MeshStore

/// Random histories over a private zone, two shares and a stranger's zone.
@Suite struct ShareHistoryTests {
  private struct Draw {
    var state: UInt64
    mutating func below(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(count))
    }
    mutating func of<T>(_ list: [T]) -> T { list[below(list.count)] }
  }

  private static func standings(owner: Bool, home: UInt8) -> [ZoneStanding] {
    let role: ZoneStanding.Role = owner ? .owned : .readWrite
    return [
      ZoneStanding(zone: Member.zone(home), role: .privateZone),
      ZoneStanding(zone: Member.zone(11), role: role, root: RecordName(table: "lists", key: .text("L1"))),
      ZoneStanding(zone: Member.zone(12), role: role, root: RecordName(table: "lists", key: .text("L2"))),
    ]
  }

  private static func write(_ draw: inout Draw, _ counter: Int) -> String {
    let lists = ["L1", "L2", "own", "other"]
    let reminder = "r\(draw.below(6))"
    switch draw.below(9) {
    case 0: return "INSERT OR IGNORE INTO lists VALUES ('\(draw.of(["own", "other"]))', '\(counter)')"
    case 1, 2:
      return
        "INSERT OR IGNORE INTO reminders SELECT '\(reminder)', id, '\(counter)', 0 FROM lists WHERE id = '\(draw.of(lists))'"
    case 3:
      let list = draw.of(lists)
      return "UPDATE reminders SET list = '\(list)' WHERE id = '\(reminder)' AND '\(list)' IN (SELECT id FROM lists)"
    case 4: return "UPDATE reminders SET title = '\(counter)' WHERE id = '\(reminder)'"
    case 5: return "DELETE FROM reminders WHERE id = '\(reminder)'"
    case 6:
      return
        "INSERT OR IGNORE INTO steps SELECT 's\(draw.below(8))', id, '\(counter)' FROM reminders WHERE id = '\(reminder)'"
    case 7:
      return "UPDATE steps SET reminder = (SELECT id FROM reminders ORDER BY id LIMIT 1) WHERE id = 's\(draw.below(8))'"
    default: return "UPDATE lists SET title = '\(counter)' WHERE id = '\(draw.of(lists))'"
    }
  }

  @Test(
    "random histories leave equal tables on an account's devices and equal records in shares",
    arguments: TestSeeds.through(12))
  func devicesOfOneAccountEndWithTheSameTablesAndMembersWithTheSameRecords(seed: Int) throws {
    var draw = Draw(state: UInt64(seed))
    let desktop = try Member(1, Self.standings(owner: true, home: 1), foreignKeys: seed.isMultiple(of: 2))
    let laptop = try Member(2, Self.standings(owner: true, home: 1))
    let bob = try Member(9, Self.standings(owner: false, home: 3))
    try desktop.run("INSERT INTO lists VALUES ('L1', 'one'), ('L2', 'two'), ('own', 'mine')")
    let all = [desktop, laptop, bob]
    try converge(all)
    for counter in 0..<40 {
      let member = draw.of(all)
      try? member.run(Self.write(&draw, counter))
      if draw.below(3) == 0 { try member.settle() }
      if draw.below(4) == 0 {
        let source = draw.of(all)
        let zone = draw.of(member.standings.map(\.zone))
        if source !== member, source.standings.contains(where: { $0.zone == zone }) {
          try member.settle()
          try member.pull(zone, from: source)
        }
      }
    }
    try converge(all)
    #expect(try desktop.contents() == laptop.contents())
    for zone in [11, 12].map({ Member.zone($0) }) {
      #expect(try desktop.store.zones.digest(zone) == laptop.store.zones.digest(zone))
      #expect(try desktop.store.zones.digest(zone) == bob.store.zones.digest(zone))
    }
    #expect(try desktop.store.zones.digest(Member.zone(1)) == laptop.store.zones.digest(Member.zone(1)))
    #expect(try desktop.held() == laptop.held())
    // Every row that is shown is where its parent is.
    for member in all {
      let strays = try member.rows(
        """
        SELECT c.id FROM reminders c JOIN mesh_table ct ON ct.name = 'reminders' JOIN mesh_table pt ON pt.name = 'lists'
        JOIN mesh_record cr ON cr.tbl = ct.id AND cr.key = c.id AND cr.held IS NULL AND cr.generation & 1
        WHERE NOT EXISTS (SELECT 1 FROM mesh_record pr WHERE pr.tbl = pt.id AND pr.key = c.list AND pr.zone = cr.zone
          AND pr.generation & 1)
        """)
      #expect(strays.isEmpty)
      #expect(try member.store.localWrites.pendingCount() == 0)
      // What a rescan finds was captured wrongly.
      try member.store.capture.rescan()
      try member.settle()
      #expect(
        try member.store.log.storedVector(member.standings[1].zone)
          == desktop.store.log.storedVector(member.standings[1].zone))
    }
  }
}
