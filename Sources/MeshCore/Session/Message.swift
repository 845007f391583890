/// One message of a session: a tag byte, followed by its fields. Receivers skip unknown tags, so later versions can add
/// some.
public enum Message: Hashable, Sendable {
  case hello(Hello)
  /// Ends the session, and says why.
  case goodbye(Goodbye, text: String)
  /// The encoded state of an account. The receiver verifies its signatures.
  case account([UInt8])
  /// A joining device asks for a certificate.
  case claim(DeviceClaim)
  /// The account's answer to a claim.
  case admitted(Certificate)
  /// Salted tags of the zones that list the peer's account (see `zoneTag`).
  case zones([[UInt8]])
  /// The tips of a zone's control log here. Asks for the records in the past of the receiver's tips and not of these.
  case controlHeads(ZoneID, [ControlID])
  /// Control records, parents before children.
  case controlRecords(ZoneID, [[UInt8]])
  /// Epochs whose keys the sender doesn't have.
  case keyRequest(ZoneID, [EpochID])
  /// Keys sealed to the receiver's device.
  case keys(ZoneID, [EpochID: [UInt8]])
  /// The vector of the change sets stored here. Asks for all beyond it, now and as they arrive.
  case want(ZoneID, VersionVector)
  /// Change sets in causal order, as their authors signed them.
  case changeSets(ZoneID, [[UInt8]])
  /// The sender has nothing more for the receiver. The vector covers the change sets that are merged here and were
  /// offered.
  case upToDate(ZoneID, VersionVector)
  /// The vector of the change sets merged here, without sending them. The receiver answers with `want` or not at all.
  case have(ZoneID, VersionVector)
  /// Asks the receiver to stop sending change sets that other devices send too, and to announce them with `have`
  /// instead.
  case announceOnly(ZoneID)
  /// Allows the receiver to send this many more bytes of change sets.
  case credit(UInt64)
  case acknowledgement(Acknowledgement)
  /// The digest of the state at a merged vector, for comparison.
  case digest(ZoneID, VersionVector, ZoneDigest, Unsent)
  /// Asks for a `digest` message.
  case digestRequest(ZoneID)
  case schema([SchemaDescription])
  /// The rules of tables in the next `schema` message, by the tables' names. Earlier programs skip the tag.
  case schemaRules([NamedRules])
  /// The policies of columns of tables in the next `schema` message. Earlier programs skip the tag.
  case columnPolicies([NamedPolicies])
  /// The policies that the owner of shares set, told by another device of the receiver's account. Earlier programs skip
  /// the tag.
  case ownerPolicies(AccountID, [NamedPolicies])
  case ping(UInt64)
  case pong(UInt64)
  /// The last change set here of each named author. If the receiver has another one with that number, the author's log
  /// has forked.
  case heads(ZoneID, [Author: LineHead])
  /// Asks for the end of an author's log up to a number: its change sets without their bodies.
  case lineRequest(ZoneID, Author, through: UInt64)
  /// The answer to `lineRequest`: encoded `SignedHeader`s, ascending by number.
  case line(ZoneID, [[UInt8]])
  /// The sender's wall clock at the time of sending, in milliseconds since 1970.
  case clock(Int64)
  /// Hashes of account states here, for the accounts that both sides' zones list. If the receiver's state differs, it
  /// sends its own.
  case accountHeads([AccountID: [UInt8]])
  /// A device that joins a share asks to be let in.
  case shareClaim(ZoneID, ShareClaim)
  /// Asks for chunks of an asset that a record of the zone uses. The receiver answers with `assetHas` if it lacks some
  /// of them, or if no chunk was asked for.
  case assetWant(ZoneID, AssetID, Range<Int>)
  /// One chunk of an asset.
  case assetChunk(ZoneID, AssetID, Int, [UInt8])
  /// The chunks of an asset that the sender can give, or nil if it knows of no such asset in the zone.
  case assetHas(ZoneID, AssetID, ChunkSet?)
  /// The assets that the sender lacks, among those of the state that it acknowledged last in this session.
  case assetBacklog(ZoneID, AssetBacklog)
  /// The name of the sender's account, told to a device of another account.
  case accountName(String)

  /// A number, and the beginning of the id of the change set with that number.
  public struct LineHead: Hashable, Sendable {
    public let number: UInt64
    /// The first `Limits.headPrefix` bytes of the id.
    public let prefix: [UInt8]

    public init(number: UInt64, id: ChangeSetID) {
      self.number = number
      prefix = Array(id.bytes.prefix(Limits.headPrefix))
    }

    init(from reader: inout ByteReader) throws(DecodingError) {
      number = try reader.varint()
      guard number > 0 else { throw .invalid("numbers above zero") }
      prefix = try reader.raw(Limits.headPrefix)
    }
  }

  /// The reasons for ending a session.
  public enum Goodbye: UInt8, Sendable, CaseIterable {
    /// The node stops. Come back later.
    case stopping = 1
    /// The peer has no certificate that is accepted here, and no valid invite.
    case notAdmitted = 2
    /// The peer's device was revoked by its account.
    case revoked = 3
    /// The peer broke a rule of the protocol.
    case protocolViolation = 4
    /// The nodes share no version of the protocol.
    case version = 5
    /// Another session with this device took over.
    case replaced = 6
    /// The receiver was silent for too long, or its queue is full.
    case stalled = 7
    /// The invite is expired, used, or not from this node.
    case linkRefused = 8
    /// The node has an internal fault and can't continue this session.
    case internalFault = 9
    /// The peer's account is no longer a member of any zone that it shared with the sender's account. The sender has
    /// sent it the log that says so.
    case noMember = 10
    /// The invite can only be redeemed by another device than the sender. Come back later, or dial that device.
    case elsewhere = 11
  }

  private enum Tag: UInt8 {
    case hello = 1
    case goodbye, account, claim, admitted, zones, controlHeads, controlRecords, keyRequest, keys
    case want, changeSets, upToDate, have, announceOnly, credit, acknowledgement, digest, digestRequest, schema
    case ping, pong, heads, lineRequest, line, clock, accountHeads, shareClaim
    case assetWant, assetChunk, assetHas, assetBacklog, schemaRules, accountName
    case columnPolicies, ownerPolicies
  }

  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 256)
    func tag(_ tag: Tag) { writer.byte(tag.rawValue) }
    switch self {
    case .hello(let hello):
      tag(.hello)
      hello.write(to: &writer)
    case .goodbye(let code, let text):
      tag(.goodbye)
      writer.byte(code.rawValue)
      writer.text(text)
    case .account(let bytes):
      tag(.account)
      writer.sized(bytes)
    case .claim(let claim):
      tag(.claim)
      claim.write(to: &writer)
    case .admitted(let certificate):
      tag(.admitted)
      certificate.write(to: &writer)
    case .zones(let tags):
      tag(.zones)
      writer.list(tags) { $0.raw($1) }
    case .controlHeads(let zone, let heads):
      tag(.controlHeads)
      zone.write(to: &writer)
      // A member that forks the log on purpose must not keep others from naming their tips.
      writer.list(Array(heads.prefix(Limits.toldHeads))) { $1.write(to: &$0) }
    case .controlRecords(let zone, let records):
      tag(.controlRecords)
      zone.write(to: &writer)
      writer.list(records) { $0.sized($1) }
    case .keyRequest(let zone, let epochs):
      tag(.keyRequest)
      zone.write(to: &writer)
      writer.list(epochs) { $1.write(to: &$0) }
    case .keys(let zone, let keys):
      tag(.keys)
      zone.write(to: &writer)
      writer.list(keys.sorted { $0.key < $1.key }) {
        $1.key.write(to: &$0)
        $0.sized($1.value)
      }
    case .want(let zone, let vector):
      tag(.want)
      zone.write(to: &writer)
      vector.write(to: &writer)
    case .changeSets(let zone, let changeSets):
      tag(.changeSets)
      zone.write(to: &writer)
      writer.list(changeSets) { $0.sized($1) }
    case .upToDate(let zone, let vector):
      tag(.upToDate)
      zone.write(to: &writer)
      vector.write(to: &writer)
    case .have(let zone, let vector):
      tag(.have)
      zone.write(to: &writer)
      vector.write(to: &writer)
    case .announceOnly(let zone):
      tag(.announceOnly)
      zone.write(to: &writer)
    case .credit(let bytes):
      tag(.credit)
      writer.varint(bytes)
    case .acknowledgement(let acknowledgement):
      tag(.acknowledgement)
      acknowledgement.write(to: &writer)
    case .digest(let zone, let vector, let digest, let unsent):
      tag(.digest)
      zone.write(to: &writer)
      vector.write(to: &writer)
      writer.varint(digest.records)
      writer.sized(digest.hash)
      writer.byte(unsent.rawValue)
    case .digestRequest(let zone):
      tag(.digestRequest)
      zone.write(to: &writer)
    case .schema(let tables):
      tag(.schema)
      writer.list(tables) { $1.write(to: &$0) }
    case .schemaRules(let tables):
      tag(.schemaRules)
      writer.list(tables) {
        $0.text($1.table)
        $1.rules.write(to: &$0)
      }
    case .columnPolicies(let tables):
      tag(.columnPolicies)
      writer.list(tables) { $1.write(to: &$0) }
    case .ownerPolicies(let owner, let tables):
      tag(.ownerPolicies)
      owner.write(to: &writer)
      writer.list(tables) { $1.write(to: &$0) }
    case .ping(let number):
      tag(.ping)
      writer.uint64(number)
    case .pong(let number):
      tag(.pong)
      writer.uint64(number)
    case .heads(let zone, let heads):
      tag(.heads)
      zone.write(to: &writer)
      writer.list(heads.sorted { $0.key < $1.key }) {
        $1.key.write(to: &$0)
        $0.varint($1.value.number)
        $0.raw($1.value.prefix)
      }
    case .lineRequest(let zone, let author, let number):
      tag(.lineRequest)
      zone.write(to: &writer)
      author.write(to: &writer)
      writer.varint(number)
    case .line(let zone, let headers):
      tag(.line)
      zone.write(to: &writer)
      writer.list(headers) { $0.sized($1) }
    case .clock(let milliseconds):
      tag(.clock)
      writer.signedVarint(milliseconds)
    case .accountHeads(let heads):
      tag(.accountHeads)
      writer.list(heads.sorted { $0.key < $1.key }) {
        $1.key.write(to: &$0)
        $0.raw($1.value)
      }
    case .shareClaim(let zone, let claim):
      tag(.shareClaim)
      zone.write(to: &writer)
      claim.write(to: &writer)
    case .assetWant(let zone, let asset, let chunks):
      tag(.assetWant)
      zone.write(to: &writer)
      asset.write(to: &writer)
      writer.varint(chunks.lowerBound)
      writer.varint(chunks.count)
    case .assetChunk(let zone, let asset, let index, let bytes):
      tag(.assetChunk)
      zone.write(to: &writer)
      asset.write(to: &writer)
      writer.varint(index)
      writer.sized(bytes)
    case .assetHas(let zone, let asset, let chunks):
      tag(.assetHas)
      zone.write(to: &writer)
      asset.write(to: &writer)
      (chunks ?? ChunkSet(count: 0)).write(to: &writer)
    case .assetBacklog(let zone, let backlog):
      tag(.assetBacklog)
      zone.write(to: &writer)
      backlog.write(to: &writer)
    case .accountName(let name):
      tag(.accountName)
      writer.text(name)
    }
    return writer.bytes
  }

  /// Decodes a message. Returns nil for a tag that this version doesn't know.
  public static func decode(_ bytes: [UInt8]) throws(DecodingError) -> Message? {
    guard bytes.count <= Limits.message else { throw .limit("message") }
    var reader = ByteReader(bytes)
    guard let tag = Tag(rawValue: try reader.byte()) else { return nil }
    let message = try decode(tag, &reader)
    try reader.end()
    return message
  }

  private static func decode(_ tag: Tag, _ reader: inout ByteReader) throws(DecodingError) -> Message {
    switch tag {
    case .hello: return .hello(try Hello(from: &reader))
    case .goodbye:
      guard let code = Goodbye(rawValue: try reader.byte()) else { throw .unknown("goodbye") }
      return .goodbye(code, text: try reader.text(Limits.goodbyeText, "goodbye text"))
    case .account: return .account(try reader.sized(Limits.message, "account state"))
    case .claim: return .claim(try DeviceClaim(from: &reader))
    case .admitted: return .admitted(try Certificate(from: &reader))
    case .zones:
      return .zones(
        try reader.list(Limits.zones, "zones") { (reader: inout ByteReader) throws(DecodingError) in try reader.raw(16)
        })
    case .controlHeads:
      return .controlHeads(try ZoneID(from: &reader), try identifiers(Limits.toldHeads, &reader))
    case .controlRecords:
      return .controlRecords(
        try ZoneID(from: &reader), try blobs(&reader, Limits.controlBatch, Limits.controlRecord, "control record"))
    case .keyRequest:
      return .keyRequest(try ZoneID(from: &reader), try identifiers(Limits.controlBatch, &reader))
    case .keys:
      let zone = try ZoneID(from: &reader)
      var keys: [EpochID: [UInt8]] = [:]
      var previous: EpochID?
      for _ in 0..<(try reader.count(Limits.controlBatch, "keys")) {
        let epoch = try EpochID(from: &reader)
        try reader.ascend(&previous, to: epoch, "epochs")
        keys[epoch] = try reader.sized(Limits.sealedKey, "sealed key")
      }
      return .keys(zone, keys)
    case .want: return .want(try ZoneID(from: &reader), try VersionVector(from: &reader))
    case .changeSets:
      return .changeSets(
        try ZoneID(from: &reader), try blobs(&reader, Limits.changeSetBatch, Limits.changeSet, "change set"))
    case .upToDate: return .upToDate(try ZoneID(from: &reader), try VersionVector(from: &reader))
    case .have: return .have(try ZoneID(from: &reader), try VersionVector(from: &reader))
    case .announceOnly: return .announceOnly(try ZoneID(from: &reader))
    case .credit: return .credit(try reader.varint())
    case .acknowledgement: return .acknowledgement(try Acknowledgement(from: &reader))
    case .digest:
      return .digest(
        try ZoneID(from: &reader), try VersionVector(from: &reader),
        ZoneDigest(records: try reader.varint(), hash: try reader.sized(32, "digest")), try unsent(&reader))
    case .digestRequest: return .digestRequest(try ZoneID(from: &reader))
    case .schema:
      return .schema(
        try reader.list(Limits.tables, "tables") { (reader: inout ByteReader) throws(DecodingError) in
          try SchemaDescription(from: &reader)
        })
    case .ping: return .ping(try reader.uint64())
    case .pong: return .pong(try reader.uint64())
    case .heads:
      let zone = try ZoneID(from: &reader)
      var heads: [Author: LineHead] = [:]
      var previous: Author?
      for _ in 0..<(try reader.count(Limits.authors, "authors")) {
        let author = try Author(from: &reader)
        try reader.ascend(&previous, to: author, "authors")
        heads[author] = try LineHead(from: &reader)
      }
      return .heads(zone, heads)
    case .lineRequest:
      return .lineRequest(try ZoneID(from: &reader), try Author(from: &reader), through: try reader.varint())
    case .line:
      return .line(try ZoneID(from: &reader), try blobs(&reader, Limits.line, Limits.signedHeader, "signed header"))
    case .accountName:
      let name = try reader.text(Limits.accountName, "account name")
      guard !name.isEmpty, name == printable(name) else { throw .invalid("an account name has no control characters") }
      return .accountName(name)
    case .clock: return .clock(try reader.signedVarint())
    case .accountHeads:
      var heads: [AccountID: [UInt8]] = [:]
      var previous: AccountID?
      for _ in 0..<(try reader.count(Limits.accountHeads, "accounts")) {
        let account = try AccountID(from: &reader)
        try reader.ascend(&previous, to: account, "accounts")
        heads[account] = try reader.raw(32)
      }
      return .accountHeads(heads)
    case .shareClaim: return .shareClaim(try ZoneID(from: &reader), try ShareClaim(from: &reader))
    case .assetWant:
      let (zone, asset) = (try ZoneID(from: &reader), try AssetID(from: &reader))
      let first = try reader.count(chunks - 1, "chunk")
      let count = try reader.count(min(Limits.chunksWanted, chunks - first), "chunks")
      return .assetWant(zone, asset, first..<first + count)
    case .assetChunk:
      let (zone, asset) = (try ZoneID(from: &reader), try AssetID(from: &reader))
      let index = try reader.count(chunks - 1, "chunk")
      return .assetChunk(zone, asset, index, try reader.sized(Limits.chunk, "chunk"))
    case .assetHas:
      let (zone, asset) = (try ZoneID(from: &reader), try AssetID(from: &reader))
      let chunks = try ChunkSet(from: &reader)
      return .assetHas(zone, asset, chunks.count == 0 ? nil : chunks)
    case .assetBacklog:
      return .assetBacklog(try ZoneID(from: &reader), try AssetBacklog(from: &reader))
    case .schemaRules:
      let tables = try reader.list(Limits.tables, "tables") { (reader: inout ByteReader) throws(DecodingError) in
        NamedRules(table: try reader.text(Limits.name, "table name"), rules: try SchemaRules(from: &reader))
      }
      return .schemaRules(tables)
    case .columnPolicies: return .columnPolicies(try policies(&reader))
    case .ownerPolicies: return .ownerPolicies(try AccountID(from: &reader), try policies(&reader))
    }
  }

  private static func policies(_ reader: inout ByteReader) throws(DecodingError) -> [NamedPolicies] {
    try reader.list(Limits.tables, "tables") { (reader: inout ByteReader) throws(DecodingError) in
      try NamedPolicies(from: &reader)
    }
  }

  /// The number of chunks of the longest asset.
  private static let chunks = Asset.chunkCount(size: Limits.asset)

  private static func identifiers<Kind>(
    _ count: Int, _ reader: inout ByteReader
  ) throws(DecodingError) -> [Identifier<Kind>] {
    try reader.list(count, "ids") { (reader: inout ByteReader) throws(DecodingError) in
      try Identifier<Kind>(from: &reader)
    }
  }

  private static func unsent(_ reader: inout ByteReader) throws(DecodingError) -> Unsent {
    guard let unsent = Unsent(rawValue: try reader.byte()) else { throw .unknown("unsent rows") }
    return unsent
  }

  private static func blobs(
    _ reader: inout ByteReader, _ count: Int, _ size: Int, _ name: String
  ) throws(DecodingError) -> [[UInt8]] {
    try reader.list(count, name) { (reader: inout ByteReader) throws(DecodingError) in try reader.sized(size, name) }
  }
}

/// Returns the tag by which a zone is named to a peer that may know it: BLAKE2b-128, keyed with the zone's id, of
/// `mesh/1/zonetag` ‖ role of the sender ‖ handshake hash. A stranger learns no zone from it, and the role prevents
/// reflection.
public func zoneTag(
  _ zone: ZoneID, sender: SessionBinding.Role, handshakeHash: [UInt8], _ cryptography: any Cryptography
) -> [UInt8] {
  cryptography.hash(Array("mesh/1/zonetag".utf8) + [sender.rawValue] + handshakeHash, count: 16, key: zone.bytes)
}
