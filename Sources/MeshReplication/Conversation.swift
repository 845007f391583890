public import MeshCore

/// One session with a peer, as a value: inputs in, outputs out. It keeps the order of the protocol (hello first), the credit
/// window both ways, who pushes and who announces, and the keep-alive. It never touches the store: what it needs read it
/// asks for, and what it can't judge it hands over.
public struct Conversation: Sendable {
  public enum Input: Sendable {
    case message(Message)
    case tick
    /// A message of the peer's is here and has to wait.
    case waiting
    /// Both hellos were believed; the conversation proper begins.
    case admitted
    /// A zone known to be in common, at any time after `admitted`; `stored` is what to ask beyond.
    case share(ZoneID, stored: VersionVector, merged: VersionVector)
    /// A zone is not in common any more.
    case unshare(ZoneID)
    /// The log of a zone has grown.
    case advanced(ZoneID, merged: VersionVector)
    /// The answer to `Output.read`.
    case batch(ZoneID, ChangeSetBatch)
    /// Change sets from the peer were dealt with: up to `received`, `bytes` of them, some new, the others here already.
    case settled(ZoneID, received: VersionVector, bytes: Int, new: Int, duplicates: Int)
    /// Something is missing that the peer said it has, or a gap was found: ask again.
    case lacking(ZoneID, stored: VersionVector)
  }

  public enum Output: Sendable {
    case send(Message)
    /// For whoever knows the account, the control log, the store.
    case deliver(Message)
    /// Change sets of the log wanted by the peer.
    case read(ZoneID, beyond: VersionVector, after: Int64)
    /// The peer announced more than was wanted for a while: answer with `lacking` if it is still not here.
    case check(ZoneID, announced: VersionVector)
    /// Say goodbye and close.
    case end(Message.Goodbye, String)
  }

  /// Silence after which a ping is sent, and after which the peer is given up, in milliseconds.
  public static let pingAfter: Int64 = 15_000
  public static let silenceLimit: Int64 = 45_000
  /// A session ends after a day and is dialled anew, so that no key of a session lives long.
  public static let sessionLimit: Int64 = 24 * 60 * 60 * 1_000
  /// A hello must have come within this time.
  public static let helloLimit: Int64 = 10_000
  /// How long an announced change set may be missing before it is asked for, in milliseconds: longer than the tree takes.
  public static let graftAfter: Int64 = 300

  /// Zones whose wants are kept until they are in common, with as many authors together as one zone can have.
  private static let earlyWants = 16

  private enum Phase { case hello, admission, open }

  private var phase = Phase.hello
  private var zones: [ZoneID: Exchange] = [:]
  /// What the peer wants of zones that are not known here to be in common: it may be the first to know.
  private var early: [ZoneID: VersionVector] = [:]
  /// Bytes of change sets we may still send.
  private var credit = Choices.creditWindow
  /// Bytes dealt with and not yet given back.
  private var owed = 0
  private let opened: Int64
  /// A message of the peer's is here and waits for its turn.
  private var isHeld = false
  private var lastHeard: Int64
  private var lastPing: Int64

  /// What the two sides exchange of one zone.
  private struct Exchange: Sendable {
    /// Nil until the peer asked.
    var wanted: VersionVector?
    var position: Int64 = 0
    var isReading = false
    var isComplete = false
    /// New change sets are pushed; else only announced.
    var isPushed = true
    /// We asked the peer to announce only.
    var asksAnnounceOnly = false
    /// The log grew while a batch was being read, or without credit.
    var hasMore = false
    var announced: (vector: VersionVector, since: Int64)?
    /// Merged here and not yet announced to a peer that is not pushed to.
    var unannounced: VersionVector?
    /// What is merged here.
    var merged: VersionVector

    init(merged: VersionVector) { self.merged = merged }
  }

  public init(now: Int64) {
    opened = now
    lastHeard = now
    lastPing = now
  }

  /// The zones in common.
  public var commonZones: [ZoneID] { zones.keys.sorted() }
  public var isOpen: Bool { phase == .open }

  public mutating func handle(_ input: Input, now: Int64) -> [Output] {
    switch input {
    case .message(let message):
      lastHeard = now
      isHeld = false
      return receive(message, now: now)
    case .tick:
      return tick(now: now)
    case .waiting:
      // The peer hears from us as well, though its own pings wait.
      lastHeard = now
      isHeld = true
      guard phase == .open, now - lastPing > Self.pingAfter else { return [] }
      lastPing = now
      return [.send(.ping(UInt64(bitPattern: now)))]
    case .admitted:
      phase = .open
      return []
    case .share(let zone, let stored, let merged):
      guard zones[zone] == nil else { return [] }
      zones[zone] = Exchange(merged: merged)
      guard let vector = early.removeValue(forKey: zone) else { return [.send(.want(zone, stored))] }
      return [.send(.want(zone, stored))] + want(zone, vector)
    case .unshare(let zone):
      zones[zone] = nil
      return []
    case .advanced(let zone, let merged):
      zones[zone]?.merged = merged
      return advance(zone, merged)
    case .batch(let zone, let batch):
      return push(zone, batch)
    case .settled(let zone, let received, let bytes, let new, let duplicates):
      guard note(received, zone) else { return [Self.tooManyAuthors] }
      return settle(zone, bytes: bytes, new: new, duplicates: duplicates)
    case .lacking(let zone, let stored):
      zones[zone]?.asksAnnounceOnly = false
      zones[zone]?.announced = nil
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
      guard zones[zone] == nil else { return want(zone, vector) }
      let others = early.reduce(0) { $1.key == zone ? $0 : $0 + $1.value.numbers.count }
      let fits = others + vector.numbers.count <= Limits.authors
      if early.count < Self.earlyWants, fits { early[zone] = vector }
      return []
    case (.open, .announceOnly(let zone)):
      guard let merged = zones[zone]?.merged else { return [] }
      zones[zone]?.isPushed = false
      zones[zone]?.unannounced = merged
      return []
    case (.open, .have(let zone, let vector)):
      guard zones[zone] != nil else { return [] }
      let since = zones[zone]?.announced?.since ?? now
      zones[zone]?.announced = (vector, since)
      return [.deliver(message)]
    case (.open, .acknowledgement(let acknowledgement)):
      guard note(acknowledgement.merged, acknowledgement.zone) else { return [Self.tooManyAuthors] }
      return [.deliver(message)]
    case (.open, _):
      return [.deliver(message)]
    }
  }

  private static let tooManyAuthors = Output.end(
    .protocolViolation, "the peer names more authors than a zone can have")

  /// What the peer need not be sent. False if it names more authors than a zone can have.
  private mutating func note(_ vector: VersionVector, _ zone: ZoneID) -> Bool {
    zones[zone]?.wanted?.formUnion(vector)
    return zones[zone]?.wanted?.numbers.count ?? 0 <= Limits.authors
  }

  private mutating func want(_ zone: ZoneID, _ vector: VersionVector) -> [Output] {
    zones[zone]?.wanted = vector
    zones[zone]?.position = 0
    zones[zone]?.isComplete = false
    zones[zone]?.isPushed = true
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
      if let vector = zones[zone]?.unannounced {
        zones[zone]?.unannounced = nil
        outputs.append(.send(.have(zone, vector)))
      }
      if let (vector, since) = zones[zone]?.announced, now - since > Self.graftAfter {
        zones[zone]?.announced = nil
        outputs.append(.check(zone, announced: vector))
      }
    }
    return outputs
  }

  private mutating func advance(_ zone: ZoneID, _ merged: VersionVector) -> [Output] {
    guard let exchange = zones[zone], exchange.wanted != nil else { return [] }
    if exchange.isPushed {
      zones[zone]?.hasMore = true
      return read(zone)
    }
    zones[zone]?.unannounced = merged
    return []
  }

  /// Asks for the next batch where the peer wants one, has given credit, and none is under way.
  private mutating func read(_ zone: ZoneID) -> [Output] {
    guard let exchange = zones[zone], let wanted = exchange.wanted, exchange.hasMore, exchange.isPushed,
      !exchange.isReading, credit > 0
    else { return [] }
    zones[zone]?.isReading = true
    zones[zone]?.hasMore = false
    return [.read(zone, beyond: wanted, after: exchange.position)]
  }

  private mutating func push(_ zone: ZoneID, _ batch: ChangeSetBatch) -> [Output] {
    guard let exchange = zones[zone] else { return [] }
    zones[zone]?.isReading = false
    zones[zone]?.position = batch.position
    if !batch.isComplete { zones[zone]?.hasMore = true }
    var outputs: [Output] = []
    if !batch.changeSets.isEmpty {
      credit -= batch.changeSets.reduce(0) { $0 + $1.count }
      outputs.append(.send(.changeSets(zone, batch.changeSets)))
    }
    if batch.isComplete, zones[zone]?.isComplete == false {
      zones[zone]?.isComplete = true
      outputs.append(.send(.upToDate(zone, exchange.merged)))
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
    // A second copy came by this link: the tree has a shorter way, so this one need only announce.
    if duplicates > 0, new == 0, let exchange = zones[zone], !exchange.asksAnnounceOnly {
      zones[zone]?.asksAnnounceOnly = true
      outputs.append(.send(.announceOnly(zone)))
    }
    return outputs
  }
}
