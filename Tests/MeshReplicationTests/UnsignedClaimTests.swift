import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Unsigned statements change nothing beyond their session.
@Suite struct UnsignedClaimTests {
  /// Creates an owner with two devices (0 and 1), and a participant (2) whose session the test plays.
  private func world() throws -> (TestMesh, ZoneID, LinkID) {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.write(0, "a", "before", in: zone)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    return (mesh, zone, link)
  }

  private func expectWrites(_ mesh: TestMesh, _ zone: ZoneID, instance: InstanceID?) throws {
    #expect(mesh.nodes[0].store.instance(zone) == instance)
    #expect(mesh.nodes[0].replica.notices.isEmpty)
    try mesh.write(0, "b", "after", in: zone)
    #expect(mesh.title(1, "b") == .text("after"))
    #expect(try mesh.nodes[0].replica.zoneViews.view(zone)?.cannotWrite == nil)
  }

  @Test("unsigned tips end no device's right to write") func forgedTips() throws {
    let (mesh, zone, link) = try world()
    let instance = mesh.nodes[0].store.instance(zone)
    let author = Author(device: mesh.nodes[0].device, instance: try #require(instance))
    let id = try #require(ChangeSetID([UInt8](repeating: 9, count: 32)))
    for number in UInt64(2)...40 {
      try mesh.give(.tips(zone, [author: .init(number: number * 100, id: id)]), to: 0, link)
      let other = Author(device: mesh.nodes[0].device, instance: InstanceID(number))
      try mesh.give(.tips(zone, [other: .init(number: number, id: id)]), to: 0, link)
    }
    try expectWrites(mesh, zone, instance: instance)
  }

  @Test("unsigned parts of its own log end no device's right to write") func forgedLines() throws {
    let (mesh, zone, _) = try world()
    let instance = mesh.nodes[0].store.instance(zone)
    let author = Author(device: mesh.nodes[0].device, instance: try #require(instance))
    let known = try #require(mesh.nodes[0].store.excerpt(zone, author, through: 1, count: 1).last)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[known.header.epoch])
    for ahead in [UInt64(1), 7, 1_000] {
      var header = known.header
      header.number += ahead
      header.previous = known.id
      let forged = try ChangeSet(
        header, body: [], key: key, secrets: mesh.accounts[1].devices[0], with: mesh.cryptography
      ).signedHeader
      var writer = ByteWriter()
      forged.write(to: &writer)
      let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
      try mesh.give(.controlHeads(zone, []), to: 0, link)
      try mesh.give(.excerpt(zone, [writer.bytes]), to: 0, link)
      #expect(!mesh.isOpen(0, link))
    }
    try expectWrites(mesh, zone, instance: instance)
  }

  @Test("unsigned change sets end no device's right to write") func forgedChangeSets() throws {
    let (mesh, zone, _) = try world()
    let instance = mesh.nodes[0].store.instance(zone)
    let author = Author(device: mesh.nodes[0].device, instance: try #require(instance))
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    let before = try #require(ChangeSetID([UInt8](repeating: 9, count: 32)))
    for number in UInt64(2)...40 {
      let header = ChangeSetHeader(
        zone: zone, author: author, number: number * 7, previous: before,
        time: HybridTime(milliseconds: mesh.now.wall), epoch: epoch, part: .only)
      let body = ChangeSetBody(context: CausalContext(), content: .changes([])).encoded(author: author)
      let forged = try ChangeSet(
        header, body: body, key: key, secrets: mesh.accounts[1].devices[0], with: mesh.cryptography)
      let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
      try mesh.give(.controlHeads(zone, []), to: 0, link)
      try mesh.give(.changeSets(zone, [forged.bytes]), to: 0, link)
      #expect(!mesh.isOpen(0, link))
    }
    try expectWrites(mesh, zone, instance: instance)
  }

  @Test("gaps that come close together are asked about once") func gapsThatComeTogether() throws {
    let (mesh, zone, link) = try world()
    try mesh.wait(1_000)
    let first = wants(mesh, zone, link)
    try giveWithGap(mesh, zone, link)
    #expect(wants(mesh, zone, link) == first + 1)
    try mesh.wait(1_000)
    #expect(wants(mesh, zone, link) == first + 2)
  }

  @Test("an account that was removed is not asked what is missing") func removedBeforeItIsAsked() throws {
    let (mesh, zone, link) = try world()
    // The session goes on, because they still share this.
    let other = RecordName(table: "list", key: .text("other"))
    mesh.nodes[0].store.write(other, ["title": .text("other")])
    mesh.nodes[0].replica.databaseChanged()
    try mesh.pump()
    let second = try mesh.nodes[0].replica.shares.create(of: other, title: "other", now: mesh.now)
    try mesh.pump()
    try mesh.join(2, mesh.invite(second), at: 0)
    try mesh.give(.controlHeads(second, []), to: 0, link)
    try mesh.wait(1_000)
    try giveWithGap(mesh, zone, link)
    let before = wants(mesh, zone, link)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[1].state.id, from: zone, now: mesh.now)
    try mesh.wait(1_000)
    #expect(mesh.isOpen(0, link))
    #expect(wants(mesh, zone, link) == before)
  }

  /// How often the first device asked for change sets of the zone.
  private func wants(_ mesh: TestMesh, _ zone: ZoneID, _ link: LinkID) -> Int {
    mesh.nodes[0].sent[link]?.count { if case .want(zone, _) = $0 { true } else { false } } ?? 0
  }

  /// Gives change sets of which the second is missing, each in a message of its own.
  private func giveWithGap(_ mesh: TestMesh, _ zone: ZoneID, _ link: LinkID) throws {
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    let before = try #require(ChangeSetID([UInt8](repeating: 9, count: 32)))
    let citation = try #require(mesh.nodes[0].replica.shareState(zone)?.citation(mesh.accounts[1].state.id))
    let own = Author(device: try mesh.accounts[1].device(0), instance: InstanceID(under: citation, random: 1))
    for number in [UInt64](1...40) where number != 2 {
      let header = ChangeSetHeader(
        zone: zone, author: own, number: number, previous: number == 1 ? nil : before, citation: citation,
        time: HybridTime(milliseconds: mesh.now.wall), epoch: epoch, part: .only)
      let body = ChangeSetBody(context: CausalContext(), content: .changes([])).encoded(author: own)
      let changeSet = try ChangeSet(
        header, body: body, key: key, secrets: mesh.accounts[1].devices[0], with: mesh.cryptography)
      try mesh.give(.changeSets(zone, [changeSet.bytes]), to: 0, link)
    }
  }

  @Test(
    "a participant has no vote about the clock, and leaves no trace of one, whether or not own devices are connected",
    arguments: [true, false])
  func foreignClocks(hasOwn: Bool) throws {
    let (mesh, zone, link) = try world()
    if !hasOwn { mesh.part(1, 0) }
    for milliseconds in [0, .min, .max, mesh.now.wall - 3_600_000] {
      try mesh.give(.clock(milliseconds), to: 0, link)
      try mesh.wait(1_000)
      #expect(mesh.nodes[0].replica.clockFault == nil)
    }
    try mesh.give(.goodbye(.stopping, text: ""), to: 0, link)
    try mesh.wait(1_000)
    if !hasOwn { try mesh.connect(1, 0) }
    try expectWrites(mesh, zone, instance: mesh.nodes[0].store.instance(zone))
  }

  @Test("statements of a revoked device about the clock are forgotten") func revokedClock() throws {
    let mesh = try TestMesh(2)
    mesh.clockError[1] = -20 * 60_000
    let (link, _) = try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(1)
    #expect(mesh.nodes[0].replica.clockFault != nil)
    mesh.disconnect(link)
    try mesh.wait(1_000)
    #expect(mesh.nodes[0].replica.clockFault != nil)
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(1), now: mesh.now)
    try mesh.wait(1_000)
    #expect(mesh.nodes[0].replica.clockFault == nil)
  }
}
