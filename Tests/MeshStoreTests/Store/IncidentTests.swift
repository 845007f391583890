import MeshCore
import Testing

@testable import MeshStore

/// What brought other systems down and could be seen in one file or two: see Incidents in the documentation of MeshTesting.
@Suite struct IncidentTests {
  private static let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

  private func peer(_ seed: UInt8) throws -> Peer { try Peer(seed, schema: Self.schema, track: ["t"]) }

  private func fill(_ peer: Peer, _ rows: ClosedRange<Int>) throws {
    try peer.run(
      "WITH RECURSIVE i(n) AS (SELECT \(rows.lowerBound) UNION ALL SELECT n + 1 FROM i WHERE n < \(rows.upperBound)) "
        + "INSERT INTO t SELECT n, 'row ' || n FROM i")
  }

  @Test(
    "a column added to 20,000 rows sends nothing",
    arguments: [
      "ALTER TABLE t ADD COLUMN c TEXT", "ALTER TABLE t ADD COLUMN c INTEGER NOT NULL DEFAULT 7",
      "ALTER TABLE t ADD COLUMN c BLOB DEFAULT x'00'",
    ])
  func aColumnThatIsAddedToManyRowsSendsNothing(_ change: String) throws {
    let (a, b) = (try peer(1), try peer(2))
    try fill(a, 1...20_000)
    try b.pull(from: a)
    let before = try a.store.log.storedVector(Peer.zone)
    for peer in [a, b] {
      try peer.run(change)
      #expect(try peer.flush() == 0)
      #expect(try peer.store.figures.status().pending == 0)
    }
    try synchronize([a, b])
    #expect(try a.store.log.storedVector(Peer.zone) == before)
    #expect(try a.digest() == b.digest())
    // It is a column like any other from then on.
    try a.run("UPDATE t SET c = 9 WHERE id = 5")
    try b.pull(from: a)
    #expect(try b.rows("SELECT * FROM t WHERE id IN (5, 6)") == a.rows("SELECT * FROM t WHERE id IN (5, 6)"))
  }

  /// One change set at a time, so that each hole is the end of what comes.
  private func catchUp(_ peer: Peer, from source: Peer) throws {
    var position: Int64 = 0
    while true {
      let batch = try source.store.log.changeSets(
        Peer.zone, beyond: peer.store.log.storedVector(Peer.zone), of: nil, after: position, maximumBytes: 1)
      let changeSets = try batch.changeSets.map { try ChangeSet($0, with: peer.cryptography) }
      _ = try peer.store.log.store(changeSets, zone: Peer.zone, now: peer.now)
      position = batch.position
      try peer.apply()
      if batch.isComplete { return }
    }
  }

  @Test("a new device catches up past reverted, unfinished and empty units in a log")
  func aNewcomerGetsPastEveryKindOfHoleInAHistory() throws {
    let (source, honest, cut, broken) = (try peer(1), try peer(2), try peer(3), try peer(4))
    // Its last two units are cut.
    for row in 1...3 {
      try fill(cut, row...row)
      try source.pull(from: cut)
    }
    source.cuts = [cut.author: 1]
    try source.store.merges.revert(source.cuts, aftermath: [:], zone: Peer.zone, source.reader, now: source.now)
    // The end of its unit never comes.
    try fill(broken, 10_001...13_500)
    try broken.flush()
    let parts = try broken.store.log.changeSets(
      Peer.zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 64 << 20
    ).changeSets.map { try ChangeSet($0, with: source.cryptography) }
    try #require(parts.count > 2 && parts.last?.header.part.isFinal == true)
    _ = try source.store.log.store(Array(parts.dropLast()), zone: Peer.zone, now: source.now)
    // A value in pieces, an empty unit's worth of nothing, a row that came and went, and ordinary rows after all of it.
    try honest.run("INSERT INTO t VALUES (20001, hex(zeroblob(900000)))")
    try source.pull(from: honest)
    try honest.run("INSERT INTO t VALUES (20002, 'x'); DELETE FROM t WHERE id = 20002")
    try source.pull(from: honest)
    try fill(honest, 20_003...20_010)
    try source.pull(from: honest)

    let newcomer = try peer(5)
    newcomer.now = source.now
    newcomer.cuts = source.cuts
    try newcomer.store.merges.revert(newcomer.cuts, aftermath: [:], zone: Peer.zone, newcomer.reader, now: newcomer.now)
    try catchUp(newcomer, from: source)
    #expect(try newcomer.rows("SELECT count(*) FROM t") == ["10"])
    #expect(try newcomer.rows("SELECT * FROM t ORDER BY id") == source.rows("SELECT * FROM t ORDER BY id"))
    #expect(try newcomer.store.log.mergedVector(Peer.zone) == source.store.log.mergedVector(Peer.zone))
    #expect(try newcomer.digest() == source.digest())
    // And goes on with the unit whose end was missing.
    _ = try source.store.log.store(parts.suffix(1), zone: Peer.zone, now: source.now)
    try source.apply()
    try catchUp(newcomer, from: source)
    #expect(try newcomer.rows("SELECT count(*) FROM t") == ["3510"])
    #expect(try newcomer.digest() == source.digest())
  }
}
