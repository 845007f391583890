package import Logging
package import MeshControl
import MeshCore
package import MeshTransport
import ServiceLifecycle

/// A node in the process of an app. It does what `mesh serve` does, and answers the verbs of its home as well.
package struct EmbeddedNode: Sendable {
  /// Answers the app's requests, without a socket.
  package let control: any NodeControl
  private let group: ServiceGroup

  /// Opens the node and binds its address. Nobody is answered before it runs.
  ///
  /// If the address is that of `config.toml` and another program has it, the node takes a free port instead: an app goes on
  /// beside another one.
  ///
  /// - Parameters:
  ///   - lock: Held by the caller until the node has stopped.
  ///   - network: Used instead of TCP. Such a node has no control socket either.
  ///   - keepsRows: Asked about each share that others end for this account, by its id, whether its rows stay.
  package static func open(
    home: Home, lock: HomeLock, options: ServeOptions, network: LocalNetwork?,
    keepsRows: (@Sendable (String) -> Bool)? = nil, logger: Logger
  ) async throws -> EmbeddedNode {
    var isAsked: (@Sendable (ZoneID) -> Bool)?
    if let keepsRows { isAsked = { keepsRows($0.description) } }
    let opener = NodeOpener(network: network, keepsRows: isAsked)
    let daemon: Daemon
    do {
      daemon = try await opener.daemon(home: home, lock: lock, options: options, logger: logger)
    } catch let error as TransportError where error.code == .addressInUse && options.listen == nil {
      var options = options
      let configured = try home.configuration().listen
      options.listen = HostPort(host: configured.host, port: 0)
      daemon = try await opener.daemon(home: home, lock: lock, options: options, logger: logger)
      logger.warning(
        """
        \(configured) is used by another program, so this node listens on a free port, and devices that dial \(configured) \
        don't reach it. Set another address: listen in \(home.path(of: .configuration))
        """)
    }
    let control = network == nil ? [ControlServer(node: daemon.control, home: home, logger: logger)] : []
    return EmbeddedNode(control: daemon.control, services: daemon.services + control, logger: logger)
  }

  private init(control: any NodeControl, services: [any Service], logger: Logger) {
    self.control = control
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let services = services.map {
      ServiceGroupConfiguration.ServiceConfiguration(
        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
        failureTerminationBehavior: .gracefullyShutdownGroup)
    }
    // Signals are the app's.
    group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: quiet))
  }

  /// Works until `stop` is called, and returns when everything is closed.
  package func run() async throws { try await group.run() }

  /// Has `run` flush what is pending, say goodbye and return.
  package func stop() async { await group.triggerGracefulShutdown() }
}
