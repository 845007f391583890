public import Logging
public import MeshControl
public import ServiceLifecycle

/// How the command line comes by a node. The executable has one implementation; the caller holds `lock` for as long as
/// it uses what it got, and has checked the home.
public protocol NodeOpening: Sendable {
  /// Makes keys, our tables in the database (the database too, if missing), and last `config.toml`. With a link it
  /// joins the link's account instead of making one, and returns once this device is certified.
  ///
  /// `home` may hold keys from an attempt that was cut short; they are taken up again. `progress` takes one line at a
  /// time, which may quote a peer.
  func initialize(
    _ options: InitOptions, home: Home, lock: HomeLock, progress: @escaping @Sendable (String) -> Void
  ) async throws -> InitReport

  /// The node without a daemon: no peers, no listening, `running` false.
  func local(home: Home, lock: HomeLock) async throws -> any NodeControl

  /// A node ready to run as a daemon: its address is bound, and nobody is answered before its services run.
  func daemon(home: Home, lock: HomeLock, options: ServeOptions, logger: Logger) async throws -> Daemon
}

/// A node that can be run: what answers the verbs, and the services that make it alive.
public struct Daemon: Sendable {
  public let control: any NodeControl
  /// Started in order and stopped in reverse; each returns soon after graceful shutdown begins.
  public let services: [any Service]
  /// Reads the configuration again, on SIGHUP.
  public let reload: @Sendable () async throws -> Void

  public init(
    control: any NodeControl, services: [any Service], reload: @escaping @Sendable () async throws -> Void = {}
  ) {
    self.control = control
    self.services = services
    self.reload = reload
  }
}

/// `mesh init`.
public struct InitOptions: Hashable, Sendable {
  /// Absolute path of the SQLite file.
  public var database: String
  /// Of a new account; not used with a link.
  public var accountName: String
  public var deviceName: String
  /// The one-line link that another device printed.
  public var link: String?
  /// Create and track the account's tables that the database lacks.
  public var adoptSchema: Bool
  /// The address for `config.toml`; nil for the default one.
  public var listen: HostPort?

  public init(
    database: String, accountName: String, deviceName: String, link: String? = nil, adoptSchema: Bool = false,
    listen: HostPort? = nil
  ) {
    self.listen = listen
    self.database = database
    self.accountName = accountName
    self.deviceName = deviceName
    self.link = link
    self.adoptSchema = adoptSchema
  }
}

/// `mesh serve`: what is given here wins over `config.toml`, for this run.
public struct ServeOptions: Hashable, Sendable {
  public var listen: HostPort?
  public var advertise: HostPort?
  /// In addition to the configured ones.
  public var peers: [HostPort]

  public init(listen: HostPort? = nil, advertise: HostPort? = nil, peers: [HostPort] = []) {
    self.listen = listen
    self.advertise = advertise
    self.peers = peers
  }
}

/// What `mesh init` made.
public struct InitReport: Codable, Hashable, Sendable {
  public var home: String
  public var account: String
  public var accountName: String
  public var device: String
  public var deviceName: String
  public var database: String
  /// Whether the database was created now.
  public var created: Bool
  /// Whether an account that existed was joined.
  public var joined: Bool
  /// Tables created and tracked because of `--adopt-schema`.
  public var adopted: [String]
  /// Parts of their tables that mesh didn't carry over: a line for each, with the reason.
  public var leftOut: [String]
  /// Addresses remembered.
  public var peers: [String]
  /// Other devices of the account that have the same name: their ids.
  public var namesakes: [String]

  public init(
    home: String, account: String, accountName: String, device: String, deviceName: String, database: String,
    created: Bool, joined: Bool, adopted: [String] = [], leftOut: [String] = [], peers: [String] = [],
    namesakes: [String] = []
  ) {
    self.home = home
    self.account = account
    self.accountName = accountName
    self.device = device
    self.deviceName = deviceName
    self.database = database
    self.created = created
    self.joined = joined
    self.adopted = adopted
    self.leftOut = leftOut
    self.peers = peers
    self.namesakes = namesakes
  }
}
