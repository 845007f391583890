import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A certified device that uses permitted actions too often, or to set others against each other.
@Suite struct HostileMemberTests {
  private struct World {
    let mesh: TestMesh
    let zone: ZoneID
    let epoch: EpochID
    let key: EpochKey

    init() throws {
      mesh = try TestMesh(3)
      zone = try mesh.zone
      epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
      key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    }

    /// Returns a change set of device 2, which the test plays.
    func changeSet(
      instance: UInt64 = 7, number: UInt64 = 1, previous: ChangeSetID? = nil, title: String = "true"
    ) throws -> ChangeSet {
      let author = Author(device: try mesh.account.device(2), instance: InstanceID(instance))
      let stamp = Stamp(time: HybridTime(milliseconds: VirtualClock.epoch + Int64(number.clamped)), author: author)
      let row = RowChange(
        key: .text("b"), generation: 1, isLife: true, stamp: stamp,
        fields: [.init(column: 0, value: .value(.text(title)))])
      let body = ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
      let header = ChangeSetHeader(
        zone: zone, author: author, number: number, previous: previous, time: stamp.time, epoch: epoch, part: .only)
      return try ChangeSet(
        header, body: body.encoded(author: author), key: key, secrets: mesh.account.devices[2],
        with: mesh.cryptography)
    }

    func stranger(_ index: Int) throws -> [UInt8] {
      (0..<32).map { $0 < 8 ? UInt8(truncatingIfNeeded: index >> ($0 * 8)) : 0xaa }
    }
  }

  @Test("a member that tells two stories does not part those who believed one each")
  func aMemberThatTellsTwoStoriesDoesNotPartThoseWhoBelievedOneEach() throws {
    let world = try World()
    let mesh = world.mesh
    try mesh.connect(1, 0)
    try mesh.pump()
    for link in mesh.nodes[1].replica.peerViews.all.map(\.link) {
      try mesh.give(.goodbye(.stopping, text: ""), to: 1, link)
    }
    for (node, title) in [(0, "one"), (1, "two")] {
      let link = try mesh.admit(2, to: node)
      let first = try world.changeSet(title: title)
      let second = try world.changeSet(number: 2, previous: first.id, title: title)
      try mesh.give(.changeSets(world.zone, [first.bytes, second.bytes]), to: node, link)
      // This is one more change set, which the other side can't place at all.
      let third = try world.changeSet(number: 3, previous: second.id, title: title)
      try mesh.give(.changeSets(world.zone, [third.bytes]), to: node, link)
      guard node == 0 else { continue }
      let fourth = try world.changeSet(number: 4, previous: third.id, title: title)
      try mesh.give(.changeSets(world.zone, [fourth.bytes]), to: node, link)
    }
    let (dialler, listener) = try mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.isOpen(1, dialler) && mesh.isOpen(0, listener))
    #expect(mesh.nodes[1].replica.refusals["fork"] ?? 0 > 0, "and it is told")
    // The change sets that node 1 merged have the same numbers on both sides. Those that node 0 merged continue its
    // branch, and wait.
    try mesh.write(1, "c", "from 1")
    #expect(mesh.title(0, "c") == .text("from 1"))
  }

  @Test("a device has a bounded number of instances in a zone, and one more ends all of them, on every device alike")
  func tooManyInstances() throws {
    let world = try World()
    let mesh = world.mesh
    try mesh.connect(1, 0)
    try mesh.pump()
    mesh.part(0, 1)
    // Each node is first told of other instances, so the nodes disagree about which are too many.
    for (node, instances) in [(0, 1...Limits.instances), (1, 4...Limits.instances + 3)] {
      let link = try mesh.admit(2, to: node)
      for instance in instances {
        try mesh.give(.changeSets(world.zone, [world.changeSet(instance: UInt64(instance)).bytes]), to: node, link)
      }
      #expect(mesh.nodes[node].store.storedVector(world.zone).authors.count == Limits.instances)
      try mesh.give(.goodbye(.stopping, text: ""), to: node, link)
    }
    // The change sets of an honest device name authors for which the other one has no room.
    try mesh.write(1, "b", "on top of it")
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(5_001)
    try mesh.write(0, "c", "from 0")
    #expect(mesh.title(0, "b") == .text("on top of it") && mesh.title(1, "c") == .text("from 0"))
    #expect(mesh.nodes[0].store.digest(world.zone) == mesh.nodes[1].store.digest(world.zone))
    #expect(mesh.nodes[0].store.mergedVector(world.zone) == mesh.nodes[1].store.mergedVector(world.zone))
    let authors = mesh.nodes[0].store.storedVector(world.zone).authors
    #expect(try !authors.contains { $0.device == (try mesh.account.device(2)) })
  }

  @Test("a number that nothing leads to is not stored") func aNumberThatNothingLeadsToIsNotStored() throws {
    let world = try World()
    let link = try world.mesh.admit(2, to: 0)
    let before = try #require(ChangeSetID([UInt8](repeating: 9, count: 32)))
    for number in [2, UInt64(1) << 63, .max] {
      let far = try world.changeSet(number: number, previous: before)
      try world.mesh.give(.changeSets(world.zone, [far.bytes]), to: 0, link)
    }
    #expect(world.mesh.nodes[0].store.storedVector(world.zone).authors.isEmpty)
    #expect(world.mesh.isOpen(0, link))
  }

  @Test("what a peer says of zones that are not in common is not kept")
  func whatAPeerSaysOfZonesThatAreNotInCommonIsNotKept() throws {
    let world = try World()
    let link = try world.mesh.admit(2, to: 0)
    let vector = VersionVector([Author(device: try world.mesh.account.device(2), instance: InstanceID(1)): .max])
    for index in 0..<50 {
      let zone = try #require(ZoneID(try world.stranger(index)))
      try world.mesh.give(.have(zone, vector), to: 0, link)
      try world.mesh.give(.upToDate(zone, vector), to: 0, link)
      let digest = ZoneDigest(records: .max, hash: [UInt8](repeating: 1, count: 16))
      try world.mesh.give(.digest(zone, vector, digest, .nothing), to: 0, link)
    }
    let view = try #require(world.mesh.nodes[0].replica.peerViews.all.first)
    #expect(view.merged.keys.allSatisfy { $0 == world.zone })
    #expect(view.digests.isEmpty)
  }

  @Test("acknowledgements of more authors than there can be end the session")
  func acknowledgementsOfMoreAuthorsThanThereCanBeEndTheSession() throws {
    let world = try World()
    let link = try world.mesh.admit(2, to: 0)
    try world.mesh.give(.want(world.zone, VersionVector()), to: 0, link)
    for round in 0..<2 {
      var merged: [Author: UInt64] = [:]
      for index in 0..<Limits.authors {
        let device = try #require(DeviceID(try world.stranger(round * Limits.authors + index)))
        merged[Author(device: device, instance: InstanceID(1))] = 1
      }
      let lie = Acknowledgement(
        zone: world.zone, device: try world.mesh.account.device(2),
        time: HybridTime(milliseconds: VirtualClock.epoch + Int64(round)), merged: VersionVector(merged),
        controlHeads: [], secrets: world.mesh.account.devices[2])
      try world.mesh.give(.acknowledgement(lie), to: 0, link)
    }
    #expect(!world.mesh.isOpen(0, link))
  }

  @Test("who keeps the key of an epoch to itself keeps nobody from writing")
  func whoKeepsTheKeyOfAnEpochToItselfKeepsNobodyFromWriting() throws {
    let world = try World()
    let mesh = world.mesh
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(1), now: mesh.now)
    try mesh.pump()
    let link = try mesh.admit(2, to: 0)
    let heads = try mesh.nodes[0].store.controlRecords(world.zone).map { try ControlRecord($0, mesh.cryptography).id }
    let none = try #require(ChangeSetID([UInt8](repeating: 4, count: 32)))
    let act = ControlAct.cut(
      DeviceCut(
        try mesh.account.device(1), last: nil, heads: [InstanceID(1): .init(number: 1, id: none)], zone: world.zone,
        sign: mesh.account.key.sign))
    let cut = try ControlRecord(
      zone: world.zone, parents: [try #require(heads.last)], number: 1, previous: nil, act: act,
      secrets: mesh.account.devices[2], mesh.cryptography)
    let epoch = try ControlRecord(
      zone: world.zone, parents: [cut.id], number: 2, previous: cut.id,
      act: .epoch(commitment: [UInt8](repeating: 1, count: 32)), secrets: mesh.account.devices[2], mesh.cryptography)
    try mesh.give(.controlRecords(world.zone, [cut.encoded, epoch.encoded]), to: 0, link)
    #expect(try mesh.nodes[0].replica.zoneViews.view(world.zone)?.cannotWrite != nil)
    for _ in 0..<8 { try mesh.wait(5_001) }
    #expect(try mesh.nodes[0].replica.zoneViews.view(world.zone)?.cannotWrite == nil)
    let before = mesh.nodes[0].store.mergedVector(world.zone)
    try mesh.write(0, "late", "written all the same")
    #expect(mesh.nodes[0].store.pendingCount() == 0)
    #expect(mesh.nodes[0].store.mergedVector(world.zone).count(beyond: before) == 1)
  }
}

extension UInt64 {
  /// The number, limited to a few milliseconds.
  fileprivate var clamped: UInt64 { Swift.min(self, 1_000) }
}
