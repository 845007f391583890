import Logging
import MeshControl
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
  private var database: NodeDatabase
  let transport: Transport
  let time = SystemTime()
  let logger: Logger

  /// Open links, and what their ends were told.
  private var links: [LinkID: OpenLink] = [:]
  private var nextLink: UInt64 = 0
  /// Who among the peers is served next.
  private let turns = Turns()
  /// What is known of each address that is dialled.
  var dials: [HostPort: DialState] = [:]
  private let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private var dataVersion: Int?
  private var pacing = FlushPacing()
  private var savedAccount: AccountState?
  private var faults = Faults()
  /// Since when another program's lock keeps this node from its work.
  private var lockedSince: ContinuousClock.Instant?
  /// How often the database was opened again.
  private(set) var openings = 0
  /// Peers that were connected have had no time to come back before.
  private var reconnected = ContinuousClock.now
  nonisolated let currentGuard = CurrentGuard()
  /// What a person is told of this machine's own copy.
  var importNotice = ImportNotice()
  /// Steps of work since memory was given back, and ticks since the last of them.
  private var worked = (steps: 0, ticksSince: 0)
  /// When each device was last found to have merged what this node has, in milliseconds since 1970.
  var converged: [ZoneID: [DeviceID: Int64]] = [:]
  /// Pairs with equal vectors and unequal digests, in the last look and lastingly.
  var suspected: Set<DigestAlarm> = []
  var digestAlarms: Set<DigestAlarm> = []
  /// Shares that were over for this account when the node was opened.
  let endedBefore: Set<ZoneID>
  /// Of an app in this process.
  private let keepsRows: (@Sendable (ZoneID) -> Bool)?
  private(set) var knownPeers: KnownPeers
  /// Set while the node listens.
  var listening: HostPort?

  private struct OpenLink {
    let link: Link
    let dialled: HostPort?
    var isMet = false
    var reason: String?
  }

  struct DialState {
    var device: DeviceID?
    /// A node has answered there since the start, whether it let this one in or not.
    var hasAnswered = false
    /// The first try since the last session, in milliseconds since 1970.
    var triedSince: Int64?
    var lastError: String?
    /// When the last session there ended, or the last try.
    var ended: ContinuousClock.Instant?
    /// It is to be dialled without waiting any longer.
    var isDue = false
  }

  /// Opens the home's keys and database. Nothing listens yet.
  init(
    home: Home, configuration: Configuration, network: LocalNetwork? = nil,
    keepsRows: (@Sendable (ZoneID) -> Bool)? = nil, logger: Logger
  ) throws {
    let keys = try NodeDatabase.Keys(home)
    var reader = ByteReader(try home.read(.accountState))
    guard let account = try? AccountState(from: &reader, keys.cryptography) else {
      throw HomeError(.damaged, "\(home.path(of: .accountState)) is damaged: restore it from a backup of the home.")
    }
    self.home = home
    knownPeers = try home.knownPeers()
    self.configuration = configuration
    self.logger = logger
    let database = try NodeDatabase(configuration.database, home: home, keys: keys, account: account)
    database.replica.keepsCopies = configuration.keepsCopies
    database.replica.keepsRows = keepsRows
    self.keepsRows = keepsRows
    try database.store.keepOverwrittenBlobs(upTo: configuration.keptBlobs)
    self.database = database
    var ended: Set<ZoneID> = []
    for zone in database.replica.zoneIDs where database.replica.reasonOutside(zone) != nil { ended.insert(zone) }
    endedBefore = ended
    transport = Transport(
      keys: keys.device, randomness: keys.cryptography, clock: time, network: network, logger: logger)
    (wakeups, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    savedAccount = account
  }

  var hasLinks: Bool { !links.isEmpty }
  var store: Store { database.store }
  var replica: Replica { database.replica }
  /// Why nothing can be done with the database now, and what to do.
  var suspension: Refusal? { database.suspension }
  var databasePlace: String { store.place }
  /// The node began to listen or opened its database again a moment ago: devices that dial it have had no time to come.
  var isExpectingPeers: Bool { ContinuousClock.now < reconnected }

  func expectPeers() { reconnected = .now + Self.reconnecting }

  // MARK: Links

  /// Talks over a link until it ends; returns why it ended.
  nonisolated func serve(_ link: Link, dialled: HostPort?) async -> String? {
    let id = await opened(link, dialled)
    for await message in link.messages {
      while await isKeptWaiting(id), !Task.isCancelled { try? await Task.sleep(for: Self.lockLook) }
      let account = await account(of: id)
      // While a flood is dealt with, a hello may wait longer than it may take to come.
      if account == nil { await noteWaiting(id) }
      let turn = await turns.take(account)
      let clock = ContinuousClock()
      let spent = await clock.measure { await received(id, message) }
      await turns.end(turn, after: spent)
    }
    return await closed(id)
  }

  private func opened(_ link: Link, _ dialled: HostPort?) -> LinkID {
    nextLink += 1
    let id = LinkID(nextLink)
    links[id] = OpenLink(link: link, dialled: dialled)
    if let dialled { dials[dialled, default: DialState()].hasAnswered = true }
    let info = LinkInfo(
      role: link.role == .dialler ? .dialler : .listener, handshakeHash: link.handshakeHash,
      remoteStatic: link.remoteStatic, address: dialled?.description ?? link.remoteAddress)
    if let suspension {
      link.close(TransportError(.closed, "this node can't use its database: \(suspension.code)"))
    } else {
      attempt(id) { try replica.linkOpened(id, info, now: time.now) }
    }
    return id
  }

  /// Another program writes for long: the peer's messages wait for it, and the session lives on.
  private func isKeptWaiting(_ id: LinkID) -> Bool {
    guard suspension == nil, links[id]?.link.closeReason == nil, store.isWriteLocked else { return false }
    replica.keepWaiting(id, now: time.now)
    if !replica.hasNoActions { performActions() }
    return true
  }

  /// Between two looks for the lock that another program has.
  private static let lockLook = Duration.milliseconds(2)
  /// Work waits so long in one go for another program's lock, in seconds: verbs and sessions have their turns in between.
  private static let lockPatience = 0.1
  /// A lock that lasts longer is told.
  private static let lockTold = Duration.seconds(3)

  private func received(_ id: LinkID, _ message: [UInt8]) {
    guard suspension == nil else { return }
    if let open = links[id] { replica.noteQueued(open.link.queuedBytes, on: id) }
    attempt(id) { try replica.received(id, message, now: time.now) }
  }

  private func noteWaiting(_ id: LinkID) { replica.keepWaiting(id, now: time.now) }

  private func account(of id: LinkID) -> AccountID? { replica.account(at: id) }

  private func closed(_ id: LinkID) -> String? {
    let ended = links.removeValue(forKey: id)
    replica.linkClosed(id, now: time.now)
    performActions()
    return ended?.reason ?? ended?.link.closeReason?.message
  }

  /// A fault of our own while a peer is being served costs this session, not the node: what it brought is asked for again.
  private func attempt(_ id: LinkID, _ body: () throws -> Void) {
    do {
      try body()
    } catch let error as StoreError where error.code == .replaced {
      followFile(isRestored: true)
    } catch {
      let text = Self.text(error)
      if fault != text { logger.error("\(text)") }
      faults.linkFailed(text, at: .now, commits: store.commits)
      links[id]?.link.close(TransportError(.closed, "this node has a fault: \(Self.text(error))"))
    }
    performActions()
  }

  /// Ticks several times a second.
  func tick() {
    guard suspension == nil else { return }
    for (id, open) in links { replica.noteQueued(open.link.queuedBytes, on: id) }
    do {
      try store.waiting(atMost: Self.lockPatience) { try replica.tick(now: time.now) }
    } catch let error as StoreError where error.code == .locked {
      // The work says so, if it lasts.
    } catch {
      report(error)
    }
    performActions()
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

  /// Sends what the replica has for others, and wakes the work loop.
  func performActions() {
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
      if !open.isMet, replica.hasMet(id) {
        open.link.met()
        links[id]?.isMet = true
      }
      guard let address = open.dialled, let device = replica.device(at: id) else { continue }
      dials[address, default: DialState()].device = device
      dials[address]?.lastError = nil
      dials[address]?.triedSince = nil
      if knownPeers.device(at: address) != device { changeKnownPeers { $0.met(device, at: address) } }
    }
    waker.yield()
  }

  func changeKnownPeers(_ change: (inout KnownPeers) -> Void) {
    change(&knownPeers)
    do {
      try home.write(knownPeers)
    } catch {
      logger.warning("\(home.path(of: .peers)) can't be written: \(error)")
    }
  }

  // MARK: Work

  /// Flushes and merges whenever there is something to do. A fault is reported and tried again later, longer each time.
  nonisolated func runWork() async {
    await WorkLoop(backoff: .work).run(wakeups) { await workOnce() }
  }

  private static let lastWork = Duration.seconds(3)

  private func workOnce() -> WorkLoop.Step {
    guard suspension == nil else { return .done }
    do {
      let hasMore = try store.waiting(atMost: Self.lockPatience) { try replica.work(now: time.now) }
      try saveAccount()
      faults.workSucceeded()
      lockedSince = nil
      if hasMore { worked = (worked.steps + 1, 0) }
      if !hasMore { try noteLostImports() }
      if hasMore || !replica.hasNoActions { performActions() }
      return try hasMore ? (store.isShowing() || store.isComparing() ? .slice : .more) : .done
    } catch let error as StoreError where error.code == .locked {
      let since = lockedSince ?? .now
      lockedSince = since
      if ContinuousClock.now - since > Self.lockTold, let lockedBy {
        report(Refusal(code: "database.locked", message: lockedBy))
      }
      return .slice
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

  /// Looks whether the file is still the one that is open, and whether another program has committed: what it wrote will be
  /// flushed.
  func lookAtDatabase() {
    followFile()
    guard suspension == nil else { return }
    do {
      let version = try store.dataVersion()
      let isDue = pacing.isDue(isChanged: version != dataVersion, at: .now)
      dataVersion = version
      guard isDue else { return }
      replica.databaseChanged()
      performActions()
    } catch {
      report(error)
    }
  }

  /// Opens the database again if it was restored or replaced. What the sessions spoke of is another history then, so they end, and
  /// begin again.
  private func followFile(isRestored: Bool = false) {
    switch database.follow(isRestored: isRestored) {
    case nil: return
    case .suspended:
      logger.error("\(suspension?.message ?? "")")
      currentGuard.set(nil)
    case .reopened(let what):
      logger.warning("\(what): the node starts over with it, and gets back what it lacks from other devices")
      replica.keepsCopies = configuration.keepsCopies
      replica.keepsRows = keepsRows
      keepOverwrittenBlobs()
      openings += 1
      (dataVersion, faults) = (nil, Faults())
      (converged, suspected, digestAlarms) = ([:], [], [])
      expectPeers()
      do {
        if listening != nil { try beginGuard() }
      } catch {
        report(error)
      }
      dialSoon(wantedPeers)
    }
    for open in links.values {
      open.link.close(TransportError(.closed, "the database of this node was restored, replaced or moved away"))
    }
    performActions()
  }

  /// Devices that dial this node come back within it: the longest wait between two tries.
  private static let reconnecting = Backoff.dial.last * 1.5

  /// Flushes what is pending, within a bound, and says goodbye. What is left stays in the file, and is flushed at the next start.
  func stop() {
    let deadline = ContinuousClock.now + Self.lastWork
    defer { waker.finish() }
    guard suspension == nil else { return }
    do {
      replica.databaseChanged()
      while ContinuousClock.now < deadline, try replica.work(now: time.now) { performActions() }
    } catch {
      report(error)
    }
    replica.stop()
    performActions()
  }

  func backUpOpenFile(to target: String) throws -> Int64 { try database.backUp(to: target) }

  func close() {
    currentGuard.set(nil)
    do {
      try database.close()
    } catch {
      report(error)
    }
  }

  // MARK: The write-ahead log

  /// From now until the node is closed no other program begins the write-ahead log anew. The daemon does it from its start,
  /// a verb on the home alone where it writes more than a row or two.
  @discardableResult
  func beginGuard() throws -> WALGuard {
    let walGuard = try store.startGuard(clock: time)
    currentGuard.set(walGuard)
    return walGuard
  }

  func report(_ error: any Error) {
    if (error as? StoreError)?.code == .replaced { return followFile(isRestored: true) }
    let text = Self.text(error)
    if fault != text { logger.error("\(text)") }
    faults.workFailed(text)
  }

  /// What to tell who looks after this node; nil where nothing is wrong.
  var fault: String? { faults.shown(at: .now, commits: store.commits) }

  static func text(_ error: any Error) -> String { (error as? any Refusing)?.refusal.message ?? "\(error)" }
}
