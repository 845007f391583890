import CSQLite
import Foundation
import MeshCore
import Testing

@testable import MeshStore

/// Who begins the write-ahead log anew while a node works with the file.
@Suite struct WALGuardTests {
  private static let schema = "CREATE TABLE item (id INTEGER PRIMARY KEY NOT NULL, title BLOB)"
  private let clock = FixedClock()

  private func guarded() throws -> (Peer, GuardConnection) {
    let peer = try Peer(1, schema: Self.schema)
    try peer.store.file.startGuard(clock: clock)
    return (peer, try GuardConnection(path: peer.path, vfs: nil))
  }

  /// Commits and copies everything, several times: without a guard the log begins anew each time.
  private func writeAndCheckpoint(_ connection: GuardConnection, times: Int = 5) throws {
    for _ in 0..<times {
      try connection.run("INSERT INTO item (title) VALUES (randomblob(3000))")
      _ = try connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    }
  }

  private func salt(_ connection: GuardConnection) throws -> UInt64 { try #require(try connection.index()).salt }

  @Test("without the guard, any writer resets the write-ahead log") func withoutItAnyWriterDoes() throws {
    let peer = try Peer(1, schema: Self.schema)
    let other = try GuardConnection(path: peer.path, vfs: nil)
    try writeAndCheckpoint(other)
    let before = try salt(other)
    try writeAndCheckpoint(other)
    #expect(try salt(other) != before)
  }

  @Test("with the guard, no writer or checkpoint resets the write-ahead log") func withItNobodyDoes() throws {
    let (peer, other) = try guarded()
    #expect(peer.store.file.walStatus().isGuarded)
    let before = try salt(other)
    for _ in 0..<10 {
      try writeAndCheckpoint(other)
      try peer.store.file.startGuard(clock: clock).look()
    }
    #expect(try salt(other) == before)
    #expect(try !other.checkpoint(SQLITE_CHECKPOINT_RESTART))
    #expect(try !other.checkpoint(SQLITE_CHECKPOINT_TRUNCATE))
    #expect(try salt(other) == before)
    #expect(peer.store.file.walStatus().resets == 0 && peer.store.file.walStatus().foreignResets == 0)
  }

  @Test("the guard writes a frame into an empty log and then holds it") func anEmptyLogGetsAFrameToReadFrom() throws {
    let peer = try Peer(1, schema: Self.schema)
    let other = try GuardConnection(path: peer.path, vfs: nil)
    _ = try other.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    try peer.store.file.startGuard(clock: clock)
    #expect(peer.store.file.walStatus().isGuarded)
    #expect(try #require(try other.index()).frames > 0)
    let before = try salt(other)
    try writeAndCheckpoint(other)
    #expect(try salt(other) == before)
  }

  @Test("the guard empties a fully checkpointed log before it starts") func aLogThatIsAllCopiedIsEmptiedFirst() throws {
    let peer = try Peer(1, schema: Self.schema)
    let other = try GuardConnection(path: peer.path, vfs: nil)
    try other.run("INSERT INTO item (title) VALUES (randomblob(300000))")
    _ = try other.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    #expect(try #require(try other.index()).isCopied)
    try peer.store.file.startGuard(clock: clock)
    let status = peer.store.file.walStatus()
    #expect(status.isGuarded && status.resets == 1)
    #expect(status.bytes < 100_000)
  }

  @Test("the guard empties the log when it grows beyond its bound") func beyondItsBoundTheLogIsEmptied() throws {
    let (peer, other) = try guarded()
    for _ in 0..<40 {
      try other.run("INSERT INTO item (title) VALUES (randomblob(1000000))")
      try peer.store.file.startGuard(clock: clock).look()
      #expect(peer.store.file.walStatus().bytes < WALKeeper.bound + 4 << 20)
      #expect(peer.store.file.walStatus().isGuarded)
    }
    #expect(peer.store.file.walStatus().resets == 2)
    #expect(peer.store.file.walStatus().foreignResets == 0)
  }

  @Test("the store's own commits keep the log within its bound without a look")
  func theStoresOwnCommitsKeepTheBoundWithoutALook() throws {
    let (peer, other) = try guarded()
    for _ in 0..<40 {
      try peer.store.access.write { try $0.sql.run("INSERT INTO item (title) VALUES (randomblob(1000000))") }
      #expect(peer.store.file.walStatus().bytes < WALKeeper.bound + 4 << 20)
    }
    #expect(try other.integer("SELECT count(*) FROM item") == 40)
  }

  @Test("if regular looks are expected, the store leaves a long log to the next look")
  func whereSomebodyLooksTheStoreLeavesALongLogToTheNextLook() throws {
    let (peer, other) = try guarded()
    let walGuard = try peer.store.file.startGuard(clock: clock)
    walGuard.expectRegularLooks()
    try other.run("INSERT INTO item (title) VALUES (zeroblob(\(WALKeeper.alarm + 1 << 20)))")
    try peer.store.access.write { try $0.sql.run("INSERT INTO item (title) VALUES (1)") }
    #expect(peer.store.file.walStatus().bytes > WALKeeper.alarm)
    try walGuard.look()
    #expect(peer.store.file.walStatus().bytes < WALKeeper.bound)
  }

  @Test("a reader of an old snapshot delays the reset until it ends")
  func aReaderOfAnOldSnapshotDelaysTheReset() throws {
    let (peer, other) = try guarded()
    let reader = try GuardConnection(path: peer.path, vfs: nil)
    try other.run("INSERT INTO item (title) VALUES (1)")
    try reader.beginReading()
    for _ in 0..<30 {
      try other.run("INSERT INTO item (title) VALUES (randomblob(1000000))")
      clock.now += 20_000
      try peer.store.file.startGuard(clock: clock).look()
    }
    var status = peer.store.file.walStatus()
    #expect(status.bytes > 30_000_000, "frames that somebody may read are not copied")
    #expect(status.heldUpSince != nil && status.resets == 0 && status.isGuarded)
    reader.endReading()
    clock.now += 20_000
    try peer.store.file.startGuard(clock: clock).look()
    status = peer.store.file.walStatus()
    #expect(status.heldUpSince == nil && status.resets == 1 && status.isGuarded)
    #expect(status.bytes < 100_000)
  }

  @Test("the guard pauses between attempts, and a clock that is set back ends the pause")
  func betweenAttemptsThereArePauses() throws {
    let (peer, other) = try guarded()
    let reader = try GuardConnection(path: peer.path, vfs: nil)
    try other.run("INSERT INTO item (title) VALUES (randomblob(20000000))")
    try reader.beginReading()
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().heldUpSince == clock.now)
    reader.endReading()
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().resets == 0, "it is not time yet")
    clock.now -= 3_600_000
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().resets == 1, "a clock that was set back ends no guarding")
  }

  @Test("the guard tries again later while another connection has the write lock")
  func whileSomebodyHasTheWriteLockTheGuardGoesOnLater() throws {
    let (peer, other) = try guarded()
    try other.run("INSERT INTO item (title) VALUES (randomblob(20000000))")
    try other.run("BEGIN IMMEDIATE")
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().resets == 0 && peer.store.file.walStatus().isGuarded)
    try other.run("COMMIT")
    clock.now += 1_000
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().resets == 1 && peer.store.file.walStatus().isGuarded)
  }

  /// A busy handler that lets the guard look, as its node does meanwhile.
  private final class Waiter {
    let look: () throws -> Void
    var looks = 0
    init(_ look: @escaping () throws -> Void) { self.look = look }
  }

  @Test(
    "a checkpoint that waits for the guard succeeds at the guard's next look",
    arguments: [SQLITE_CHECKPOINT_FULL, SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE])
  func aCheckpointThatWaitsForTheGuardIsLetThrough(mode: Int32) throws {
    let (peer, other) = try guarded()
    try other.run("INSERT INTO item (title) VALUES (1)")
    let waiter = Waiter { try peer.store.file.startGuard(clock: clock).look() }
    sqlite3_busy_handler(
      other.handle,
      { context, _ in
        guard let context else { return 0 }
        let waiter = Unmanaged<Waiter>.fromOpaque(context).takeUnretainedValue()
        waiter.looks += 1
        return (try? waiter.look()) != nil && waiter.looks < 10 ? 1 : 0
      }, Unmanaged.passUnretained(waiter).toOpaque())
    #expect(try other.checkpoint(mode))
    #expect(waiter.looks > 0)
    try peer.store.file.startGuard(clock: clock).look()
    #expect(peer.store.file.walStatus().isGuarded)
    let before = try salt(other)
    try writeAndCheckpoint(other)
    #expect(try salt(other) == before)
  }

  @Test("the kernel's table of locks yields the processes that hold each lock")
  func readersAreFoundInTheKernelsTableOfLocks() {
    let table = """
      1: POSIX  ADVISORY  READ 1779 fe:00:16320802 124 124
      2: POSIX  ADVISORY  READ 1779 fe:00:16320802 128 128
      3: POSIX  ADVISORY  WRITE 1780 fe:00:16320802 120 121
      4: POSIX  ADVISORY  READ 1781 fe:00:16320802 123 123
      4: -> POSIX  ADVISORY  WRITE 1784 fe:00:16320802 124 127
      5: POSIX  ADVISORY  READ 1782 fe:00:99 125 125
      6: FLOCK  ADVISORY  WRITE 1783 fe:00:16320802 0 EOF
      7: POSIX  ADVISORY  READ 1785 fe:00:16320802 126 126
      """
    #expect(LockHolder.pids(LockHolder.Lock.marks, inode: 16_320_802, locks: table) == [1779, 1785])
    #expect(LockHolder.pids(LockHolder.Lock.open, inode: 16_320_802, locks: table) == [1779])
    #expect(LockHolder.pids(LockHolder.Lock.write, inode: 16_320_802, locks: table) == [1780])
  }
}
