import FoundationEssentials
import Logging
import MeshControl
import MeshNode
import ServiceLifecycle
import UnixSignals

/// A daemon as a process: the node's services, the control socket above them, and the handling of signals.
struct DaemonProcess {
  let daemon: Daemon
  let home: Home
  let logger: Logger

  /// The time for a flush and a goodbye to every peer. After it, the remaining work is cancelled.
  private static let stopLimit = Duration.seconds(10)
  /// The time after which the process ends in any case. It is less than the 90 s that systemd allows.
  private static let cancelLimit = Duration.seconds(5)

  func run() async throws {
    let notification = ServiceNotification(environment: ProcessInfo.processInfo.environment)
    let (accepting, acceptance) = AsyncStream.makeStream(of: Never.self)
    let control = ControlServer(node: daemon.control, home: home, logger: logger) { acceptance.finish() }
    let notices = Notices(
      notification: notification, accepting: accepting, waits: daemon.waits, home: home, logger: logger)
    let reload = ReloadOnHangup(reload: daemon.reload, logger: logger)
    // A service that ends or fails stops the others in order. Its error is thrown when all have stopped.
    let services = (daemon.services + [reload, control, notices]).map {
      ServiceGroupConfiguration.ServiceConfiguration(
        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
        failureTerminationBehavior: .gracefullyShutdownGroup)
    }
    var configuration = ServiceGroupConfiguration(
      services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet)
    configuration.maximumGracefulShutdownDuration = Self.stopLimit
    configuration.maximumCancellationDuration = Self.cancelLimit
    let group = ServiceGroup(configuration: configuration)
    try await group.run()
  }

  /// A logger without the steps of the service group, which it logs at debug and info. A person wants the steps of the
  /// node.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}

/// Tells the service manager when the node runs, what it waits for until then, and when the shutdown has begun. It is last
/// in the group, so it is the first to know.
private struct Notices: Service {
  let notification: ServiceNotification
  /// Ends once the control socket answers.
  let accepting: AsyncStream<Never>
  let waits: AsyncStream<String>
  let home: Home
  let logger: Logger

  func run() async throws {
    for await _ in accepting.cancelOnGracefulShutdown() {}
    for await reason in waits.cancelOnGracefulShutdown() { notification.waiting(reason) }
    if !Task.isShuttingDownGracefully {
      logger.info("The node runs.", metadata: ["home": "\(home.path)"])
      notification.ready()
    }
    try await gracefulShutdown()
    notification.stopping()
  }
}

/// Reads the configuration again on each SIGHUP. A wrong configuration is reported and changes nothing.
private struct ReloadOnHangup: Service {
  let reload: @Sendable () async throws -> Void
  let logger: Logger

  func run() async throws {
    for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
      do {
        try await reload()
        logger.info("The configuration was read again.")
      } catch {
        let reason = (error as? any Refusing)?.refusal.message ?? "\(type(of: error))"
        logger.error("config.toml was not used. The former settings stay.", metadata: ["reason": "\(reason)"])
      }
    }
  }
}
