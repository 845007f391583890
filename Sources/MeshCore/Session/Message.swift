/// One message of a session: a tag byte, followed by its fields. Receivers skip unknown tags, so later versions can add
/// some.
package enum Message: Hashable, Sendable {
  /// The first message of both sides (see `Hello`).
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
  /// A device's signed word on what it has merged, its own or forwarded.
  case acknowledgement(Acknowledgement)
  /// The digest of the state at a merged vector, for comparison.
  case digest(ZoneID, VersionVector, ZoneDigest, Unsent)
  /// Asks for a `digest` message.
  case digestRequest(ZoneID)
  /// The tables that the sender synchronizes and may describe to the receiver.
  case schema([SchemaDescription])
  /// The rules of tables in the next `schema` message, by the tables' names. Earlier programs skip the tag.
  case schemaRules([NamedRules])
  /// The policies of columns of tables in the next `schema` message. Earlier programs skip the tag.
  case columnPolicies([NamedPolicies])
  /// The policies that the owner of shares set, told by another device of the receiver's account. Earlier programs skip
  /// the tag.
  case ownerPolicies(AccountID, [NamedPolicies])
  /// The former names of tables in the next `schema` message, and of their columns. Earlier programs skip the tag.
  case formerNames([NamedFormerNames])
  /// Asks for a `pong` with the same number, to notice a peer that went away.
  case ping(UInt64)
  /// The answer to the `ping` with that number.
  case pong(UInt64)
  /// The last change set here of each named author. If the receiver has another one with that number, the author's log
  /// has forked.
  case tips(ZoneID, [Author: LogTip])
  /// Asks for the end of an author's log up to a number: its change sets without their bodies.
  case excerptRequest(ZoneID, Author, through: UInt64)
  /// The answer to `excerptRequest`: encoded `SignedHeader`s, ascending by number.
  case excerpt(ZoneID, [[UInt8]])
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

  /// The tip of an author's log: the number of its newest change set, and the beginning of its id.
  package struct LogTip: Hashable, Sendable {
    /// The change set's number, above zero.
    package let number: UInt64
    /// The first `Limits.tipPrefix` bytes of the id.
    package let prefix: [UInt8]

    /// Takes the beginning of the id of a change set.
    package init(number: UInt64, id: ChangeSetID) {
      self.number = number
      prefix = Array(id.bytes.prefix(Limits.tipPrefix))
    }

    init(from reader: inout ByteReader) throws(FormatError) {
      number = try reader.varint()
      guard number > 0 else { throw .invalid("numbers above zero") }
      prefix = try reader.raw(Limits.tipPrefix)
    }
  }

  /// The reasons for ending a session.
  package enum Goodbye: UInt8, Sendable, CaseIterable {
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
    /// The receiver was silent for too long, its queue is full, or the sender has a fault.
    case stalled = 7
    /// The invite is expired, used, or not from this node.
    case inviteRefused = 8
    /// The peer's account is no longer a member of any zone that it shared with the sender's account. The sender has
    /// sent it the log that says so.
    case noMember = 10
    /// The invite can only be redeemed by another device than the sender. Come back later, or dial that device.
    case elsewhere = 11
  }

  private typealias Field = MessageField

  private enum Tag: UInt8 {
    case hello = 1
    case goodbye, account, claim, admitted, zones, controlHeads, controlRecords, keyRequest, keys
    case want, changeSets, upToDate, have, announceOnly, credit, acknowledgement, digest, digestRequest, schema
    case ping, pong, tips, excerptRequest, excerpt, clock, accountHeads, shareClaim
    case assetWant, assetChunk, assetHas, assetBacklog, schemaRules, accountName
    case columnPolicies, ownerPolicies, formerNames
  }

  /// The wire form: the tag, then the fields without padding.
  package var encoded: [UInt8] {
    switch self {
    case .hello(let hello): Self.bytes(.hello, hello)
    case .goodbye(let code, let text): Self.bytes(.goodbye, Field.goodbye(code), Field.goodbyeText(text))
    case .account(let bytes): Self.bytes(.account, Field.accountState(bytes))
    case .claim(let claim): Self.bytes(.claim, claim)
    case .admitted(let certificate): Self.bytes(.admitted, certificate)
    case .zones(let tags): Self.bytes(.zones, Field.zoneTags(tags))
    case .controlHeads(let zone, let heads): Self.bytes(.controlHeads, zone, Field.controlHeads(heads))
    case .controlRecords(let zone, let records): Self.bytes(.controlRecords, zone, Field.controlRecords(records))
    case .keyRequest(let zone, let epochs): Self.bytes(.keyRequest, zone, Field.epochs(epochs))
    case .keys(let zone, let keys): Self.bytes(.keys, zone, Field.keys(keys))
    case .want(let zone, let vector): Self.bytes(.want, zone, vector)
    case .changeSets(let zone, let changeSets): Self.bytes(.changeSets, zone, Field.changeSets(changeSets))
    case .upToDate(let zone, let vector): Self.bytes(.upToDate, zone, vector)
    case .have(let zone, let vector): Self.bytes(.have, zone, vector)
    case .announceOnly(let zone): Self.bytes(.announceOnly, zone)
    case .credit(let bytes): Self.bytes(.credit, Field.number(bytes))
    case .acknowledgement(let acknowledgement): Self.bytes(.acknowledgement, acknowledgement)
    case .digest(let zone, let vector, let digest, let unsent):
      Self.bytes(.digest, zone, vector, digest, Field.unsent(unsent))
    case .digestRequest(let zone): Self.bytes(.digestRequest, zone)
    case .schema(let tables): Self.bytes(.schema, Field.schema(tables))
    case .schemaRules(let tables): Self.bytes(.schemaRules, Field.rules(tables))
    case .columnPolicies(let tables): Self.bytes(.columnPolicies, Field.policies(tables))
    case .ownerPolicies(let owner, let tables): Self.bytes(.ownerPolicies, owner, Field.policies(tables))
    case .formerNames(let tables): Self.bytes(.formerNames, Field.formerNames(tables))
    case .ping(let number): Self.bytes(.ping, Field.word(number))
    case .pong(let number): Self.bytes(.pong, Field.word(number))
    case .tips(let zone, let tips): Self.bytes(.tips, zone, Field.tips(tips))
    case .excerptRequest(let zone, let author, let number):
      Self.bytes(.excerptRequest, zone, author, Field.number(number))
    case .excerpt(let zone, let headers): Self.bytes(.excerpt, zone, Field.headers(headers))
    case .clock(let time): Self.bytes(.clock, Field.milliseconds(time))
    case .accountHeads(let heads): Self.bytes(.accountHeads, Field.accountHeads(heads))
    case .shareClaim(let zone, let claim): Self.bytes(.shareClaim, zone, claim)
    case .assetWant(let zone, let asset, let range): Self.bytes(.assetWant, zone, asset, Field.chunkRange(range))
    case .assetChunk(let zone, let asset, let index, let bytes):
      Self.bytes(.assetChunk, zone, asset, Field.chunk(index), Field.chunkBytes(bytes))
    case .assetHas(let zone, let asset, let chunks): Self.bytes(.assetHas, zone, asset, Field.knownChunks(chunks))
    case .assetBacklog(let zone, let backlog): Self.bytes(.assetBacklog, zone, backlog)
    case .accountName(let name): Self.bytes(.accountName, Field.accountName(name))
    }
  }

  private static func bytes<each Field: WrittenField>(_ tag: Tag, _ fields: repeat each Field) -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    writer.byte(tag.rawValue)
    repeat (each fields).write(to: &writer)
    return writer.bytes
  }

  /// Decodes a message. Returns nil for a tag that this version doesn't know.
  package static func decode(_ bytes: [UInt8]) throws(FormatError) -> Message? {
    guard bytes.count <= Limits.message else { throw .limit("message") }
    var reader = ByteReader(bytes)
    guard let tag = Tag(rawValue: try reader.byte()) else { return nil }
    let message = try decode(tag, &reader)
    try reader.end()
    return message
  }

  private static func decode(_ tag: Tag, _ reader: inout ByteReader) throws(FormatError) -> Message {
    switch tag {
    case .hello: .hello(try reader.field())
    case .goodbye: .goodbye(try reader.field(Field.goodbye), text: try reader.field(Field.goodbyeText))
    case .account: .account(try reader.field(Field.accountState))
    case .claim: .claim(try reader.field())
    case .admitted: .admitted(try reader.field())
    case .zones: .zones(try reader.field(Field.zoneTags))
    case .controlHeads: .controlHeads(try reader.field(), try reader.field(Field.controlHeads))
    case .controlRecords: .controlRecords(try reader.field(), try reader.field(Field.controlRecords))
    case .keyRequest: .keyRequest(try reader.field(), try reader.field(Field.epochs))
    case .keys: .keys(try reader.field(), try reader.field(Field.keys))
    case .want: .want(try reader.field(), try reader.field())
    case .changeSets: .changeSets(try reader.field(), try reader.field(Field.changeSets))
    case .upToDate: .upToDate(try reader.field(), try reader.field())
    case .have: .have(try reader.field(), try reader.field())
    case .announceOnly: .announceOnly(try reader.field())
    case .credit: .credit(try reader.field(Field.number))
    case .acknowledgement: .acknowledgement(try reader.field())
    case .digest: .digest(try reader.field(), try reader.field(), try reader.field(), try reader.field(Field.unsent))
    case .digestRequest: .digestRequest(try reader.field())
    case .schema: .schema(try reader.field(Field.schema))
    case .schemaRules: .schemaRules(try reader.field(Field.rules))
    case .columnPolicies: .columnPolicies(try reader.field(Field.policies))
    case .ownerPolicies: .ownerPolicies(try reader.field(), try reader.field(Field.policies))
    case .formerNames: .formerNames(try reader.field(Field.formerNames))
    case .ping: .ping(try reader.field(Field.word))
    case .pong: .pong(try reader.field(Field.word))
    case .tips: .tips(try reader.field(), try reader.field(Field.tips))
    case .excerptRequest:
      .excerptRequest(try reader.field(), try reader.field(), through: try reader.field(Field.number))
    case .excerpt: .excerpt(try reader.field(), try reader.field(Field.headers))
    case .clock: .clock(try reader.field(Field.milliseconds))
    case .accountHeads: .accountHeads(try reader.field(Field.accountHeads))
    case .shareClaim: .shareClaim(try reader.field(), try reader.field())
    case .assetWant: .assetWant(try reader.field(), try reader.field(), try reader.field(Field.chunkRange))
    case .assetChunk:
      .assetChunk(
        try reader.field(), try reader.field(), try reader.field(Field.chunk), try reader.field(Field.chunkBytes))
    case .assetHas: .assetHas(try reader.field(), try reader.field(), try reader.field(Field.knownChunks))
    case .assetBacklog: .assetBacklog(try reader.field(), try reader.field())
    case .accountName: .accountName(try reader.field(Field.accountName))
    }
  }
}

/// Returns the tag by which a zone is named to a peer that may know it: BLAKE2b-128, keyed with the zone's id, of
/// `mesh/1/zonetag` ‖ role of the sender ‖ handshake hash. A stranger learns no zone from it, and the role prevents
/// reflection.
package func zoneTag(
  _ zone: ZoneID, sender: SessionBinding.Role, handshakeHash: [UInt8], _ cryptography: any Cryptography
) -> [UInt8] {
  cryptography.hash(Array("mesh/1/zonetag".utf8) + [sender.rawValue] + handshakeHash, count: 16, key: zone.bytes)
}
