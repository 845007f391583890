public import Logging
public import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
package import MeshTransport

/// Opens nodes for the command line and for apps: new nodes, nodes without a daemon, and daemons.
public struct NodeOpener: NodeOpening {
  private let network: LocalNetwork?
  private let app: NodeApp?

  /// Creates an opener of nodes that use TCP.
  public init() { self.init(network: nil) }

  /// Creates an opener.
  ///
  /// - Parameters:
  ///   - network: The network to use instead of TCP, or nil for TCP.
  ///   - app: The app that embeds the node, or nil for a node that runs by itself.
  package init(network: LocalNetwork?, app: NodeApp? = nil) {
    (self.network, self.app) = (network, app)
  }

  /// Creates a node, or joins the account of an invite (see `NodeOpening`). Throws an `InviteFault` for a text that is not
  /// an invite, before it creates anything.
  public func initialize(
    _ options: InitOptions, home: Home, lock: HomeLock, progress: @escaping @Sendable (String) -> Void
  ) async throws -> InitReport {
    let thread = ThreadExecutor(label: "mesh.creation")
    // Tasks refer to their executor without keeping it alive.
    defer { withExtendedLifetime(thread) {} }
    return try await withTaskExecutorPreference(thread) {
      // This check comes before anything is created, so a mistyped invite leaves no file behind.
      let invite = try options.invite.map { text in try DeviceInviteContent(text: text) }
      let creation = try NodeCreation(options: options, home: home, joining: invite?.account, network: network)
      if let invite { return try await creation.join(invite, progress: progress) }
      return try await creation.createAccount()
    }
  }

  /// Opens the node without a listener and without logging (see `NodeOpening`).
  public func local(home: Home, lock: HomeLock) async throws -> any NodeControl {
    let configuration = try home.configuration()
    do {
      return try Node(
        home: home, configuration: configuration, logger: Logger(label: "mesh") { _ in SwiftLogNoOpLogHandler() })
    } catch let error as StoreError where error.code == .locked {
      throw Refusal(
        code: "database.locked",
        message: WriteLock.messageWithAdvice(
          unopened: configuration.database, "the command has waited for 5 seconds."))
    }
  }

  /// Opens the database and binds the address (see `NodeOpening`). If an app embeds the node, a locked database is an
  /// error: `StoreError` `.locked`.
  public func daemon(home: Home, lock: HomeLock, options: ServeOptions, logger: Logger) async throws -> Daemon {
    SQLiteLibrary.leaveMemoryUncounted()
    let opening = DaemonOpening(home: home, options: options, network: network, app: app, logger: logger)
    do {
      let service = try await opening.service()
      return Daemon(control: service.node, services: [service]) {
        await service.node.reload(try opening.configuration())
      }
    } catch let error as StoreError where error.code == .locked && app == nil {
      // A service that gave up would be missed, and another program's transaction ends sooner or later.
      let waiting = WaitingNode(opening)
      return Daemon(control: waiting, services: [waiting], waits: waiting.waits) { try await waiting.reload() }
    }
  }
}

/// Opens the node of a daemon, with the configuration that the home has at that time.
struct DaemonOpening: Sendable {
  let home: Home
  let options: ServeOptions
  let network: LocalNetwork?
  let app: NodeApp?
  let logger: Logger

  /// The seconds that one attempt waits for another program's lock. A daemon that waits looks after signals in between.
  /// An app has no such daemon.
  private static let lockPatience = 0.1

  func configuration() throws -> HomeConfiguration { try options.applied(to: try home.configuration()) }

  /// Opens the database and binds the address.
  ///
  /// - Throws: A `StoreError` `.locked` if another program has the database's write lock.
  func service() async throws -> NodeService {
    let configuration = try configuration()
    let node = try await Node.outside {
      try Node(
        home: home, configuration: configuration, network: network, app: app,
        lockPatience: app == nil ? Self.lockPatience : nil, logger: logger)
    }
    return NodeService(node: node, listener: try await node.listen(configuration.listen))
  }
}

extension ServeOptions {
  /// Returns the configuration with the options of the command line, which win for this run.
  fileprivate func applied(to configuration: HomeConfiguration) throws -> HomeConfiguration {
    var configuration = configuration
    if let listen { configuration.listen = listen }
    if let advertise { configuration.advertise = advertise }
    configuration.peers += peers.filter { !configuration.peers.contains($0) }
    return configuration
  }
}
