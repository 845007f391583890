import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Chunks between replicas: which nodes request them, give them and are believed.
@Suite struct AssetExchangeTests {
  private static let photo = RecordName(table: "list", key: .text("photo"))

  private func content(_ size: Int, _ seed: Int = 7) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: $0 &* seed) }
  }

  private func write(_ mesh: TestMesh, _ node: Int, _ bytes: [UInt8]) throws {
    mesh.nodes[node].store.write(Self.photo, ["title": .text("t"), "image": .blob(bytes)])
    mesh.nodes[node].replica.databaseChanged()
    try mesh.pump()
  }

  private func shown(_ mesh: TestMesh, _ node: Int) -> Value? { mesh.nodes[node].store.rows[Self.photo]?["image"] }

  @Test("a BLOB reaches a node through another one and is downloaded once")
  func aBLOBPassesThroughANodeInBetween() throws {
    let mesh = try TestMesh(3)
    try mesh.connect(1, 0)
    try mesh.connect(2, 1)
    try mesh.pump()
    let bytes = content(5 * Limits.chunk + 3)
    try write(mesh, 0, bytes)
    // The node was first told that there is nothing yet, and then that there is.
    try mesh.wait(300)
    #expect([1, 2].allSatisfy { shown(mesh, $0) == .blob(bytes) })
    #expect(mesh.nodes[2].replica.downloads.bytes == bytes.count)
  }

  @Test("a node completes a BLOB from another node after its source left")
  func aSourceThatLeftIsReplacedByWhoeverHasTheAsset() throws {
    let mesh = try TestMesh(3)
    let bytes = content(3 * Limits.chunk)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    try write(mesh, 0, bytes)
    try mesh.meet(1, 0)
    try mesh.meet(2, 1)
    #expect([1, 2].allSatisfy { shown(mesh, $0) == .blob(bytes) })
  }

  @Test("a node downloads a BLOB once for two rows with the same content")
  func twoWritesOfOneContentAreFetchedOnce() throws {
    let mesh = try TestMesh(2)
    try mesh.connect(1, 0)
    try mesh.pump()
    let bytes = content(2 * Limits.chunk)
    try write(mesh, 0, bytes)
    mesh.nodes[0].store.write(RecordName(table: "list", key: .text("copy")), ["image": .blob(bytes)])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let copy = mesh.nodes[1].store.rows[RecordName(table: "list", key: .text("copy"))]?["image"]
    #expect((copy == .blob(bytes)) == true)
    #expect(mesh.nodes[1].replica.downloads.bytes == bytes.count)
  }

  // MARK: Members that lie

  private struct World {
    let mesh: TestMesh
    let zone: ZoneID
    let manifest: AssetManifest
    let asset: Asset
    let bytes: [UInt8]
    /// The session with node 1 of device 2, which the test plays.
    let link: LinkID

    init() throws {
      mesh = try TestMesh(3)
      zone = try mesh.zone
      try mesh.meet(1, 0)
      let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
      let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
      bytes = (0..<Limits.chunk).map { UInt8(truncatingIfNeeded: $0) }
      var builder = AssetManifest.Builder(key: [UInt8](repeating: 1, count: 32), mesh.cryptography)
      for _ in 0..<4 { builder.add(bytes) }
      let made = builder.manifest
      manifest = try #require(made)
      asset = try manifest.asset(mesh.cryptography)
      link = try mesh.admit(2, to: 1)
      let author = Author(device: try mesh.account.device(2), instance: InstanceID(7))
      let stamp = Stamp(time: HybridTime(milliseconds: VirtualClock.epoch + 1), author: author)
      let row = RowChange(
        key: .text("photo"), generation: 1, isLife: true, stamp: stamp,
        fields: [.init(column: 0, value: .asset(manifest))])
      let body = ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["image"], rows: [row])]))
      let header = ChangeSetHeader(
        zone: zone, author: author, number: 1, previous: nil, time: stamp.time, epoch: epoch, part: .only)
      let changeSet = try ChangeSet(
        header, body: body.encoded(author: author), key: key, secrets: mesh.account.devices[2],
        with: mesh.cryptography)
      try mesh.give(.changeSets(zone, [changeSet.bytes]), to: 1, link)
    }

    var wants: [Range<Int>] {
      (mesh.nodes[1].sent[link] ?? []).compactMap {
        if case .assetWant(_, asset.id, let chunks) = $0 { chunks } else { nil }
      }
    }
  }

  @Test("a peer that sends a wrong chunk loses its session and is not asked again")
  func whoGivesAnotherChunkThanItWasAskedForIsSentAway() throws {
    let world = try World()
    #expect(world.wants.first?.contains(0) == true)
    try world.mesh.give(.assetChunk(world.zone, world.asset.id, 0, world.bytes), to: 1, world.link)
    #expect(world.mesh.nodes[1].closed.isEmpty)
    let asked = try #require(world.wants.last?.first)
    try world.mesh.give(.assetChunk(world.zone, world.asset.id, asked, world.bytes.reversed()), to: 1, world.link)
    #expect(world.mesh.nodes[1].closed.contains { $0.contains("manifest") })
    #expect(world.mesh.nodes[1].replica.refusals["wrong-chunk"] == 1)
    #expect(world.mesh.nodes[1].replica.hasRefusedFaults)
    let link = try world.mesh.admit(2, to: 1)
    let wants = (world.mesh.nodes[1].sent[link] ?? []).contains { if case .assetWant = $0 { true } else { false } }
    #expect(!wants, "nor is it asked again")
  }

  @Test("chunks are given as fast as the connection accepts them")
  func chunksWaitForTheConnection() throws {
    let mesh = try TestMesh(2)
    let zone = try mesh.zone
    let link = try mesh.admit(1, to: 0)
    try write(mesh, 0, content(2 * Limits.chunk))
    let value = try #require(mesh.nodes[0].store.record(Self.photo, zone: zone)?.cells["image"]?.value)
    guard case .asset(let asset) = value else { throw Stray() }
    func given() -> Int {
      (mesh.nodes[0].sent[link] ?? []).count { if case .assetChunk = $0 { true } else { false } }
    }
    mesh.nodes[0].replica.noteQueued(Choices.outflow, on: link)
    try mesh.give(.assetWant(zone, asset.id, 0..<2), to: 0, link)
    #expect(given() == 0)
    mesh.nodes[0].replica.noteQueued(0, on: link)
    try mesh.wait(1_000)
    #expect(given() == 2)
  }

  @Test("a peer that sends more than 1,024 unrequested chunks loses its session")
  func chunksThatNobodyAskedForAreBounded() throws {
    let world = try World()
    for _ in 0..<1_024 {
      try world.mesh.give(.assetChunk(world.zone, world.asset.id, 3, world.bytes), to: 1, world.link)
    }
    #expect(world.mesh.nodes[1].closed.isEmpty)
    #expect(world.mesh.nodes[1].store.chunks(of: world.asset.id, zone: world.zone)?.contains(3) == false)
    try world.mesh.give(.assetChunk(world.zone, world.asset.id, 3, world.bytes), to: 1, world.link)
    #expect(!world.mesh.nodes[1].closed.isEmpty)
  }

  @Test("a node passes on the chunks it has, and later the rest")
  func aPartOfAnAssetIsGivenOnAndTheRestWhenItComes() throws {
    let world = try World()
    let mesh = world.mesh
    try mesh.give(.assetChunk(world.zone, world.asset.id, 0, world.bytes), to: 1, world.link)
    try mesh.connect(0, 1)
    try mesh.pump()
    #expect(mesh.nodes[0].store.chunks(of: world.asset.id, zone: world.zone)?.present == 1)
    for index in 1..<4 {
      try mesh.give(.assetChunk(world.zone, world.asset.id, index, world.bytes), to: 1, world.link)
      try mesh.wait(500)
    }
    #expect((shown(mesh, 1) == shown(mesh, 0)) == true)
    #expect(mesh.nodes[0].store.chunks(of: world.asset.id, zone: world.zone)?.isComplete == true)
  }

  @Test("a node reports its missing BLOBs after each acknowledgement and when they change")
  func whatIsLackingIsSaidBehindEachAcknowledgement() throws {
    let world = try World()
    let mesh = world.mesh
    func said() -> [Message] {
      (mesh.nodes[1].sent[world.link] ?? []).filter {
        switch $0 {
        case .acknowledgement, .assetBacklog: true
        default: false
        }
      }
    }
    func backlog(coming: Int, bytes: Int, absent: Int = 0) -> AssetBacklog {
      AssetBacklog(
        coming: AssetBacklog.Amount(assets: coming, bytes: coming > 0 ? bytes : 0),
        absent: AssetBacklog.Amount(assets: absent, bytes: absent > 0 ? bytes : 0))
    }
    let acknowledged = try #require(
      said().lastIndex { if case .acknowledgement(let one) = $0 { !one.merged.numbers.isEmpty } else { false } })
    let all = 4 * Limits.chunk
    #expect(said()[(acknowledged + 1)...] == [.assetBacklog(world.zone, backlog(coming: 1, bytes: all))])
    try mesh.give(.assetChunk(world.zone, world.asset.id, 0, world.bytes), to: 1, world.link)
    try mesh.wait(1_100)
    #expect(said().last == .assetBacklog(world.zone, backlog(coming: 1, bytes: all - Limits.chunk)))
    try mesh.give(.assetHas(world.zone, world.asset.id, nil), to: 1, world.link)
    try mesh.wait(1_100)
    #expect(
      said().last == .assetBacklog(world.zone, backlog(coming: 0, bytes: all - Limits.chunk, absent: 1)),
      "nobody who is there has it")
    try mesh.give(.assetHas(world.zone, world.asset.id, .all(4)), to: 1, world.link)
    for index in 1..<4 {
      try mesh.give(.assetChunk(world.zone, world.asset.id, index, world.bytes), to: 1, world.link)
    }
    #expect(
      said().last == .assetBacklog(world.zone, backlog(coming: 0, bytes: 0)), "at once, and not with the next tick")
  }

  @Test("a node knows that a peer has merged its write and lacks no BLOB")
  func whoWaitsKnowsWhetherTheBytesAreThere() throws {
    let mesh = try TestMesh(2)
    let zone = try mesh.zone
    try mesh.connect(1, 0)
    try mesh.pump()
    try write(mesh, 0, content(3 * Limits.chunk))
    let peer = try #require(mesh.nodes[0].replica.peerViews.all.first)
    #expect(peer.acknowledged[zone] == mesh.nodes[0].store.mergedVector(zone))
    #expect(peer.backlogs[zone] == AssetBacklog())
  }

  // MARK: Eviction

  private func asset(_ mesh: TestMesh) throws -> AssetID {
    let zone = try mesh.zone
    guard
      case .asset(let asset) = try #require(mesh.nodes[0].store.record(Self.photo, zone: zone)?.cells["image"]?.value)
    else { throw Stray() }
    return asset.id
  }

  @Test("a node names the chunks that a program has overwritten as missing, and tells when they are back")
  func patchedSource() throws {
    let mesh = try TestMesh(2)
    let link = try mesh.admit(1, to: 0)
    let bytes = content(2 * Limits.chunk)
    try write(mesh, 0, bytes)
    let (zone, asset) = (try mesh.zone, try asset(mesh))
    mesh.nodes[0].store.patchedChunks[asset] = [1]
    try mesh.give(.assetWant(zone, asset, 1..<2), to: 0, link)
    var first = ChunkSet(count: 2)
    first.insert(0)
    #expect(mesh.nodes[0].sent[link]?.contains(.assetHas(zone, asset, first)) == true)

    try mesh.connect(1, 0)
    try mesh.pump()
    #expect((shown(mesh, 1) == .blob(bytes)) == false)
    // The flush of the next write finds the row as it was.
    mesh.nodes[0].store.patchedChunks[asset] = nil
    let other = RecordName(table: "list", key: .text("other"))
    mesh.nodes[0].store.write(other, ["image": .blob(content(3 * Limits.chunk, 5))])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    try mesh.wait(500)
    #expect((mesh.nodes[1].store.rows[other]?["image"] == .blob(content(3 * Limits.chunk, 5))) == true)
    #expect((shown(mesh, 1) == .blob(bytes)) == true)
  }

  @Test("a node tells once after a flush that an overwritten chunk is still missing")
  func patchedSourceIsToldOnce() throws {
    let mesh = try TestMesh(2)
    let link = try mesh.admit(1, to: 0)
    try write(mesh, 0, content(2 * Limits.chunk))
    let (zone, asset) = (try mesh.zone, try asset(mesh))
    mesh.nodes[0].store.patchedChunks[asset] = [1]
    try mesh.give(.assetWant(zone, asset, 1..<2), to: 0, link)
    for number in 1...3 {
      mesh.nodes[0].store.write(RecordName(table: "list", key: .text("n\(number)")), ["title": .text("t")])
      mesh.nodes[0].replica.databaseChanged()
      try mesh.pump()
      try mesh.wait(500)
      let told = (mesh.nodes[0].sent[link] ?? []).filter {
        if case .assetHas(zone, asset, _) = $0 { true } else { false }
      }
      #expect(told.count == 2)
    }
  }

  @Test("a node that evicts a BLOB finds another holder and gives no chunk meanwhile")
  func whoEvictsGivesNothingAndAsksWhoHasAll() throws {
    let mesh = try TestMesh(3)
    try mesh.connect(1, 0)
    try mesh.connect(2, 0)
    try mesh.pump()
    try write(mesh, 0, content(3 * Limits.chunk))
    let (zone, asset) = (try mesh.zone, try asset(mesh))
    let replica = mesh.nodes[0].replica
    #expect(replica.copies.holders(asset) == .nobody(asked: 0))
    #expect(replica.copies.beginEviction(asset, zones: [zone]))
    #expect(!replica.copies.beginEviction(asset, zones: [zone]), "one at a time")
    #expect(replica.copies.holders(asset) == .asking)
    try mesh.pump()
    guard case .held = replica.copies.holders(asset) else { throw Stray() }
    let before = mesh.nodes[0].sent.values.joined().count
    try mesh.nodes[0].replica.received(
      try #require(mesh.nodes[0].replica.peerViews.all.first?.link), Message.assetWant(zone, asset, 0..<2).encoded,
      now: mesh.now)
    try mesh.pump()
    let sent = mesh.nodes[0].sent.values.joined()
    #expect(sent.count > before && sent.contains(.assetHas(zone, asset, nil)))
    replica.copies.endEviction(asset)
    #expect(replica.copies.holders(asset) == .nobody(asked: 0))
  }

  @Test("two nodes that evict a BLOB at once don't count each other as holders")
  func ofTwoThatEvictAtOnceNeitherCountsTheOther() throws {
    let mesh = try TestMesh(2)
    try mesh.connect(1, 0)
    try mesh.pump()
    try write(mesh, 0, content(3 * Limits.chunk))
    let (zone, asset) = (try mesh.zone, try asset(mesh))
    for node in 0..<2 { #expect(mesh.nodes[node].replica.copies.beginEviction(asset, zones: [zone])) }
    try mesh.pump()
    for node in 0..<2 { #expect(mesh.nodes[node].replica.copies.holders(asset) == .nobody(asked: 1)) }
  }

  @Test("a peer that left or has only some chunks doesn't count as a holder")
  func whoeverIsGoneOrHasAPartIsNoHolder() throws {
    let world = try World()
    let mesh = world.mesh
    let replica = mesh.nodes[1].replica
    #expect(replica.copies.beginEviction(world.asset.id, zones: [world.zone]))
    var part = ChunkSet(count: 4)
    part.insert(1)
    try mesh.give(.assetHas(world.zone, world.asset.id, part), to: 1, world.link)
    #expect(replica.copies.holders(world.asset.id) == .nobody(asked: 1))
    replica.copies.endEviction(world.asset.id)
    #expect(replica.copies.beginEviction(world.asset.id, zones: [world.zone]))
    replica.linkClosed(world.link, now: mesh.now)
    #expect(replica.copies.holders(world.asset.id) == .nobody(asked: 1))
  }

  @Test("in another account's share, only the owner's copies of a BLOB count")
  func aParticipantsCopyDoesNotCount() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.connect(1, 0)
    try mesh.pump()
    let bytes = content(3 * Limits.chunk)
    mesh.nodes[0].store.write(Self.photo, ["title": .text("t"), "image": .blob(bytes)], zone: zone)
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    try mesh.wait(300)
    #expect((shown(mesh, 1) == .blob(bytes)) == true)
    let value = try #require(mesh.nodes[0].store.record(Self.photo, zone: zone)?.cells["image"]?.value)
    guard case .asset(let asset) = value else { throw Stray() }
    func holders(_ node: Int) throws -> AssetCopies.Holders {
      let replica = mesh.nodes[node].replica
      #expect(replica.copies.beginEviction(asset.id, zones: [zone]))
      try mesh.pump()
      defer { replica.copies.endEviction(asset.id) }
      return replica.copies.holders(asset.id)
    }
    #expect(try holders(0) == .nobody(asked: 0), "it is the owner's, and the other a participant")
    #expect(try holders(1) == .held(by: mesh.nodes[0].device))
  }

  @Test("a participant's BLOB counts as delivered once a device of the owner has all of it")
  func delivery() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    for node in [1, 2] { try mesh.join(node, mesh.invite(zone), at: 0) }
    for node in [1, 2, 1] { try mesh.meet(node, 0) }
    func write(_ size: Int) throws {
      let fields: [String: Value] = ["title": .text("t"), "image": .blob(content(size))]
      mesh.nodes[1].store.write(Self.photo, fields, zone: zone)
      mesh.nodes[1].replica.databaseChanged()
      try mesh.pump()
      try mesh.wait(300)
    }
    func undelivered() -> Int { mesh.nodes[1].store.undelivered(zone, limit: 99).count }
    try write(2 * Limits.chunk)
    #expect(undelivered() == 1)
    try mesh.connect(1, 2)
    try mesh.pump()
    try mesh.wait(300)
    #expect(shown(mesh, 2) != nil && undelivered() == 1, "another participant's copy doesn't count")
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(300)
    #expect(shown(mesh, 0) != nil && undelivered() == 0)
    mesh.part(1, 0)
    try write(3 * Limits.chunk)
    #expect(undelivered() == 1)
  }

  @Test("for a device that never met the owner, another device of its account counts", arguments: [false, true])
  func deliveryWithinTheAccount(hasMet: Bool) throws {
    let mesh = try TestMesh([1, 2])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.meet(2, 1)
    if hasMet { try mesh.meet(2, 0) }
    mesh.nodes[2].store.write(Self.photo, ["image": .blob(content(2 * Limits.chunk))], zone: zone)
    mesh.nodes[2].replica.databaseChanged()
    try mesh.pump()
    #expect(mesh.nodes[2].store.undelivered(zone, limit: 9).count == 1)
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.wait(300)
    #expect(shown(mesh, 1) != nil)
    #expect(mesh.nodes[2].store.undelivered(zone, limit: 9).count == (hasMet ? 1 : 0))
  }

  @Test("an owner is asked for every BLOB again once its backlog has changed, and only complete ones are delivered")
  func deliveryQuestions() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    let count = 150
    for index in 0..<count {
      let record = RecordName(table: "list", key: .text("photo \(index)"))
      mesh.nodes[1].store.write(record, ["image": .blob(content(2 * Limits.chunk, index))], zone: zone)
    }
    mesh.nodes[1].replica.databaseChanged()
    try mesh.pump()
    func undelivered() -> [AssetID] { mesh.nodes[1].store.undelivered(zone, limit: 999).map(\.id) }
    let all = undelivered()
    #expect(all.count == count)
    let link = try mesh.admit(0, to: 1)
    try mesh.give(.controlHeads(zone, mesh.nodes[1].replica.shareState(zone)?.heads ?? []), to: 1, link)
    try mesh.give(.want(zone, VersionVector()), to: 1, link)
    var seen = mesh.nodes[1].sent[link]?.count ?? 0
    /// Answers all questions, and returns how many there were.
    func answer(_ chunks: (AssetID) -> ChunkSet?) throws -> Int {
      var answered = 0
      while true {
        let sent = mesh.nodes[1].sent[link] ?? []
        let asked = sent.dropFirst(seen).compactMap {
          if case .assetWant(zone, let asset, 0..<0) = $0 { asset } else { nil }
        }
        seen = sent.count
        guard !asked.isEmpty else { return answered }
        #expect(asked.count <= 64)
        answered += asked.count
        for asset in asked { try mesh.give(.assetHas(zone, asset, chunks(asset)), to: 1, link) }
      }
    }
    func backlog(coming: Int = 0, absent: Int) throws {
      let backlog = AssetBacklog(
        coming: AssetBacklog.Amount(assets: coming, bytes: coming),
        absent: AssetBacklog.Amount(assets: absent, bytes: 9))
      try mesh.give(.assetBacklog(zone, backlog), to: 1, link)
    }
    var (part, whole) = (ChunkSet(count: 2), ChunkSet(count: 2))
    part.insert(0)
    for chunk in 0..<2 { whole.insert(chunk) }
    try backlog(coming: 1, absent: 2)
    #expect(try answer { _ in whole } == 0, "it is asked once nothing is coming")
    try backlog(absent: 3)
    #expect(try answer { $0 == all[0] ? nil : part } == count)
    #expect(undelivered() == all)
    try backlog(absent: 3)
    #expect(try answer { _ in whole } == 0, "it has received nothing since")
    try backlog(absent: 2)
    #expect(try answer { $0 == all[9] ? part : whole } == count)
    #expect(undelivered() == [all[9]])
    // A peer may answer more than it was asked.
    try mesh.give(.assetHas(zone, all[9], whole), to: 1, link)
    #expect(undelivered() == [all[9]])
    try backlog(coming: 1, absent: 2)
    try backlog(absent: 2)
    #expect(try answer { _ in whole } == 1)
    #expect(undelivered().isEmpty)
  }

  @Test("a node gives a BLOB's chunks only to devices of the BLOB's zone") func nobodyElseLearnsOfAnAsset() throws {
    let mesh = try TestMesh([2, 1])
    try write(mesh, 0, content(2 * Limits.chunk))
    let zone = try mesh.zone
    let asset = try #require(mesh.nodes[0].store.record(Self.photo, zone: zone)?.cells["image"]?.value)
    guard case .asset(let asset) = asset else { throw Stray() }
    let link = try mesh.admit(1, to: 0)
    let other = ZoneID([UInt8](repeating: 5, count: 32)) ?? zone
    let unknown = AssetID([UInt8](repeating: 5, count: 32)) ?? asset.id
    for (zone, id) in [(other, asset.id), (zone, unknown)] {
      try mesh.give(.assetWant(zone, id, 0..<2), to: 0, link)
      #expect(mesh.nodes[0].sent[link]?.last == .assetHas(zone, id, nil))
    }
    try mesh.give(.assetWant(zone, asset.id, 0..<2), to: 0, link)
    let given = (mesh.nodes[0].sent[link] ?? []).count { if case .assetChunk = $0 { true } else { false } }
    #expect(given == 2)
    // A participant of a share asks for a BLOB of another zone.
    try mesh.join(2, mesh.invite(try mesh.share()), at: 0)
    let guest = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.assetWant(zone, asset.id, 0..<2), to: 0, guest)
    #expect(mesh.nodes[0].sent[guest]?.last == .assetHas(zone, asset.id, nil))
    #expect(mesh.nodes[0].sent[guest]?.contains { if case .assetChunk = $0 { true } else { false } } == false)
  }

  private struct Stray: Error {}
}
