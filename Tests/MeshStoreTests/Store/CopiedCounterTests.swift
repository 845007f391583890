import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Files that are copied or restored while increments of counters are pending.
@Suite struct CopiedCounterTests {
  private func peer(_ seed: UInt8) throws -> Peer {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0)"
    let peer = try Peer(seed, schema: schema, track: ["item"])
    try peer.store.schema.setPolicies(["item": ["n": .counter]], now: peer.now)
    return peer
  }

  private func peers(_ count: UInt8) throws -> [Peer] {
    let peers = try (1...count).map { try peer($0) }
    try peers[0].run("INSERT INTO item VALUES ('a', 5)")
    try synchronize(peers)
    return peers
  }

  private func expectSum(_ peers: [Peer], _ sum: Int, _ location: SourceLocation = #_sourceLocation) throws {
    try synchronize(peers)
    try expectEqual(peers, "SELECT n FROM item", ["\(sum)"], location)
    try expectNoConflicts(peers, location)
    for peer in peers { #expect(try peer.store.localWrites.pendingCount() == 0, sourceLocation: location) }
  }

  /// A copy of a peer's file.
  private func copy(_ peer: Peer) throws -> DatabaseQueue {
    let directory = (peer.path as NSString).deletingLastPathComponent as NSString
    let copy = try DatabaseQueue(path: directory.appendingPathComponent("\(UUID().uuidString).db"))
    try peer.other.backup(to: copy)
    return copy
  }

  /// Gives a peer a file, as another instance.
  @discardableResult
  private func take(
    _ copy: DatabaseQueue, _ peer: Peer, _ instance: UInt64, sentThrough: Int64? = .max
  ) throws -> [RecordName] {
    try copy.backup(to: peer.other)
    try peer.reopen()
    try peer.renew(InstanceID(instance), sentThrough: sentThrough)
    return try peer.store.zones.doubtfulIncrements(Peer.zone)
  }

  private let record = RecordName(table: "item", key: .text(Array("a".utf8)))

  @Test("pending increments count once, whether the copy or the original sends them first", arguments: [true, false])
  func copiedFile(copySendsFirst: Bool) throws {
    let peers = try peers(3)
    try peers[0].run("UPDATE item SET n = n + 1; UPDATE item SET n = n + 2")
    #expect(try take(copy(peers[0]), peers[2], 30) == [record])
    if copySendsFirst { try peers[1].pull(from: peers[2]) } else { try peers[1].pull(from: peers[0]) }
    for peer in peers { try peer.run("UPDATE item SET n = n + 10") }
    try expectSum(peers, 38)
    for peer in peers { try peer.run("UPDATE item SET n = n - 1") }
    try expectSum(peers, 35)
  }

  @Test("when this device signed something says nothing about the file of another device")
  func signedBefore() throws {
    let peers = try peers(3)
    try peers[0].run("UPDATE item SET n = n + 1")
    #expect(try take(copy(peers[0]), peers[2], 30, sentThrough: 0) == [record])
    try expectSum(peers, 6)
  }

  @Test("increments that only the copy has are not lost")
  func originalIsGone() throws {
    let peers = try peers(3)
    try peers[0].run("UPDATE item SET n = n + 4")
    try take(copy(peers[0]), peers[2], 30)
    try peers[2].run("UPDATE item SET n = n + 10")
    try expectSum([peers[1], peers[2]], 19)
  }

  @Test("the original's later increments count beside those of several copies")
  func severalCopies() throws {
    let peers = try peers(4)
    try peers[0].run("UPDATE item SET n = n + 1")
    let copy = try copy(peers[0])
    try take(copy, peers[2], 30)
    try take(copy, peers[3], 2)
    try peers[1].pull(from: peers[3])
    try peers[0].run("UPDATE item SET n = n + 20")
    try peers[2].run("UPDATE item SET n = n + 300")
    try expectSum(peers, 326)
  }

  @Test("increments stay those of the first instance if the file is copied again before it sends them")
  func copyOfCopy() throws {
    let peers = try peers(4)
    try peers[0].run("UPDATE item SET n = n + 1")
    try take(copy(peers[0]), peers[2], 30)
    try peers[2].run("UPDATE item SET n = n + 20")
    try take(copy(peers[2]), peers[3], 40)
    try peers[3].run("UPDATE item SET n = n + 300")
    try expectSum(peers, 326)
  }

  @Test("a file whose instance has sent nothing can be copied as well")
  func newFile() throws {
    let peers = try (1...3).map { try peer($0) }
    try peers[0].run("INSERT INTO item VALUES ('a', 0); UPDATE item SET n = n + 1; UPDATE item SET n = n + 2")
    try take(copy(peers[0]), peers[2], 30)
    for peer in [peers[0], peers[2]] { try peer.run("UPDATE item SET n = n + 10") }
    try expectSum(peers, 23)
  }

  @Test("a new row keeps its increments apart")
  func newRow() throws {
    let peers = try peers(3)
    try peers[0].run("DELETE FROM item; INSERT INTO item VALUES ('b', 100); UPDATE item SET n = n + 1")
    try take(copy(peers[0]), peers[2], 30)
    try peers[2].run("UPDATE item SET n = n + 20")
    try expectSum(peers, 121)
  }

  @Test("the zone of an increment need not be known when the file is opened")
  func severalZones() throws {
    let peers = try peers(3)
    try peers[0].standBesideShare()
    try peers[0].run("UPDATE item SET n = n + 1")
    try take(copy(peers[0]), peers[2], 30)
    try peers[0].run("UPDATE item SET n = n + 20")
    try peers[2].run("UPDATE item SET n = n + 300")
    try expectSum(peers, 326)
  }

  /// The time of the last note, as the triggers know it.
  private func noted(_ peer: Peer) throws -> Int64 {
    try #require(try peer.other.read { try Int64.fetchOne($0, sql: "SELECT max(wall) FROM mesh_pending") })
  }

  @Test("after a restore, increments from before the last signing count once, and later ones as this instance's")
  func restoredFile() throws {
    let peers = try peers(2)
    try peers[0].run("UPDATE item SET n = n + 1")
    let copy = try copy(peers[0])
    try peers[1].pull(from: peers[0])
    try peers[0].run("UPDATE item SET n = n + 20")
    let signed = try noted(peers[0])
    try peers[1].pull(from: peers[0])
    try copy.backup(to: peers[0].other)
    Thread.sleep(forTimeInterval: 0.003)
    try peers[0].run("UPDATE item SET n = n + 300")
    #expect(try take(self.copy(peers[0]), peers[0], 10, sentThrough: signed).isEmpty, "this device knows what it sent")
    try expectSum(peers, 326)
    try peers[0].run("UPDATE item SET n = n + 1")
    try expectSum(peers, 327)
  }

  @Test("an instance that no other file has leaves its increments to the next one")
  func ordinaryRenewal() throws {
    let peers = try peers(2)
    try peers[0].run("UPDATE item SET n = n + 1")
    try peers[0].renew(InstanceID(30))
    #expect(try peers[0].store.zones.doubtfulIncrements(Peer.zone).isEmpty)
    try expectSum(peers, 6)
    let parts = "SELECT count(*) FROM mesh_column WHERE name LIKE 'mesh\\_counter\\_%' ESCAPE '\\'"
    #expect(try peers[1].rows(parts) == ["1"])
  }
}
