import ArgumentParser
import FoundationEssentials
import Logging
import MeshNode
import ServiceLifecycle

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the node until it is told to stop.",
    discussion: """
      Sends what programs write to the database, listens for other devices, dials those that it knows, and answers the other \
      verbs. SIGTERM and SIGINT stop it cleanly. On SIGHUP it reads config.toml again.

      Examples:
        mesh serve
        mesh serve --listen 127.0.0.1:0
        mesh serve --listen 0.0.0.0:7404 --advertise host.example:7404 --peer other.example:7404
      """)

  @OptionGroup var home: HomeOption

  @Option(
    help: ArgumentHelp(
      "The address to listen on; with port 0 the system chooses one. (default: listen in config.toml, 0.0.0.0:7404)",
      valueName: "host:port"))
  var listen: HostPort?

  @Option(help: ArgumentHelp("The address to tell other devices.", valueName: "host:port"))
  var advertise: HostPort?

  @Option(name: .customLong("peer"), help: ArgumentHelp("An address to dial. Repeatable.", valueName: "host:port"))
  var peers: [HostPort] = []

  func run() async throws {
    let home = try home.open()
    LoggingSystem.bootstrap(StreamLogHandler.standardError)
    let logger = Logger(label: "mesh")
    // The daemon waits without a limit. A service that gave up would be missed, and a command is done soon.
    let lock = try await home.lock(as: .daemon, patience: nil) {
      let holder = $0.map { " (process \($0.pid))" } ?? ""
      logger.notice("Another mesh command\(holder) works on \(home.path): waiting until it is done.")
    }
    defer { lock.release() }
    let options = ServeOptions(listen: listen, advertise: advertise, peers: peers)
    let daemon = try await NodeOpener().daemon(home: home, lock: lock, options: options, logger: logger)
    try await DaemonProcess(daemon: daemon, home: home, logger: logger).run()
  }
}
