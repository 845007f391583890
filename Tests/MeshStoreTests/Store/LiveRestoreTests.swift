import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// Copies that are written over a database while the store has it open.
@Suite struct LiveRestoreTests {
  private func peer() throws -> Peer {
    try Peer(1, schema: "CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT)", track: ["list"])
  }

  /// A copy as SQLite's shell makes it with `.backup`.
  private func copy(_ peer: Peer, _ name: String = "copy.db") throws -> DatabaseQueue {
    let path = ((peer.path as NSString).deletingLastPathComponent as NSString).appendingPathComponent(name)
    let copy = try DatabaseQueue(path: path)
    try peer.other.backup(to: copy)
    return copy
  }

  private func expectReplaced(
    _ what: Comment, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    do {
      try body()
      Issue.record(what, sourceLocation: location)
    } catch {
      #expect((error as? StoreError)?.code == .replaced, what, sourceLocation: location)
    }
  }

  private func expectNothingWorks(_ peer: Peer) {
    expectReplaced("a flush") { _ = try peer.store.localWrites.flush(peer.writer, now: peer.now) }
    expectReplaced("a merge") { _ = try peer.store.merges.apply(Peer.zone, peer.reader, now: peer.now) }
    expectReplaced("a look") { _ = try peer.store.log.mergedVector(Peer.zone) }
    expectReplaced("upkeep") { try peer.upkeep() }
  }

  @Test("a file that is restored while it is open is neither flushed nor merged into")
  func restoredFile() throws {
    let peer = try peer()
    try peer.run("INSERT INTO list VALUES ('mon', 'm')")
    try peer.flush()
    let monday = try copy(peer)
    try peer.run("INSERT INTO list VALUES ('tue', 't')")
    try peer.flush()
    let number = try peer.store.log.mergedVector(Peer.zone)[peer.author]
    try monday.backup(to: peer.other)
    try peer.run("INSERT INTO list VALUES ('wed', 'w')")
    expectNothingWorks(peer)
    try peer.store.close()
    peer.store = try Store(path: peer.path, cryptography: peer.cryptography)
    #expect(try peer.store.log.mergedVector(Peer.zone)[peer.author] == number - 1)
    #expect(try peer.store.localWrites.pendingCount() == 1, "what was written after it waits for a new instance")
  }

  @Test("a copy of an earlier life with as many commits is noticed")
  func earlierLife() throws {
    let peer = try peer()
    try peer.run("INSERT INTO list VALUES ('a', '1')")
    try peer.flush()
    let earlier = try copy(peer)
    try peer.store.close()
    peer.store = try Store(path: peer.path, cryptography: peer.cryptography)
    try peer.run("UPDATE list SET title = '2'")
    try peer.flush()
    try earlier.backup(to: peer.other)
    expectNothingWorks(peer)
  }

  @Test("a database that never was a mesh's is noticed")
  func otherDatabase() throws {
    let peer = try peer()
    let other = try DatabaseQueue(
      path: ((peer.path as NSString).deletingLastPathComponent as NSString).appendingPathComponent("other.db"))
    try other.write { try $0.execute(sql: "CREATE TABLE list (id TEXT PRIMARY KEY NOT NULL, title TEXT)") }
    try other.backup(to: peer.other)
    expectNothingWorks(peer)
  }

  @Test("a copy of the file as it is changes nothing")
  func sameFile() throws {
    let peer = try peer()
    try peer.run("INSERT INTO list VALUES ('a', '1')")
    try peer.flush()
    try copy(peer).backup(to: peer.other)
    try peer.run("INSERT INTO list VALUES ('b', '2')")
    #expect(try peer.flush() == 1)
  }

  @Test("a file that is moved away, or over, is told from the open one")
  func whereabouts() throws {
    let peer = try peer()
    #expect(peer.store.file.whereabouts == .here)
    try FileManager.default.moveItem(atPath: peer.path, toPath: peer.path + ".away")
    #expect(peer.store.file.whereabouts == .gone)
    try Data().write(to: URL(fileURLWithPath: peer.path))
    guard case .replaced = peer.store.file.whereabouts else {
      Issue.record("another file is there")
      return
    }
  }

  @Test("a backup is the database as it is, and takes no existing file's place")
  func backup() throws {
    let peer = try peer()
    try peer.run("INSERT INTO list VALUES ('a', '1')")
    try peer.flush()
    let target = peer.path + ".backup"
    chmod(peer.path, 0o600)
    #expect(try DatabaseBackup.copy(databaseAt: peer.path, to: target) > 0)
    #expect(FileStatus(path: target)?.mode == 0o600)
    chmod(peer.path, 0o664)
    #expect(try DatabaseBackup.copy(databaseAt: peer.path, to: target + "3") > 0)
    #expect(FileStatus(path: target + "3")?.mode == 0o660, "the group's programs can use it in the database's place")
    let copied = try DatabaseQueue(path: target)
    #expect(try copied.read { try String.fetchAll($0, sql: "SELECT id FROM list") } == ["a"])
    #expect(throws: StoreError.self) { try DatabaseBackup.copy(databaseAt: peer.path, to: target) }
    #expect(try peer.store.file.backUp(to: target + "2") > 0)
    let second = try DatabaseQueue(path: target + "2")
    #expect(try second.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
  }

  @Test(
    "a name that SQLite takes for memory or a URI is refused",
    arguments: ["/:memory:", "/file:a.db", "/file:a.db?mode=memory"])
  func noFile(name: String) throws {
    #expect {
      _ = try DatabaseFile(path: NSTemporaryDirectory() + name)
    } throws: {
      ($0 as? StoreError)?.code == .cannotOpen
    }
  }

  @Test("a backup that fails leaves no file behind")
  func failedBackup() throws {
    let peer = try peer()
    try peer.run("INSERT INTO list VALUES ('a', '1')")
    let target = peer.path + ".backup"
    // SQLite can't make the copy's journal.
    try FileManager.default.createDirectory(atPath: target + "-journal", withIntermediateDirectories: false)
    #expect(throws: StoreError.self) { try DatabaseBackup.copy(databaseAt: peer.path, to: target) }
    #expect(FileStatus(path: target) == nil)
    #expect(throws: StoreError.self) { try peer.store.file.backUp(to: target) }
    #expect(FileStatus(path: target) == nil)
    try FileManager.default.removeItem(atPath: target + "-journal")
    #expect(try DatabaseBackup.copy(databaseAt: peer.path, to: target) > 0)
  }
}
