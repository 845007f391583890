package import MeshCore

/// The protocol of one session with a peer, as a value: it takes inputs and returns outputs.
///
/// It enforces the order of the protocol (hello first), the credit window in both directions, pushing and announcing,
/// and the keep-alive. It never touches the store. It asks its caller to read, and it hands over messages that it can't
/// judge.
package struct SessionStateMachine: Sendable {
  package enum Input: Sendable {
    case message(Message)
    case tick
    /// A message from the peer has arrived and has to wait.
    case waiting
    /// Both hellos were accepted, and change sets can be exchanged.
    case admitted
    /// A zone is known to be in common, at any time after `admitted`. The peer is asked for change sets beyond
    /// `stored`.
    case share(ZoneID, stored: VersionVector)
    /// The peer's first `want` of a common zone was delivered and handled. The peer is sent the change sets beyond the
    /// vector.
    case met(ZoneID, wanted: VersionVector)
    /// A zone is no longer in common.
    case unshare(ZoneID)
    /// The log of a zone has grown.
    case advanced(ZoneID)
    /// The answer to `Output.read`.
    case batch(ZoneID, ChangeSetBatch)
    /// Change sets from the peer were handled, up to `received`. They are `bytes` long, `new` of them were new, and
    /// `duplicates` were already here.
    case settled(ZoneID, received: VersionVector, bytes: Int, new: Int, duplicates: Int)
    /// The peer has acknowledged change sets, and needs none of them.
    case acknowledged(ZoneID, VersionVector)
    /// The peer has change sets that are missing here. They may arrive through another session.
    case missing(ZoneID, announced: VersionVector)
    /// Change sets are missing: ask again. `isAnnounced` is true if the peer said that it has them.
    case lacking(ZoneID, stored: VersionVector, isAnnounced: Bool)
  }

  package enum Output: Sendable {
    case send(Message)
    /// A request to tell the peer what is merged of a zone. If `isAll` is true, the peer has been sent all of it.
    /// Otherwise it may ask for it.
    case sayMerged(ZoneID, isAll: Bool)
    /// A message for the code that knows the account, the control log and the store. The first `want` of a zone that is
    /// in common is one: it shows that the peer knows the zone to be in common too. Answer it with `met`.
    case deliver(Message)
    /// A request to read change sets that the peer wants from the log: those of some devices, or all.
    case read(ZoneID, beyond: VersionVector, of: Set<DeviceID>?, after: Int64)
    /// The peer announced change sets. If some are missing here, answer with `missing`, or with `lacking` if they
    /// don't come from elsewhere. `isLate` is true if there was time for that.
    case check(ZoneID, announced: VersionVector, isLate: Bool)
    /// A request to say goodbye and close the session.
    case end(Message.Goodbye, String)
  }

  /// The milliseconds of silence after which a ping is sent, and after which the session ends.
  package static let pingAfter: Int64 = 15_000
  package static let silenceLimit: Int64 = 45_000
  /// The milliseconds after which a session ends and is dialled again, so that no session key lives longer than a day.
  package static let sessionLimit: Int64 = 24 * 60 * 60 * 1_000
  /// The milliseconds within which a hello must arrive.
  package static let helloLimit: Int64 = 10_000
  /// The milliseconds that an announced change set may be missing before it is requested. This is longer than it takes
  /// to arrive through another session. After a request that brought nothing new, the time doubles, up to `mostPatience`.
  package static let graftAfter: Int64 = 300
  private static let mostPatience: Int64 = 5_000

  /// The maximum number of zones whose wants are kept until the zones are in common. Together, they may have as many
  /// authors as one zone.
  private static let earlyWants = 16

  private enum Phase { case hello, admission, open }

  /// This device.
  private let device: DeviceID
  private var phase = Phase.hello
  private var zones: [ZoneID: Exchange] = [:]
  /// The wants for zones that are not known here to be in common. The peer may learn of a common zone first.
  private var early: [ZoneID: VersionVector] = [:]
  /// The bytes of change sets that this side may still send.
  private var credit = Choices.creditWindow
  /// The bytes that were handled and not yet returned as credit.
  private var owed = 0
  private let opened: Int64
  /// True if a message from the peer has arrived and waits for its turn.
  private var isHeld = false
  private var lastHeard: Int64
  private var lastPing: Int64

  /// The state of the exchange of one zone.
  private struct Exchange: Sendable {
    /// The vector beyond which the peer wants change sets, or nil until it asked.
    var wanted: VersionVector?
    var position: Int64 = 0
    var isReading = false
    /// True once the peer's last `want` is answered. From then on, only change sets of `pushed` are sent.
    var isComplete = false
    /// The devices whose new change sets are pushed, or nil for all. At first, this is this device. A peer that asks
    /// again depends on this node for others: for all until it got duplicates, later for those in the answer.
    var pushed: Set<DeviceID>?
    /// True if the peer got duplicates.
    var isPruned = false
    /// True until the peer has answered the last `want` of this side.
    var awaitsAnswer = true
    /// True if this side asked the peer only to announce.
    var asksAnnounceOnly = false
    /// True if the log grew while a batch was being read, or while there was no credit.
    var hasMore = false
    /// The announced vector of which something was missing, the time, and the vector that was announced since then.
    var announced: (vector: VersionVector, since: Int64, next: VersionVector?)?
    /// The milliseconds that announced change sets may be missing.
    var patience = SessionStateMachine.graftAfter
  }

  package init(_ device: DeviceID, now: Int64) {
    self.device = device
    opened = now
    lastHeard = now
    lastPing = now
  }

  /// The zones in common.
  package var commonZones: [ZoneID] { zones.keys.sorted() }
  package func shares(_ zone: ZoneID) -> Bool { zones[zone] != nil }
  /// True if announced change sets are missing, and are requested by a later tick.
  package var isMissingAnnounced: Bool { zones.values.contains { $0.announced != nil } }
  package var isOpen: Bool { phase == .open }
  /// True until the peer's hello arrives.
  package var awaitsHello: Bool { phase == .hello }

  /// Notes that another session which shares these zones has ended. Announced change sets may no longer come from there.
  package mutating func noteParting(_ others: [ZoneID]) {
    for zone in others { zones[zone]?.patience = Self.graftAfter }
  }

  package mutating func handle(_ input: Input, now: Int64) -> [Output] {
    switch input {
    case .message(let message):
      lastHeard = now
      isHeld = false
      return receive(message, now: now)
    case .tick:
      return tick(now: now)
    case .waiting:
      // The peer needs a sign of life from this side too, while its own pings wait.
      lastHeard = now
      isHeld = true
      guard phase == .open, now - lastPing > Self.pingAfter else { return [] }
      lastPing = now
      return [.send(.ping(UInt64(bitPattern: now)))]
    case .admitted:
      phase = .open
      return []
    case .share(let zone, let stored):
      guard zones[zone] == nil else { return [] }
      zones[zone] = Exchange(pushed: [device])
      let wanted = early.removeValue(forKey: zone)
      return [.send(.want(zone, stored))] + (wanted.map { [.deliver(.want(zone, $0))] } ?? [])
    case .met(let zone, let vector):
      return want(zone, vector)
    case .unshare(let zone):
      zones[zone] = nil
      return []
    case .advanced(let zone):
      return advance(zone)
    case .batch(let zone, let batch):
      return push(zone, batch)
    case .settled(let zone, let received, let bytes, let new, let duplicates):
      guard note(received, zone) else { return [Self.tooManyAuthors] }
      return settle(zone, bytes: bytes, new: new, duplicates: duplicates)
    case .acknowledged(let zone, let vector):
      return note(vector, zone) ? announced(vector, zone, now: now) : [Self.tooManyAuthors]
    case .missing(let zone, let announced):
      if zones[zone]?.announced == nil { zones[zone]?.announced = (announced, now, nil) }
      return []
    case .lacking(let zone, let stored, let isAnnounced):
      zones[zone]?.asksAnnounceOnly = false
      zones[zone]?.awaitsAnswer = true
      zones[zone]?.announced = nil
      if isAnnounced, let patience = zones[zone]?.patience {
        zones[zone]?.patience = min(2 * patience, Self.mostPatience)
      }
      return [.send(.want(zone, stored))]
    }
  }

  private mutating func receive(_ message: Message, now: Int64) -> [Output] {
    switch (phase, message) {
    case (_, .goodbye):
      return [.deliver(message)]
    case (.hello, .hello):
      phase = .admission
      return [.deliver(message)]
    case (.hello, .account), (.hello, .controlRecords):
      // A peer that was refused shows the records that let its account in.
      return [.deliver(message)]
    case (.hello, _):
      return [.end(.protocolViolation, "the first message of a session is a hello")]
    case (_, .hello):
      return [.end(.protocolViolation, "a session has one hello from each side")]
    case (.admission, .account), (.admission, .claim), (.admission, .admitted), (.admission, .shareClaim):
      return [.deliver(message)]
    case (.admission, _):
      return [.end(.protocolViolation, "a message came before the sender was admitted")]
    case (.open, .ping(let number)):
      return [.send(.pong(number))]
    case (.open, .pong):
      return []
    case (.open, .credit(let bytes)):
      credit = min(Choices.creditWindow, credit + Int(min(bytes, UInt64(Choices.creditWindow))))
      return zones.keys.sorted().flatMap { read($0) }
    case (.open, .want(let zone, let vector)):
      if let exchange = zones[zone] { return exchange.wanted == nil ? [.deliver(message)] : want(zone, vector) }
      let others = early.reduce(0) { $1.key == zone ? $0 : $0 + $1.value.numbers.count }
      let fits = others + vector.numbers.count <= Limits.authors
      if early.count < Self.earlyWants, fits { early[zone] = vector }
      return []
    case (.open, .announceOnly(let zone)):
      guard zones[zone] != nil else { return [] }
      zones[zone]?.pushed = [device]
      zones[zone]?.isPruned = true
      zones[zone]?.isComplete = true
      // The rest of an answer that ends here may come from nobody else.
      return [.sayMerged(zone, isAll: false)]
    case (.open, .upToDate(let zone, _)):
      zones[zone]?.awaitsAnswer = false
      return [.deliver(message)]
    case (.open, .have(let zone, let vector)):
      return zones[zone] == nil ? [] : [.deliver(message)] + announced(vector, zone, now: now)
    case (.open, _):
      return [.deliver(message)]
    }
  }

  private static let tooManyAuthors = Output.end(
    .protocolViolation, "the peer names more authors than a zone can have")

  /// Notes change sets that the peer already has. Returns false if the vector names more authors than a zone can have.
  private mutating func note(_ vector: VersionVector, _ zone: ZoneID) -> Bool {
    zones[zone]?.wanted?.formUnion(vector)
    return zones[zone]?.wanted?.numbers.count ?? 0 <= Limits.authors
  }

  /// Asks the caller whether announced change sets are missing. While some are, what is announced waits until those
  /// have had their time. A peer that still answers sends them anyway.
  private mutating func announced(_ vector: VersionVector, _ zone: ZoneID, now: Int64) -> [Output] {
    guard let exchange = zones[zone], !exchange.awaitsAnswer else { return [] }
    guard exchange.announced == nil, exchange.patience == Self.graftAfter else {
      let (first, since) = (exchange.announced?.vector ?? vector, exchange.announced?.since ?? now)
      zones[zone]?.announced = (first, since, vector)
      return []
    }
    return [.check(zone, announced: vector, isLate: false)]
  }

  private mutating func want(_ zone: ZoneID, _ vector: VersionVector) -> [Output] {
    guard let exchange = zones[zone] else { return [] }
    if exchange.wanted != nil, !exchange.isPruned { zones[zone]?.pushed = nil }
    zones[zone]?.wanted = vector
    zones[zone]?.position = 0
    zones[zone]?.isComplete = false
    zones[zone]?.hasMore = true
    return read(zone)
  }

  private mutating func tick(now: Int64) -> [Output] {
    guard phase == .open else {
      return !isHeld && now - opened > Self.helloLimit ? [.end(.stalled, "no hello in time")] : []
    }
    if now - lastHeard > Self.silenceLimit { return [.end(.stalled, "nothing was heard for too long")] }
    if now - opened > Self.sessionLimit { return [.end(.replaced, "sessions are renewed every day")] }
    var outputs: [Output] = []
    if now - max(lastHeard, lastPing) > Self.pingAfter {
      lastPing = now
      outputs.append(.send(.ping(UInt64(bitPattern: now))))
    }
    for zone in zones.keys.sorted() {
      if let exchange = zones[zone], let (vector, since, next) = exchange.announced, now - since > exchange.patience {
        zones[zone]?.announced = next.map { ($0, now, nil) }
        outputs.append(.check(zone, announced: vector, isLate: true))
      }
    }
    return outputs
  }

  private mutating func advance(_ zone: ZoneID) -> [Output] {
    zones[zone]?.hasMore = true
    return read(zone)
  }

  /// Asks for the next batch if the peer wants one, has given credit, and no read is running.
  private mutating func read(_ zone: ZoneID) -> [Output] {
    guard let exchange = zones[zone], let wanted = exchange.wanted, exchange.hasMore,
      !exchange.isReading, credit > 0
    else { return [] }
    zones[zone]?.isReading = true
    zones[zone]?.hasMore = false
    return [
      .read(zone, beyond: wanted, of: exchange.isComplete ? exchange.pushed : nil, after: exchange.position)
    ]
  }

  private mutating func push(_ zone: ZoneID, _ batch: ChangeSetBatch) -> [Output] {
    guard let exchange = zones[zone] else { return [] }
    zones[zone]?.isReading = false
    zones[zone]?.position = batch.position
    if exchange.isPruned, !exchange.isComplete { zones[zone]?.pushed?.formUnion(batch.devices) }
    if !batch.isComplete { zones[zone]?.hasMore = true }
    var outputs: [Output] = []
    if !batch.changeSets.isEmpty {
      credit -= batch.changeSets.reduce(0) { $0 + $1.count }
      outputs.append(.send(.changeSets(zone, batch.changeSets)))
    }
    if batch.isComplete, !exchange.isComplete {
      zones[zone]?.isComplete = true
      outputs.append(.sayMerged(zone, isAll: true))
    }
    return outputs + read(zone)
  }

  private mutating func settle(_ zone: ZoneID, bytes: Int, new: Int, duplicates: Int) -> [Output] {
    var outputs: [Output] = []
    owed += bytes
    if owed >= Choices.creditWindow / 4 {
      outputs.append(.send(.credit(UInt64(owed))))
      owed = 0
    }
    if new > 0 { zones[zone]?.patience = Self.graftAfter }
    // A second copy came through this session. Another way is shorter, so this peer only needs to announce.
    if duplicates > 0, new == 0, let exchange = zones[zone], !exchange.asksAnnounceOnly {
      zones[zone]?.asksAnnounceOnly = true
      zones[zone]?.awaitsAnswer = false
      outputs.append(.send(.announceOnly(zone)))
    }
    return outputs
  }
}
