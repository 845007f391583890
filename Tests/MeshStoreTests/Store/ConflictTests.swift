import MeshCore
import Testing

@testable import MeshStore

/// What lost is told with what won.
@Suite struct ConflictTests {
  @Test func aDeleteThatWonIsToldFromANullThatWon() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, v TEXT)"
    let (a, b) = (try Peer(1, schema: schema, track: ["t"]), try Peer(2, schema: schema, track: ["t"]))
    try a.run("INSERT INTO t VALUES ('deleted', 'v'), ('null', 'v')")
    try b.pull(from: a)
    try b.run("UPDATE t SET v = 'lost'")
    try b.flush()
    // A's clock is ahead of b's from here on: what it writes wins.
    a.now = b.now + 10_000
    try a.run("INSERT INTO t VALUES ('other', 'v')")
    try a.flush()
    try a.run("DELETE FROM t WHERE id = 'deleted'; UPDATE t SET v = NULL WHERE id = 'null'")
    try synchronize([a, b])
    for peer in [a, b] {
      let conflicts = try peer.store.conflicts(limit: 9)
      #expect(conflicts.count == 2 && conflicts.allSatisfy { $0.winnerValue == .null && $0.column == "v" })
      let deletes = Dictionary(conflicts.map { ($0.key, $0.isWinnerDelete) }, uniquingKeysWith: { $1 })
      #expect(deletes == [.text("deleted"): true, .text("null"): false])
    }
  }
}
