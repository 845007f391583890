import Glibc
import Hummingbird
public import Logging
public import MeshControl
import NIOCore
public import ServiceLifecycle

/// Serves a node's control interface on the home's socket until it is told to stop.
///
/// Run it in a service group after the node's own services; the home's lock is held by the caller all the while. A
/// socket file that a killed daemon left is replaced; one that somebody answers at is not.
///
/// Stop it by graceful shutdown. Cancellation may meet a connection just accepted, which NIO does not survive.
public struct ControlServer: Service {
  private let node: any NodeControl
  private let home: Home
  private let logger: Logger
  private let onAccepting: @Sendable () async -> Void

  /// `onAccepting` is called once, when the socket answers.
  public init(
    node: any NodeControl, home: Home, logger: Logger, onAccepting: @escaping @Sendable () async -> Void = {}
  ) {
    self.node = node
    self.home = home
    self.logger = logger
    self.onAccepting = onAccepting
  }

  public func run() async throws {
    let path = home.path(of: .controlSocket)
    guard !UnixSocket.isListening(at: path) else {
      throw HomeError(.locked, "Something answers at \(path) already. Stop it first.")
    }
    defer { unlink(path) }
    let application = Application(
      router: ControlRoutes(node: node).router(),
      configuration: ApplicationConfiguration(address: .unixDomainSocket(path: path)),
      onServerRunning: { _ in
        // The directory keeps others out already; the mode says so to whoever looks.
        chmod(path, 0o600)
        await onAccepting()
      },
      logger: quiet)
    try await application.run()
  }

  /// Hummingbird tells of each start; the daemon's own line is enough.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}
