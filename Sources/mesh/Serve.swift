import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import MeshControl
import MeshNode
import ServiceLifecycle

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the node until it is told to stop.",
    discussion: """
      Sends what programs write to the database, listens for other devices, dials those that it knows, and answers the other \
      commands. SIGTERM and SIGINT stop it cleanly. On SIGHUP it reads config.toml again.

      Examples:
        mesh serve
        mesh serve --listen 127.0.0.1:0
        mesh serve --listen 0.0.0.0:7404 --advertise host.example:7404 --peer other.example:7404
      """)

  @OptionGroup var home: HomeOption

  @Option(
    help: ArgumentHelp(
      "The address to listen on; with port 0 the system chooses one. (default: listen in config.toml, 0.0.0.0:7404)",
      valueName: "host:port"),
    transform: ArgumentRule.address)
  var listen: HostPort?

  @Option(
    help: ArgumentHelp("The address to tell other devices.", valueName: "host:port"), transform: ArgumentRule.address)
  var advertise: HostPort?

  @Option(
    name: .customLong("peer"), help: ArgumentHelp("An address to dial. Repeatable.", valueName: "host:port"),
    transform: ArgumentRule.address)
  var peers: [HostPort] = []

  func run() async throws {
    let home = try home.open()
    LoggingSystem.bootstrap(StreamLogHandler.standardError)
    let logger = Logger(label: "mesh")
    let lock = try await lock(home, logger)
    defer { lock.release() }
    let options = ServeOptions(listen: listen, advertise: advertise, peers: peers)
    let daemon = try await NodeOpener().daemon(home: home, lock: lock, options: options, logger: logger)
    try await DaemonProcess(daemon: daemon, home: home, logger: logger).run()
  }

  /// Takes the home's lock. An app that runs the node is asked to leave it to this daemon.
  private func lock(_ home: Home, _ logger: Logger) async throws -> HomeLock {
    let client = ControlClient(home: home.path)
    let deadline = ContinuousClock.now + NodeAccess.patience
    while true {
      do {
        // The daemon waits for commands without a limit. A service that gave up would be missed, and a command is done
        // soon.
        return try await home.lock(as: .daemon, patience: nil) {
          let holder = $0.map { " (process \($0.pid))" } ?? ""
          logger.notice("Another mesh command\(holder) works on \(home.path): waiting until it is done.")
        }
      } catch let error as HomeError where error.code == .locked && ContinuousClock.now < deadline {
        do {
          let report = try await client.perform(YieldRequest(process: Int(getpid())))
          logger.notice("An app (process \(report.process)) ran the node, and leaves it to this daemon.")
        } catch let other as ControlClientError {
          // The other process is starting or stopping. A process with another version can't yield.
          guard other.code == .noDaemon || other.code == .closed else { throw Self.refusal(other, error) }
        }
      }
      try await Task.sleep(for: Self.poll)
    }
  }

  private static func refusal(_ error: ControlClientError, _ taken: HomeError) -> Refusal {
    let process = taken.holder.map { " Or stop it: kill \($0.pid)" } ?? ""
    return Refusal(code: error.refusal.code, message: error.message + process, exit: error.refusal.exit)
  }

  private static let poll = Duration.milliseconds(20)
}
