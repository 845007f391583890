import MeshCore
import Testing

@testable import MeshStore

/// Who wrote a value, and who says so.
@Suite struct ExplainTests {
  private static let table = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, v TEXT)"

  @Test("the signer is named, whomever its stamps name") func signerOfForgedStamps() throws {
    let (victim, peer) = (try Peer(3, schema: Self.table, track: ["t"]), try Peer(1, schema: Self.table, track: ["t"]))
    try victim.run("INSERT INTO t VALUES (1, 'own')")
    try victim.flush()
    try peer.receive(from: victim)
    try peer.apply()
    var forger = try Forger(2)
    let time = HybridTime(milliseconds: peer.now)
    let forged = Stamp(time: HybridTime(milliseconds: peer.now - 5), author: victim.author)
    let row = RowChange(
      key: .integer(2), generation: 1, isLife: true, stamp: forged,
      fields: [.init(column: 0, value: .value(.text("x")))])
    let lie = try forger.make(.changes([TableChanges(table: "t", columns: ["v"], rows: [row])]), time: time)
    _ = try peer.store.log.store([lie], zone: Peer.zone, now: peer.now)
    try peer.apply()
    let forgedRecord = try #require(
      try peer.store.history.explain(table: "t", key: .integer(2)) { _ in peer.reader }.first)
    #expect(forgedRecord.life == forged && forgedRecord.lifeSigner == forger.author)
    #expect(forgedRecord.columns.map(\.signer) == [forger.author])
    let own = try #require(try peer.store.history.explain(table: "t", key: .integer(1)) { _ in peer.reader }.first)
    #expect(own.lifeSigner == victim.author && own.columns.map(\.signer) == [victim.author])
  }
}
