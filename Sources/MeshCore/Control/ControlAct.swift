/// What a control record says. Tags not known here are kept and passed on, and have no effect.
public enum ControlAct: Hashable, Sendable {
  /// Opens an account's private zone: its id is BLAKE2b-256(account ‖ nonce).
  case genesis(account: AccountID, nonce: [UInt8])
  /// Opens a share's zone, in the same way: the root record and what reaches it.
  case shareGenesis(account: AccountID, nonce: [UInt8], root: RecordName)
  /// A new key; its id is that of this record, and it covers what this record's parents lead to.
  case epoch(commitment: [UInt8])
  /// The last accepted work of a device that its account revoked: the account's word, whoever brings it.
  case cut(DeviceCut)
  /// What the zone is called, as of a time; the greatest (time, author) stands. Of a private zone it is the account's name.
  case title(String, time: HybridTime)
  /// An author wrote two branches; it ends where they part.
  case fork(ForkProof)
  /// The record's own device takes back what it wrote as an instance beyond a number, the end of a unit.
  case end(instance: InstanceID, number: UInt64)
  /// A ticket to join the share; its id is that of this record.
  case invite(InviteTerms)
  /// Lets nobody in any more; of those whom it let in by an admission, only the listed stay.
  case revokeInvite(ControlID, standing: [AccountID])
  /// What an account may do from now on (nil: it is no member any more), and by which invite it came. What it may no longer write
  /// ends at `cuts`; its authors that are not named are cut at zero.
  case participant(AccountID, Permission?, invite: ControlID?, cuts: [Author: CutPoint])
  /// A member lets in by an open invite whoever claims it.
  case admission(ShareClaim)
  /// The account of the record's device leaves.
  case leave(cuts: [Author: CutPoint])
  /// The share is over, for everybody but its owner.
  case stop
  /// A device, or its account, writes as more authors than it may.
  case excess(Excess)
  case unknown(tag: UInt8, bytes: [UInt8])

  public struct CutPoint: Hashable, Sendable {
    /// The end of a unit.
    public let number: UInt64
    public let id: ChangeSetID
    public init(number: UInt64, id: ChangeSetID) {
      self.number = number
      self.id = id
    }
  }

  public enum Kind: Sendable {
    case genesis, epoch, cut, title, fork, end, invite, revokeInvite, participant, admission, leave, stop, excess
    case unknown

    /// Whether it matters what such an act had seen, and who had seen it.
    var isJudgedByPast: Bool {
      switch self {
      case .cut, .invite, .revokeInvite, .participant, .admission, .leave: true
      case .genesis, .epoch, .title, .fork, .end, .stop, .excess, .unknown: false
      }
    }

    /// Whether such an act may change what others mean.
    var isWeighed: Bool { self != .epoch && self != .unknown }
  }

  public var kind: Kind {
    switch self {
    case .genesis, .shareGenesis: .genesis
    case .epoch: .epoch
    case .cut: .cut
    case .title: .title
    case .fork: .fork
    case .end: .end
    case .invite: .invite
    case .revokeInvite: .revokeInvite
    case .participant: .participant
    case .admission: .admission
    case .leave: .leave
    case .stop: .stop
    case .excess: .excess
    case .unknown: .unknown
    }
  }

  /// Whether it lets an account in, or leaves it in.
  var isGrant: Bool {
    switch self {
    case .participant(_, .some, _, _), .admission: true
    default: false
    }
  }

  /// Whether only devices of the zone's owner may say it.
  var isOwners: Bool {
    switch self {
    case .genesis, .shareGenesis, .title, .invite, .revokeInvite, .participant, .stop: true
    case .epoch, .cut, .fork, .end, .admission, .leave, .excess, .unknown: false
    }
  }
}

/// Where a revoked device ends: the last change set of each of its instances (those that are not named end at zero), and its
/// last record in the zone's control log. Signed for the account that revoked it.
public struct DeviceCut: Hashable, Sendable {
  /// Who signed it: the account's key, or an administrator.
  public let authority: Authority
  public let device: DeviceID
  /// Nil: none of its control records counts.
  public let last: ControlPoint?
  public let heads: [InstanceID: ControlAct.CutPoint]
  public let signature: [UInt8]

  public struct ControlPoint: Hashable, Sendable {
    public let number: UInt64
    public let id: ControlID
    public init(number: UInt64, id: ControlID) {
      self.number = number
      self.id = id
    }
  }

  /// - Parameter sign: The key to which `authority` leads, at work.
  public init(
    _ device: DeviceID, last: ControlPoint?, heads: [InstanceID: ControlAct.CutPoint], zone: ZoneID,
    authority: Authority = Authority(), sign: ([UInt8]) -> [UInt8]
  ) {
    self.authority = authority
    self.device = device
    self.last = last
    self.heads = heads
    signature = sign(signedBytes(.cut, zone.bytes + Self.unsigned(device, last, heads)))
  }

  private static func unsigned(
    _ device: DeviceID, _ last: ControlPoint?, _ heads: [InstanceID: ControlAct.CutPoint]
  ) -> [UInt8] {
    var writer = ByteWriter()
    device.write(to: &writer)
    writer.varint(last?.number ?? 0)
    last?.id.write(to: &writer)
    writer.list(heads.keys.sorted()) { writer, instance in
      writer.uint64(instance.value)
      heads[instance]?.write(to: &writer)
    }
    return writer.bytes
  }

  /// Whether a key that could sign for the account did. Whether that key still counts is for the state of the zone to judge:
  /// what stood must not fall when the key is replaced.
  func isSigned(for account: AccountState, zone: ZoneID, _ cryptography: any Cryptography) -> Bool {
    guard let key = authority.signingKey(account.genesis, cryptography) else { return false }
    return cryptography.verify(
      signature, of: signedBytes(.cut, zone.bytes + Self.unsigned(device, last, heads)), by: key)
  }

  /// Whether the key of the account's genesis signed it: then it is written without an authority, as one of an earlier form.
  var isOfGenesis: Bool { authority == Authority() }

  func write(to writer: inout ByteWriter) {
    if !isOfGenesis { authority.write(to: &writer) }
    writer.raw(Self.unsigned(device, last, heads))
    writer.raw(signature)
  }

  /// - Parameter isOfGenesis: Whether it was written without an authority.
  init(from reader: inout ByteReader, isOfGenesis: Bool) throws(DecodingError) {
    authority = isOfGenesis ? Authority() : try Authority(from: &reader)
    device = try DeviceID(from: &reader)
    let number = try reader.varint()
    last = number == 0 ? nil : ControlPoint(number: number, id: try ControlID(from: &reader))
    var heads: [InstanceID: ControlAct.CutPoint] = [:]
    var before: InstanceID?
    for _ in 0..<(try reader.count(Limits.authors, "instances")) {
      let instance = InstanceID(try reader.uint64())
      try reader.ascend(&before, to: instance, "instances")
      heads[instance] = try ControlAct.CutPoint(from: &reader)
    }
    self.heads = heads
    signature = try reader.raw(64)
  }
}
