public import MeshCore

/// One node's replication: sessions, account, control logs, keys and the store behind them, without a clock, a socket or a
/// thread. A driver feeds it inputs, one at a time, and performs the actions that `takeActions` returns. The same code runs
/// over TCP and in the simulator.
///
/// Guard: not safe for concurrent use; the driver owns it.
public final class Replica {
  public enum Action: Sendable {
    case send(LinkID, [UInt8])
    /// After what was sent before has left.
    case close(LinkID, reason: String)
    case log(LogLevel, String)
  }

  public enum LogLevel: Sendable { case info, warning }

  let store: any ReplicaStore
  let vault: any Vault
  let cryptography: any Cryptography
  let randomness: any Randomness
  let secrets: any DeviceSecrets
  /// The account's key, on a machine that holds one.
  var accountSigner: AccountSigner?

  public let device: DeviceID
  public internal(set) var account: AccountState { didSet { accounts.set(account) } }
  /// Of this account, and of all that a zone here lists.
  var accounts: Accounts {
    didSet {
      store.setAccounts(accounts)
      accountHeads = [:]
      accountChanges += 1
    }
  }
  /// Of those states, as far as they were asked for: a short message asks for all.
  private var accountHeads: [AccountID: [UInt8]] = [:]
  /// How often those states have changed since the start.
  private(set) var accountChanges = 0
  var zones: [ZoneID: Zone] = [:]
  var sessions: [LinkID: Session] = [:]
  /// Links that end because their device has another session, until they are closed.
  var replaced: [LinkID: DeviceID] = [:]
  var links: [IssuedLink]
  /// What the zones are to this device, as the store was told.
  var standings: [ZoneStanding] = []
  /// Ended shares whose rows are not in the file any more.
  var dropped: Set<ZoneID> = []
  /// Those of which some rows may be gone, and others not.
  var dropping: Set<ZoneID> = []
  /// Of all shares that end for this account the rows stay, as records of its own.
  public var keepsCopies = false
  /// Asked about each share that others end for this account, whether its rows stay.
  public var keepsRows: (@Sendable (ZoneID) -> Bool)?
  var fetching = AssetFetching()
  /// Assets of which a chunk has come since peers were told.
  var grownAssets: Set<AssetID> = []
  /// Records, or the peers that have their assets, may have changed.
  var needsAssets = true
  /// An asset is complete, and is put in place with the next work.
  var needsPlacing = false
  /// Those that are complete since assets were last put in place.
  var completeAssets = 0
  /// Those that are complete since it was last looked up what is wanted.
  var assetsSinceLook = 0
  /// What is lacking of assets may be another amount than peers were told.
  var hasBacklogMoved = false
  /// Devices that gave what is no chunk of an asset: they are not asked again.
  var liars: Set<DeviceID> = []
  /// Assets whose bytes are about to be given up.
  var evictions: [AssetID: Eviction] = [:]
  /// Who gave something of assets that were incomplete when it left: to be kept.
  var lastSources: [AssetID: DeviceID] = [:]
  var assetRate = TransferRate()
  /// Why assets can't be kept here now.
  public internal(set) var assetFaults: [AssetID: String] = [:]
  /// Bytes of assets that came since the start.
  public internal(set) var assetBytes = 0
  var actions: [Action] = []
  var needsFlush = true
  /// A transaction of local writes failed, perhaps after its commit: what it signed may be in the file, and nobody was told.
  var owesNews = false
  /// The schema may have changed.
  var needsUpkeep = true
  /// A unit of local writes has ended and more are waiting: before the next, others' changes have their turn, or a program
  /// that writes faster than its rows are flushed would keep them out.
  var isApplyDue = false
  /// The zone in which change sets were merged last.
  private var lastApplied: ZoneID?
  /// Of acknowledgements: each is later than the one before.
  var clock = HybridClock()
  /// A member has told us its tables since the start.
  var hasForeignSchema = false
  /// What a person should know of this device's writing lives, as sentences, since the start.
  public internal(set) var notices: [String] = []
  var clockWatch = ClockWatch()
  private var lastClockTold: Int64 = .min
  /// The home knows its place. Not before the node runs: a verb that looks at the home must leave it to be said.
  private var hasSettled = false
  /// Why change sets were refused, and how often, since the start.
  public internal(set) var refusals: [String: Int] = [:]
  /// Rows that were compared with what is merged since the start, and how many had been changed unnoticed.
  public internal(set) var compared = (rows: 0, differences: 0)
  private var lastKeyRequest: Int64 = .min
  /// What the news of each account may make this node read of control logs.
  var reading: [AccountID: Allowance] = [:]
  /// What each account may be sent of control logs.
  var sending: [AccountID: Allowance] = [:]
  /// What those who use an invite may be shown of its share before they claim it.
  var showing: [ControlID: Allowance] = [:]
  /// The sessions that each other account may open.
  var opening: [AccountID: Allowance] = [:]
  /// Sessions with peers that have said who they are.
  var sessionBound = Choices.sessions
  /// How often keys that came were kept since the last tick.
  var keysKept = 0

  /// How often keys that are lacking are asked for again, in milliseconds.
  private static let keyRequestInterval: Int64 = 5_000
  /// Keys that one peer is asked for again in one round. What was asked for longest ago comes first: whoever opens epochs by the
  /// thousand and gives no key makes nobody ask for all of them every few seconds.
  static let keysAskedAgain = 256
  /// How often peers are told this machine's time, in milliseconds.
  private static let clockInterval: Int64 = 60_000

  /// What is known of one zone.
  struct Zone {
    var log: ZoneLog
    /// The control records of others that each account brought since the start, by author and then by the account that
    /// brought them. Only a device of the zone's owner counts them.
    var relayed: [AccountID?: [AccountID: ControlUse]] = [:]
    /// Records came of which the state says nothing yet.
    var hasUnread = false
    /// Whose they are.
    var unreadAccounts: Set<AccountID> = []
    private(set) var keys: [EpochID: EpochKey] = [:]
    /// Epochs whose keys are not here.
    private(set) var lackingKeys: Set<EpochID> = []
    /// The current epoch with the lowest id whose key is here: what this device writes under.
    private(set) var writingEpoch: EpochID?
    /// Verified, and not kept durably yet: nothing is read or written with them.
    var arrivedKeys: [EpochID: EpochKey] = [:]
    var needsApply = true
    var waiting: [WaitingReason: Int] = [:]
    /// Something could not be merged, since local rows came first and could not be signed.
    var awaitsWriter = false
    var acknowledged: VersionVector?
    /// What peers were told that is lacking here of assets, since the last acknowledgement; and when.
    var toldBacklog: AssetBacklog?
    var backlogTold: Int64 = .min
    /// Some of it was still coming.
    var hasBacklog = false
    /// Since when no current epoch's key is here, on the steady clock.
    var keyMissingSince: Int64?
    /// Where the authors of cut devices end; and as far as the store has carried it out since the start.
    var limits: [Author: UInt64] = [:]
    /// Nil before it was asked to.
    var carriedOut: [Author: UInt64]?
    var cutPause = CutPause()
    /// Change sets are not here that were refused or cut, and may be good now or later.
    var hasRefused = false
    /// Authors of whom a peer has another branch than is here: what follows it there is not asked for.
    var forked: Set<Author> = []
    /// Authors whose waiting change sets are at their bound: the rest is asked for once something was merged.
    var overQuota: Set<Author> = []
    /// The instance that the file names must not write on, and this device has no other left.
    var isBarred = false
    /// Something that a cut took back may be left to be written again.
    var mayWriteAgain = true

    init(_ zone: ZoneID) { log = ZoneLog(zone) }

    /// Whom the records name.
    var people: ZonePeople { log.people }
    var state: ZoneState { log.state }

    /// Reads the state, and returns the epochs among the news whose keys are not here.
    mutating func read(_ accounts: Accounts, revision: Int, _ cryptography: any Cryptography) -> [EpochID] {
      let judged = log.read(accounts, revision: revision, cryptography)
      if judged.count == state.epochs.count { (lackingKeys, writingEpoch) = ([], nil) }
      let lacking = judged.filter { keys[$0] == nil }
      lackingKeys.formUnion(lacking)
      useKeys(of: judged)
      return lacking
    }

    mutating func add(_ new: [EpochID: EpochKey]) {
      keys.merge(new) { old, _ in old }
      lackingKeys.subtract(new.keys)
      useKeys(of: new.keys)
    }

    private mutating func useKeys(of epochs: some Sequence<EpochID>) {
      for epoch in epochs where keys[epoch] != nil && log.state.currentEpochs.contains(epoch) {
        writingEpoch = min(writingEpoch ?? epoch, epoch)
      }
    }

    /// Whether a record can stand after those that are here.
    func isSound(
      _ record: ControlRecord, _ accounts: Accounts, isLacking: Bool = false, _ cryptography: any Cryptography
    ) -> Bool {
      var people = people
      people.meet(record.act, cryptography)
      return record.isSound(people, accounts, isLacking: isLacking, cryptography)
    }

    var lacksKey: Bool { writingEpoch == nil }
  }

  /// What is known of one session.
  struct Session {
    let info: LinkInfo
    var conversation: Conversation
    var peer: Certificate?
    /// The link that lets a joining device in.
    var joiningBy: [UInt8]?
    /// Another account's device that may claim an invite, and no more.
    var claimant: Claimant?
    /// Zones in which the peer is out, and whose logs it was sent for that.
    var told: Set<ZoneID> = []
    /// States of accounts that no zone here names yet: they come before the records that do.
    var offered = Accounts()
    /// All accounts and those, as they were after so many changes of accounts.
    var withOffered: (accountChanges: Int, accounts: Accounts)?
    var offeredBytes = 0
    var merged: [ZoneID: VersionVector] = [:]
    var acknowledged: [ZoneID: VersionVector] = [:]
    /// What the peer lacks of the assets of what it has acknowledged; nil until it has said so.
    var backlogs: [ZoneID: AssetBacklog] = [:]
    var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)] = [:]
    /// The peer has said what its account is called.
    var hasNamed = false
    /// What the tables of the peer's next description compute, by name.
    var rules: [FoldedName: SchemaRules] = [:]
    /// The peer's wall clock less our steady one, as it last told.
    var clock: Int64?
    /// Assets that are not complete here, of which the peer is told when there is more.
    var toldAssets: Set<ToldAsset> = []
    var unaskedChunks = 0
    var keyRequests = KeyRequests()
    /// Heads of control logs that it was told last, and when.
    var toldHeads: [ZoneID: (heads: [ControlID], at: Int64)] = [:]
    /// Zones whose heads it is told again later.
    var owedHeads: Set<ZoneID> = []
    /// Epochs whose keys it was sent since keys were last asked for.
    var givenKeys: [EpochID: Int] = [:]
    var outflow = Outflow()
    /// Since when a peer of another account shows no zone in common, on the steady clock.
    var outsideSince: Int64?
  }

  /// What a device that proves an invite is after.
  struct Claimant {
    let zone: ZoneID
    let invite: ControlID
    let certificate: Certificate
    /// The heads of the log that it was shown.
    let shown: [ControlID]
    /// What its invite's allowance was charged for that.
    var cost = 0
  }

  public init(
    store: any ReplicaStore, vault: any Vault, account: AccountState, secrets: any DeviceSecrets,
    accountSigner: AccountSigner?, cryptography: any Cryptography, randomness: any Randomness
  ) throws {
    guard let device = DeviceID(secrets.signingKey) else { throw ReplicaError.badDeviceKey }
    self.store = store
    self.vault = vault
    self.account = account
    accounts = Accounts([account])
    self.secrets = secrets
    self.accountSigner = accountSigner
    self.cryptography = cryptography
    self.randomness = randomness
    self.device = device
    links = try vault.links()
    let known = try store.zones()
    // Before anything is written.
    for zone in known { try requireOwn(zone) }
    try loadAccounts()
    store.setAccounts(accounts)
    for zone in known { try loadZone(zone) }
    // An earlier life may have begun, and this account been let in again.
    dropping = try store.endedZones()
    try updateStandings()
    dropping.formUnion(standings.filter { $0.role == .ended }.map(\.zone))
  }

  /// The hash of an account's state.
  func head(of id: AccountID) -> [UInt8]? {
    if let known = accountHeads[id] { return known }
    let head = accounts[id]?.head(cryptography)
    accountHeads[id] = head
    return head
  }

  public var certificate: Certificate? { account.certificate(device) }
  public var isRevoked: Bool { account.isRevoked(device) }
  public var zoneIDs: [ZoneID] { zones.keys.sorted() }

  public func takeActions() -> [Action] {
    defer { actions = [] }
    // From here on the driver knows what waits to leave, and says so.
    for case .send(let link, _) in actions { sessions[link]?.outflow.queued = 0 }
    return actions
  }

  // MARK: Inputs

  /// A handshake is over. The dialler speaks first.
  public func linkOpened(_ link: LinkID, _ info: LinkInfo, now: Moment) throws {
    try resumeDropping(now: now)
    makeRoomForUnnamed()
    sessions[link] = Session(info: info, conversation: Conversation(now: now.steady))
    if info.role == .dialler { sayHello(link) }
  }

  public func received(_ link: LinkID, _ bytes: [UInt8], now: Moment) throws {
    guard sessions[link] != nil else { return }
    do {
      guard let message = try Message.decode(bytes) else { return }
      try handle(link, .message(message), now: now)
    } catch let error as DecodingError {
      end(link, .protocolViolation, "a message broke a rule of the format: \(error)")
    }
  }

  /// The link's next message waits for another program's lock: the session lives on meanwhile.
  public func keepWaiting(_ link: LinkID, now: Moment) {
    for case .send(let message) in sessions[link]?.conversation.handle(.waiting, now: now.steady) ?? [] {
      send(link, message)
    }
  }

  public func linkClosed(_ link: LinkID, now: Moment) {
    let session = sessions.removeValue(forKey: link)
    replaced[link] = nil
    loseSource(link, session?.peer?.device)
  }

  /// To be called a few times a second.
  public func tick(now: Moment) throws {
    if !hasSettled, try vault.isCopy() { try vault.settle() }
    hasSettled = true
    watchClock(now)
    keysKept = 0
    try keepKeys()
    for link in sessions.keys.sorted() { try handle(link, .tick, now: now) }
    for link in sessions.keys.sorted() {
      for zone in sessions[link]?.owedHeads.sorted() ?? [] { tellControlHeads(link, zone, now: now) }
      try sendAskedRecords(link, now: now)
      try pour(link)
    }
    endOutsiders(now: now)
    try tickAssets(now: now)
    if now.steady &- lastClockTold > Self.clockInterval || lastClockTold == .min {
      lastClockTold = now.steady
      for (link, session) in sessions.sorted(by: { $0.key < $1.key }) where session.conversation.isOpen {
        send(link, .clock(now.wall))
      }
    }
    if now.steady &- lastKeyRequest > Self.keyRequestInterval || lastKeyRequest == .min {
      lastKeyRequest = now.steady
      // Whatever else changed: a zone that ended, what was written again.
      _ = try refreshAssets(now: now)
      for link in sessions.keys.sorted() {
        sessions[link]?.givenKeys = [:]
        requestKeysAgain(link)
      }
      reading = reading.filter { $0.value.left(rate: Choices.controlReadingPerMillisecond, now: now.steady) > 0 }
      sending = sending.filter { $0.value.left(rate: Choices.controlSendingPerMillisecond, now: now.steady) > 0 }
      showing = showing.filter { $0.value.left(rate: Choices.controlSendingPerMillisecond, now: now.steady) > 0 }
      opening = opening.filter { $0.value.left(rate: 1, now: now.steady) > 0 }
      try cutRevokedDevices(now: now)
      for zone in zones.keys.sorted() { try replaceMissingEpoch(zone, now: now) }
      // Nothing arrives when the clock has caught up with what was signed ahead of it.
      for zone in zones.keys where zones[zone]?.waiting[.futureTime] != nil { zones[zone]?.needsApply = true }
    }
  }

  /// The database may have changed.
  public func databaseChanged() {
    needsAssets = true
    needsUpkeep = true
    needsFlush = true
  }

  /// Tables were tracked or changed, or columns came: what waited may now be shown, and peers learn the new form.
  public func schemaChanged() throws {
    for link in sessions.keys.sorted() where sessions[link]?.conversation.isOpen == true { try sendSchema(link) }
    databaseChanged()
    for zone in zones.keys { zones[zone]?.needsApply = true }
  }

  /// What is held is to be looked at again.
  public func heldRequested() {
    for zone in zones.keys { zones[zone]?.needsApply = true }
  }

  /// Does one bounded piece of work (a flush part, an apply slice); true where more is to do.
  public func work(now: Moment) throws -> Bool {
    watchClock(now)
    try resumeDropping(now: now)
    for zone in zones.keys.sorted() where zones[zone]?.hasUnread == true { try readNews(zone, now: now) }
    if needsUpkeep {
      switch try upkeep(now: now) {
      case .made: return true
      case .blocked: return false
      case .notNeeded: break
      }
    }
    if owesNews {
      try tellNews(now: now)
      owesNews = false
    }
    let comesApply = isApplyDue && zones.values.contains { $0.needsApply }
    if needsFlush, !comesApply {
      let writers = try writers()
      if !writers.isEmpty {
        for (id, zone) in zones where zone.awaitsWriter && isReady(id, writers) {
          zones[id]?.awaitsWriter = false
          zones[id]?.needsApply = true
        }
        try flush(writers, now: now)
        return true
      }
    }
    for zone in zones.keys.sorted() { try carryOutCuts(zone, now: now) }
    for zone in zones.keys.sorted() where try writeAgain(zone, now: now) { return true }
    if let zone = nextToApply {
      lastApplied = zone
      try apply(zone, now: now)
      return true
    }
    for zone in zones.keys.sorted() { try acknowledge(zone, now: now) }
    if try workOnAssets(now: now) { return true }
    try tellBacklogs(now: now)
    return try dropEnded(now: now)
  }

  /// Zones have their turns, so that one which is flooded keeps no other waiting.
  private var nextToApply: ZoneID? {
    let due = zones.keys.filter { zones[$0]?.needsApply == true }
    return due.filter { zone in lastApplied.map { $0 < zone } ?? true }.min() ?? due.min()
  }

  /// Where zones meet, the store has rows of its own to flush: copies that are kept, records that follow their parents.
  func noticePending() throws {
    if !needsFlush, try store.pendingCount() > 0 { needsFlush = true }
  }

  /// The zone of all records that no share holds.
  public var privateZone: ZoneID? {
    zones.values.filter { $0.state.owner == account.id && $0.state.root == nil }.map(\.state.zone).min()
  }

  // MARK: Outputs of conversations

  func handle(_ link: LinkID, _ input: Conversation.Input, now: Moment) throws {
    guard let outputs = sessions[link]?.conversation.handle(input, now: now.steady) else { return }
    for output in outputs {
      switch output {
      case .send(let message):
        send(link, message)
      case .deliver(let message):
        try deliver(link, message, now: now)
      case .read(let zone, let beyond, let after):
        let batch = try store.changeSets(zone, beyond: beyond, after: after, maximumBytes: Self.batchBytes)
        try handle(link, .batch(zone, batch), now: now)
      case .check(let zone, let announced):
        let stored = try store.storedVector(zone)
        if announced.count(beyond: stored) > 0 { try handle(link, .lacking(zone, stored: stored), now: now) }
      case .end(let code, let text):
        end(link, code, text)
      }
    }
  }

  /// Bytes of change sets in one message: large enough to keep the wire busy, small beside the window.
  static let batchBytes = 256 << 10

  func send(_ link: LinkID, _ message: Message) {
    let bytes = message.encoded
    sessions[link]?.outflow.queued += bytes.count
    actions.append(.send(link, bytes))
  }

  func end(_ link: LinkID, _ code: Message.Goodbye, _ text: String) {
    guard let session = sessions.removeValue(forKey: link) else { return }
    loseSource(link, session.peer?.device)
    send(link, .goodbye(code, text: text))
    actions.append(.close(link, reason: text))
    actions.append(.log(.info, "closing the session with \(session.name): \(text)"))
  }

  /// Links whose peers hear what is new in a zone's log: those that share it, and this account's other devices.
  func links(hearing zone: ZoneID) -> [LinkID] {
    sessions.keys.sorted().filter { link in
      guard let session = sessions[link], session.conversation.isOpen else { return false }
      return session.conversation.commonZones.contains(zone) || session.peer?.account == account.id
    }
  }

  /// Links with an open session that shares the zone, in order.
  func links(sharing zone: ZoneID) -> [LinkID] {
    sessions.keys.sorted().filter { sessions[$0]?.conversation.commonZones.contains(zone) ?? false }
  }
}

extension Replica.Session {
  /// For logs: the device's name and id where they are known.
  var name: String { peer.map { "\(printable($0.request.name)) (\($0.device))" } ?? info.address }
}

/// A fault of this node's own, below any peer's reach.
public enum ReplicaError: Error, CustomStringConvertible, Sendable {
  /// The home's device key is not a key.
  case badDeviceKey
  /// The store's account state is of another account, or not signed by it: the database belongs to another home.
  case foreignDatabase
  /// An act that takes the account's key or an administrator; the text says which machines can do it.
  case needsAccountKey(String)
  case unknownDevice(String)
  case notReady(String)

  public var description: String {
    switch self {
    case .badDeviceKey: "the device key in the home is not a key of 32 bytes: restore device.key from a backup"
    case .foreignDatabase:
      "the database belongs to another account than this home: give --home of the account it belongs to, or another database"
    case .needsAccountKey(let text), .unknownDevice(let text), .notReady(let text): text
    }
  }
}
