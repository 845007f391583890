import Foundation
import MeshCore
import Testing

@testable import MeshStore

/// A program that commits the mark by which the node silences capture: what was written meanwhile is found all the same.
@Suite struct SilenceTests {
  private func peers() throws -> (Peer, Peer) {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)"
    return (try Peer(1, schema: schema, track: ["item"]), try Peer(2, schema: schema, track: ["item"]))
  }

  private func writeInSilence(_ peer: Peer) throws {
    try peer.run("UPDATE mesh_state SET applying = 1")
    try peer.run("INSERT INTO item VALUES ('a', 'unseen')")
    #expect(try peer.store.localWrites.pendingCount() == 0, "capture was silent")
  }

  @Test("upkeep finds a row written while the applying flag was set") func foundWhenTheFileHasChanged() throws {
    let (a, b) = try peers()
    try writeInSilence(a)
    #expect(try a.upkeep() != nil)
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM item WHERE title = 'unseen'") == ["1"])
    #expect(try a.rows("SELECT applying FROM mesh_state") == ["0"])
  }

  @Test("a row written under the applying flag is found after a merge") func foundAfterAnApplyThatCameFirst() throws {
    let (a, b) = try peers()
    try b.run("INSERT INTO item VALUES ('b', 'incoming')")
    try writeInSilence(a)
    try a.pull(from: b)
    #expect(try a.rows("SELECT applying FROM mesh_state") == ["0"])
    try a.upkeep()
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM item") == ["2"])
  }

  @Test("a row written under the applying flag is found after the store is reopened") func foundAfterTheNextStart()
    throws
  {
    let (a, b) = try peers()
    try writeInSilence(a)
    try a.reopen()
    try a.upkeep()
    try b.pull(from: a)
    #expect(try b.rows("SELECT count(*) FROM item") == ["1"])
    #expect(try a.digest() == b.digest())
  }

  @Test("upkeep finds nothing to do after an ordinary write") func nothingIsDoneWhereNobodyDidSo() throws {
    let (a, _) = try peers()
    try a.run("INSERT INTO item VALUES ('a', 'seen')")
    try a.flush()
    #expect(try a.upkeep() == nil)
  }
}
