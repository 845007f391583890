import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// The home stores the number of each change set before any other device hears of it.
@Suite struct MarkTests {
  /// A home whose disk fails when a number is stored.
  private final class FailingVault: Vault {
    struct DiskFailure: Error {}
    let base = MemoryVault()
    var fails = false

    func epochKeys(_ zone: ZoneID) throws -> [EpochID: EpochKey] { base.epochKeys(zone) }
    func saveEpochKeys(_ keys: [EpochID: EpochKey], zone: ZoneID) throws {
      try base.saveEpochKeys(keys, zone: zone)
    }
    func zones() -> [String] { base.zones() }
    func highWaterMark(_ zone: ZoneID) throws -> HighWaterMark? { base.highWaterMark(zone) }
    func saveHighWaterMark(_ mark: HighWaterMark, zone: ZoneID) throws {
      if fails { throw DiskFailure() }
      try base.saveHighWaterMark(mark, zone: zone)
    }
    func isCopy() -> Bool { false }
    func settle() {}
    func deviceInvites() throws -> [IssuedInvite] { base.deviceInvites() }
    func saveDeviceInvites(_ links: [IssuedInvite]) throws { try base.saveDeviceInvites(links) }
  }

  private func expectMarks(_ mesh: TestMesh, _ location: SourceLocation = #_sourceLocation) throws {
    let zone = try mesh.zone
    for node in mesh.nodes {
      guard let instance = node.store.instance(zone) else { continue }
      let author = Author(device: node.device, instance: instance)
      let number = node.store.storedVector(zone)[author]
      let mark = try #require(node.vault.highWaterMark(zone), sourceLocation: location)
      #expect(mark.instance == instance && mark.number == number, sourceLocation: location)
      if number > 0 { #expect(node.store.changeSetID(zone, author, number) == mark.id, sourceLocation: location) }
    }
  }

  @Test("it is the last that was signed, whatever was written and merged in between")
  func itIsTheLastThatWasSignedWhateverWasWrittenAndMergedInBetween() throws {
    let mesh = try TestMesh(2, partSize: 2)
    try mesh.connect(1, 0)
    try mesh.pump()
    for round in 0..<6 {
      for key in 0..<5 {
        mesh.nodes[round % 2].store.write(
          RecordName(table: "list", key: .text("\(key)")), ["title": .text("\(round)")])
      }
      try mesh.write(1 - round % 2, "x", "\(round)")
      mesh.nodes[round % 2].replica.databaseChanged()
      try mesh.pump()
      try expectMarks(mesh)
    }
    #expect(try mesh.nodes[0].vault.highWaterMark(mesh.zone)?.number ?? 0 >= 6)
  }

  @Test("it is the last that was signed again after a cut") func itIsTheLastThatWasSignedAgainAfterACut() throws {
    let mesh = try TestMesh(2)
    try mesh.meet(1, 0)
    let hour: Int64 = 3_600_000
    try mesh.wait(1_000, jump: hour)
    try mesh.wait(Choices.clockBound + 1)
    try mesh.write(1, "early", "an hour ahead")
    try mesh.wait(1_000, jump: -hour)
    let before = try #require(mesh.nodes[1].store.instance(mesh.zone))
    _ = try mesh.nodes[1].replica.restamping.restamp(now: mesh.now)
    try mesh.pump()
    #expect(try mesh.nodes[1].store.instance(mesh.zone) != before)
    #expect(try mesh.nodes[1].store.sentThrough[mesh.zone] == nil, "no other file can have sent anything")
    #expect(try mesh.nodes[1].vault.highWaterMark(mesh.zone)?.number == 1)
    try expectMarks(mesh)
  }

  @Test("where it can't be kept nothing is sent, and the next start goes on from there")
  func whereItCantBeKeptNothingIsSentAndTheNextStartGoesOnFromThere() throws {
    let account = try TestAccount(devices: 2, seed: 5)
    let cryptography = try Sodium(randomness: SeededRandomness(seed: 6))
    let (store, vault) = (ModelStore(cryptography), FailingVault())
    let now = Moment(wall: VirtualClock.epoch, steady: 0)
    func start(_ life: UInt64) throws -> Replica {
      try Replica(
        store: store, vault: vault, account: account.state, secrets: account.devices[0],
        accountSigner: AccountSigner(publicKey: account.key.publicKey) { account.key.sign($0) },
        cryptography: cryptography,
        randomness: SeededRandomness(seed: 9, stream: life))
    }
    let replica = try start(1)
    try replica.administration.createPrivateZone(title: "home", now: now)
    let zone = try #require(replica.privateZone)
    // This is a peer that wants everything.
    let link = LinkID(1)
    let info = LinkInfo(
      role: .listener, handshakeHash: [UInt8](repeating: 1, count: 64), remoteStatic: account.devices[1].sessionKey,
      address: "test")
    try replica.linkOpened(link, info, now: now)
    var hello = Hello(
      certificate: account.state.certificates[try account.device(1)], accountHead: account.state.head(cryptography))
    hello.sign(
      account.devices[1],
      SessionBinding(
        signer: .dialler, handshakeHash: info.handshakeHash, peerStatic: account.devices[0].sessionKey))
    for message in [Message.hello(hello), .zones([]), .want(zone, VersionVector())] {
      try replica.received(link, message.encoded, now: now)
    }
    while try replica.work(now: now) {}
    _ = replica.takeActions()
    func sent() throws -> [Message] {
      try replica.takeActions().compactMap { action in
        if case .send(_, let bytes) = action { try Message.decode(bytes) } else { nil }
      }
    }
    store.write(RecordName(table: "list", key: .text("a")), ["title": .text("first")])
    replica.databaseChanged()
    vault.fails = true
    #expect(throws: FailingVault.DiskFailure.self) { while try replica.work(now: now) {} }
    let messages = try sent()
    #expect(messages.isEmpty, "nobody has heard of it")
    let before = store.instance(zone)
    #expect(store.storedVector(zone).authors.count == 1, "and it is in the file")

    vault.fails = false
    // No other device can have the change set, so the number is no fork. Its mark is stored before any device hears of
    // it.
    let next = try start(2)
    while try next.work(now: now) {}
    #expect(store.instance(zone) == before && vault.base.highWaterMark(zone)?.number == 1)
    store.write(RecordName(table: "list", key: .text("a")), ["title": .text("second")])
    next.databaseChanged()
    while try next.work(now: now) {}
    #expect(vault.base.highWaterMark(zone)?.number == 2)
  }
}
