public import Logging
public import MeshControl
public import ServiceLifecycle

/// Opens nodes for the command line and for apps. The caller has checked the home, and holds `lock` as long as it uses
/// the result.
public protocol NodeOpening: Sendable {
  /// Creates keys, the tables of mesh in the database (and the database if it is missing), and finally `config.toml`.
  ///
  /// With an invite, it joins the invite's account instead of creating one, and returns once this device is certified.
  ///
  /// - Parameters:
  ///   - home: The home. It may contain keys of an interrupted attempt, which are used.
  ///   - progress: Called with one line of text at a time, which may quote a peer.
  func initialize(
    _ options: InitOptions, home: Home, lock: HomeLock, progress: @escaping @Sendable (String) -> Void
  ) async throws -> InitReport

  /// Returns the node without a daemon. It has no peers, doesn't listen, and reports `running` as false.
  func local(home: Home, lock: HomeLock) async throws -> any NodeControl

  /// Returns a node that is ready to run as a daemon. Its address is bound, and it answers nothing before its services
  /// run. If another program has the database locked, the daemon waits for the lock first.
  func daemon(home: Home, lock: HomeLock, options: ServeOptions, logger: Logger) async throws -> Daemon
}

/// A node that can be run: the part that answers commands, and the services.
public struct Daemon: Sendable {
  /// Answers control requests, from commands or from the app itself.
  public let control: any NodeControl
  /// The services, started in order and stopped in reverse. Each returns soon after graceful shutdown begins.
  public let services: [any Service]
  /// Reports every few seconds why the daemon can't start yet, and ends when the node runs.
  public let waits: AsyncStream<String>
  /// Reads the configuration again, on SIGHUP.
  public let reload: @Sendable () async throws -> Void

  /// Creates a daemon of these parts.
  public init(
    control: any NodeControl, services: [any Service], waits: AsyncStream<String> = AsyncStream { $0.finish() },
    reload: @escaping @Sendable () async throws -> Void = {}
  ) {
    self.control = control
    self.services = services
    self.waits = waits
    self.reload = reload
  }
}

/// The options of `mesh init`.
public struct InitOptions: Hashable, Sendable {
  /// The absolute path of the SQLite file.
  public var database: String
  /// The name of a new account. It isn't used with an invite.
  public var accountName: String
  /// The name that other devices show for this one, at most 64 bytes.
  public var deviceName: String
  /// The one-line invite that another device printed, or nil to create an account.
  public var invite: String?
  /// True to create and track the tables of the account that the database doesn't have.
  public var adoptSchema: Bool
  /// The address for `config.toml`, or nil for the default address.
  public var listen: HostPort?

  /// Creates the options, with a name for a new account and for this device.
  public init(
    database: String, accountName: String, deviceName: String, invite: String? = nil, adoptSchema: Bool = false,
    listen: HostPort? = nil
  ) {
    self.listen = listen
    self.database = database
    self.accountName = accountName
    self.deviceName = deviceName
    self.invite = invite
    self.adoptSchema = adoptSchema
  }
}

/// The options of `mesh serve`. They override `config.toml` for this run.
public struct ServeOptions: Hashable, Sendable {
  /// The address to listen on, or nil for the one in `config.toml`.
  public var listen: HostPort?
  /// The address that other devices are told to dial, or nil for the one in `config.toml`.
  public var advertise: HostPort?
  /// Addresses in addition to the configured ones.
  public var peers: [HostPort]

  /// Creates options that replace the settings of the same names. A nil leaves the setting as it is.
  public init(listen: HostPort? = nil, advertise: HostPort? = nil, peers: [HostPort] = []) {
    self.listen = listen
    self.advertise = advertise
    self.peers = peers
  }
}

/// The result of `mesh init`.
public struct InitReport: Codable, Hashable, Sendable {
  /// The path of the home.
  public var home: String
  /// The displayed id of the account.
  public var account: String
  /// The account's name, as this node knows it.
  public var accountName: String
  /// The displayed id of the new device.
  public var device: String
  /// The name of the new device.
  public var deviceName: String
  /// The absolute path of the database.
  public var database: String
  /// True if the database was created now.
  public var created: Bool
  /// True if an existing account was joined.
  public var joined: Bool
  /// Tables that were created and tracked because of `--adopt-schema`.
  public var adopted: [String]
  /// The parts of their tables that mesh didn't carry over: one line for each, with the reason.
  public var leftOut: [String]
  /// Tables that the database synchronized already.
  public var tables: [String]
  /// Tables of the account that the database lacks, has in another form, or doesn't synchronize.
  public var missing: [String]
  /// The addresses that were stored.
  public var peers: [String]
  /// The ids of other devices of the account that have the same name.
  public var namesakes: [String]

  /// Creates the report of a new node.
  public init(
    home: String, account: String, accountName: String, device: String, deviceName: String, database: String,
    created: Bool, joined: Bool, adopted: [String] = [], leftOut: [String] = [], tables: [String] = [],
    missing: [String] = [], peers: [String] = [], namesakes: [String] = []
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
    self.tables = tables
    self.missing = missing
    self.peers = peers
    self.namesakes = namesakes
  }
}
