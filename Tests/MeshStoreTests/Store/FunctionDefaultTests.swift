import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Tables whose defaults call functions that SQLite doesn't have.
@Suite struct FunctionDefaultTests {
  @Test(
    "rows of a table whose key has the default uuid() arrive as any other's", arguments: ["", "ON CONFLICT REPLACE"])
  func uuidKeys(clause: String) throws {
    let key = "id TEXT PRIMARY KEY NOT NULL \(clause) DEFAULT (uuid())"
    let schema = "CREATE TABLE t (\(key), v TEXT, w TEXT DEFAULT (uuid()))"
    let peers = try [1, 2].map { try Peer(UInt8($0), schema: schema, track: ["t"]) }
    for peer in peers {
      try peer.other.write { $0.add(function: DatabaseFunction("uuid", argumentCount: 0) { _ in "made by the app" }) }
    }
    try peers[0].run("INSERT INTO t (v) VALUES ('one')")
    try peers[0].run("INSERT INTO t VALUES ('given', 'two', 'three')")
    try peers[0].flush()
    try peers[1].pull(from: peers[0])
    let all = #"SELECT id, v, w FROM t ORDER BY v"#
    #expect(try peers[1].rows(all) == [#""made by the app"|"one"|"made by the app""#, #""given"|"two"|"three""#])
    try peers[1].run("UPDATE t SET w = 'edited'; DELETE FROM t WHERE id = 'given'")
    try peers[1].flush()
    try peers[0].pull(from: peers[1])
    #expect(try peers[0].rows(all) == [#""made by the app"|"one"|"edited""#])
    #expect(try peers[0].store.figures.status().held == [:] && peers[1].store.figures.status().held == [:])
    let adopting = try Peer(3)
    _ = try adopting.store.schema.saveForeignSchema(
      peers[0].store.schema.schemaDescriptions(), device: peers[0].author.device, isOwn: true)
    #expect(
      try adopting.store.schema.adopt(adopting.store.schema.foreign(), now: adopting.now) == StoreSchema.Adoption())
    #expect(try adopting.rows("SELECT dflt_value FROM pragma_table_info('t') WHERE name = 'w'") == [#""uuid()""#])
  }
}
