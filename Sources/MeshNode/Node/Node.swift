import Logging
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
import MeshTransport

/// One node: a replica, its store and its links, owned by one actor. Everything that happens to a node is a call to it, one at a
/// time; each holds the database for a bounded while.
actor Node {
  let home: Home
  var configuration: Configuration
  let store: Store
  private let databaseLock: DatabaseLock
  let replica: Replica
  let transport: Transport
  let time = SystemTime()
  let logger: Logger

  /// Open links, and what their ends were told.
  private var links: [LinkID: OpenLink] = [:]
  private var nextLink: UInt64 = 0
  /// What is known of each address that is dialled.
  var dials: [HostPort: DialState] = [:]
  private let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private var dataVersion: Int?
  private var savedAccount: AccountState?
  private var faults = Faults()
  /// What a person is told of this machine's own copy.
  var importNotice = ImportNotice()
  /// Steps of work since memory was given back, and ticks since the last of them.
  private var worked = (steps: 0, ticksSince: 0)
  /// When each device was last found to have merged what this node has, in milliseconds since 1970.
  var converged: [ZoneID: [DeviceID: Int64]] = [:]
  /// Pairs with equal vectors and unequal digests, in the last look and lastingly.
  var suspected: Set<DigestAlarm> = []
  var digestAlarms: Set<DigestAlarm> = []
  /// Set while the node listens.
  var listening: HostPort?
  var holdsAccountKey: Bool

  private struct OpenLink {
    let link: Link
    let dialled: HostPort?
    var reason: String?
  }

  struct DialState {
    var device: DeviceID?
    var lastError: String?
    /// It is to be dialled without waiting any longer.
    var isDue = false
  }

  /// Opens the home's keys and database. Nothing listens yet.
  init(home: Home, configuration: Configuration, logger: Logger) throws {
    let cryptography = try Sodium()
    let keys = try Self.key(.deviceKey, home) { bytes throws(CryptoError) in try DeviceKeys(encoded: bytes) }
    let accountKey =
      try home.exists(.accountKey)
      ? Self.key(.accountKey, home) { bytes throws(CryptoError) in try AccountKey(encoded: bytes) } : nil
    var reader = ByteReader(try home.read(.accountState))
    guard let account = try? AccountState(from: &reader, cryptography) else {
      throw HomeError(.damaged, "\(home.path(of: .accountState)) is damaged: restore it from a backup of the home.")
    }
    self.home = home
    self.configuration = configuration
    self.logger = logger
    let store = try Self.store(configuration.database, home, cryptography)
    databaseLock = try DatabaseLock(database: configuration.database, home: home)
    let known = try store.accounts()
    guard known.isEmpty || known.contains(account.id) else { throw ReplicaError.foreignDatabase }
    self.store = store
    holdsAccountKey = accountKey != nil
    var signer: (@Sendable ([UInt8]) -> [UInt8])?
    if let accountKey { signer = { accountKey.sign($0) } }
    replica = try Replica(
      store: store, vault: HomeVault(home: home), account: account, secrets: keys, accountSigner: signer,
      cryptography: cryptography, randomness: cryptography)
    replica.keepsCopies = configuration.keepsCopies
    transport = Transport(keys: keys, randomness: cryptography, clock: time, logger: logger)
    (wakeups, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    savedAccount = account
  }

  private static func key<Key>(
    _ file: HomeFile, _ home: Home, _ decode: ([UInt8]) throws(CryptoError) -> Key
  ) throws -> Key {
    let bytes = try home.read(file)
    do throws(CryptoError) {
      return try decode(bytes)
    } catch {
      throw HomeError(
        .damaged, "\(home.path(of: file)) is damaged (\(error.message)): restore it from a backup of the home.")
    }
  }

  /// A new database in the place of one that is gone would only hide that it is gone.
  private static func store(_ path: String, _ home: Home, _ cryptography: Sodium) throws -> Store {
    do {
      return try Store(
        path: path, create: false, cryptography: cryptography,
        staging: FileStaging(directory: home.path(of: .staging)))
    } catch let error as StoreError {
      guard error.code == .missing else { throw error }
      throw Refusal(
        code: "database.missing",
        message:
          "\(path), the database of this node (\(home.path(of: .configuration))), is not there, and only mesh init "
          + "makes one. Put it back, or a copy of it; or correct database in config.toml; or join again with a new home: "
          + "mesh init --home DIR --database PATH --link LINK --adopt-schema")
    }
  }

  var hasLinks: Bool { !links.isEmpty }
  var databasePlace: String { store.place }

  // MARK: Links

  /// Talks over a link until it ends; returns why it ended.
  nonisolated func serve(_ link: Link, dialled: HostPort?) async -> String? {
    let id = await opened(link, dialled)
    for await message in link.messages { await received(id, message) }
    return await closed(id)
  }

  private func opened(_ link: Link, _ dialled: HostPort?) -> LinkID {
    nextLink += 1
    let id = LinkID(nextLink)
    links[id] = OpenLink(link: link, dialled: dialled)
    let info = LinkInfo(
      role: link.role == .dialler ? .dialler : .listener, handshakeHash: link.handshakeHash,
      remoteStatic: link.remoteStatic, address: dialled?.description ?? link.remoteAddress)
    attempt(id) { try replica.linkOpened(id, info, now: time.now) }
    return id
  }

  private func received(_ id: LinkID, _ message: [UInt8]) {
    attempt(id) { try replica.received(id, message, now: time.now) }
  }

  private func closed(_ id: LinkID) -> String? {
    let ended = links.removeValue(forKey: id)
    replica.linkClosed(id, now: time.now)
    perform()
    return ended?.reason ?? ended?.link.closeReason?.message
  }

  /// A fault of our own while a peer is being served costs this session, not the node: what it brought is asked for again.
  private func attempt(_ id: LinkID, _ body: () throws -> Void) {
    do {
      try body()
    } catch {
      let text = Self.text(error)
      if fault != text { logger.error("\(text)") }
      faults.linkFailed(text, at: .now, commits: store.commits)
      links[id]?.link.close(TransportError(.closed, "this node has a fault: \(Self.text(error))"))
    }
    perform()
  }

  /// Ticks several times a second.
  func tick() {
    do {
      try replica.tick(now: time.now)
    } catch {
      report(error)
    }
    perform()
    rest()
  }

  /// Steps of work after which memory is worth giving back, and ticks without any before that: some seconds.
  private static let muchWork = 32
  private static let quietTicks = 10

  private func rest() {
    store.restIdleBlobs()
    worked.ticksSince += 1
    guard worked.steps >= Self.muchWork, worked.ticksSince >= Self.quietTicks else { return }
    store.releaseMemory()
    worked.steps = 0
  }

  func perform() {
    for action in replica.takeActions() {
      switch action {
      case .send(let id, let bytes): links[id]?.link.send(bytes)
      case .close(let id, let reason):
        links[id]?.reason = reason
        links[id]?.link.close(TransportError(.closed, reason))
      case .log(.info, let text): logger.info("\(text)")
      case .log(.warning, let text): logger.warning("\(text)")
      }
    }
    for (id, open) in links {
      guard let address = open.dialled, let device = replica.device(at: id) else { continue }
      dials[address, default: DialState()].device = device
      dials[address]?.lastError = nil
    }
    waker.yield()
  }

  // MARK: Work

  /// Flushes and merges whenever there is something to do. A fault is reported and tried again later, longer each time.
  nonisolated func runWork() async {
    await WorkLoop(backoff: .work).run(wakeups) { await workOnce() }
  }

  private static let lastWork = Duration.seconds(3)

  private func workOnce() -> WorkLoop.Step {
    do {
      let hasMore = try replica.work(now: time.now)
      try saveAccount()
      faults.workSucceeded()
      if hasMore { worked = (worked.steps + 1, 0) }
      if !hasMore { try noteLostImports() }
      if hasMore || !replica.hasNoActions { perform() }
      return try hasMore ? (store.isShowing() || store.isComparing() ? .slice : .more) : .done
    } catch {
      report(error)
      return .failed
    }
  }

  /// The home keeps a copy of the account's public state: a database that was restored can't bring a revoked device back.
  private func saveAccount() throws {
    guard savedAccount != replica.account else { return }
    try home.write(.accountState, replica.account.encoded)
    savedAccount = replica.account
  }

  /// Whether another connection has committed since the last look; if so its writes will be flushed.
  func lookAtDatabase() -> Bool {
    do {
      let version = try store.dataVersion()
      guard version != dataVersion else { return false }
      dataVersion = version
      replica.databaseChanged()
      perform()
      return true
    } catch {
      report(error)
      return false
    }
  }

  /// Flushes what is pending, within a bound, and says goodbye. What is left stays in the file, and is flushed at the next start.
  func stop() {
    let deadline = ContinuousClock.now + Self.lastWork
    do {
      replica.databaseChanged()
      while ContinuousClock.now < deadline, try replica.work(now: time.now) { perform() }
    } catch {
      report(error)
    }
    replica.stop()
    perform()
    waker.finish()
  }

  func close() {
    do {
      try store.close()
    } catch {
      report(error)
    }
    databaseLock.release()
  }

  // MARK: The write-ahead log

  /// From now until the node is closed no other program begins the write-ahead log anew. The daemon does it from its start,
  /// a verb on the home alone where it writes more than a row or two.
  @discardableResult
  func beginGuard() throws -> WALGuard { try store.startGuard(clock: time) }

  func report(_ error: any Error) {
    let text = Self.text(error)
    if fault != text { logger.error("\(text)") }
    faults.workFailed(text)
  }

  /// What to tell who looks after this node; nil where nothing is wrong.
  var fault: String? { faults.shown(at: .now, commits: store.commits) }

  static func text(_ error: any Error) -> String { (error as? any Refusing)?.refusal.message ?? "\(error)" }
}
