import Logging
import MeshNode

/// Where the command line meets the node.
struct NodeFactory: NodeOpening {
  func initialize(
    _ options: InitOptions, home: Home, lock: HomeLock, progress: @escaping @Sendable (String) -> Void
  ) async throws -> InitReport {
    throw Self.missing
  }

  func local(home: Home, lock: HomeLock) async throws -> any NodeControl { throw Self.missing }

  func daemon(home: Home, lock: HomeLock, options: ServeOptions, logger: Logger) async throws -> Daemon {
    throw Self.missing
  }

  private static let missing = Refusal(
    code: "node.missing", message: "This build of mesh has the command line and no node yet.")
}
