import MeshCore

/// The state of one session. Each part of the replica keeps what it knows of the peer in a value of its own.
struct Session {
  let info: LinkInfo
  private(set) var machine: SessionStateMachine
  private(set) var identity = Identity.unknown
  var offers = AccountOffers()
  var control = ControlProgress()
  var keys = KeyProgress()
  var schema = SchemaProgress()
  var chunks = ChunkProgress()
  var deliveries = DeliveryProgress()
  var progress = PeerProgress()
  var membership = MembershipProgress()
  var outflow = Outflow()
  var introduction = Introduction()
  /// The difference of the peer's wall clock, as it last told, and this node's steady clock.
  private(set) var clockOffset: Int64?
  /// True if the peer has said the name of its account.
  private(set) var hasNamed = false

  init(_ info: LinkInfo, _ device: DeviceID, now: Moment) {
    self.info = info
    machine = SessionStateMachine(device, now: now.steady)
  }

  /// The identity that the peer has proven.
  enum Identity {
    case unknown
    /// The public half of the invite with which a device joins.
    case joining(publicHalf: [UInt8])
    /// The device of another account that may claim an invite, and nothing else.
    case claimant(Claimant)
    case device(Certificate)
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

  mutating func handle(_ input: SessionStateMachine.Input, now: Moment) -> [SessionStateMachine.Output] {
    machine.handle(input, now: now.steady)
  }

  mutating func noteParting(_ zones: [ZoneID]) { machine.noteParting(zones) }

  mutating func identify(_ identity: Identity) { self.identity = identity }
  mutating func named() { hasNamed = true }

  mutating func told(clock milliseconds: Int64, now: Moment) {
    clockOffset = HybridTime(milliseconds: milliseconds).milliseconds.saturatingSubtracting(now.steady)
  }

  /// The certificate of the peer's device, once its session may be opened.
  var peer: Certificate? { if case .device(let certificate) = identity { certificate } else { nil } }
  var claimant: Claimant? { if case .claimant(let claimant) = identity { claimant } else { nil } }
  /// The name for logs: the device's name and id, if they are known.
  var name: String { peer.map { "\(printable($0.request.name)) (\($0.device))" } ?? info.address }
}

/// The messages that a peer sent before its hello: the state of its account, and the records that let the account into
/// zones. Nothing of it is verified.
struct Introduction {
  private(set) var account: [UInt8] = []
  /// The records by zone, each batch with the one that lets the account in at the end.
  private(set) var records: [ZoneID: [[UInt8]]] = [:]
  private var left = Choices.introduction

  /// Returns false if there is no room for the message.
  mutating func add(_ message: Message) -> Bool {
    let size = message.encoded.count
    guard size <= left else { return false }
    left -= size
    switch message {
    case .account(let state): account = state
    case .controlRecords(let zone, let batch): records[zone] = batch
    default: break
    }
    return true
  }
}

/// The change sets and assets that a peer has, as it has said.
struct PeerProgress {
  /// The vectors that the peer last said it has merged.
  private(set) var merged: [ZoneID: VersionVector] = [:]
  /// The vectors that it has acknowledged with its signature.
  private(set) var acknowledged: [ZoneID: VersionVector] = [:]
  /// The missing assets of the change sets that the peer has acknowledged. A zone is absent until the peer has said
  /// so.
  private(set) var backlogs: [ZoneID: AssetBacklog] = [:]
  private(set) var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)] = [:]

  /// The number of new change sets that it has sent in this session.
  private(set) var received: UInt64 = 0

  mutating func received(_ new: Int) { received += UInt64(new) }

  mutating func merged(_ zone: ZoneID, _ vector: VersionVector) { merged[zone] = vector }

  mutating func acknowledged(_ zone: ZoneID, _ vector: VersionVector) {
    backlogs[zone] = nil
    acknowledged[zone] = vector
    merged[zone] = vector
  }

  mutating func lacks(_ zone: ZoneID, _ backlog: AssetBacklog) { backlogs[zone] = backlog }

  mutating func digested(_ zone: ZoneID, _ digest: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)?) {
    digests[zone] = digest
  }
}
