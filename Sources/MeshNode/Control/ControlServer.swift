import Glibc
import Hummingbird
public import Logging
public import MeshControl
import NIOCore
public import ServiceLifecycle

/// Serves a node's control interface on the home's socket until it is told to stop.
///
/// Run it in a service group after the node's own services. The caller holds the home's lock the whole time. The server
/// replaces the socket file of a killed daemon, but not one at which a process answers.
///
/// Stop it by graceful shutdown. A cancellation may hit a connection that was just accepted, which makes NIO crash.
public struct ControlServer: Service {
  private let node: any NodeControl
  private let home: Home
  private let logger: Logger
  private let onAccepting: @Sendable () async -> Void

  /// Creates the server.
  ///
  /// - Parameter onAccepting: Called once, when the socket answers.
  public init(
    node: any NodeControl, home: Home, logger: Logger, onAccepting: @escaping @Sendable () async -> Void = {}
  ) {
    self.node = node
    self.home = home
    self.logger = logger
    self.onAccepting = onAccepting
  }

  /// Serves until graceful shutdown, and removes the socket file. Throws a `HomeError` `.locked` if a process answers
  /// at the socket already.
  public func run() async throws {
    let path = home.path(of: .controlSocket)
    guard !UnixSocket.isListening(at: path) else {
      throw HomeError(.locked, "something answers at \(path) already. Stop it first.")
    }
    defer { unlink(path) }
    let application = Application(
      router: ControlRoutes(node: node).router(),
      configuration: ApplicationConfiguration(address: .unixDomainSocket(path: path)),
      onServerRunning: { _ in
        // The directory already excludes other users. The socket's mode shows the same.
        chmod(path, 0o600)
        await onAccepting()
      },
      logger: quiet)
    try await application.run()
  }

  /// A logger without Hummingbird's message about each start, because the daemon logs its own.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}
