import CSQLite
import CSQLiteTesting
import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// SQLite's fault itself: a writer begins the log anew while another connection is about to checkpoint it.
@Suite struct WALResetTests {
  /// One program checkpoints, another commits at the worst moment, both close. Returns how many of the last commits are
  /// in the file then.
  private func commitsThatSurvive(_ peer: Peer) throws -> Int {
    let writer = try GuardConnection(path: peer.path, vfs: nil)
    let checkpointer = try GuardConnection(path: peer.path, vfs: nil)
    defer { for connection in [writer, checkpointer] { connection.close() } }
    try writer.run(
      """
      WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 2000)
      INSERT INTO item SELECT 'old' || n, hex(randomblob(200)) FROM i
      """)
    _ = try writer.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    // Old frames in the log's place, and the checkpointer's copy of the index older than the log.
    try checkpoint(checkpointer) { try writer.run("INSERT INTO item VALUES ('new1', 'x')") }
    try writer.run("INSERT INTO item VALUES ('new2', 'x')")
    checkpointer.close()
    writer.close()
    try peer.other.close()
    try peer.store.close()
    let reader = try GuardConnection(path: peer.path, vfs: nil)
    defer { reader.close() }
    return Int(try reader.integer("SELECT count(*) FROM item WHERE id IN ('new1', 'new2')") ?? 0)
  }

  private final class Interruption {
    var act: (() throws -> Void)?
    var failure: (any Error)?
    private(set) var happened = false
    func run() {
      guard let act else { return }
      self.act = nil
      happened = true
      do { try act() } catch { failure = error }
    }
  }

  /// Calls `act` between the checkpoint's look at the log's index and its copying.
  private func checkpoint(_ connection: GuardConnection, interruptedBy act: @escaping () throws -> Void) throws {
    let interruption = Interruption()
    interruption.act = act
    let installed = mesh_pause_install(
      connection.handle,
      { context in
        guard let context else { return }
        Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue().run()
      }, Unmanaged.passUnretained(interruption).toOpaque())
    let pause = try #require(installed)
    defer { mesh_pause_remove(connection.handle, pause) }
    _ = try connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    if let failure = interruption.failure { throw failure }
    #expect(interruption.happened)
  }

  private func peer() throws -> Peer {
    try Peer(1, schema: "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)")
  }

  @Test(
    "without the guard, a reset during a checkpoint loses commits",
    .enabled(if: SQLiteLibrary.loaded.losesCommitsOnReset, "this SQLite is mended"))
  func withoutTheGuardCommitsAreLost() throws {
    #expect(try commitsThatSurvive(peer()) < 2)
  }

  @Test("with the guard, a write during a checkpoint loses no commits") func withTheGuardTheyAreNot() throws {
    let peer = try peer()
    try peer.store.file.startGuard(clock: FixedClock())
    #expect(try commitsThatSurvive(peer) == 2)
  }

  @Test(
    "the versions of SQLite that lose commits on a reset are known",
    arguments: [
      (3_006_023, false), (3_007_000, true), (3_040_001, true), (3_044_005, true), (3_044_006, false),
      (3_045_000, true),
      (3_050_006, true), (3_050_007, false), (3_051_002, true), (3_051_003, false), (3_052_000, false),
    ])
  func versionsWithTheFaultAreKnown(number: Int32, isAffected: Bool) {
    #expect(SQLiteLibrary(number: number).losesCommitsOnReset == isAffected)
  }
}

/// Stands still until it is told.
final class FixedClock: TimeSource, @unchecked Sendable {
  // Tests use it on one thread.
  var now: Int64 = 1_800_000_000_000
  func milliseconds() -> Int64 { now }
}
