import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Messages in which a member can choose any numbers.
///
/// The tests don't know the fields. At each position of an encoding, they insert each number that a field could have
/// there. Every message that still decodes is given to a node in an open session. A new message or field is therefore
/// included, or the test reports that it is missing.
@Suite struct ExtremeMessageTests {
  static let extremes: [UInt64] = {
    let bounds: [UInt64] = [0, 1 << 31, 1 << 32, 1 << 48, 1 << 63, UInt64(Limits.authors), UInt64(Limits.message)]
    return Set(bounds.flatMap { [$0 &- 1, $0, $0 &+ 1] } + [.max - 1, .max]).sorted()
  }()

  static func variants(of bytes: [UInt8], fixed: Bool = true) -> Set<[UInt8]> {
    var variants: Set<[UInt8]> = []
    for place in bytes.indices.dropFirst() {
      let end = bytes[place...].firstIndex { $0 < 0x80 }.map { $0 + 1 }
      for number in extremes {
        var writer = ByteWriter()
        writer.varint(number)
        if let end { variants.insert(Array(bytes[..<place]) + writer.bytes + Array(bytes[end...])) }
        guard fixed, place + 8 <= bytes.count else { continue }
        writer = ByteWriter()
        writer.uint64(number)
        variants.insert(Array(bytes[..<place]) + writer.bytes + Array(bytes[(place + 8)...]))
      }
    }
    return variants
  }

  /// Returns the variants that this run tries. With `MESH_TEST_FAST`, each run tries the same, and only every seventh of
  /// every seventh, because a node answers each of them.
  private static func some(of bytes: [UInt8]) -> [[UInt8]] {
    let variants = Array(variants(of: bytes))
    guard TestSeeds.isFast else { return variants }
    return TestSeeds.few(of: variants.sorted { $0.lexicographicallyPrecedes($1) })
  }

  private struct World {
    let mesh: TestMesh
    let zone: ZoneID

    init() throws {
      mesh = try TestMesh([2, 1])
      zone = try mesh.share()
      try mesh.join(2, mesh.invite(zone), at: 0)
      try mesh.connect(1, 0)
      try mesh.connect(2, 0)
      try mesh.pump()
      try mesh.write(2, "a", "of the participant", in: zone)
      try mesh.write(0, "b", "of the owner", in: zone)
    }

    /// Returns one message of each kind, about existing objects.
    func samples() throws -> [Message] {
      let node = mesh.nodes[0]
      let author = try #require(try mesh.nodes[2].replica.zoneViews.view(zone)?.author)
      let vector = VersionVector([author: 1])
      let keys = mesh.accounts[1].devices[0]
      let certificate = try #require(mesh.accounts[1].state.certificate(try mesh.accounts[1].device(0)))
      let invite = try #require(node.replica.shareState(zone)?.invites.keys.first)
      let epoch = try #require(try node.replica.zoneViews.view(zone)?.epoch)
      let asset = try #require(AssetID([UInt8](repeating: 3, count: 32)))
      let head = try #require(node.store.storedTips(zone)[author])
      let changeSet = try #require(
        node.store.changeSets(zone, beyond: VersionVector(), of: nil, after: 0, maximumBytes: 1 << 20).changeSets.first)
      let excerpt = node.store.excerpt(zone, author, through: 1, count: 1).map { header in
        var writer = ByteWriter()
        header.write(to: &writer)
        return writer.bytes
      }
      let request = try #require(CertificateRequest(name: "x", for: mesh.accounts[1].state.id, secrets: keys))
      let schema = SchemaDescription(
        name: "list", columns: [.init(name: "title", declaredType: "TEXT", defaultValue: .integer(7))], key: 0)
      let title = SchemaExpression.column("title")
      let rules = SchemaRules(
        defaults: [.init(column: "title", expression: .apply(.currentDate, []))],
        checks: [.init(name: "c", expression: .apply(.less, [.cast(title, .text), .literal(.integer(7))]))],
        indexes: [.init(name: "i", terms: [.init(.collate(title, .nocase))], condition: .apply(.notNull, [title]))],
        leftOut: [.init(.trigger, "t", .init(.program))])
      return [
        .hello(Hello(certificate: nil, accountHead: [UInt8](repeating: 0, count: 32))),
        .goodbye(.stopping, text: "x"), .account(mesh.accounts[1].state.encoded),
        .claim(
          DeviceClaim(
            request: request, account: mesh.accounts[1].state.id, seed: [UInt8](repeating: 1, count: 32), secrets: keys,
            mesh.cryptography)), .admitted(certificate), .zones([[UInt8](repeating: 1, count: 16)]),
        .controlHeads(zone, node.replica.shareState(zone)?.heads ?? []),
        .controlRecords(zone, [try #require(node.store.controlRecords(zone).last)]), .keyRequest(zone, [epoch]),
        .keys(zone, [epoch: [UInt8](repeating: 1, count: 80)]), .want(zone, vector), .changeSets(zone, [changeSet]),
        .upToDate(zone, vector), .have(zone, vector), .announceOnly(zone), .credit(1),
        .acknowledgement(
          Acknowledgement(
            zone: zone, device: try mesh.accounts[1].device(0), time: HybridTime(milliseconds: mesh.now.wall),
            merged: vector, controlHeads: [], secrets: keys)),
        .digest(zone, vector, ZoneDigest(records: 1, hash: [UInt8](repeating: 1, count: 16)), .nothing),
        .digestRequest(zone), .schema([schema]), .ping(1), .pong(1),
        .tips(zone, [author: .init(number: 1, id: head.id)]), .excerptRequest(zone, author, through: 1),
        .excerpt(zone, excerpt), .clock(mesh.now.wall),
        .accountHeads([mesh.accounts[1].state.id: [UInt8](repeating: 1, count: 32)]),
        .shareClaim(
          zone,
          ShareClaim(
            invite, zone: zone, genesis: mesh.accounts[1].state.genesis, certificate: certificate,
            seed: [UInt8](repeating: 1, count: 32), secrets: keys, mesh.cryptography)),
        .assetWant(zone, asset, 0..<1), .assetChunk(zone, asset, 0, [1]), .assetHas(zone, asset, ChunkSet(count: 1)),
        .assetBacklog(zone, AssetBacklog()), .schemaRules([.init(table: "list", rules: rules)]),
        .accountName("x"),
        .columnPolicies([.init(table: "list", policies: [.init(column: "title", policy: .counter, time: 7)])]),
        .ownerPolicies(
          mesh.accounts[1].state.id,
          [.init(table: "list", policies: [.init(column: "title", policy: .counter, time: 7)])]),
        .formerNames([
          .init(table: "list", names: .init(tables: ["lists"], columns: [.init(name: "title", former: "name")]))
        ]),
      ]
    }

    /// Expects that the owner's devices still work, in the share and in the private zone.
    func expectAtWork(_ what: String) throws {
      try mesh.wait(5_001)
      for (node, zone) in [(0, zone), (1, try mesh.zone)] {
        try mesh.write(node, "by \(node)", what, in: zone)
        #expect(mesh.title(1 - node, "by \(node)") == .text(what))
      }
      #expect(mesh.nodes[0].replica.clockFault == nil)
    }
  }

  @Test("no number in a message stops an honest device") func everyNumberOfEveryMessage() throws {
    let samples = try World().samples()
    let kinds = Set(samples.compactMap(\.encoded.first))
    for tag in UInt8.min...UInt8.max where !kinds.contains(tag) {
      // A known tag without fields fails to decode.
      #expect(throws: Never.self, "a message with tag \(tag) has no sample here") { _ = try Message.decode([tag]) }
    }
    var all = 0
    for (index, sample) in samples.enumerated() {
      let world = try World()
      let mesh = world.mesh
      var link: LinkID?
      var tried = 0
      for variant in Self.some(of: sample.encoded) {
        guard let message = try? Message.decode(variant), message != sample else { continue }
        if link.map({ !mesh.isOpen(0, $0) }) ?? true {
          link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
          try mesh.give(.controlHeads(world.zone, []), to: 0, try #require(link))
        }
        try mesh.give(variant, to: 0, try #require(link))
        tried += 1
      }
      try world.expectAtWork("message \(index + 1), \(tried) times")
      all += tried
    }
    #expect(all > 10 * samples.count / (TestSeeds.step * TestSeeds.step))
  }

  /// The altered act is put into a record that its author signs.
  @Test("no number in a control record stops an honest device") func everyNumberOfEveryControlRecord() throws {
    let start = try World()
    let known = start.mesh.nodes[0].store.controlRecords(start.zone)
    let acts = try known.map { try ControlRecord($0, start.mesh.cryptography) }
    #expect(acts.count >= 5)
    for (index, sample) in acts.enumerated() {
      let isOwners = sample.author == (try start.mesh.account.device(0))
      let world = try World()
      let mesh = world.mesh
      var tried = 0
      var last: ControlRecord?
      for variant in Self.some(of: sample.encoded) {
        guard let parsed = try? ControlRecord(variant, mesh.cryptography), parsed.act != sample.act else { continue }
        // The participant is the author. Acts that only the owner may write end its session.
        let record = try ControlRecord(
          zone: world.zone, parents: mesh.nodes[0].replica.shareState(world.zone)?.heads ?? [],
          number: (last?.number ?? 0) + 1, previous: last?.id, act: parsed.act, secrets: mesh.accounts[1].devices[0],
          mesh.cryptography)
        let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
        try mesh.give(.controlRecords(world.zone, [record.encoded]), to: 0, link)
        if mesh.nodes[0].store.controlRecords(world.zone).contains(record.encoded) { last = record }
        tried += 1
        if tried == 60 { break }
      }
      try world.expectAtWork("record \(index + 1) (\(isOwners)), \(tried) times")
    }
  }
}
