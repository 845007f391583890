import Dispatch
import Foundation
import Logging
import Testing

@testable import MeshNode

@Suite struct NodeThreadTests {
  @Test("nodes that wait for their databases leave the threads of other tasks alone", .timeLimit(.minutes(1)))
  func waitingNodes() async throws {
    try await withTemporaryDirectory { root in
      // More than the cooperative pool has threads.
      let count = ProcessInfo.processInfo.activeProcessorCount + 1
      let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...count {
          let node = try await Self.node(at: "\(root)/\(number)")
          group.addTask {
            await node.withParts { _ in
              begun.signal()
              ended.wait()
            }
            await node.close()
          }
        }
        group.addTask {
          // This waits on a thread of Dispatch, and is resumed on the cooperative pool.
          try await Node.outside { for _ in 1...count { begun.wait() } }
          for _ in 1...count { ended.signal() }
        }
        try await group.waitForAll()
      }
    }
  }

  private static func node(at path: String) async throws -> Node {
    let home = try Home.create(at: path)
    let lock = try home.lock(as: .verb)
    defer { lock.release() }
    _ = try await NodeOpener().initialize(
      InitOptions(database: "\(path)/app.db", accountName: "alice", deviceName: "tower"), home: home, lock: lock
    ) { _ in }
    return try Node(home: home, configuration: try home.configuration(), logger: Logger(label: "test"))
  }
}
