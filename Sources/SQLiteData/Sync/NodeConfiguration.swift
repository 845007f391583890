public import Dependencies
import Foundation
import Logging
import MeshNode
import MeshTransport

/// The configuration of a sync engine's node: the place of its keys, the address for other devices, and the addresses
/// to dial.
///
/// Every value has a default, so most apps need none of this.
public struct NodeConfiguration: Sendable {
  /// The directory with the device's keys. Nil means the home of the node that synchronized this database before. For a
  /// new database, nil means `APP/mesh` below `$XDG_STATE_HOME`, which is `~/.local/state` if that variable isn't set.
  public var home: String?
  /// The device's name in lists. Nil means the name of the machine.
  public var device: String?
  /// The address at which other devices reach this one, such as `"0.0.0.0:7404"`. Nil means `listen` in the home's
  /// `config.toml`, which is initially `0.0.0.0:7404`. With port 0, the system chooses another port at each start. Other
  /// devices then can't dial this one again after a restart, so use it for tests only.
  public var listen: String?
  /// The address that other devices are told to dial, if it differs from `listen`.
  public var advertise: String?
  /// The addresses of other devices to dial, in addition to those known from invites.
  public var peers: [String]
  /// The network between devices. Nil means TCP, or in a test or a preview the process's own network.
  public var network: Network?

  /// Creates a configuration.
  public init(
    home: String? = nil, device: String? = nil, listen: String? = nil, advertise: String? = nil, peers: [String] = [],
    network: Network? = nil
  ) {
    (self.home, self.device, self.listen) = (home, device, listen)
    (self.advertise, self.peers, self.network) = (advertise, peers, network)
  }

  /// A network between devices.
  public struct Network: Sendable {
    let local: LocalNetwork?

    /// The network of the machine.
    public static let tcp = Network(local: nil)
    /// A network inside this process, without open ports. All engines of the process that use it can reach each other.
    public static let inProcess = Network(local: .ofProcess)

    /// Returns a network inside this process for the engines that you give it to.
    ///
    /// - Parameter date: The clock of these engines, by which they date edits and invites. Nil means the clock of the
    ///   machine. An edit gets at most the date of this clock, and at most the date of the machine's.
    public static func separate(date: DateGenerator? = nil) -> Network {
      guard let date else { return Network(local: LocalNetwork()) }
      return Network(local: LocalNetwork { Int64(date().timeIntervalSince1970 * 1_000) })
    }
  }
}

/// A node's configuration with all defaults resolved.
struct NodePlan: Sendable {
  let database: String
  /// The home that the app names.
  private let named: String?
  /// The home of a database that has none yet.
  private let proposed: String
  let account: String
  let device: String
  let options: ServeOptions
  let network: LocalNetwork?

  init(_ configuration: NodeConfiguration, account: String?, database: String, context: DependencyContext) throws {
    self.database = database
    named = try configuration.home.map { try Home.absolute($0) }
    proposed = context == .live ? Self.homeOfApp() : DatabasePlace.temporaryHome()
    self.account = account ?? Self.name(ProcessInfo.processInfo.environment["USER"], else: "account")
    device = configuration.device ?? Self.name(ProcessInfo.processInfo.hostName, else: "device")
    network = (configuration.network ?? (context == .live ? .tcp : .inProcess)).local
    options = ServeOptions(
      listen: try configuration.listen.map(Self.address), advertise: try configuration.advertise.map(Self.address),
      peers: try configuration.peers.map(Self.address))
  }

  /// The home of the node: the one that the app names, the one that belongs to the database, or a new one. Another
  /// program may have made one for the database in the meantime.
  var home: String { named ?? Home.last(of: database)?.path ?? proposed }

  /// The wall clock of the node, in milliseconds since 1970.
  var now: Int64 { network?.wallClock?() ?? Int64(Date().timeIntervalSince1970 * 1_000) }

  /// The time that another process may keep the home, such as a starting daemon or a running command.
  static let patience = Duration.seconds(15)

  /// Creates the home with a new account, unless another process has just done it.
  ///
  /// - Returns: The home, and whether this call made its account.
  /// - Throws: For example a `HomeError` `.locked` if another process works on the home.
  func makeHome(logger: Logger) async throws -> (Home, isNew: Bool) {
    let home = try Home.create(at: home)
    let lock = try await home.lock(as: .verb, patience: Self.patience)
    defer { lock.release() }
    guard try !home.exists(.configuration) else { return (home, false) }
    guard try !home.exists(.accountState) || home.exists(.accountKey) else {
      throw SyncError(
        SyncError.Code(rawValue: "link.incomplete"),
        "This device has begun to join an account, and the account's data did not come. Join again: "
          + "try await syncEngine.join(invite)")
    }
    try await initialize(home, lock, invite: nil, logger)
    return (home, true)
  }

  /// Creates the home as a device of the account that made an invite.
  ///
  /// The home stays locked from the first removal until the device has joined, so that no other app of the database runs
  /// a node in between.
  ///
  /// - Parameter remove: Removes from the database what belongs to the present home, which is given up with its keys. Nil
  ///   means that there is no home.
  func joinHome(invite: String, logger: Logger, removing remove: (() async throws -> Void)?) async throws {
    let path = home
    try await locked(remove == nil ? Home.create(at: path) : Home.open(at: path)) { home, lock in
      if let remove {
        try await remove()
        try home.removeFiles(keepingLock: true)
      }
      // Another process may have made one meanwhile, which is refused here.
      _ = try Home.create(at: path)
      try await initialize(home, lock, invite: invite, logger)
    }
  }

  /// Runs `body` while no process runs the home's node, and none can start one.
  func withoutNode<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await locked(try Home.open(at: home)) { _, _ in try await body() }
  }

  private func locked<Result>(
    _ home: Home, _ body: (Home, HomeLock) async throws -> Result
  ) async throws -> Result {
    let lock: HomeLock
    do {
      lock = try await home.lock(as: .verb, patience: Self.patience)
    } catch let error as HomeError where error.code == .locked {
      throw SyncError(
        .otherNode,
        "Another process runs the node of \(home.path) now, so nothing was changed. Stop that process (its id is in "
          + "\(home.path)/lock), and try again.")
    }
    defer { lock.release() }
    return try await body(home, lock)
  }

  private func initialize(_ home: Home, _ lock: HomeLock, invite: String?, _ logger: Logger) async throws {
    do {
      _ = try await NodeOpener(network: network).initialize(
        InitOptions(
          database: database, accountName: account, deviceName: device, invite: invite,
          listen: options.listen ?? network.map { _ in HostPort(host: LocalNetwork.host, port: 0) }),
        home: home, lock: lock
      ) { logger.info("\($0)") }
    } catch {
      try? home.discard()
      throw error
    }
  }

  private static func address(_ text: String) throws -> HostPort {
    guard let address = HostPort(text) else {
      throw SyncError(
        SyncError.Code(rawValue: "engine.address"),
        "'\(text)' is not an address: write HOST:PORT, as \"0.0.0.0:7404\" or \"tower.example:7404\".")
    }
    return address
  }

  /// Returns the home of an app. The specification of XDG base directories tells programs to ignore relative paths.
  static func homeOfApp(
    environment: [String: String] = ProcessInfo.processInfo.environment,
    executable: String = ProcessInfo.processInfo.processName
  ) -> String {
    let state =
      environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".local/state").path
    return "\(state)/\(executable)/mesh"
  }

  /// The maximum size of a name in bytes, as in a certificate.
  private static let nameLimit = 64

  private static func name(_ text: String?, else fallback: String) -> String {
    guard let text, (1...nameLimit).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f })
    else { return fallback }
    return text
  }
}
