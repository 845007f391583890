import MeshCore
import Testing

@testable import MeshStore

/// A key that a person writes is not always spelled as the merge knows it.
@Suite struct RootNameTests {
  @Test(
    "a share has its root whatever the spelling of its key",
    arguments: [
      ("INTEGER PRIMARY KEY NOT NULL", "7", "notes", "7", "notes 7"),
      ("TEXT PRIMARY KEY NOT NULL COLLATE NOCASE", "'Milk'", "Notes", "MILK", "notes milk"),
      ("TEXT PRIMARY KEY NOT NULL COLLATE RTRIM", "'milk  '", "notes", "milk ", "notes milk"),
    ])
  func aShareHasItsRootHoweverItsKeyIsSpelled(key: String, value: String, table: String, name: String, shared: String)
    throws
  {
    let zone = Member.zone(2)
    let member = try Member(1, [ZoneStanding(zone: Member.zone(1), role: .privateZone)])
    try member.run("CREATE TABLE notes (id \(key), v TEXT); INSERT INTO notes VALUES (\(value), 'x')")
    try member.store.tables.track(tables: ["notes"], integerKeys: true, now: member.now)
    try member.settle()
    let named = RecordName(table: table, key: .text(name))
    #expect(try member.store.zones.obstacle(toSharing: named) == nil)
    let root = try member.store.zones.root(named: named)
    try member.stand(ZoneStanding(zone: zone, role: .owned, root: root))
    try member.settle()
    #expect(try member.records(zone) == [shared])
    #expect(try member.store.zones.obstacle(toSharing: named) == .alreadyShared(root, in: zone))
    let nobody = RecordName(table: "notes", key: .text("nobody"))
    #expect(try member.store.zones.root(named: nobody) == nobody)
  }
}
