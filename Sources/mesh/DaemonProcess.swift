import FoundationEssentials
import Logging
import MeshControl
import MeshNode
import ServiceLifecycle
import UnixSignals

/// A daemon as a process: the node's services, the control socket above them, and what signals mean.
struct DaemonProcess {
  let daemon: Daemon
  let home: Home
  let logger: Logger

  /// For a flush and a goodbye to every peer. After it work is cancelled.
  private static let stopLimit = Duration.seconds(10)
  /// After it the process ends whatever is left: less than the 90 s that systemd allows.
  private static let cancelLimit = Duration.seconds(5)

  func run() async throws {
    let notification = ServiceNotification(environment: ProcessInfo.processInfo.environment)
    let control = ControlServer(node: daemon.control, home: home, logger: logger) {
      logger.info("The node runs.", metadata: ["home": "\(home.path)"])
      notification.ready()
    }
    let reload = ReloadOnHangup(reload: daemon.reload, logger: logger)
    // A service that ends or fails takes the others with it in good order; its error is thrown when all have stopped.
    let services = (daemon.services + [reload, control, StoppingNotice(notification: notification)]).map {
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

  /// The service group tells of each step at debug and info; a person wants the steps of the node.
  private var quiet: Logger {
    var logger = logger
    logger.logLevel = max(logger.logLevel, .warning)
    return logger
  }
}

/// Tells the service manager that the end has begun. Last in the group, so the first to hear of it.
private struct StoppingNotice: Service {
  let notification: ServiceNotification

  func run() async throws {
    try await gracefulShutdown()
    notification.stopping()
  }
}

/// Reads the configuration again on each SIGHUP; one that is wrong is reported and changes nothing.
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
        logger.error("The configuration was not taken.", metadata: ["reason": "\(reason)"])
      }
    }
  }
}
