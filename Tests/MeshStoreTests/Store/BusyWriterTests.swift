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

  @Test func itsChangesAreFlushedWhileItWrites() async throws {
    let schema = "CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, title TEXT)"
    let peer = try Peer(1, schema: schema, track: ["item"])
    let path = peer.path
    let writer = Writer()
    async let writing: Void = writer.run(path)
    let deadline = ContinuousClock.now + .seconds(30)
    var flushed = 0
    while flushed < 5, ContinuousClock.now < deadline {
      let before = writer.commits.load(ordering: .relaxed)
      if (try? peer.store.flush(peer.writer, now: peer.now))?.head != nil { flushed += 1 }
      while writer.commits.load(ordering: .relaxed) == before, ContinuousClock.now < deadline { await Task.yield() }
    }
    writer.stop()
    try await writing
    #expect(flushed == 5)
  }
}
