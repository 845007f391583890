import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Figures on request (`MESH_BENCH=1`), side by side in one run; nothing is asserted about time.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["MESH_BENCH"] == "1"))
struct StoreBench {
  @Test("the bench prints how long 100,000 rows take from one file to another")
  func aHundredThousandRowsFromOneFileToAnother() throws {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY NOT NULL, a TEXT, b TEXT, c INTEGER, d REAL, e BLOB)"
    let fill = """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO t SELECT i, 'title number ' || i, 'some body text ' || i, i * 3, i / 7.0, randomblob(16) FROM n
      """
    func time(_ body: () throws -> Void) rethrows -> Double {
      let clock = ContinuousClock()
      return try clock.measure(body) / .seconds(1)
    }
    let plain = try Peer(9, schema: schema)
    let a = try Peer(1, schema: schema, track: ["t"])
    let b = try Peer(2, schema: schema, track: ["t"])
    let copying = try time { try plain.run(fill) }
    let captured = try time { try a.run(fill) }
    let rows = try plain.other.read { try Row.fetchAll($0, sql: "SELECT * FROM t").map { $0.databaseValues } }
    let bound = try Peer(8, schema: schema)
    let inserting = try time {
      try bound.other.write { db in
        let statement = try db.makeStatement(sql: "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")
        for row in rows { try statement.execute(arguments: StatementArguments(row)) }
      }
    }
    var longest = 0.0
    var flushing = 0.0
    while true {
      var more = false
      let took = try time { more = try a.store.localWrites.flush(a.writer, now: a.now).hasMore }
      flushing += took
      longest = max(longest, took)
      if !more { break }
    }
    let storing = try time { try b.receive(from: a) }
    var applying = 0.0
    var longestApply = 0.0
    loop: while true {
      var progress = ApplyProgress.flushFirst
      let took = try time { progress = try b.store.merges.apply(Peer.zone, b.reader, now: b.now) }
      applying += took
      longestApply = max(longestApply, took)
      if case .idle = progress { break loop }
    }
    let size = try b.store.access.read {
      try $0.sql.integer("SELECT sum(pgsize) FROM dbstat WHERE name = 'mesh_record'") ?? 0
    }
    let wire = try b.store.access.read { try $0.sql.integer("SELECT sum(size) FROM mesh_log") ?? 0 }
    print(
      "SQL fill \(copying) s, captured \(captured) s, bound insert \(inserting) s; flush \(flushing) s (longest \(longest)),",
      "store \(storing) s, apply \(applying) s (longest \(longestApply));",
      "mesh_record \(Double(size) / 100_000) B/row, wire \(Double(wire) / 100_000) B/row")
    #expect(try a.digest() == b.digest())
  }
}
