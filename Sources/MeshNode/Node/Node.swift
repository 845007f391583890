import Logging
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
import MeshTransport

/// One node: a replica, its store and its sessions, owned by one actor. Every event of a node is a call to the actor,
/// one at a time. Each call holds the database for a bounded time.
actor Node {
  let home: Home
  var configuration: Configuration
  private var database: NodeDatabase
  let transport: Transport
  let time: SystemTime
  let logger: Logger

  /// The open connections, with the reasons given for their end.
  private var links: [LinkID: OpenLink] = [:]
  private var nextLink: UInt64 = 0
  /// Decides which peer is served next.
  private let turns = Turns()
  /// The state of each address that is dialled.
  var dials: [HostPort: DialState] = [:]
  private let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private var dataVersion: Int?
  private var pacing = FlushPacing()
  private var savedAccount: AccountState?
  private var faults = Faults()
  /// The time since which another program's lock blocks this node's work.
  private var lockedSince: ContinuousClock.Instant?
  /// The number of times that the database was opened again.
  private(set) var openings = 0
  /// The time until which formerly connected peers may still be returning.
  private var reconnected = ContinuousClock.now
  nonisolated let currentGuard = CurrentGuard()
  /// The reports to a person about this machine's own copy.
  var importNotice = ImportNotice()
  /// The steps of work since memory was released, and the ticks since the last step.
  private var worked = (steps: 0, ticksSince: 0)
  /// The time at which each device was last found to have merged everything that this node has, in milliseconds since
  /// 1970.
  var converged: [ZoneID: [DeviceID: Int64]] = [:]
  /// The pairs with equal vectors and unequal digests: those of the last check, and those that were confirmed.
  var suspected: Set<DigestAlarm> = []
  var digestAlarms: Set<DigestAlarm> = []
  /// Shares that had already ended for this account when the node was opened.
  let endedBefore: Set<ZoneID>
  /// The app in this process, or nil in `mesh serve` and in a command.
  let app: NodeApp?
  /// True once the database is closed. Then requests are refused.
  private(set) var isClosed = false
  private(set) var knownPeers: KnownPeers
  /// The listening address, set while the node listens.
  var listening: HostPort?

  private struct OpenLink {
    let link: Link
    let dialled: HostPort?
    var isMet = false
    var reason: String?
  }

  struct DialState {
    var device: DeviceID?
    /// True if a node has answered there since the start, whether it admitted this one or not.
    var hasAnswered = false
    /// The time of the first attempt since the last session, in milliseconds since 1970.
    var triedSince: Int64?
    var lastError: String?
    /// The time at which the last session or attempt ended.
    var ended: ContinuousClock.Instant?
    /// True if the address must be dialled without further waiting.
    var isDue = false
  }

  /// Opens the home's keys and database. Nothing listens yet.
  init(
    home: Home, configuration: Configuration, network: LocalNetwork? = nil,
    app: NodeApp? = nil, logger: Logger
  ) throws {
    time = SystemTime(network)
    let keys = try NodeDatabase.Keys(home)
    var reader = ByteReader(try home.read(.accountState))
    guard let account = try? AccountState(from: &reader, keys.cryptography) else {
      throw HomeError(.damaged, "\(home.path(of: .accountState)) is damaged: restore it from a backup of the home.")
    }
    self.home = home
    knownPeers = try home.knownPeers()
    self.configuration = configuration
    self.logger = logger
    let database = try NodeDatabase(
      configuration.database, home: home, keys: keys, account: account, prepareConnection: app?.prepareConnection)
    database.replica.keepsCopies = configuration.keepsCopies
    database.replica.keepsRows = app?.keepsRowsOfZone
    self.app = app
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
  /// The reason that the database can't be used now, with the remedy.
  var suspension: Refusal? { database.suspension }
  var databasePlace: String { store.place }
  /// True if the node started listening or opened its database again a moment ago. Devices that dial it have had no
  /// time to connect.
  var isExpectingPeers: Bool { ContinuousClock.now < reconnected }

  func expectPeers() { reconnected = .now + Self.reconnecting }

  // MARK: Links

  /// Serves a connection until it ends, and returns the reason for its end.
  nonisolated func serve(_ link: Link, dialled: HostPort?) async -> String? {
    let id = await opened(link, dialled)
    for await message in link.messages {
      while await isKeptWaiting(id), !Task.isCancelled { try? await Task.sleep(for: Self.lockLook) }
      let account = await account(of: id)
      // While a flood is handled, a hello may wait longer than the time limit for its arrival.
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

  /// Returns whether another program is writing for long. The peer's messages wait for it, and the session stays alive.
  private func isKeptWaiting(_ id: LinkID) -> Bool {
    guard suspension == nil, links[id]?.link.closeReason == nil, store.isWriteLocked else { return false }
    replica.keepWaiting(id, now: time.now)
    if !replica.hasNoActions { performActions() }
    return true
  }

  /// The time between two checks for a lock that another program has.
  private static let lockLook = Duration.milliseconds(2)
  /// The seconds that one piece of work waits for another program's lock. Commands and sessions have their turns in
  /// between.
  private static let lockPatience = 0.1
  /// The duration after which a lock is reported.
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

  /// Performs an action for a peer. A fault of this node ends the session but not the node, and the peer's data is
  /// requested again.
  private func attempt(_ id: LinkID, _ body: () throws -> Void) {
    do {
      try body()
    } catch let error as StoreError where error.code == .replaced {
      followFile(because: error)
    } catch {
      let text = Self.text(error)
      if fault != text { logger.error("\(text)") }
      faults.linkFailed(text, at: .now, commits: store.commits)
      links[id]?.link.close(TransportError(.closed, "this node has a fault: \(Self.text(error))"))
    }
    performActions()
  }

  /// Does the periodic work. Returns whether the next tick has something to do soon.
  func tick() -> Bool {
    guard suspension == nil else { return false }
    for (id, open) in links { replica.noteQueued(open.link.queuedBytes, on: id) }
    do {
      try store.waiting(atMost: Self.lockPatience) { try replica.tick(now: time.now) }
    } catch let error as StoreError where error.code == .locked {
      // The work reports a lock that lasts.
    } catch {
      report(error)
    }
    performActions()
    rest()
    return replica.needsTick || worked.steps > 0
  }

  /// The steps of work after which releasing memory is worthwhile, and the ticks without work before that: some
  /// seconds.
  private static let muchWork = 32
  private static let quietTicks = 10

  private func rest() {
    store.restIdleBlobs()
    worked.ticksSince += 1
    guard worked.ticksSince >= Self.quietTicks else { return }
    if worked.steps >= Self.muchWork { store.releaseMemory() }
    worked.steps = 0
  }

  /// Sends the replica's messages and wakes the work loop.
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

  /// Flushes and merges whenever there is work. A fault is reported, and the work is tried again after growing waits.
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

  /// Stores a copy of the account's public state in the home, so that a restored database can't readmit a revoked
  /// device.
  private func saveAccount() throws {
    guard savedAccount != replica.account else { return }
    try home.write(.accountState, replica.account.encoded)
    savedAccount = replica.account
  }

  /// Checks whether the open file is still the one at the path, and whether another program has committed. Its writes
  /// will be flushed.
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

  /// Opens the database again if it was restored or replaced, or if its content is unknown after a fault of the disk.
  /// The sessions were about another history, so they end and begin again.
  private func followFile(because error: StoreError? = nil) {
    switch database.follow(because: error) {
    case nil: return
    case .suspended:
      logger.error("\(suspension?.message ?? "")")
      currentGuard.set(nil)
    case .reopened(let what):
      logger.warning("\(what). What the file lacks comes back from other devices.")
      replica.keepsCopies = configuration.keepsCopies
      replica.keepsRows = app?.keepsRowsOfZone
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

  /// The time within which devices that dial this node return: the longest wait between two attempts.
  private static let reconnecting = Backoff.dial.last * 1.5

  /// Flushes the pending rows, within a time limit, and says goodbye. The rest stays in the file and is flushed at the
  /// next start.
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
    isClosed = true
    currentGuard.set(nil)
    do {
      try database.close()
    } catch {
      report(error)
    }
  }

  // MARK: The write-ahead log

  /// Prevents other programs from restarting the write-ahead log until the node is closed. The daemon does it from its
  /// start. A command on the home alone does it if it writes more than a row or two.
  @discardableResult
  func beginGuard() throws -> WALGuard {
    let walGuard = try store.startGuard(clock: time)
    currentGuard.set(walGuard)
    return walGuard
  }

  func report(_ error: any Error) {
    if let error = error as? StoreError, error.code == .replaced { return followFile(because: error) }
    let text = Self.text(error)
    if fault != text { logger.error("\(text)") }
    faults.workFailed(text)
  }

  /// The fault to show to the person who operates this node, or nil if there is none.
  var fault: String? { faults.shown(at: .now, commits: store.commits) }

  static func text(_ error: any Error) -> String { (error as? any Refusing)?.refusal.message ?? "\(error)" }
}
