import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Limits on what one account can make others store, and on what it learns after it left. Node 0 is the owner's, and
/// node 1 is the owner's other device.
@Suite struct AccountBoundTests {
  private struct World {
    let mesh: TestMesh
    let zone: ZoneID

    /// Creates the nodes.
    ///
    /// - Parameter devices: The number of the participant's devices. The first one has joined.
    init(devices: Int) throws {
      mesh = try TestMesh([2, devices])
      zone = try mesh.share()
      try mesh.join(2, mesh.invite(zone), at: 0)
      try mesh.connect(1, 0)
      try mesh.pump()
    }

    /// Opens a session of one of the participant's devices, in which the zone is in common.
    func admit(_ index: Int, to node: Int) throws -> LinkID {
      let link = try mesh.admit(index, of: mesh.accounts[1], to: node)
      try mesh.give(.account(mesh.accounts[1].state.encoded), to: node, link)
      try mesh.give(.controlHeads(zone, []), to: node, link)
      return link
    }

    func flood(
      _ index: Int, from first: ControlID?, count: Int, bytes: Int = 0, to node: Int, _ link: LinkID
    ) throws {
      let keys = mesh.accounts[1].devices[index]
      var last = first
      var records: [[UInt8]] = []
      for number in 1...UInt64(count) {
        let record = try ControlRecord(
          zone: zone, parents: (last ?? mesh.nodes[node].replica.shareState(zone)?.heads.first).map { [$0] } ?? [],
          number: number, previous: number == 1 ? nil : last,
          act: .unknown(tag: 77, bytes: [UInt8](repeating: 7, count: bytes)), secrets: keys, mesh.cryptography)
        last = record.id
        records.append(record.encoded)
      }
      for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
        try mesh.give(
          .controlRecords(zone, Array(records[start..<min(start + Limits.controlBatch, records.count)])), to: node, link
        )
      }
    }

    func expectAtWork() throws {
      for (node, zone) in [(0, zone), (1, zone), (0, try mesh.zone), (1, try mesh.zone)] {
        try mesh.write(node, "by \(node)", "at \(mesh.now.wall) in \(zone)", in: zone)
        #expect(mesh.title(1 - node, "by \(node)") == .text("at \(mesh.now.wall) in \(zone)"))
        try mesh.wait(10)
      }
      try mesh.expectEqual([0, 1], zone)
    }
  }

  @Test("the devices of one account fill the control log to one bound together, whichever brings the records")
  func floodThroughOtherDevices() throws {
    let world = try World(devices: 3)
    let before = world.mesh.nodes[0].store.controlRecords(world.zone).count
    for index in 0..<3 {
      // Each device brings records that another device wrote.
      let link = try world.admit((index + 1) % 3, to: 0)
      try world.flood(index, from: nil, count: Choices.controlRecords, to: 0, link)
    }
    let kept = world.mesh.nodes[0].store.controlRecords(world.zone).count - before
    #expect(kept >= Choices.controlRecords && kept <= Choices.controlRecordsOfAccount)
    #expect(
      try world.mesh.nodes[0].replica.zoneViews.uses(of: world.zone).values.contains { $0.controlRecords == kept })
    try world.expectAtWork()
  }

  @Test("a record with a number above the bound is refused, whoever brings it") func numbersAboveTheBound() throws {
    let world = try World(devices: 1)
    let link = try world.admit(0, to: 0)
    try world.flood(0, from: nil, count: Choices.controlRecords + 9, to: 0, link)
    let use = try #require(try world.mesh.nodes[0].replica.zoneViews.uses(of: world.zone).values.first)
    #expect(use.controlRecords <= Choices.controlRecords)
    #expect(world.mesh.nodes[0].replica.refusals["control-over-quota"] != nil)
  }

  @Test("an account fills the control log to a bound of bytes as well") func bytesOfRecords() throws {
    let world = try World(devices: 1)
    let link = try world.admit(0, to: 0)
    let size = Limits.controlRecord - 512
    try world.flood(0, from: nil, count: Choices.controlBytesOfAccount / size + 9, bytes: size, to: 0, link)
    let use = try #require(try world.mesh.nodes[0].replica.zoneViews.uses(of: world.zone).values.first)
    #expect(use.controlBytes <= Choices.controlBytesOfAccount)
    #expect(use.controlBytes > Choices.controlBytesOfAccount - Limits.controlRecord)
    try world.expectAtWork()
  }

  private func changeSet(_ world: World, _ device: Int, instance: UInt32, epoch: EpochID, _ key: EpochKey) throws
    -> [UInt8]
  {
    let mesh = world.mesh
    let grant = try #require(mesh.nodes[0].replica.shareState(world.zone)?.citation(mesh.accounts[1].state.id))
    let author = Author(
      device: try mesh.accounts[1].device(device), instance: InstanceID(under: grant, random: instance))
    let stamp = Stamp(time: HybridTime(milliseconds: mesh.now.wall), author: author)
    let row = RowChange(
      key: .text("of \(author)"), generation: 1, isLife: true, stamp: stamp,
      fields: [.init(column: 0, value: .value(.text("x")))])
    let body = ChangeSetBody(
      context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
    let header = ChangeSetHeader(
      zone: world.zone, author: author, number: 1, previous: nil, citation: grant, time: stamp.time, epoch: epoch,
      part: .only)
    return try ChangeSet(
      header, body: body.encoded(author: author), key: key, secrets: mesh.accounts[1].devices[device],
      with: mesh.cryptography
    ).bytes
  }

  @Test("an account that writes as too many authors ends at zero everywhere, and keeps nobody from writing")
  func tooManyAuthors() throws {
    let devices = Limits.authorsOfAccount / Limits.instances + 2
    let world = try World(devices: devices)
    let mesh = world.mesh
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(world.zone)?.epoch)
    let key = try #require(mesh.nodes[0].vault.epochKeys(world.zone)[epoch])
    for link in mesh.nodes[1].replica.peerViews.all.map(\.link) {
      try mesh.give(.goodbye(.stopping, text: ""), to: 1, link)
    }
    // Each node is first told of other authors.
    for (node, order) in [(0, Array(0..<devices)), (1, Array((0..<devices).reversed()))] {
      let link = try world.admit(0, to: node)
      for device in order {
        let some = try (0..<Limits.instances).map {
          try changeSet(world, device, instance: UInt32($0), epoch: epoch, key)
        }
        try mesh.give(.changeSets(world.zone, some), to: node, link)
      }
    }
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(5_001)
    try world.expectAtWork()
    for node in 0...1 {
      let state = try #require(mesh.nodes[node].replica.shareState(world.zone))
      #expect(state.overfullAccounts == [mesh.accounts[1].state.id])
      let authors = mesh.nodes[node].store.storedVector(world.zone).authors
      #expect(!authors.contains { state.account(of: $0.device) == mesh.accounts[1].state.id })
    }
  }

  @Test("a removed participant learns of its removal, and of nothing later") func theRemovedLearnNoMore() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let removed = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.remove(removed, from: zone, now: mesh.now)
    try mesh.pump()
    let last = Set(mesh.nodes[0].replica.shareState(zone)?.heads ?? [])
    try mesh.join(2, mesh.invite(zone), at: 0)
    try mesh.nodes[0].replica.shares.rename(zone, "of later", now: mesh.now)
    try mesh.pump()
    let keys = mesh.accounts[1].devices[0]
    let (link, info) = try mesh.open(0, peer: keys.sessionKey)
    let certificate = mesh.accounts[1].state.certificate(try mesh.accounts[1].device(0))
    // The device never says which zones it knows.
    try mesh.give(.hello(mesh.hello(keys, certificate, info, to: 0)), to: 0, link)
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    try mesh.nodes[0].replica.shares.rename(zone, "of later still", now: mesh.now)
    try mesh.pump()
    // The account that joined later certifies another device.
    let other = mesh.accounts[2]
    let more = try #require(
      CertificateRequest(
        name: "more", for: other.state.id, secrets: DeviceKeys(randomness: SeededRandomness(seed: 78))))
    var grown = other.state
    grown.insert(
      Certificate(
        account: other.state.id, request: more, serial: [UInt8](repeating: 1, count: 16), issued: 1,
        sign: other.key.sign), mesh.cryptography)
    let later = try mesh.admit(0, of: other, to: 0)
    try mesh.give(.account(grown.encoded), to: 0, later)
    #expect(mesh.nodes[0].replica.accountState(other.state.id) == grown)
    var acts: [ControlAct] = []
    for message in mesh.nodes[0].sent[link] ?? [] {
      switch message {
      case .controlRecords(_, let records):
        acts += try records.map { try ControlRecord($0, mesh.cryptography).act }
      case .account(let bytes):
        var reader = ByteReader(bytes)
        let state = try AccountState(from: &reader, mesh.cryptography)
        #expect(state.id != mesh.accounts[2].state.id, "it joined later")
      case .accountHeads(let heads): #expect(heads[mesh.accounts[2].state.id] == nil)
      default: break
      }
    }
    #expect(
      acts.contains { if case .participant(removed, nil, _, _) = $0 { true } else { false } }, "its removal")
    for act in acts {
      if case .title(let title, _) = act { #expect(!title.contains("later")) }
      if case .participant(let account, _, _, _) = act { #expect(account != mesh.accounts[2].state.id) }
    }
    #expect(!last.isEmpty)
    #expect(mesh.isOpen(0, link))
    try mesh.wait(1)
    try mesh.wait(10_001)
    #expect(mesh.goodbye(0, link) == .noMember)
  }

  @Test("an account that is removed with everything it wrote leaves nothing behind") func removedWithAllItWrote() throws
  {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    try mesh.connect(1, 0)
    try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.write(2, "a", "of the participant", in: zone)
    #expect(mesh.title(1, "a") == .text("of the participant"))
    let account = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.remove(account, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.title(1, "a") == .text("of the participant"))
    try mesh.nodes[0].replica.shares.remove(account, from: zone, undoing: true, now: mesh.now)
    try mesh.pump()
    #expect(mesh.title(0, "a") == nil && mesh.title(1, "a") == nil)
    let state = try #require(mesh.nodes[1].replica.shareState(zone))
    #expect(!mesh.nodes[1].store.storedVector(zone).authors.contains { state.account(of: $0.device) == account })
  }

  @Test("an instance that its device ends at ever lower numbers ends at zero, once") func everLowerEnds() throws {
    let world = try World(devices: 1)
    let link = try world.admit(0, to: 0)
    let keys = world.mesh.accounts[1].devices[0]
    var last: ControlRecord?
    for number in 1...UInt64(Limits.forks + 2) {
      let record = try ControlRecord(
        zone: world.zone, parents: world.mesh.nodes[0].replica.shareState(world.zone)?.heads ?? [], number: number,
        previous: last?.id, act: .end(instance: InstanceID(7), number: 1_000 - number), secrets: keys,
        world.mesh.cryptography)
      try world.mesh.give(.controlRecords(world.zone, [record.encoded]), to: 0, link)
      last = record
    }
    let author = Author(device: try world.mesh.accounts[1].device(0), instance: InstanceID(7))
    #expect(world.mesh.nodes[0].replica.shareState(world.zone)?.ends[author] == 0)
  }

  @Test("many keys are kept in few writes") func manyKeys() throws {
    let world = try World(devices: 1)
    let mesh = world.mesh
    let keys = mesh.accounts[1].devices[0]
    let link = try world.admit(0, to: 0)
    var writes = 0
    mesh.nodes[0].vault.onChange = { writes += 1 }
    var last: ControlRecord?
    let recipient = try #require(mesh.nodes[0].replica.certificate?.request.sealingKey)
    var epochs: [(EpochID, EpochKey)] = []
    for number in 1...200 {
      let key = try #require(EpochKey((0..<32).map { UInt8(truncatingIfNeeded: number + $0) }))
      let record = try ControlRecord(
        zone: world.zone, parents: mesh.nodes[0].replica.shareState(world.zone)?.heads ?? [], number: UInt64(number),
        previous: last?.id, act: .epoch(commitment: key.commitment(mesh.cryptography)), secrets: keys, mesh.cryptography
      )
      last = record
      try mesh.give(.controlRecords(world.zone, [record.encoded]), to: 0, link)
      epochs.append((try #require(EpochID(record.id.bytes)), key))
    }
    try mesh.wait(1_000)
    writes = 0
    for (epoch, key) in epochs {
      let sealed = mesh.cryptography.seal(
        key.bytes, to: recipient, epoch: epoch.bytes,
        context: world.zone.bytes + epoch.bytes + mesh.nodes[0].device.bytes)
      try mesh.give(.keys(world.zone, [epoch: try #require(sealed)]), to: 0, link)
    }
    try mesh.wait(200)
    #expect(mesh.nodes[0].vault.epochKeys(world.zone).count > 200)
    #expect(writes < 25, "\(writes) durable writes")
  }
}
