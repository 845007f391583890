import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A member that lies about its own change sets or those of another. Its session ends or it is refused, and no other
/// device notices.
@Suite struct ForgeryTests {
  private struct World {
    let mesh: TestMesh
    let zone: ZoneID
    let epoch: EpochID
    let key: EpochKey
    /// The session of device 2, which the test plays.
    let link: LinkID
    let good: LinkID

    init() throws {
      mesh = try TestMesh(3)
      (_, good) = try mesh.connect(1, 0)
      try mesh.write(1, "a", "honest")
      link = try mesh.admit(2, to: 0)
      zone = try mesh.zone
      epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
      key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    }

    func author(_ index: Int, instance: UInt64 = 7) throws -> Author {
      Author(device: try mesh.account.device(index), instance: InstanceID(instance))
    }

    func changeSet(
      author: Author, number: UInt64 = 1, previous: ChangeSetID? = nil, time: Int64 = VirtualClock.epoch,
      zone: ZoneID? = nil, signer: DeviceKeys? = nil, title: String = "forged"
    ) throws -> ChangeSet {
      let stamp = Stamp(time: HybridTime(milliseconds: time), author: author)
      let row = RowChange(
        key: .text("b"), generation: 1, isLife: true, stamp: stamp,
        fields: [.init(column: 0, value: .value(.text(title)))])
      let body = ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
      let header = ChangeSetHeader(
        zone: zone ?? self.zone, author: author, number: number, previous: previous, time: stamp.time, epoch: epoch,
        part: .only)
      return try ChangeSet(
        header, body: body.encoded(author: author), key: key, secrets: signer ?? mesh.account.devices[2],
        with: mesh.cryptography)
    }

    func give(_ changeSets: [UInt8]...) throws {
      try mesh.give(.changeSets(zone, changeSets), to: 0, link)
    }

    func expectUnharmed(closed: Bool, _ location: SourceLocation = #_sourceLocation) throws {
      #expect(mesh.isOpen(0, link) != closed, sourceLocation: location)
      #expect(mesh.isOpen(0, good), sourceLocation: location)
      #expect(mesh.title(0, "b") != .text("forged"), sourceLocation: location)
      try mesh.write(0, "a", "goes on")
      #expect(mesh.title(1, "a") == .text("goes on"), sourceLocation: location)
      #expect(
        mesh.nodes[0].store.digest(zone) == mesh.nodes[1].store.digest(zone), sourceLocation: location)
    }
  }

  @Test("an honest change set is taken") func anHonestChangeSetIsTaken() throws {
    let world = try World()
    try world.give(world.changeSet(author: world.author(2), title: "true").bytes)
    #expect(world.mesh.title(0, "b") == .text("true"))
    #expect(world.mesh.title(1, "b") == .text("true"), "and passed on")
  }

  @Test("a signature by another device ends the session") func aSignatureByAnotherDeviceEndsTheSession() throws {
    let world = try World()
    try world.give(world.changeSet(author: world.author(1)).bytes)
    try world.expectUnharmed(closed: true)
  }

  @Test("an altered byte ends the session") func anAlteredByteEndsTheSession() throws {
    let world = try World()
    var bytes = try world.changeSet(author: world.author(2)).bytes
    bytes[bytes.count - 100] ^= 1
    try world.give(bytes)
    try world.expectUnharmed(closed: true)
  }

  @Test("a chain that does not continue is not taken, and its author is asked for what is before")
  func aChainThatDoesNotContinueIsNotTakenAndItsAuthorIsAskedForWhatIsBefore() throws {
    let world = try World()
    let author = try world.author(2)
    let first = try world.changeSet(author: author, title: "true")
    let other = try #require(ChangeSetID([UInt8](repeating: 9, count: 32)))
    try world.give(
      first.bytes,
      world.changeSet(author: author, number: 2, previous: other, time: VirtualClock.epoch + 1).bytes)
    #expect(world.mesh.nodes[0].store.storedVector(world.zone)[author] == 1)
    let isAsked = world.mesh.nodes[0].sent[world.link]?.contains(.excerptRequest(world.zone, author, through: 1))
    #expect(isAsked == true)
    try world.expectUnharmed(closed: false)
  }

  @Test("a time that does not grow ends the session") func aTimeThatDoesNotGrowEndsTheSession() throws {
    let world = try World()
    let author = try world.author(2)
    let first = try world.changeSet(author: author, title: "true")
    try world.give(first.bytes, world.changeSet(author: author, number: 2, previous: first.id).bytes)
    try world.expectUnharmed(closed: true)
  }

  @Test("a number after a gap is not stored, and what is between is asked for")
  func aNumberAfterAGapIsNotStoredAndWhatIsBetweenIsAskedFor() throws {
    let world = try World()
    let author = try world.author(2)
    let first = try world.changeSet(author: author, title: "true")
    try world.give(
      world.changeSet(author: author, number: 2, previous: first.id, time: VirtualClock.epoch + 1).bytes)
    #expect(world.mesh.nodes[0].store.storedVector(world.zone)[author] == 0)
    #expect(world.mesh.nodes[0].sent[world.link]?.last { if case .want = $0 { true } else { false } } != nil)
    try world.expectUnharmed(closed: false)
  }

  @Test("two change sets with one number end their author before both, and what was acknowledged is written again")
  func forkedAuthor() throws {
    let world = try World()
    let author = try world.author(2)
    try world.give(world.changeSet(author: author, title: "true").bytes)
    #expect(world.mesh.title(1, "b") == .text("true"))
    try world.give(world.changeSet(author: author).bytes)
    #expect(world.mesh.nodes[0].replica.refusals["fork"] == 1)
    #expect(world.mesh.nodes[0].store.storedVector(world.zone)[author] == 0)
    #expect(world.mesh.nodes[1].store.storedVector(world.zone)[author] == 0)
    // Other devices of the author's account had the first change set and keep its values. The second one was never
    // acknowledged.
    #expect(world.mesh.title(0, "b") == .text("true") && world.mesh.title(1, "b") == .text("true"))
    try world.expectUnharmed(closed: false)
  }

  @Test("a change set of another zone ends the session") func aChangeSetOfAnotherZoneEndsTheSession() throws {
    let world = try World()
    let other = try #require(ZoneID([UInt8](repeating: 9, count: 32)))
    try world.give(world.changeSet(author: world.author(2), zone: other).bytes)
    try world.expectUnharmed(closed: true)
  }

  @Test("a change set of a device that nobody certified is refused, and counted")
  func aChangeSetOfADeviceThatNobodyCertifiedIsRefusedAndCounted() throws {
    let world = try World()
    let stranger = try TestAccount(devices: 1, seed: 99)
    let author = Author(device: try stranger.device(0), instance: InstanceID(1))
    try world.give(world.changeSet(author: author, signer: stranger.devices[0]).bytes)
    #expect(world.mesh.nodes[0].replica.refusals == ["author-not-certified": 1])
    #expect(world.mesh.nodes[0].store.storedVector(world.zone)[author] == 0)
    try world.expectUnharmed(closed: false)
  }

  @Test("what was signed far ahead of the clock waits until the clock is there")
  func whatWasSignedFarAheadOfTheClockWaitsUntilTheClockIsThere() throws {
    let world = try World()
    let time = VirtualClock.epoch + Choices.clockBound + 60_000
    try world.give(world.changeSet(author: world.author(2), time: time, title: "early").bytes)
    #expect(world.mesh.title(0, "b") == nil)
    #expect(try world.mesh.nodes[0].replica.zoneViews.view(world.zone)?.waiting[.futureTime] == 1)
    // The change set is here, and no peer is told that it is merged.
    let author = try world.author(2)
    #expect(world.mesh.nodes[0].store.storedVector(world.zone)[author] == 1)
    try world.mesh.write(0, "c", "told")
    let told = world.mesh.nodes[0].sent.values.joined().compactMap { message -> VersionVector? in
      if case .acknowledgement(let word) = message { word.merged } else { nil }
    }
    #expect(told.contains { !$0.authors.isEmpty } && told.allSatisfy { $0[author] == 0 })
    for _ in 0..<13 { try world.mesh.wait(5_001) }
    #expect(world.mesh.title(0, "b") == .text("early"))
  }

  @Test("an acknowledgement signed by another ends the session") func anAcknowledgementSignedByAnotherEndsTheSession()
    throws
  {
    let world = try World()
    let lie = Acknowledgement(
      zone: world.zone, device: try world.mesh.account.device(1), time: HybridTime(milliseconds: VirtualClock.epoch),
      merged: VersionVector(), controlHeads: [], secrets: world.mesh.account.devices[2])
    try world.mesh.give(.acknowledgement(lie), to: 0, world.link)
    try world.expectUnharmed(closed: true)
  }
}
