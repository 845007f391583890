import MeshCore
import MeshCrypto
import Testing

@Suite struct SessionVectorTests {
  private let world: World
  private let file: VectorFile

  init() throws {
    world = try World()
    file = try VectorFile("session")
  }

  private var binding: SessionBinding {
    SessionBinding(signer: .dialler, handshakeHash: World.handshakeHash, peerStatic: world.lap.keys.sessionKey)
  }

  private func hello() throws -> Hello {
    var hello = Hello(
      certificate: world.desk.certificate, accountHead: try world.state().head(world.cryptography))
    hello.sign(world.desk.keys, binding)
    return hello
  }

  private var joiningHello: Hello {
    Hello(
      certificate: nil, accountHead: fill(0),
      proof: InviteProof(seed: World.deviceInviteSeed, handshakeHash: World.handshakeHash, world.cryptography))
  }

  private var claim: DeviceClaim {
    DeviceClaim(
      request: world.lap.request, account: world.account, seed: World.deviceInviteSeed, secrets: world.lap.keys,
      world.cryptography)
  }

  private func acknowledgement() throws -> Acknowledgement {
    Acknowledgement(
      zone: world.zone, device: world.desk.id, time: World.time(0, 9), merged: world.vector,
      controlHeads: [try #require(ControlID(VectorFile("control").bytes("epoch id")))], secrets: world.desk.keys)
  }

  private var schema: SchemaDescription {
    SchemaDescription(
      name: "items",
      columns: [
        .init(name: "id", declaredType: "TEXT", notNull: true),
        .init(name: "list", declaredType: "TEXT", collation: .nocase),
        .init(name: "done", declaredType: "INTEGER", notNull: true, defaultValue: .integer(0)),
      ],
      key: 0, foreignKeys: [.init(column: 1, parent: "lists", onDelete: .cascade)], isStrict: true,
      isWithoutRowid: true)
  }

  private var rules: NamedRules {
    let ordered = SchemaExpression.apply(
      .or, [.apply(.isNull, [.column("list")]), .apply(.greater, [.column("done"), .literal(.integer(-1))])])
    return NamedRules(
      table: "items",
      rules: SchemaRules(
        defaults: [.init(column: "list", expression: .apply(.currentTimestamp, []))],
        checks: [.init(name: "ordered", expression: ordered)],
        indexes: [
          .init(
            name: "by_list", terms: [.init(.collate(.column("list"), .nocase), isDescending: true)],
            condition: .apply(.like, [.cast(.column("done"), .text), .literal(.text("1%"))]))
        ],
        leftOut: [.init(.check, "", SchemaRefusal(.function, "regexp"))]))
  }

  private func messages() throws -> [String: Message] {
    let control = try VectorFile("control")
    let head = try #require(ControlID(control.bytes("epoch id")))
    let epoch = try #require(EpochID(control.bytes("epoch id")))
    let sealed = try #require(
      world.cryptography.seal(
        world.epochKey.bytes, to: world.lap.keys.sealingKey, epoch: epoch.bytes,
        context: world.zone.bytes + epoch.bytes + world.lap.id.bytes))
    let asset = try #require(AssetID(VectorFile("changesets").bytes("asset id")))
    var chunks = ChunkSet(count: 10)
    for index in [0, 2, 7, 9] { chunks.insert(index) }
    let tag = zoneTag(world.zone, sender: .dialler, handshakeHash: World.handshakeHash, world.cryptography)
    return [
      "hello": .hello(try hello()),
      "hello of a joining device": .hello(joiningHello),
      "goodbye": .goodbye(.revoked, text: "the account revoked this device"),
      "account": .account(try world.state().encoded),
      "claim": .claim(claim),
      "admitted": .admitted(world.lap.certificate),
      "zones": .zones([tag, fill(0xc1, 16)]),
      "control heads": .controlHeads(world.zone, [head]),
      "control records": .controlRecords(world.zone, [try control.bytes("genesis"), try control.bytes("epoch")]),
      "key request": .keyRequest(world.zone, [epoch]),
      "keys": .keys(world.zone, [epoch: sealed]),
      "want": .want(world.zone, world.vector),
      "change sets": .changeSets(world.zone, [[1, 2], [3]]),
      "up to date": .upToDate(world.zone, world.vector),
      "have": .have(world.zone, world.vector),
      "announce only": .announceOnly(world.zone),
      "credit": .credit(2_097_152),
      "acknowledgement": .acknowledgement(try acknowledgement()),
      "digest": .digest(world.zone, world.vector, ZoneDigest(records: 1_000, hash: fill(0xd1, 16)), .unsendable),
      "digest request": .digestRequest(world.zone),
      "schema": .schema([schema]),
      "schema rules": .schemaRules([rules]),
      "account name": .accountName("Zoë"),
      "column policies": .columnPolicies([
        .init(
          table: "items",
          policies: [
            .init(column: "done", policy: .counter, time: World.now), .init(column: "list", policy: .last, time: 1),
          ])
      ]),
      "owner policies": .ownerPolicies(
        world.account,
        [.init(table: "items", policies: [.init(column: "done", policy: .keepBoth, time: World.now)])]),
      "former names": .formerNames([
        .init(
          table: "items",
          names: .init(tables: ["things", "entries"], columns: [.init(name: "done", former: "isDone")]))
      ]),
      "ping": .ping(15),
      "pong": .pong(15),
      "tips": .tips(
        world.zone, [world.desk.author: .init(number: 2, id: try #require(ChangeSetID(fill(0x81))))]),
      "excerpt request": .excerptRequest(world.zone, world.desk.author, through: 2),
      "excerpt": .excerpt(world.zone, [[1, 2]]),
      "clock": .clock(World.now),
      "account heads": .accountHeads([world.account: try world.state().head(world.cryptography)]),
      "asset want": .assetWant(world.zone, asset, 130..<138),
      "asset chunk": .assetChunk(world.zone, asset, 130, [1, 2, 3]),
      "asset has": .assetHas(world.zone, asset, chunks),
      "asset has of none": .assetHas(world.zone, asset, nil),
      "asset backlog": .assetBacklog(
        world.zone,
        AssetBacklog(coming: .init(assets: 3, bytes: 900_000_000), absent: .init(assets: 1, bytes: 20_000))),
      "share claim": .shareClaim(world.zone, try world.shareClaim(of: ControlID(control.bytes("invite id")))),
    ]
  }

  @Test("each message decodes from its vector, and only at its exact length")
  func eachMessageIsReadAndWritten() throws {
    let messages = try messages()
    let others = ["zone tag of the listener", "device invite", "share invite"]
    #expect(Set(messages.keys) == Set(file.names).subtracting(others))
    for (name, message) in messages {
      let bytes = try file.bytes(name)
      #expect(message.encoded == bytes, "\(name)")
      #expect(try Message.decode(bytes) == message, "\(name)")
      #expect(throws: FormatError.self, "\(name)") { try Message.decode(bytes + [0]) }
      for count in 0..<bytes.count {
        #expect(throws: FormatError.self, "\(name), \(count) bytes") { try Message.decode(Array(bytes[..<count])) }
      }
    }
  }

  @Test("a message with an unknown tag is skipped") func aMessageWithAnUnknownTagIsSkipped() throws {
    #expect(try Message.decode([99]) == nil)
    #expect(try Message.decode([0, 1, 2]) == nil)
    #expect(try Message.decode([255]) == nil)
  }

  @Test("a hello is valid only in its own session and direction")
  func aHelloHoldsInItsSessionAndDirectionOnly() throws {
    let hello = try hello()
    #expect(hello.isSigned(binding, world.cryptography))
    let elsewhere = [
      SessionBinding(
        signer: .listener, handshakeHash: World.handshakeHash, peerStatic: world.lap.keys.sessionKey),
      SessionBinding(signer: .dialler, handshakeHash: fill(0x62, 64), peerStatic: world.lap.keys.sessionKey),
      SessionBinding(
        signer: .dialler, handshakeHash: World.handshakeHash, peerStatic: world.desk.keys.sessionKey),
    ]
    for other in elsewhere { #expect(!hello.isSigned(other, world.cryptography)) }
    #expect(joiningHello.isSigned(binding, world.cryptography))
    #expect(joiningHello.proof?.isValid(handshakeHash: World.handshakeHash, world.cryptography) == true)
    #expect(joiningHello.proof?.isValid(handshakeHash: fill(0x62, 64), world.cryptography) == false)
  }

  @Test("a claim is valid only for its account and its invite") func aClaimHoldsForItsAccountAndInviteOnly() throws {
    let publicHalf = world.cryptography.publicKey(seed: World.deviceInviteSeed)
    let stranger = try #require(AccountID(fill(9)))
    #expect(claim.isSigned(account: world.account, publicHalf: publicHalf, world.cryptography))
    #expect(!claim.isSigned(account: stranger, publicHalf: publicHalf, world.cryptography))
    #expect(
      !claim.isSigned(
        account: world.account, publicHalf: world.cryptography.publicKey(seed: fill(0x32)), world.cryptography))
  }

  @Test("a zone tag differs between the listener and the dialler") func aZoneTagDependsOnTheRole() throws {
    let listener = zoneTag(world.zone, sender: .listener, handshakeHash: World.handshakeHash, world.cryptography)
    #expect(listener == (try file.bytes("zone tag of the listener")))
    #expect(
      listener != zoneTag(world.zone, sender: .dialler, handshakeHash: World.handshakeHash, world.cryptography))
  }

  @Test("a share invite decodes from its vector and encodes to it") func aShareInviteIsReadAndWritten() throws {
    let text = try #require(try file.vector("share invite").text)
    let invite = ShareInviteContent(
      seed: World.shareInviteSeed, zone: world.zone, owner: world.account,
      record: try #require(try ControlID(VectorFile("control").bytes("invite id"))), addresses: ["192.0.2.7:7404"])
    #expect(invite.text == text)
    #expect(try ShareInviteContent(text: text) == invite)
    #expect(text.dropFirst(InviteKind.share.prefix.count) == Base32.encode(try file.bytes("share invite")))
  }

  @Test("a device invite decodes from its vector and encodes to it") func aDeviceInviteIsReadAndWritten() throws {
    let text = try #require(try file.vector("device invite").text)
    let invite = DeviceInviteContent(
      seed: World.deviceInviteSeed, account: world.account, expires: World.now + 900_000,
      addresses: ["192.0.2.7:7404", "[2001:db8::7]:7404"])
    #expect(invite.text == text)
    #expect(try DeviceInviteContent(text: text) == invite)
    #expect(text.dropFirst(InviteKind.device.prefix.count) == Base32.encode(try file.bytes("device invite")))
  }
}
