public import MeshCore

/// The replication of one node: sessions, account, control logs, keys, and the store behind them.
///
/// It has no clock, no socket and no thread. A driver feeds it inputs, one at a time, and performs the actions that
/// `takeActions` returns. The same code runs over TCP and in the simulator.
///
/// Guard: not safe for concurrent use; the driver owns it.
public final class Replica {
  public enum Action: Sendable {
    case send(LinkID, [UInt8])
    /// Closes the session after all earlier messages have left.
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
  /// The states of this account and of all accounts that a zone here lists.
  var accounts: Accounts {
    didSet {
      store.setAccounts(accounts, device: device)
      accountHeads = [:]
      accountChanges += 1
    }
  }
  /// The hashes of those states, computed on demand, because even a short message asks for all.
  private var accountHeads: [AccountID: [UInt8]] = [:]
  /// The number of changes to those states since the start.
  private(set) var accountChanges = 0
  var zones: [ZoneID: Zone] = [:]
  var sessions: [LinkID: Session] = [:]
  /// Sessions that end because their device has another session, until they are closed.
  var replaced: [LinkID: DeviceID] = [:]
  var links: [IssuedLink]
  /// The standings of the zones on this device, as the store was told.
  var standings: [ZoneStanding] = []
  /// Ended shares whose rows are no longer in the file.
  var dropped: Set<ZoneID> = []
  /// Ended shares whose rows may be partly deleted.
  var dropping: Set<ZoneID> = []
  /// True to keep the rows of every share that ends for this account, as records of this account.
  public var keepsCopies = false
  /// Decides for each share that others end for this account whether its rows stay.
  public var keepsRows: (@Sendable (ZoneID) -> Bool)?
  /// Notes the rare branches that the replica takes.
  public var probe: BranchProbe?
  var fetching = AssetFetching()
  /// Assets that received a chunk since the peers were told.
  var grownAssets: Set<AssetID> = []
  /// True if records, or the peers that have their assets, may have changed.
  var needsAssets = true
  /// True if an asset is complete. The next work puts it in place.
  var needsPlacing = false
  /// The number of assets that became complete since assets were last put in place.
  var completeAssets = 0
  /// The number of assets that became complete since the wanted assets were last looked up.
  var assetsSinceLook = 0
  /// True if the missing assets may differ from what peers were told.
  var hasBacklogMoved = false
  /// Devices that gave wrong chunks. They are not asked again.
  var liars: Set<DeviceID> = []
  /// Assets whose bytes are about to be given up.
  var evictions: [AssetID: Eviction] = [:]
  /// The devices that gave chunks of assets and left before these were complete. They are about to be stored.
  var lastSources: [AssetID: DeviceID] = [:]
  var assetRate = TransferRate()
  /// The reasons that assets can't be stored here now.
  public internal(set) var assetFaults: [AssetID: String] = [:]
  /// The bytes of assets that arrived since the start.
  public internal(set) var assetBytes = 0
  var actions: [Action] = []
  var needsFlush = true
  /// True if a transaction of local writes failed, perhaps after its commit. The file may then contain signed change
  /// sets of which no peer was told.
  var owesNews = false
  /// True if the schema may have changed.
  var needsUpkeep = true
  /// True if a unit of local writes has ended and more are waiting. Before the next unit, the changes of others have
  /// their turn. Otherwise a program that writes faster than its rows are flushed would block them.
  var isApplyDue = false
  /// The zone in which change sets were merged last.
  private var lastApplied: ZoneID?
  /// The clock of acknowledgements. Each is later than the one before.
  var clock = HybridClock()
  /// True if a member has sent its tables since the start.
  var hasForeignSchema = false
  /// Sentences about this device's instances that a person should know, since the start.
  public internal(set) var notices: [String] = []
  var clockWatch = ClockWatch()
  private var lastClockTold: Int64 = .min
  /// True if the home knows its place. This stays false until the node runs, because a command that only looks at the
  /// home must leave the notice to the node.
  private var hasSettled = false
  /// The number of refused change sets since the start, by reason.
  public internal(set) var refusals: [String: Int] = [:]
  /// The number of rows that were compared with the merged values since the start, and of those that had changed
  /// unnoticed.
  public internal(set) var compared = (rows: 0, differences: 0)
  private var lastKeyRequest: Int64 = .min
  /// The records of control logs that the news of each account may make this node read.
  var reading: [AccountID: Allowance] = [:]
  /// The bytes of control logs that each account may be sent.
  var sending: [AccountID: Allowance] = [:]
  /// The bytes of a share that devices with an invite may be shown before they claim it.
  var showing: [ControlID: Allowance] = [:]
  /// The sessions that each other account may open.
  var opening: [AccountID: Allowance] = [:]
  /// The maximum number of sessions with identified peers.
  var sessionBound = Choices.sessions
  /// The number of durable writes of arrived keys since the last tick.
  var keysKept = 0

  /// The milliseconds between two requests for missing keys.
  private static let keyRequestInterval: Int64 = 5_000
  /// The number of keys that one peer is asked for again in one round. The keys whose last request is the longest ago
  /// come first. A member that creates thousands of epochs and gives no key therefore can't make other nodes request
  /// all of them every few seconds.
  static let keysAskedAgain = 256
  /// The milliseconds between two announcements of this machine's time.
  private static let clockInterval: Int64 = 60_000

  /// The state of one zone.
  struct Zone {
    var log: ZoneLog
    /// The control records of other accounts that each account brought since the start, by author and then by the
    /// account that brought them. Only a device of the zone's owner counts them.
    var relayed: [AccountID?: [AccountID: ControlUse]] = [:]
    /// True if records arrived that the state doesn't include yet.
    var hasUnread = false
    /// The accounts that wrote those records.
    var unreadAccounts: Set<AccountID> = []
    private(set) var keys: [EpochID: EpochKey] = [:]
    /// The epochs whose keys are missing here.
    private(set) var lackingKeys: Set<EpochID> = []
    /// The epoch under which this device writes: the current epoch with the lowest id whose key is here.
    private(set) var writingEpoch: EpochID?
    /// Keys that are verified and not stored durably yet. Nothing is read or written with them.
    var arrivedKeys: [EpochID: EpochKey] = [:]
    var needsApply = true
    var waiting: [WaitingReason: Int] = [:]
    /// True if something could not be merged, because local rows came first and could not be signed.
    var awaitsWriter = false
    var acknowledged: VersionVector?
    /// Something was merged since.
    var mayAcknowledge = false
    /// The earliest time of the next acknowledgement, in milliseconds of the steady clock.
    var nextAcknowledgement: Int64 = .min
    /// There was something to acknowledge before that time.
    var owesAcknowledgement = false
    /// The backlog of assets that peers were told since the last acknowledgement, and the time at which they were.
    var toldBacklog: AssetBacklog?
    var backlogTold: Int64 = .min
    /// True if a part of it was still arriving.
    var hasBacklog = false
    /// The steady time since which no current epoch has its key here.
    var keyMissingSince: Int64?
    /// The last valid numbers of authors that end, such as those of cut devices.
    var limits: [Author: UInt64] = [:]
    /// The limits that the store has carried out since the start, or nil before it was asked to.
    var carriedOut: [Author: UInt64]?
    var cutPause = CutPause()
    /// True if change sets are missing that were refused or cut, and may be valid now or later.
    var hasRefused = false
    /// The room for new authors, if it is counted. It is counted again when another number of authors is stored.
    var authorRoom: AuthorRoom?
    /// Authors of which a peer has another branch. The change sets that follow there are not requested.
    var forked: Set<Author> = []
    /// Authors whose waiting change sets reached their bound. The rest is requested after something was merged.
    var overQuota: Set<Author> = []
    /// True if the file's instance must not be continued, and this device has no other left.
    var isBarred = false
    /// True if reverted change sets may be left to write again.
    var mayWriteAgain = true

    init(_ zone: ZoneID) { log = ZoneLog(zone) }

    /// The accounts that the records name.
    var people: ZonePeople { log.people }
    var state: ZoneState { log.state }

    /// Reads the state, and returns the new epochs whose keys are missing here.
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

    /// Returns whether a record can be valid after those that are here.
    func isSound(
      _ record: ControlRecord, _ accounts: Accounts, isLacking: Bool = false, _ cryptography: any Cryptography
    ) -> Bool {
      var people = people
      people.meet(record.act, cryptography)
      return record.isSound(people, accounts, isLacking: isLacking, cryptography)
    }

    var lacksKey: Bool { writingEpoch == nil }
  }

  /// The state of one session.
  struct Session {
    let info: LinkInfo
    var conversation: Conversation
    var peer: Certificate?
    /// The public half of the invite with which a device joins.
    var joiningBy: [UInt8]?
    /// The device of another account that may claim an invite, and nothing else.
    var claimant: Claimant?
    /// Zones that the peer is removed from, and whose logs it was sent for that reason.
    var told: Set<ZoneID> = []
    /// States of accounts that no zone here names yet. They arrive before the records that name them.
    var offered = Accounts()
    /// All accounts including the offered ones, with the number of account changes at which they were computed.
    var withOffered: (accountChanges: Int, accounts: Accounts)?
    var offeredBytes = 0
    /// The number of new change sets that arrived on it.
    var received: UInt64 = 0
    var merged: [ZoneID: VersionVector] = [:]
    var acknowledged: [ZoneID: VersionVector] = [:]
    /// The missing assets of the change sets that the peer has acknowledged. A zone is absent until the peer has said
    /// so.
    var backlogs: [ZoneID: AssetBacklog] = [:]
    var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)] = [:]
    /// True if the peer has said the name of its account.
    var hasNamed = false
    /// The expressions of the tables in the peer's next description, by name.
    var rules: [FoldedName: SchemaRules] = [:]
    /// The policies of columns of the tables in the peer's next description, by the tables' names.
    var policies: [FoldedName: [ColumnPolicySetting]] = [:]
    /// The difference of the peer's wall clock, as it last told, and this node's steady clock.
    var clock: Int64?
    /// Assets that are not complete here. The peer is told when more of them arrives.
    var toldAssets: Set<ToldAsset> = []
    var unaskedChunks = 0
    var keyRequests = KeyRequests()
    /// The heads of control logs that the peer was last told, and the time.
    var toldHeads: [ZoneID: (heads: [ControlID], at: Int64)] = [:]
    /// Zones whose heads the peer is told again later.
    var owedHeads: Set<ZoneID> = []
    /// The time at which the peer was last asked for missing change sets, by zone, in milliseconds of the steady clock.
    var lastAsked: [ZoneID: Int64] = [:]
    /// The zones about which the peer is asked again later.
    var owedAsks: Set<ZoneID> = []
    /// The number of times that each epoch's key was sent to the peer since keys were last requested.
    var givenKeys: [EpochID: Int] = [:]
    var outflow = Outflow()
    /// The steady time since which a peer of another account has shown no common zone.
    var outsideSince: Int64?
  }

  /// The claim of a device that proves an invite.
  struct Claimant {
    let zone: ZoneID
    let invite: ControlID
    let certificate: Certificate
    /// The heads of the log that it was shown.
    let shown: [ControlID]
    /// The amount that its invite's allowance was charged for that.
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
    // This check comes before anything is written.
    for zone in known { try requireOwn(zone) }
    try loadAccounts()
    store.setAccounts(accounts, device: device)
    for zone in known { try loadZone(zone) }
    // An earlier deletion may have begun, and this account may have been admitted again.
    dropping = try store.endedZones()
    try updateStandings()
    dropping.formUnion(standings.filter { $0.role == .ended }.map(\.zone))
  }

  /// Returns the hash of an account's state.
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
    // From here on, the driver knows how many bytes wait to leave, and reports them.
    for case .send(let link, _) in actions { sessions[link]?.outflow.queued = 0 }
    return actions
  }

  // MARK: Inputs

  /// Handles a finished handshake. The dialler speaks first.
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

  /// Keeps a session alive while its next message waits for another program's lock.
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

  /// Returns whether something waits for one of the next ticks. Without it, two ticks a second are enough.
  public var needsTick: Bool {
    !fetching.isEmpty || !grownAssets.isEmpty || completeAssets > 0 || !lastSources.isEmpty || !evictions.isEmpty
      || !dropping.isEmpty || zones.values.contains { $0.owesAcknowledgement || $0.hasUnread }
      || sessions.values.contains { session in
        !session.conversation.isOpen || !session.owedHeads.isEmpty || !session.owedAsks.isEmpty
          || !session.outflow.isEmpty || !session.outflow.asked.isEmpty
      }
  }

  /// Does the periodic work. The driver calls it a few times a second.
  public func tick(now: Moment) throws {
    if !hasSettled, try vault.isCopy() { try vault.settle() }
    hasSettled = true
    watchClock(now)
    keysKept = 0
    try keepKeys()
    for link in sessions.keys.sorted() { try handle(link, .tick, now: now) }
    for link in sessions.keys.sorted() {
      for zone in sessions[link]?.owedHeads.sorted() ?? [] { tellControlHeads(link, zone, now: now) }
      for zone in sessions[link]?.owedAsks.sorted() ?? [] { try ask(link, zone, now: now) }
      try sendAskedRecords(link, now: now)
      try pour(link)
    }
    for zone in zones.keys.sorted() where zones[zone]?.owesAcknowledgement == true { try acknowledge(zone, now: now) }
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
      // The wanted assets change in other ways too: a zone ended, or reverted change sets were written again.
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
      // No input arrives when the clock has caught up with change sets that were signed ahead of it.
      for zone in zones.keys where zones[zone]?.waiting[.futureTime] != nil { zones[zone]?.needsApply = true }
    }
  }

  /// Notes that the database may have changed.
  public func databaseChanged() {
    needsAssets = true
    needsUpkeep = true
    needsFlush = true
  }

  /// Handles tables that were tracked or changed, and new columns. Waiting values may now be shown, and peers learn the
  /// new schema.
  public func schemaChanged() throws {
    for link in openLinks { try sendSchema(link) }
    databaseChanged()
    for zone in zones.keys { zones[zone]?.needsApply = true }
  }

  /// Requests that held records are looked at again.
  public func heldRequested() {
    for zone in zones.keys { zones[zone]?.needsApply = true }
  }

  /// Does one bounded piece of work (a flush part or an apply slice). Returns true if more is to do.
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

  /// The next zone to merge. Zones take turns, so that a flooded zone blocks no other.
  private var nextToApply: ZoneID? {
    let due = zones.keys.filter { zones[$0]?.needsApply == true }
    return due.filter { zone in lastApplied.map { $0 < zone } ?? true }.min() ?? due.min()
  }

  /// Notes rows that the store itself has to flush: copies that are kept, and records that follow their parents to
  /// another zone.
  func noticePending() throws {
    if !needsFlush, try store.pendingCount() > 0 { needsFlush = true }
  }

  /// The zone of all records that are not in a share.
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
      case .sayMerged(let zone, let isAll):
        let merged = try store.mergedVector(zone)
        send(link, isAll ? .upToDate(zone, merged) : .have(zone, merged))
      case .deliver(let message):
        try deliver(link, message, now: now)
      case .read(let zone, let beyond, let after):
        let batch = try store.changeSets(zone, beyond: beyond, after: after, maximumBytes: Self.batchBytes)
        try handle(link, .batch(zone, batch), now: now)
      case .check(let zone, let announced):
        if announced.count(beyond: try store.storedVector(zone)) > 0 { try ask(link, zone, now: now) }
      case .end(let code, let text):
        end(link, code, text)
      }
    }
  }

  /// The bytes of change sets in one message: large enough to keep the connection busy, but small beside the window.
  static let batchBytes = 256 << 10

  func send(_ link: LinkID, _ message: Message) { send([link], message) }

  func send(_ links: [LinkID], _ message: Message) {
    let bytes = message.encoded
    for link in links {
      sessions[link]?.outflow.queued += bytes.count
      actions.append(.send(link, bytes))
    }
  }

  func end(_ link: LinkID, _ code: Message.Goodbye, _ text: String) {
    guard let session = sessions.removeValue(forKey: link) else { return }
    loseSource(link, session.peer?.device)
    send(link, .goodbye(code, text: text))
    actions.append(.close(link, reason: text))
    actions.append(.log(.info, "closing the session with \(session.name): \(text)"))
  }

  /// Returns the sessions whose peers get the news of a zone's log: those that share it, and this account's other
  /// devices.
  func links(hearing zone: ZoneID) -> [LinkID] {
    sessions.keys.sorted().filter { link in
      guard let session = sessions[link], session.conversation.isOpen else { return false }
      return session.conversation.commonZones.contains(zone) || session.peer?.account == account.id
    }
  }

  /// Returns the open sessions that share the zone, in order.
  func links(sharing zone: ZoneID) -> [LinkID] {
    sessions.keys.sorted().filter { sessions[$0]?.conversation.commonZones.contains(zone) ?? false }
  }
}

extension Replica.Session {
  /// The name for logs: the device's name and id, if they are known.
  var name: String { peer.map { "\(printable($0.request.name)) (\($0.device))" } ?? info.address }
}

/// A fault of this node itself, which no peer can cause.
public enum ReplicaError: Error, CustomStringConvertible, Sendable {
  /// The home's device key is not a key.
  case badDeviceKey
  /// The store's account state belongs to another account or is not signed by it, so the database belongs to another
  /// home.
  case foreignDatabase
  /// The action needs the account's key or an administrator. The text says which machines can do it.
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
