import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// The state of a control log doesn't depend on the order of arrival; and the effects of a revocation.
@Suite struct ControlLogTests {
  /// Returns a log of several devices that did not always know each other's records.
  private func randomLog(
    _ seed: UInt64, _ account: TestAccount, _ cryptography: Sodium
  ) throws -> (ZoneID, [ControlRecord]) {
    var generator = SplitMix64(seed: seed)
    let nonce = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: 32)
    let zone = try #require(ZoneID(cryptography.hash(account.state.id.bytes + nonce)))
    var records = [
      try ControlRecord(
        zone: zone, parents: [], number: 1, previous: nil, act: .genesis(account: account.state.id, nonce: nonce),
        secrets: account.devices[0], cryptography)
    ]
    /// The records that each device knows: a prefix-closed subset.
    var known = account.devices.map { _ in Set([records[0].id]) }
    for step in 0..<12 {
      let device = Int.random(in: 0..<account.devices.count, using: &generator)
      if Bool.random(using: &generator) {
        known[device].formUnion(known[Int.random(in: 0..<known.count, using: &generator)])
      }
      let mine = records.filter { known[device].contains($0.id) }
      let named = Set(mine.flatMap(\.parents))
      let own = mine.filter { $0.author.bytes == account.devices[device].signingKey }.max { $0.number < $1.number }
      let record = try ControlRecord(
        zone: zone, parents: mine.map(\.id).filter { !named.contains($0) }, number: (own?.number ?? 0) + 1,
        previous: own?.id, act: try act(step, zone, account, &generator), secrets: account.devices[device], cryptography
      )
      records.append(record)
      known[device].insert(record.id)
    }
    return (zone, records)
  }

  private func act(
    _ step: Int, _ zone: ZoneID, _ account: TestAccount, _ generator: inout SplitMix64
  ) throws -> ControlAct {
    guard Int.random(in: 0..<3, using: &generator) == 0 else {
      return .epoch(commitment: [UInt8](repeating: UInt8(step), count: 32))
    }
    let device = try account.device(Int.random(in: 1..<account.devices.count, using: &generator))
    let id = try #require(ChangeSetID([UInt8](repeating: UInt8(step), count: 32)))
    let point = ControlAct.CutPoint(number: UInt64.random(in: 0...9, using: &generator), id: id)
    return .cut(
      DeviceCut(
        device, last: nil, heads: [InstanceID(UInt64.random(in: 1...2, using: &generator)): point], zone: zone,
        sign: account.key.sign))
  }

  @Test("the order in which records came does not matter", arguments: TestSeeds.through(40 as UInt64))
  func theOrderInWhichRecordsCameDoesNotMatter(seed: UInt64) throws {
    let account = try TestAccount(devices: 4, seed: seed)
    let cryptography = try Sodium(randomness: SeededRandomness(seed: seed))
    let (zone, records) = try randomLog(seed, account, cryptography)
    var generator = SplitMix64(seed: seed, stream: 1)
    let state = ZoneState(zone, records: records, accounts: Accounts([account.state]), cryptography)
    #expect(state.owner == account.state.id)
    for _ in 0..<10 {
      let shuffled = records.shuffled(using: &generator)
      let other = ZoneState(
        zone, records: shuffled + shuffled.prefix(3), accounts: Accounts([account.state]), cryptography)
      #expect(other == state)
    }
  }

  @Test("a revocation cuts, mints a new epoch, and refuses what is written later")
  func aRevocationCutsMintsANewEpochAndRefusesWhatIsWrittenLater() throws {
    let mesh = try TestMesh(3)
    try mesh.connect(1, 0)
    try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.write(2, "a", "before")
    let zone = try mesh.zone
    let revoked = try mesh.account.device(2)
    let before = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let author = try #require(try mesh.nodes[2].replica.zoneViews.view(zone)?.author)

    try mesh.nodes[0].replica.administration.revoke(revoked, now: mesh.now)
    try mesh.pump()
    for node in mesh.nodes[...1] {
      let view = try #require(try node.replica.zoneViews.view(zone))
      #expect(view.cuts == [revoked])
      #expect(view.epoch != before)
      #expect(node.vault.epochKeys(zone)[try #require(view.epoch)] != nil, "who stays has the new key")
    }
    #expect(mesh.title(1, "a") == .text("before"), "what was merged before stands")

    try mesh.write(2, "a", "after")
    #expect(mesh.nodes[2].store.pendingCount() == 1, "it does not sign any more")
    let forged = try changeSet(mesh, zone, before, author, number: 2)
    let carrier = try mesh.admit(1, to: 0)
    try mesh.give(.changeSets(zone, [forged.bytes]), to: 0, carrier)
    #expect(mesh.nodes[0].store.storedVector(zone)[author] == 1)
    #expect(mesh.nodes[0].replica.refusals["author-cut"] == 1)
    #expect(mesh.title(0, "a") == .text("before"))
  }

  @Test("what a revoked device signs is not taken in while its cut is not known")
  func whatARevokedDeviceSignsIsNotTakenInWhileItsCutIsNotKnown() throws {
    let mesh = try TestMesh(3)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    try mesh.write(2, "a", "before")
    try mesh.meet(2, 0)
    try mesh.meet(1, 0)
    let (zone, revoked) = (try mesh.zone, try mesh.account.device(2))
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let author = try #require(try mesh.nodes[2].replica.zoneViews.view(zone)?.author)
    var account = mesh.nodes[1].replica.account
    let certificate = try #require(account.certificates[revoked])
    account.insert(
      Revocation(certificate, issued: mesh.now.wall, sign: mesh.account.key.sign), mesh.cryptography)
    let carrier = try mesh.admit(0, to: 1)
    try mesh.give(.account(account.encoded), to: 1, carrier)
    let later = try changeSet(mesh, zone, epoch, author, number: 2)
    try mesh.give(.changeSets(zone, [later.bytes]), to: 1, carrier)
    #expect(try mesh.nodes[1].replica.zoneViews.view(zone)?.cuts == [])
    #expect(mesh.nodes[1].replica.refusals == ["author-revoked": 1])
    #expect(!mesh.nodes[1].replica.hasRefusedFaults)
    #expect(mesh.nodes[1].store.storedVector(zone)[author] == 1)
    #expect(mesh.title(1, "a") == .text("before"))
  }

  /// Returns a change set of a revoked device that still signs.
  private func changeSet(
    _ mesh: TestMesh, _ zone: ZoneID, _ epoch: EpochID, _ author: Author, number: UInt64
  ) throws -> ChangeSet {
    let head = try #require(mesh.nodes[2].store.mergedTips(zone)[author])
    let time = HybridTime(milliseconds: mesh.now.wall + 1)
    let row = RowChange(
      key: .text("a"), generation: 1, isLife: false, stamp: Stamp(time: time, author: author),
      fields: [.init(column: 0, value: .value(.text("after")))])
    let body = ChangeSetBody(
      context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
    let header = ChangeSetHeader(
      zone: zone, author: author, number: number, previous: head.id, time: time, epoch: epoch, part: .only)
    return try ChangeSet(
      header, body: body.encoded(author: author), key: try #require(mesh.nodes[2].vault.epochKeys(zone)[epoch]),
      secrets: mesh.nodes[2].keys, with: mesh.cryptography)
  }

  @Test("what a device had merged of a revoked one beyond its cut is taken back and listed")
  func whatADeviceHadMergedOfARevokedOneBeyondItsCutIsTakenBackAndListed() throws {
    let mesh = try TestMesh(3)
    let (_, far) = try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.write(2, "a", "kept")
    // Node 0 doesn't receive the rest.
    mesh.nodes[0].replica.linkClosed(far, now: mesh.now)
    try mesh.write(2, "a", "taken back")
    try mesh.write(2, "b", "taken back")
    #expect(mesh.title(1, "a") == .text("taken back"))
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(2), now: mesh.now)
    try mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.title(1, "a") == .text("kept"))
    #expect(mesh.title(1, "b") == nil)
    for key in ["a", "b"] {
      let lost = mesh.nodes[1].store.kept[RecordName(table: "list", key: .text(key))]?.last
      #expect(lost?.cells["title"]?.value == .text("taken back"), "the device that revoked never had it")
    }
    #expect(mesh.nodes[0].store.digest(try mesh.zone) == mesh.nodes[1].store.digest(try mesh.zone))
  }

  @Test("a device keeps its rows if its own cut arrives before the news that it was revoked") func ownCutFirst() throws
  {
    let mesh = try TestMesh(2)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "never sent")
    let zone = try mesh.zone
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(1), now: mesh.now)
    let link = try mesh.admit(0, to: 1)
    try mesh.give(.controlRecords(zone, mesh.nodes[0].store.controlRecords(zone)), to: 1, link)
    try mesh.wait(1_000)
    #expect(try mesh.nodes[1].replica.zoneViews.view(zone)?.cuts.isEmpty == false)
    #expect(mesh.title(1, "a") == .text("never sent"))
  }

  @Test("what follows on the writes of a cut device is merged by who never had them")
  func whatFollowsOnTheWritesOfACutDeviceIsMergedByWhoNeverHadThem() throws {
    let mesh = try TestMesh(3)
    for node in [1, 2] { try mesh.meet(node, 0) }
    try mesh.write(2, "a", "lost")
    try mesh.meet(2, 1)
    try mesh.write(1, "b", "after it")
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(2), now: mesh.now)
    try mesh.meet(1, 0)
    #expect(mesh.title(0, "b") == .text("after it") && mesh.title(0, "a") == nil && mesh.title(1, "a") == nil)
    #expect(mesh.nodes[0].store.digest(try mesh.zone) == mesh.nodes[1].store.digest(try mesh.zone))
  }

  @Test("keys are sealed to live devices only") func keysAreSealedToLiveDevicesOnly() throws {
    let mesh = try TestMesh(3)
    let zone = try mesh.zone
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(2), now: mesh.now)
    try mesh.pump()
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)

    let live = try mesh.admit(1, to: 0)
    try mesh.give(.keyRequest(zone, [epoch]), to: 0, live)
    let keys = mesh.nodes[0].sent[live]?.compactMap { if case .keys(_, let keys) = $0 { keys } else { nil } }
    let sealed = try #require(keys?.first?[epoch])
    let context = zone.bytes + epoch.bytes + (try mesh.account.device(1)).bytes
    #expect(mesh.account.devices[1].open(sealed, epoch: epoch.bytes, context: context) != nil)
    #expect(mesh.account.devices[2].open(sealed, epoch: epoch.bytes, context: context) == nil)

    let dead = try mesh.admit(2, to: 0)
    try mesh.give(.keyRequest(zone, [epoch]), to: 0, dead)
    #expect(mesh.nodes[0].sent[dead]?.contains { if case .keys = $0 { true } else { false } } == false)
  }

  @Test("a zone that is met while sessions are open reaches them all")
  func aZoneThatIsMetWhileSessionsAreOpenReachesThemAll() throws {
    let mesh = try TestMesh(3)
    try mesh.connect(2, 1)
    try mesh.pump()
    #expect(mesh.nodes[2].replica.zoneIDs.isEmpty)
    try mesh.connect(1, 0)
    try mesh.pump()
    // The middle node had no key to pass on when it was asked, so it is asked again.
    try mesh.wait(5_001)
    try mesh.write(0, "a", "far")
    #expect(mesh.title(2, "a") == .text("far"))
    try mesh.write(2, "a", "back")
    #expect(mesh.title(0, "a") == .text("back"))
  }

  @Test("a unit of several parts appears whole") func aUnitOfSeveralPartsAppearsWhole() throws {
    let mesh = try TestMesh(2, partSize: 2)
    try mesh.connect(1, 0)
    try mesh.pump()
    for number in 0..<5 {
      mesh.nodes[0].store.write(RecordName(table: "list", key: .text("\(number)")), ["title": .text("part")])
    }
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    #expect(mesh.nodes[1].store.rows.count == 5)
    #expect(mesh.nodes[1].store.mergedVector(try mesh.zone).numbers.values.sorted() == [3])
  }
}
