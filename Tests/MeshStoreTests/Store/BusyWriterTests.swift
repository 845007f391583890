import Foundation
import GRDB
import MeshCore
import Synchronization
import Testing

@testable import MeshStore

/// Beside a program that writes without a pause, the node comes to its turn.
@Suite struct BusyWriterTests {
  /// Commits again and again until it is told to stop; never leaves the lock for longer than it takes to ask for it again.
  private final class Writer: Sendable {
    private let isStopped = Atomic(false)
    let commits = Atomic(0)

    func run(_ path: String) throws {
      var configuration = Configuration()
      configuration.busyMode = .timeout(30)
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      while !isStopped.load(ordering: .relaxed) {
        try queue.write { db in
          for _ in 0..<300 {
            try db.execute(sql: "INSERT INTO item VALUES (lower(hex(randomblob(16))), 'busy')")
          }
        }
        commits.add(1, ordering: .relaxed)
      }
      try queue.close()
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
  }

  @Test("rows that are written after a time are told from those that were pending then")
  func writtenSince() throws {
    let peer = try Peer(1, schema: "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)", track: ["item"])
    try peer.flush()
    let pending = peer.store.localWrites
    #expect(try !pending.hasOnlyPending(since: 0))
    try peer.run("INSERT INTO item VALUES ('a', 'first')")
    let first = try #require(try peer.store.figures.oldestPending())
    #expect(try pending.hasOnlyPending(since: first - 1))
    #expect(try !pending.hasOnlyPending(since: first))
  }

  /// On threads of their own: those of tasks are as few as processors, and other tests hold them.
  @Test("the store flushes changes while another program commits without a pause")
  func itsChangesAreFlushedWhileItWrites() async throws {
    let flushed = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Self.flushesBesideAWriter() }) }
    }
    #expect(flushed == 5)
  }

  /// Until five flushes have found something, or a time that a starved node would need.
  private static func flushesBesideAWriter() throws -> Int {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)"
    let peer = try Peer(1, schema: schema, track: ["item"])
    let path = peer.path
    let writer = Writer()
    let ended = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Thread.detachNewThread {
      do { try writer.run(path) } catch { failure.withLock { $0 = error } }
      ended.signal()
    }
    let deadline = ContinuousClock.now + .seconds(60)
    var flushed = 0
    while flushed < 5, ContinuousClock.now < deadline, failure.withLock({ $0 == nil }) {
      let before = writer.commits.load(ordering: .relaxed)
      if (try? peer.store.localWrites.flush(peer.writer, now: peer.now))?.head != nil { flushed += 1 }
      while writer.commits.load(ordering: .relaxed) == before, ContinuousClock.now < deadline,
        failure.withLock({ $0 == nil })
      {
        sched_yield()
      }
    }
    writer.stop()
    ended.wait()
    if let error = failure.withLock({ $0 }) { throw error }
    return flushed
  }
}
