import MeshCore
import Testing

@testable import MeshStore

/// Rows that refer each to the one before, in a chain that no stack is deep enough for.
@Suite struct LongChainTests {
  private static let schema =
    "CREATE TABLE nodes (id INTEGER PRIMARY KEY NOT NULL, before INTEGER REFERENCES nodes ON DELETE CASCADE)"
  private static let length = 10_000

  private static func rows(from first: Int) -> String {
    """
    WITH RECURSIVE n (i) AS (SELECT \(first) UNION ALL SELECT i + 1 FROM n WHERE i < \(length))
    INSERT INTO nodes SELECT i, iif(i = 1, NULL, i - 1) FROM n
    """
  }

  @Test("a chain of 10,000 rows appears when its first row arrives") func isShownWhenItsFirstRowComes() throws {
    let peers = try [1, 2].map { try Peer($0, schema: Self.schema, track: [], foreignKeys: false) }
    for peer in peers { try peer.store.tables.track(tables: ["nodes"], integerKeys: true, now: peer.now) }
    try peers[0].run(Self.rows(from: 2))
    try peers[1].pull(from: peers[0])
    #expect(try peers[1].rows("SELECT count(*) FROM nodes") == ["0"])
    try peers[0].run("INSERT INTO nodes VALUES (1, NULL)")
    try peers[1].pull(from: peers[0])
    for peer in peers { #expect(try peer.rows("SELECT count(*) FROM nodes") == ["\(Self.length)"]) }
    #expect(try peers[0].digest() == peers[1].digest())
  }

  @Test("a chain of 10,000 rows goes to the private zone") func findsItsZone() throws {
    let home = Member.zone(1)
    let shared = ZoneStanding(
      zone: Member.zone(2), role: .owned, root: RecordName(table: "lists", key: .text("L")))
    let member = try Member(1, [ZoneStanding(zone: home, role: .privateZone), shared])
    try member.run("INSERT INTO lists VALUES ('L', 'shared')")
    try member.run(Self.schema)
    try member.store.tables.track(tables: ["nodes"], integerKeys: true, now: member.now)
    try member.run(Self.rows(from: 1))
    try member.settle()
    #expect(try member.records(home).count == Self.length)
  }
}
