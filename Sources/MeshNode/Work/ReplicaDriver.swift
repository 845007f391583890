import Logging
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
import MeshTransport

/// Drives the replica: feeds it the inputs of this machine and of the connections, performs its actions, and reports
/// faults. It follows the file if another one takes its place.
final class ReplicaDriver {
  /// The time between two checks for a lock that another program has, or is about to take.
  static let lockLook = Duration.milliseconds(1)
  /// The seconds that one piece of work waits for another program's lock. Commands and sessions have their turns in
  /// between.
  private static let lockPatience = 0.1
  /// The duration after which a lock is reported.
  private static let lockTold = Duration.seconds(3)
  /// The steps of work after which releasing memory is worthwhile, and the ticks without work before that: some
  /// seconds.
  private static let muchWork = 32
  private static let quietTicks = 10
  private static let lastWork = Duration.seconds(3)

  /// Has an element for each input, after which there may be work.
  let wakeups: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private let database: NodeDatabase
  private let accountFile: AccountStateFile
  private let addresses: AddressBook
  private let connections: Connections
  private let time: SystemTime
  private let logger: Logger

  private(set) var equality = EqualityWatch()
  private var dataVersion: Int?
  private var pacing = FlushPacing()
  private var faults = Faults()
  /// The time since which another program's lock blocks this node's work.
  private var lockedSince: ContinuousClock.Instant?
  private var importNotice = ImportNotice()
  /// Whether work was begun and waits for nothing but its turn.
  private var isWorkDue = false
  /// The steps of work since memory was released, and the ticks since the last step.
  private var worked = (steps: 0, ticksSince: 0)

  init(
    _ database: NodeDatabase, _ accountFile: AccountStateFile, _ addresses: AddressBook, _ connections: Connections,
    _ time: SystemTime, _ logger: Logger
  ) {
    (self.database, self.accountFile, self.addresses) = (database, accountFile, addresses)
    (self.connections, self.time, self.logger) = (connections, time, logger)
    (wakeups, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  private var store: Store { database.store }
  private var replica: Replica { database.replica }

  // MARK: Faults

  /// The fault to show to the person who operates this node, or nil if there is none.
  var fault: String? { faults.shown(at: .now, commits: store.commits) }

  func report(_ error: any Error) {
    if let error = error as? StoreError, error.code == .replaced { return followFile(because: error) }
    log(fault: error.userMessage)
    faults.workFailed(error.userMessage)
  }

  private func log(fault text: String) {
    if fault != text { logger.error("\(text)") }
  }

  // MARK: Connections

  func opened(_ link: Link, dialled: HostPort?) -> LinkID {
    let id = connections.add(link, dialled: dialled)
    let info = LinkInfo(
      role: link.role == .dialler ? .dialler : .listener, handshakeHash: link.handshakeHash,
      remoteStatic: link.remoteStatic, address: dialled?.description ?? link.remoteAddress)
    if let suspension = database.suspension {
      connections.close(id, because: "this node can't use its database: \(suspension.code)")
    } else {
      attempt(id) { try replica.linkOpened(id, info, now: time.now) }
    }
    return id
  }

  /// Makes a peer's messages wait if another program is writing for long, or is about to write. The session stays alive.
  ///
  /// - Returns: True if they wait.
  func holdBack(_ id: LinkID) -> Bool {
    guard database.suspension == nil, connections.isOpen(id) else { return false }
    if pacing.hold(at: .now) { return true }
    guard store.file.isWriteLocked else { return false }
    replica.keepWaiting(id, now: time.now)
    if !replica.hasNoActions { performActions() }
    return true
  }

  /// Notes that a peer's message waits for its turn. While a flood is handled, the hello of an unknown peer may wait
  /// longer than the time limit for its arrival.
  ///
  /// - Returns: The account of the peer, once it is identified.
  func noteWaiting(_ id: LinkID) -> AccountID? {
    let account = replica.peerViews.account(at: id)
    if account == nil { replica.keepWaiting(id, now: time.now) }
    return account
  }

  /// - Returns: True if the peer's account has to rest for as long as the message took.
  func received(_ id: LinkID, _ message: [UInt8]) -> Bool {
    guard database.suspension == nil else { return false }
    connections.noteQueued(on: id, replica)
    var rests = false
    attempt(id) { rests = try replica.received(id, message, now: time.now) }
    return rests
  }

  func closed(_ id: LinkID) -> ConnectionEnd {
    let end = connections.remove(id)
    replica.linkClosed(id, now: time.now)
    performActions()
    return end
  }

  /// Performs an action for a peer. A fault of this node ends the session but not the node, and the peer's data is
  /// requested again.
  private func attempt(_ id: LinkID, _ body: () throws -> Void) {
    do {
      try body()
    } catch let error as StoreError where error.code == .replaced {
      followFile(because: error)
    } catch {
      log(fault: error.userMessage)
      faults.linkFailed(error.userMessage, at: .now, commits: store.commits)
      replica.stall(id)
      performActions()
      connections.close(id, because: "this node has a fault: \(error.userMessage)")
    }
    performActions()
  }

  /// Sends the replica's messages and wakes the work loop.
  func performActions() {
    for action in replica.takeActions() {
      switch action {
      case .send(let id, let bytes): connections.send(bytes, to: id)
      case .close(let id, let end): connections.close(id, after: end)
      case .log(.info, let text): logger.info("\(text)")
      case .log(.warning, let text): logger.warning("\(text)")
      }
    }
    connections.noteIdentities(replica)
    waker.yield()
  }

  // MARK: Work

  /// Does one piece of work: a flush, a merge or the like. Returns the outcome, and how long it took.
  func workStep() -> (outcome: WorkLoop.Outcome, took: Duration) {
    let begun = ContinuousClock.now
    let outcome = work()
    let took = ContinuousClock.now - begun
    isWorkDue = outcome == .more && WorkLoop.pause(after: took, isSlice: false) == nil
    return (outcome, took)
  }

  /// Goes on with work that only waits for its turn, for at most the time that a message took. Otherwise each step of a
  /// flush or merge would wait for another message during a flood.
  func workOn(atMost time: Duration) {
    let begun = ContinuousClock.now
    while isWorkDue, ContinuousClock.now - begun < time { _ = workStep() }
  }

  private func work() -> WorkLoop.Outcome {
    guard database.suspension == nil else { return .done }
    if pacing.hold(at: .now) { return .held }
    do {
      let hasMore = try store.waiting(atMost: Self.lockPatience) { try replica.work(now: time.now) }
      try accountFile.save(replica.account)
      faults.workSucceeded()
      lockedSince = nil
      if hasMore { worked = (worked.steps + 1, 0) } else { try noteLostImports() }
      if hasMore || !replica.hasNoActions { performActions() }
      return try hasMore ? (store.merges.isShowing() || store.capture.isComparing() ? .slice : .more) : .done
    } catch let error as StoreError where error.code == .locked {
      let since = lockedSince ?? .now
      lockedSince = since
      if ContinuousClock.now - since > Self.lockTold, let message = WriteLock(store).messageWithAdvice {
        report(Refusal(code: "database.locked", message: message))
      }
      return .slice
    } catch {
      report(error)
      return .failed
    }
  }

  private func noteLostImports() throws {
    guard let count = try importNotice.next(store, replica.device) else { return }
    logger.notice(
      """
      \(count.counted("value", "values")) that this file had before its tables or columns were tracked \
      \(count == 1 ? "differs" : "differ") from the mesh's, which the tables have now. mesh conflicts lists them, and mesh restore --conflict puts one back.
      """)
  }

  /// Flushes, merges and shows everything that can be done now. Peers and other commands have their turn in between. A
  /// program that writes without a pause always leaves more to flush, so rows that are written meanwhile are left.
  ///
  /// - Returns: False if the time ran out first.
  @discardableResult
  nonisolated(nonsending) func workOff(until deadline: ContinuousClock.Instant? = nil) async throws -> Bool {
    let begun = time.milliseconds()
    replica.databaseChanged()
    while try replica.work(now: time.now) {
      performActions()
      if try store.localWrites.hasOnlyPending(since: begun) && !isWorking { return true }
      if let deadline, ContinuousClock.now >= deadline { return false }
      await Task.yield()
      if let suspension = database.suspension { throw suspension }
    }
    return true
  }

  /// Whether this node still captures, merges or shows rows.
  var isWorking: Bool {
    get throws { try store.capture.isDue() || store.merges.isShowing() || replica.isMergeDue }
  }

  /// Does the work of a daemon in a process without one.
  ///
  /// - Returns: False if the time ran out first.
  @discardableResult
  nonisolated(nonsending) func workAlone(until deadline: ContinuousClock.Instant) async throws -> Bool {
    try database.beginGuard()
    return try await workOff(until: deadline)
  }

  /// Works as long as a task lasts. Peers and other commands have their turn in between.
  ///
  /// - Parameter obstacle: The reason that the task needs the flush of pending rows.
  nonisolated(nonsending) func work(whileRowsWaitBehind obstacle: String, _ isLasting: () throws -> Bool) async throws {
    while try isLasting() {
      guard try replica.work(now: time.now) else { throw Refusal.rowsPending(obstacle) }
      performActions()
      await Task.yield()
    }
  }

  /// Does the periodic work. Returns whether the next tick has something to do soon.
  func tick() -> Bool {
    guard database.suspension == nil else { return false }
    connections.noteQueued(replica)
    do {
      try store.waiting(atMost: Self.lockPatience) {
        try replica.tick(now: time.now)
        try database.rememberLog()
      }
    } catch let error as StoreError where error.code == .locked {
      // The work reports a lock that lasts.
    } catch {
      report(error)
    }
    performActions()
    rest()
    return replica.needsTick || worked.steps > 0
  }

  private func rest() {
    store.restIdleBlobs()
    worked.ticksSince += 1
    guard worked.ticksSince >= Self.quietTicks else { return }
    if worked.steps >= Self.muchWork { store.releaseMemory() }
    worked.steps = 0
  }

  /// Compares this node with its members, and requests their digests for the next time.
  func compareWithMembers() {
    guard database.suspension == nil else { return }
    do {
      for pair in try equality.compare(database, now: time.milliseconds()) {
        logger.error("equal vectors and unequal digests with \(pair.device) in \(pair.zone): see mesh doctor")
      }
    } catch {
      report(error)
    }
    replica.requestDigests()
    performActions()
  }

  /// Flushes the pending rows, within a time limit, and says goodbye. The rest stays in the file and is flushed at the
  /// next start.
  nonisolated(nonsending) func stop() async {
    defer { waker.finish() }
    guard database.suspension == nil else { return }
    do {
      try await workOff(until: .now + Self.lastWork)
    } catch {
      report(error)
    }
    replica.stop()
    performActions()
  }

  func close() {
    do {
      try database.close()
    } catch {
      report(error)
    }
  }

  // MARK: The file

  /// Checks whether the open file is still the one at the path, and whether another program has committed. Its writes
  /// will be flushed.
  func lookAtDatabase() {
    followFile()
    guard database.suspension == nil else { return }
    do {
      let version = try store.file.dataVersion()
      let isDue = pacing.look(isChanged: version != dataVersion, at: .now)
      dataVersion = version
      guard isDue else { return }
      replica.databaseChanged()
      performActions()
    } catch {
      report(error)
    }
  }

  /// Checks the file before a request that needs it.
  ///
  /// - Throws: A `Refusal` if the database can't be used now.
  func requireDatabase() throws {
    lookAtDatabase()
    if let suspension = database.suspension { throw suspension }
  }

  /// Opens the database again if it was restored or replaced, or if its content is unknown after a fault of the disk.
  /// The sessions were about another history, so they end and begin again.
  private func followFile(because error: StoreError? = nil) {
    switch database.follow(because: error) {
    case nil: return
    case .suspended: logger.error("\(database.suspension?.message ?? "")")
    case .reopened(let what):
      logger.warning("\(what). Other devices send what the file lacks.")
      (dataVersion, faults, equality) = (nil, Faults(), EqualityWatch())
      addresses.expectPeers()
      do {
        if addresses.listening != nil { try database.beginGuard() }
      } catch {
        report(error)
      }
      addresses.dialSoon(addresses.wanted)
    }
    connections.closeAll(because: "the database of this node was restored, replaced or moved away")
    performActions()
  }
}
