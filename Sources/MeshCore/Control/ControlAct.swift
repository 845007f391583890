/// The content of a control record. mesh keeps and forwards acts with an unknown tag, but they have no effect.
package enum ControlAct: Hashable, Sendable {
  /// Opens an account's private zone. The zone's id is BLAKE2b-256(account ‖ nonce).
  case genesis(account: AccountID, nonce: [UInt8])
  /// Opens a share's zone, with an id computed in the same way. The share contains the root record and the records that
  /// reference it, directly or through others.
  case shareGenesis(account: AccountID, nonce: [UInt8], root: RecordName)
  /// Announces a new key. The epoch's id is the id of this record. The epoch covers all records in the past of this
  /// record's parents.
  case epoch(commitment: [UInt8])
  /// Sets the cutoff of a device that its account revoked: its last accepted change sets and control record. The
  /// account signs the cutoff itself, so any device may bring it.
  case cut(DeviceCut)
  /// Names the zone as of a time. The title with the greatest (time, author) counts. The title of a private zone is the
  /// account's name.
  case title(String, time: HybridTime)
  /// Proves that an author wrote two branches. The author's log ends at the point where they part.
  case fork(ForkProof)
  /// Reverts the change sets of an instance above a number. Only the device that wrote them may say so. The number is
  /// the end of a unit.
  case end(instance: InstanceID, number: UInt64)
  /// Invites accounts to the share. The invite's id is the id of this record.
  case invite(InviteTerms)
  /// Revokes an invite, so that it lets nobody in any more. The listed accounts stay. All other accounts that members
  /// admitted by the invite lose their place.
  case revokeInvite(ControlID, standing: [AccountID])
  /// Sets the permission of an account from now on, and names the invite by which it came. A nil permission removes the
  /// account. If the account loses the permission to write, its change sets end at `cuts`. Its authors that are not
  /// named end at zero.
  case participant(AccountID, Permission?, invite: ControlID?, cuts: [Author: CutPoint])
  /// Admits an account that claims an open invite. Any member may sign it.
  case admission(ShareClaim)
  /// Says that the account of the record's device leaves.
  case leave(cuts: [Author: CutPoint])
  /// Ends the share for everybody but its owner.
  case stop
  /// Proves that a device or its account writes as more authors than it may.
  case excess(Excess)
  /// An act with a tag that this version doesn't know.
  case unknown(tag: UInt8, bytes: [UInt8])

  /// A cutoff: the last accepted change set of an author.
  package struct CutPoint: Hashable, Sendable {
    /// The number of a change set that ends a unit.
    package let number: UInt64
    /// The id of the change set with that number.
    package let id: ChangeSetID
    package init(number: UInt64, id: ChangeSetID) {
      self.number = number
      self.id = id
    }
  }

  /// An act without its content. Both ways to open a zone are of one kind.
  package enum Kind: Sendable {
    /// The acts of the same names. `genesis` includes `shareGenesis`.
    case genesis, epoch, cut, title, fork, end, invite, revokeInvite, participant, admission, leave, stop, excess
    /// An act with a tag that this version doesn't know.
    case unknown

    /// Whether the effect of such an act depends on the records that it had seen, and on the records that had seen it.
    var isJudgedByPast: Bool {
      switch self {
      case .cut, .invite, .revokeInvite, .participant, .admission, .leave: true
      case .genesis, .epoch, .title, .fork, .end, .stop, .excess, .unknown: false
      }
    }

    /// Whether such an act may change the effect of other records.
    var isWeighed: Bool { self != .epoch && self != .unknown }
  }

  /// The kind of the act.
  package var kind: Kind {
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

  /// Whether the act lets an account in or lets it stay.
  var isGrant: Bool {
    switch self {
    case .participant(_, .some, _, _), .admission: true
    default: false
    }
  }

  /// Whether only devices of the zone's owner may sign such an act.
  var isOwners: Bool {
    switch self {
    case .genesis, .shareGenesis, .title, .invite, .revokeInvite, .participant, .stop: true
    case .epoch, .cut, .fork, .end, .admission, .leave, .excess, .unknown: false
    }
  }
}

/// The cutoff of a revoked device, signed for the account that revoked it: the last accepted change set of each of its
/// instances, and its last record in the zone's control log. Instances that are not named end at zero.
package struct DeviceCut: Hashable, Sendable {
  /// The key that signed: the account's key or an administrator's.
  package let authority: Authority
  /// The revoked device.
  package let device: DeviceID
  /// The last control record that counts, or nil if none does.
  package let last: ControlPoint?
  /// The last accepted change set of each instance.
  package let heads: [InstanceID: ControlAct.CutPoint]
  /// The Ed25519 signature by the key of `authority`, 64 bytes. It also covers the zone.
  package let signature: [UInt8]

  /// A control record by its author's number and its id.
  package struct ControlPoint: Hashable, Sendable {
    /// The author's number of the record, from 1.
    package let number: UInt64
    /// The id of the record with that number.
    package let id: ControlID
    package init(number: UInt64, id: ControlID) {
      self.number = number
      self.id = id
    }
  }

  /// - Parameter sign: Signs with the key that `authority` proves.
  package init(
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

  /// Returns whether a key that could sign for the account signed it. The state of the zone decides whether that key
  /// still counts, so that a valid cutoff stays valid when the key is replaced.
  func isSigned(for account: AccountState, zone: ZoneID, _ cryptography: any Cryptography) -> Bool {
    guard let key = authority.signingKey(account.genesis, cryptography) else { return false }
    return cryptography.verify(
      signature, of: signedBytes(.cut, zone.bytes + Self.unsigned(device, last, heads)), by: key)
  }

  /// Whether the key of the account's genesis signed it. Such a cut is written without an authority, in the earlier
  /// format.
  var isOfGenesis: Bool { authority == Authority() }

  func write(to writer: inout ByteWriter) {
    if !isOfGenesis { authority.write(to: &writer) }
    writer.raw(Self.unsigned(device, last, heads))
    writer.raw(signature)
  }

  /// - Parameter isOfGenesis: Whether the cut was written without an authority.
  init(from reader: inout ByteReader, isOfGenesis: Bool) throws(FormatError) {
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
