import Logging
import MeshCore
import MeshStore
import MeshTransport
import ServiceLifecycle

/// A running node: it listens, dials, watches the database, flushes and merges until it is told to stop.
struct NodeService: Service {
  let node: Node
  /// The listener, which is already bound. An address that isn't available is reported before anything runs.
  let listener: Listener

  /// The time between two ticks of the replica while they have something to do. It is short compared with the replica's
  /// timeouts. Otherwise there is one tick each second beat.
  private static let tick = Duration.milliseconds(200)
  /// The time for the goodbyes to leave.
  private static let farewell = Duration.seconds(1)

  func run() async throws {
    let guardThread = ThreadExecutor(label: "mesh.guard")
    // Tasks refer to their executor without keeping it alive.
    defer { withExtendedLifetime(guardThread) {} }
    try await node.withParts { try $0.database.beginGuard() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await listener.run { await node.serve($0, dialled: nil) } }
      group.addTask(executorPreference: node.executor) { await node.runWork() }
      group.addTask { await runTicks() }
      group.addTask(executorPreference: guardThread) { await keepGuard() }
      group.addTask { await lookAtEquality() }
      group.addTask(executorPreference: node.executor) { await DatabaseWatcher(node: node).run() }
      group.addTask { await Dialler(node: node).run() }
      group.addTask {
        try? await gracefulShutdown()
        await node.stop()
        try? await node.waitForLinks(atMost: Self.farewell)
        throw CancellationError()
      }
      do {
        while try await group.next() != nil {}
      } catch is CancellationError {
      }
      group.cancelAll()
    }
    await node.close()
  }

  /// The time between two checks of the write-ahead log. After two checks, a program that waits for the guard is let
  /// through. That program and those that wait for it therefore wait little longer than the lock budget.
  private static let guardInterval = Duration.milliseconds(20)
  /// After so many checks without activity, there is one check each beat. An idle node then uses little processor time,
  /// and the first waiting program waits longer.
  private static let quietLooks = 50

  /// Maintains the guard outside the node's turn, because the node may itself wait for the program that waits for the
  /// guard. It blocks while a program has the guard's lock.
  private func keepGuard() async {
    var quiet = 0
    while !Task.isCancelled {
      do {
        quiet = try node.currentGuard.look() ? 0 : quiet + 1
      } catch {
        await node.withParts { $0.driver.report(error) }
      }
      if quiet > Self.quietLooks { await Beat.wait() } else { try? await Task.sleep(for: Self.guardInterval) }
    }
  }

  private func lookAtEquality() async {
    while !Task.isCancelled {
      await node.withParts { $0.driver.compareWithMembers() }
      try? await Task.sleep(for: EqualityWatch.interval)
    }
  }

  private func runTicks() async {
    while !Task.isCancelled {
      if await node.withParts({ $0.driver.tick() }) {
        try? await Task.sleep(for: Self.tick)
      } else {
        await Beat.wait(period: 2)
      }
    }
  }
}
