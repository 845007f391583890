/// One signed act in a zone's control log. Not encrypted; sent only inside sessions, to accounts that the zone lists.
public struct ControlRecord: Hashable, Sendable {
  public static let version: UInt8 = 1

  public let zone: ZoneID
  /// The heads of the log as its author knew it, ascending; none only for the genesis.
  public let parents: [ControlID]
  public let author: DeviceID
  /// 1, 2, 3 … per author.
  public let number: UInt64
  /// The author's record before this one; nil for number 1.
  public let previous: ControlID?
  public let act: ControlAct
  public let signature: [UInt8]
  public let id: ControlID

  /// Makes and signs a record. Of more than `Limits.controlHeads` parents the first are named: the others stay heads, for the
  /// next record to name. Throws where the act is too long for a record.
  public init(
    zone: ZoneID, parents: [ControlID], number: UInt64, previous: ControlID?, act: ControlAct,
    secrets: any DeviceSecrets, _ cryptography: any Cryptography
  ) throws(DecodingError) {
    guard let author = DeviceID(secrets.signingKey) else { throw .invalid("a device key of 32 bytes") }
    self.zone = zone
    self.parents = Array(Set(parents).sorted().prefix(Limits.controlHeads))
    self.author = author
    self.number = number
    self.previous = previous
    self.act = act
    let unsigned = Self.unsigned(zone, self.parents, author, number, previous, act)
    guard let id = ControlID(cryptography.hash(unsigned)) else { throw .invalid("a hash of 32 bytes") }
    self.id = id
    signature = secrets.sign(signedBytes(.control, unsigned))
    guard unsigned.count + signature.count <= Limits.controlRecord else { throw .limit("control record") }
  }

  private static func unsigned(
    _ zone: ZoneID, _ parents: [ControlID], _ author: DeviceID, _ number: UInt64, _ previous: ControlID?,
    _ act: ControlAct
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(version)
    zone.write(to: &writer)
    writer.list(parents) { $1.write(to: &$0) }
    author.write(to: &writer)
    writer.varint(number)
    writer.raw(previous?.bytes ?? [UInt8](repeating: 0, count: 32))
    act.write(to: &writer)
    return writer.bytes
  }

  public var encoded: [UInt8] { Self.unsigned(zone, parents, author, number, previous, act) + signature }

  public func isSigned(_ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.control, Self.unsigned(zone, parents, author, number, previous, act)),
      by: author.bytes)
  }

  /// Whether a device of the account signed the record, and what its act brings as proof holds. What is not sound is no record.
  public func isSound(_ account: AccountState, _ cryptography: any Cryptography) -> Bool {
    guard account.certificates[author] != nil, isSigned(cryptography) else { return false }
    switch act {
    case .cut(let device, let heads, let signature):
      let signed = signedBytes(.cut, ControlAct.cutBytes(zone, device, heads))
      return cryptography.verify(signature, of: signed, by: account.genesis.signingKey)
    case .fork(let proof):
      return proof.zone == zone && account.certificates[proof.author.device] != nil && proof.isSigned(cryptography)
    case .genesis, .epoch, .title, .end, .unknown: return true
    }
  }

  /// Parses; the signature is not checked.
  public init(_ bytes: [UInt8], _ cryptography: any Cryptography) throws(DecodingError) {
    guard bytes.count <= Limits.controlRecord else { throw .limit("control record") }
    var reader = ByteReader(bytes)
    guard try reader.byte() == Self.version else { throw .unknown("control record version") }
    zone = try ZoneID(from: &reader)
    parents = try reader.list(Limits.controlHeads, "parents") { (reader: inout ByteReader) throws(DecodingError) in
      try ControlID(from: &reader)
    }
    guard zip(parents, parents.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw .invalid("parents in ascending order")
    }
    author = try DeviceID(from: &reader)
    number = try reader.varint()
    let previous = try ControlID(from: &reader)
    self.previous = previous.bytes.allSatisfy { $0 == 0 } ? nil : previous
    guard number > 0, (number == 1) == (self.previous == nil) else {
      throw .invalid("just number 1 has no predecessor")
    }
    act = try ControlAct(from: &reader, cryptography)
    let signed = reader.consumed
    signature = try reader.raw(64)
    try reader.end()
    guard let id = ControlID(cryptography.hash(Array(bytes[..<signed]))) else { throw .invalid("a hash of 32 bytes") }
    self.id = id
  }
}

/// What a control record says. Tags not known here are kept and passed on, and have no effect.
public enum ControlAct: Hashable, Sendable {
  /// Opens the zone: its id is BLAKE2b-256(account ‖ nonce).
  case genesis(account: AccountID, nonce: [UInt8])
  /// A new key; its id is that of this record, and it covers what this record's parents lead to.
  case epoch(commitment: [UInt8])
  /// The last accepted change set of each instance of a device that the account revoked; instances that are not named are cut
  /// at zero. The signature is the account's.
  case cut(device: DeviceID, heads: [InstanceID: CutPoint], signature: [UInt8])
  /// What the zone is called, as of a time; the greatest (time, author) stands. Of a private zone it is the account's name.
  case title(String, time: HybridTime)
  /// An author wrote two branches; it ends where they part.
  case fork(ForkProof)
  /// The record's own device takes back what it wrote as an instance beyond a number, the end of a unit.
  case end(instance: InstanceID, number: UInt64)
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

  private enum Tag {
    static let genesis: UInt8 = 1
    static let epoch: UInt8 = 2
    static let cut: UInt8 = 3
    static let title: UInt8 = 4
    static let fork: UInt8 = 5
    static let end: UInt8 = 6
  }

  /// A cut with the account's word for it.
  public init(
    cutting device: DeviceID, at heads: [InstanceID: CutPoint], zone: ZoneID, sign: ([UInt8]) -> [UInt8]
  ) {
    self = .cut(
      device: device, heads: heads, signature: sign(signedBytes(.cut, Self.cutBytes(zone, device, heads))))
  }

  /// What the account signs: the zone, then the act.
  static func cutBytes(_ zone: ZoneID, _ device: DeviceID, _ heads: [InstanceID: CutPoint]) -> [UInt8] {
    var writer = ByteWriter()
    zone.write(to: &writer)
    write(device, heads, to: &writer)
    return writer.bytes
  }

  private static func write(_ device: DeviceID, _ heads: [InstanceID: CutPoint], to writer: inout ByteWriter) {
    device.write(to: &writer)
    writer.list(heads.keys.sorted()) { writer, instance in
      writer.uint64(instance.value)
      writer.varint(heads[instance]?.number ?? 0)
      heads[instance]?.id.write(to: &writer)
    }
  }

  /// A tag, a length, the act.
  func write(to writer: inout ByteWriter) {
    var inner = ByteWriter()
    let tag: UInt8
    switch self {
    case .genesis(let account, let nonce):
      tag = Tag.genesis
      account.write(to: &inner)
      inner.raw(nonce)
    case .epoch(let commitment):
      tag = Tag.epoch
      inner.raw(commitment)
    case .cut(let device, let heads, let signature):
      tag = Tag.cut
      Self.write(device, heads, to: &inner)
      inner.raw(signature)
    case .title(let text, let time):
      tag = Tag.title
      inner.uint64(time.value)
      inner.text(text)
    case .fork(let proof):
      tag = Tag.fork
      proof.write(to: &inner)
    case .end(let instance, let number):
      tag = Tag.end
      inner.uint64(instance.value)
      inner.varint(number)
    case .unknown(let other, let bytes):
      tag = other
      inner.raw(bytes)
    }
    writer.byte(tag)
    writer.sized(inner.bytes)
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(DecodingError) {
    let tag = try reader.byte()
    let bytes = try reader.sized(Limits.controlRecord, "control act")
    var inner = ByteReader(bytes)
    switch tag {
    case Tag.genesis:
      self = .genesis(account: try AccountID(from: &inner), nonce: try inner.raw(32))
    case Tag.epoch:
      self = .epoch(commitment: try inner.raw(32))
    case Tag.cut:
      let device = try DeviceID(from: &inner)
      var heads: [InstanceID: CutPoint] = [:]
      var before: InstanceID?
      for _ in 0..<(try inner.count(Limits.authors, "instances")) {
        let instance = InstanceID(try inner.uint64())
        try inner.ascend(&before, to: instance, "instances")
        let number = try inner.varint()
        guard number > 0 else { throw .invalid("numbers above zero") }
        heads[instance] = CutPoint(number: number, id: try ChangeSetID(from: &inner))
      }
      self = .cut(device: device, heads: heads, signature: try inner.raw(64))
    case Tag.title:
      let time = HybridTime(try inner.uint64())
      self = .title(try inner.text(Limits.deviceName, "title"), time: time)
    case Tag.fork:
      self = .fork(try ForkProof(from: &inner, cryptography))
    case Tag.end:
      self = .end(instance: InstanceID(try inner.uint64()), number: try inner.varint())
    default:
      self = .unknown(tag: tag, bytes: bytes)
      return
    }
    try inner.end()
  }
}
