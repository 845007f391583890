package import Logging
package import MeshControl
package import MeshTransport
import ServiceLifecycle

/// A node in the process of an app. It does the same as `mesh serve`, and also answers the commands on its home.
package struct EmbeddedNode: Sendable {
  /// The control interface for the app's own requests, without a socket.
  package let control: any NodeControl
  private let group: ServiceGroup

  /// Opens the node and binds its address. It answers nothing before it runs.
  ///
  /// If the address comes from `config.toml` and another program uses it, the node takes a free port instead. An app
  /// can therefore run beside another one.
  ///
  /// - Parameters:
  ///   - lock: The home's lock, which the caller holds until the node has stopped.
  ///   - network: The network to use instead of TCP, or nil for TCP. With a network, the node has no control socket
  ///     either.
  ///   - app: The app's part in the node.
  package static func open(
    home: Home, lock: HomeLock, options: ServeOptions, network: LocalNetwork?,
    app: NodeApp, logger: Logger
  ) async throws -> EmbeddedNode {
    let opener = NodeOpener(network: network, app: app)
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
    // Signals belong to the app.
    group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: quiet))
  }

  /// Runs the node until `stop` is called, and returns when everything is closed.
  package func run() async throws { try await group.run() }

  /// Makes `run` flush the pending rows, say goodbye and return.
  package func stop() async { await group.triggerGracefulShutdown() }
}
