package import MeshCore

/// The replication of one node: it creates the parts, and gives them the inputs.
///
/// It has no clock, no socket and no thread. A driver feeds it inputs, one at a time, and performs the actions that
/// `takeActions` returns. The same code runs over TCP and in the simulator.
///
/// Guard: not safe for concurrent use; the driver owns it.
package final class Replica: Part {
  let context: Context
  let clocks: Clocks
  let standings: StandingBook
  let logs: ControlLogs
  let keys: KeyRing
  let schema: SchemaExchange
  let exchange: AccountExchange
  let acknowledgements: Acknowledgements
  let cutoffs: Cutoffs
  let writers: Writers
  let reverts: Reverts
  let membership: Membership
  let changes: ControlChanges
  let forks: Forks
  let intake: ChangeSetIntake
  let localWrites: LocalWrites
  let merges: Merges
  let greeting: Greeting
  private let ticks: Ticks
  private let worker: Worker

  package let zoneViews: ZoneViews
  package let peerViews: PeerViews
  /// Gives the assets that are here to others, and gives them up.
  package let copies: AssetCopies
  private let deliveries: AssetDeliveries
  package let downloads: AssetDownloads
  package let shares: Shares
  package let administration: Administration
  package let restamping: Restamping
  package let devices: DeviceAdmission
  package let admission: ShareAdmission

  /// Notes the rare branches that the replica takes.
  package var probe: BranchProbe? {
    get { incidents.probe }
    set { incidents.probe = newValue }
  }

  package init(
    store: any ReplicaStore, vault: any Vault, account: AccountState, secrets: any DeviceSecrets,
    accountSigner: AccountSigner?, cryptography: any Cryptography, randomness: any Randomness
  ) throws {
    guard let device = DeviceID(secrets.signingKey) else { throw ReplicaError.badDeviceKey }
    let (outbox, due) = (Outbox(), WorkQueue())
    context = Context(
      store: store, vault: vault, cryptography: cryptography, randomness: randomness, secrets: secrets, device: device,
      outbox: outbox,
      book: AccountBook(
        account, signer: accountSigner, device: device, store: store.control, secrets: secrets,
        cryptography: cryptography),
      sessions: Sessions(device, store.log, outbox), zones: Zones(due), due: due, incidents: Incidents(outbox))
    clocks = Clocks(context)
    standings = StandingBook(context)
    schema = SchemaExchange(context)
    exchange = AccountExchange(context: context)
    cutoffs = Cutoffs(context: context, standings: standings)
    copies = AssetCopies(context)
    deliveries = AssetDeliveries(context: context)
    downloads = AssetDownloads(context, copies)
    logs = ControlLogs(context, copies)
    keys = KeyRing(context, logs)
    writers = Writers(context: context, clocks: clocks, standings: standings, cutoffs: cutoffs)
    acknowledgements = Acknowledgements(context, logs, downloads)
    reverts = Reverts(context: context, cutoffs: cutoffs, writers: writers, acknowledgements: acknowledgements)
    membership = Membership(
      context: context, logs: logs, exchange: exchange, schema: schema, keys: keys, acknowledgements: acknowledgements,
      downloads: downloads)
    changes = ControlChanges(context, logs, exchange, standings, reverts, keys, membership)
    forks = Forks(context: context, cutoffs: cutoffs, writers: writers, logs: logs, changes: changes)
    intake = ChangeSetIntake(context: context, cutoffs: cutoffs, writers: writers, reverts: reverts, forks: forks)
    shares = Shares(context: context, logs: logs, keys: keys, changes: changes, standings: standings)
    administration = Administration(context: context, logs: logs, keys: keys, changes: changes)
    restamping = Restamping(context: context, clocks: clocks, cutoffs: cutoffs, logs: logs, changes: changes)
    localWrites = LocalWrites(context, writers, schema, acknowledgements, shares)
    merges = Merges(
      context: context, writers: writers, reverts: reverts, local: localWrites, acknowledgements: acknowledgements)
    devices = try DeviceAdmission(context, administration, changes)
    admission = ShareAdmission(context, logs, exchange, changes)
    greeting = Greeting(context, exchange, schema, membership, changes, devices, admission)
    ticks = Ticks(
      context, clocks: clocks, standings: standings, logs: logs, keys: keys, acknowledgements: acknowledgements,
      membership: membership, changes: changes, localWrites: localWrites, copies: copies, downloads: downloads,
      administration: administration, admission: admission, greeting: greeting)
    worker = Worker(
      context: context, clocks: clocks, changes: changes, localWrites: localWrites, reverts: reverts, merges: merges,
      acknowledgements: acknowledgements, downloads: downloads, standings: standings)
    zoneViews = ZoneViews(context: context, writers: writers, standings: standings, schema: schema)
    peerViews = PeerViews(context: context)
    sessions.whenEnded = { [weak downloads] link, device in downloads?.lose(link, device) }
    try load()
  }

  /// Reads what is stored.
  private func load() throws {
    let known = try store.control.knownZones()
    // This check comes before anything is written.
    for zone in known { try logs.requireOwn(zone) }
    try book.load()
    for zone in known {
      try logs.load(zone)
      let limits = try cutoffs.limits(zone)
      zones[zone]?.limits.set(limits)
      try writers.load(zone)
    }
    try noteUnknownZones(besides: known)
    try standings.load()
  }

  /// Tells a person of shares that the home knows and the database doesn't.
  private func noteUnknownZones(besides known: [ZoneID]) throws {
    let missing = Set(try context.vault.zones()).subtracting(known.map(\.description)).sorted()
    guard !known.isEmpty, !missing.isEmpty else { return }
    context.incidents.notify(
      "this home has keys of \(missing.joined(separator: ", ")), and the database doesn't know that share: it is from before "
        + "this device joined. Your other devices tell it of the share; if you have none, join again with an invite")
  }

  // MARK: Inputs

  /// Handles a finished handshake. The dialler speaks first.
  package func linkOpened(_ link: LinkID, _ info: LinkInfo, now: Moment) throws {
    try changes.resumeDropping(now: now)
    greeting.makeRoomForUnnamed()
    sessions.open(link, info, now: now)
    guard info.role == .dialler else { return }
    greeting.introduce(link)
    sayHello(link)
  }

  /// Handles a message of a peer.
  ///
  /// - Returns: True if the peer's account has to rest for as long as the message took, before its next message. See
  ///   `isForEverybody`.
  @discardableResult
  package func received(_ link: LinkID, _ bytes: [UInt8], now: Moment) throws -> Bool {
    guard sessions[link] != nil else { return false }
    do {
      guard let message = try Message.decode(bytes) else { return false }
      if let delivered = try sessions.handle(link, .message(message), now: now) {
        try handle(link, delivered, now: now)
      }
      return isForEverybody(message, from: link)
    } catch let error as FormatError {
      sessions.end(link, .protocolViolation, "a message broke a rule of the format: \(error)")
      return false
    }
  }

  /// Returns whether every member has to read what a message brings, which this node passes on. If it took such
  /// messages of another account one after the other, it would pass them on as fast as others can read them. The rows of
  /// honest devices would then wait behind more and more of them. The owner of a zone and the devices of this account
  /// only pass on what another node has let in.
  private func isForEverybody(_ message: Message, from link: LinkID) -> Bool {
    guard let peer = sessions[link]?.peer?.account, peer != account.id else { return false }
    switch message {
    case .account: return true
    case .controlRecords(let zone, _): return zones[zone]?.state.owner != peer
    default: return false
    }
  }

  /// Keeps a session alive while its next message waits for another program's lock.
  package func keepWaiting(_ link: LinkID, now: Moment) { sessions.keepWaiting(link, now: now) }

  package func linkClosed(_ link: LinkID, now: Moment) { sessions.closed(link) }

  /// Notes how many bytes wait to leave on a session. The driver calls this before it hands over received bytes, and
  /// before each tick.
  package func noteQueued(_ bytes: Int, on link: LinkID) { sessions[link]?.outflow.note(queued: bytes) }

  /// Notes that the database may have changed.
  package func databaseChanged() { due.noteDatabase() }

  /// Handles tables that were tracked or changed, and new columns.
  package func schemaChanged() throws { try localWrites.schemaChanged() }

  /// Requests that held records are looked at again.
  package func heldRequested() { due.noteMerges(zones.ids) }

  /// Asks every peer for its digests. They arrive later and are then in `peerViews`.
  package func requestDigests() { acknowledgements.requestDigests() }

  /// Says goodbye to all peers, because the node stops.
  package func stop() {
    for link in sessions.links { sessions.end(link, .stopping, "the node stops") }
  }

  /// Says goodbye to a peer, because of a fault of this node.
  package func stall(_ link: LinkID) { sessions.end(link, .stalled, "the node has a fault, which its log names") }

  package func takeActions() -> [ReplicaAction] { sessions.takeActions() }

  /// True if no action waits to be performed.
  package var hasNoActions: Bool { outbox.actions.isEmpty }

  // MARK: Time and work

  /// Returns whether something waits for one of the next ticks. Without it, two ticks a second are enough.
  package var needsTick: Bool { ticks.isNeeded }

  /// Does the periodic work. The driver calls it a few times a second.
  package func tick(now: Moment) throws { try ticks.tick(now: now) }

  /// Does one bounded piece of work (a flush part or an apply slice). Returns true if more is to do.
  package func work(now: Moment) throws -> Bool { try worker.next(now: now) }

  // MARK: Messages

  private func handle(_ link: LinkID, _ message: Message, now: Moment) throws {
    let isBeforeHello = sessions[link]?.machine.awaitsHello == true
    switch message {
    case .hello(let hello): try greeting.welcome(link, hello, now: now)
    case .account where isBeforeHello, .controlRecords where isBeforeHello:
      guard sessions[link]?.introduction.add(message) == false else { return }
      sessions.end(
        link, .protocolViolation, "the messages before a hello are longer than \(Choices.introduction) bytes")
    case .goodbye(let code, let text):
      if code == .notAdmitted { greeting.noteRefusal(link) }
      sessions.peerEnded(link, code, text)
    case .account(let bytes): try changes.learnAccount(link, bytes, now: now)
    case .accountHeads(let heads): exchange.meetHeads(link, heads)
    case .accountName(let name): try greeting.learnName(link, name)
    case .claim(let claim): try devices.admit(link, claim, now: now)
    case .shareClaim(let zone, let claim): try admission.redeem(link, zone, claim, now: now)
    case .clock(let milliseconds): sessions[link]?.told(clock: milliseconds, now: now)

    case .zones(let tags): try membership.meetZones(link, tags, now: now)
    case .controlHeads(let zone, let heads): try membership.meetControlHeads(link, zone, heads, now: now)
    case .controlRecords(let zone, let records): try changes.learn(link, zone, records, now: now)
    case .keyRequest(let zone, let epochs): keys.send(link, zone, epochs)
    case .keys(let zone, let sealed): try keys.learn(zone, sealed)

    case .schemaRules(let tables): schema.learn(link, tables)
    case .columnPolicies(let tables): schema.learn(link, tables)
    case .ownerPolicies(let owner, let tables): try schema.learn(link, tables, of: owner, now: now)
    case .formerNames(let tables): schema.learn(link, tables)
    case .schema(let tables): try schema.learn(link, tables, now: now)

    case .changeSets(let zone, let changeSets): try intake.learn(link, zone, changeSets, now: now)
    case .tips(let zone, let tips): try forks.learnTips(link, zone, tips)
    case .excerptRequest(let zone, let author, let number): try forks.sendExcerpt(link, zone, author, through: number)
    case .excerpt(let zone, let headers): try forks.learnExcerpt(link, zone, headers, now: now)
    case .acknowledgement(let acknowledgement): try acknowledgements.learn(link, acknowledgement, now: now)
    case .upToDate(let zone, let vector), .have(let zone, let vector):
      if sessions.isCommon(zone, link) { sessions[link]?.progress.merged(zone, vector) }
    case .digestRequest(let zone): try acknowledgements.sendDigest(link, zone)
    case .digest(let zone, let vector, let digest, let unsent):
      if sessions.isCommon(zone, link) { sessions[link]?.progress.digested(zone, (vector, digest, unsent)) }

    case .assetWant(let zone, let asset, let chunks): try copies.give(link, zone, asset, chunks)
    case .assetChunk(_, let asset, let index, let bytes): try downloads.learnChunk(link, index, asset, bytes, now: now)
    case .assetHas(let zone, let asset, let chunks):
      try deliveries.learn(link, zone, asset, chunks)
      downloads.learnChunks(link, asset, chunks, now: now)
    case .assetBacklog(let zone, let backlog):
      guard sessions.isCommon(zone, link) else { break }
      sessions[link]?.progress.lacks(zone, backlog)
      try deliveries.noteBacklog(link, zone, backlog)

    case .want(let zone, let vector): try membership.meet(zone, link, wanted: vector, now: now)
    case .admitted, .announceOnly, .credit, .ping, .pong: break
    }
  }
}
