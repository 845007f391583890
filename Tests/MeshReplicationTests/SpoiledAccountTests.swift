import MeshCore
import MeshCrypto
import MeshTesting
import Testing

@testable import MeshReplication

/// Accounts that give different data to different honest nodes. Node 0 is the owner's.
@Suite struct SpoiledAccountTests {
  /// Returns more devices of an account, in ascending order of their ids, with their certificates.
  private func devices(_ account: TestAccount, _ count: Int) throws -> [(keys: DeviceKeys, certificate: Certificate)] {
    let randomness = SeededRandomness(seed: 77, stream: 3)
    return try (0..<count).map { _ in
      let keys = DeviceKeys(randomness: randomness)
      let request = try #require(CertificateRequest(name: "more", for: account.state.id, secrets: keys))
      let certificate = Certificate(
        account: account.state.id, request: request, serial: randomness.bytes(16), issued: 1, sign: account.key.sign)
      return (keys, certificate)
    }.sorted { $0.certificate.device < $1.certificate.device }
  }

  private func chain(
    _ keys: DeviceKeys, after head: ControlID, _ acts: [ControlAct], _ mesh: TestMesh, _ zone: ZoneID,
    from own: ControlRecord? = nil
  ) throws -> [ControlRecord] {
    var last = own
    return try acts.map { act in
      let record = try ControlRecord(
        zone: zone, parents: [last?.id ?? head], number: (last?.number ?? 0) + 1, previous: last?.id, act: act,
        secrets: keys, mesh.cryptography)
      last = record
      return record
    }
  }

  private func give(_ records: [ControlRecord], _ zone: ZoneID, _ mesh: TestMesh, to node: Int, _ link: LinkID) throws {
    for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
      let slice = records[start..<min(start + Limits.controlBatch, records.count)]
      try mesh.give(.controlRecords(zone, slice.map(\.encoded)), to: node, link)
    }
  }

  @Test("nodes with different certificates drop the same ones")
  func certificatesApart() throws {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    try mesh.connect(1, 0)
    try mesh.pump()
    mesh.part(0, 1)
    let liar = mesh.accounts[1]
    let devices = try devices(liar, Limits.devicesEver + 7)
    // Each node gets as many as are allowed. Once the nodes have met, the last ones of node 0 are dropped.
    let given = [devices.prefix(504) + devices.suffix(7), devices.prefix(Limits.devicesEver - 1)].map(Array.init)
    let head = try #require(mesh.nodes[0].replica.shareState(zone)?.heads.first)
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    let grant = try #require(mesh.nodes[0].replica.shareState(zone)?.citation(liar.state.id))
    for node in [0, 1] {
      let link = try mesh.admit(0, of: liar, to: node)
      var state = liar.state
      for device in given[node] { state.insert(device.certificate, mesh.cryptography) }
      #expect(state.certificates.count == Limits.devicesEver)
      try mesh.give(.account(state.encoded), to: node, link)
      try mesh.give(.controlHeads(zone, []), to: node, link)
      for (keys, certificate) in given[node].suffix(3) {
        try give(
          chain(
            keys, after: head, [.epoch(commitment: key.commitment(mesh.cryptography)), .leave(cuts: [:])], mesh, zone),
          zone, mesh, to: node, link)
        let author = Author(device: certificate.device, instance: InstanceID(under: grant, random: 1))
        let time = HybridTime(milliseconds: mesh.now.wall)
        let row = RowChange(
          key: .text("of \(author)"), generation: 1, isLife: true, stamp: Stamp(time: time, author: author),
          fields: [.init(column: 0, value: .value(.text("x")))])
        let body = ChangeSetBody(
          context: CausalContext(),
          content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
        let header = ChangeSetHeader(
          zone: zone, author: author, number: 1, previous: nil, citation: grant, time: time, epoch: epoch, part: .only)
        try mesh.give(
          .changeSets(
            zone,
            [
              ChangeSet(
                header, body: body.encoded(author: author), key: key, secrets: keys, with: mesh.cryptography
              ).bytes
            ]), to: node, link)
      }
      try mesh.pump()
      try mesh.write(node, "beside \(node)", "x", in: zone)
      try mesh.pump()
    }
    let (one, other) = try mesh.connect(0, 1)
    try mesh.pump()
    try mesh.wait(10_000)
    #expect(mesh.isOpen(0, one) && mesh.isOpen(1, other))
    for node in [0, 1] {
      let state = try #require(mesh.nodes[node].replica.accountState(liar.state.id))
      #expect(state.mayHaveDropped && !given[0].suffix(7).contains { state.certificates[$0.certificate.device] != nil })
      #expect(mesh.title(1 - node, "beside \(node)") == .text("x"))
      try mesh.write(node, "after \(node)", "y", in: zone)
      #expect(mesh.title(1 - node, "after \(node)") == .text("y"))
    }
    try mesh.expectEqual([0, 1], zone)
    // Records that were verified once are verified again at every start.
    mesh.part(0, 1)
    try mesh.restart(1)
    try mesh.connect(0, 1)
    try mesh.pump()
    try mesh.write(1, "at last", "z", in: zone)
    #expect(mesh.title(0, "at last") == .text("z"))
    try mesh.expectEqual([0, 1], zone)
  }

  @Test("records that others relay beyond the bound keep none from the owner")
  func relayedBeyondTheBound() throws {
    let mesh = try TestMesh([1, 1, 1, 1])
    let zone = try mesh.share()
    for node in 1...3 {
      try mesh.join(node, mesh.invite(zone), at: 0)
      try mesh.meet(node, 0)
      try mesh.meet(1, 0)
    }
    let (writer, relay) = (mesh.accounts[2], mesh.accounts[3])
    let head = try #require(mesh.nodes[0].replica.shareState(zone)?.heads.first)
    let count = Choices.relayedControl * Choices.controlBytesOfAccount / 16_000 + 9
    // The relay shows different branches to the owner and to a participant, node 1, each at its bound.
    for node in [0, 1] {
      let link = try mesh.admit(0, of: relay, to: node)
      try mesh.give(.controlHeads(zone, []), to: node, link)
      let filling = [UInt8](repeating: UInt8(node), count: 15_900)
      let own = mesh.nodes[node].replica.zones[zone]?.log.last(of: try writer.device(0))
      let records = try chain(
        writer.devices[0], after: head, (0..<count).map { _ in .unknown(tag: 77, bytes: filling) }, mesh, zone,
        from: own)
      try give(records, zone, mesh, to: node, link)
      #expect(mesh.nodes[node].replica.refusals["control-over-quota"] != nil)
    }
    try mesh.nodes[0].replica.shares.rename(zone, "renamed", now: mesh.now)
    try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    try mesh.connect(1, 0)
    try mesh.pump()
    for _ in 0..<20 { try mesh.wait(1_000) }
    #expect(mesh.nodes[1].replica.title(zone) == "renamed")
    #expect(mesh.permission(0, zone, of: 1) == nil)
  }

  @Test("a device whose numbers are used up says so")
  func usedUpNumbers() throws {
    let mesh = try TestMesh([2])
    let zone = try mesh.share()
    try mesh.connect(1, 0)
    try mesh.pump()
    let last = try #require(mesh.nodes[0].replica.zones[zone]?.log.last(of: mesh.nodes[0].device))
    let link = try mesh.admit(1, to: 0)
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    func use(_ records: ArraySlice<ControlRecord>) throws { try give(Array(records), zone, mesh, to: 0, link) }
    let acts = (last.number..<UInt64(Choices.controlRecords)).map { _ in ControlAct.unknown(tag: 77, bytes: []) }
    let records = try chain(mesh.nodes[0].keys, after: last.id, acts, mesh, zone, from: last)
    let half = Choices.provingRecords - Int(last.number)
    func mayProve() throws -> Bool { mesh.nodes[0].replica.logs.mayProve(zone) }
    try use(records.prefix(half - 1))
    #expect(try mayProve())
    try use(records[(half - 1)..<half])
    #expect(try !mayProve())
    try mesh.nodes[0].replica.shares.rename(zone, "once more", now: mesh.now)
    try use(records[half...])
    #expect(mesh.nodes[0].replica.zones[zone]?.log.last(of: mesh.nodes[0].device)?.number == 2_048)
    let error = #expect(throws: ReplicaError.self) {
      try mesh.nodes[0].replica.shares.rename(zone, "too late", now: mesh.now)
    }
    #expect(error?.description.hasPrefix("this device has written 2048 records to the control log of") == true)
    try mesh.nodes[0].replica.keys.mint(zone, now: mesh.now)
    try mesh.wait(40_000)
    #expect(mesh.nodes[0].replica.zones[zone]?.log.last(of: mesh.nodes[0].device)?.number == 2_048)
  }

  @Test("states of accounts that no record names are kept up to a bound")
  func offeredStates() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    var large = try TestAccount(devices: 1, seed: 4_000).state
    let account = try TestAccount(devices: 1, seed: 4_000)
    for device in try devices(account, 400) { large.insert(device.certificate, mesh.cryptography) }
    let size = large.encoded.count
    func isKept(_ id: AccountID) -> Bool { mesh.nodes[0].replica.exchange.accounts(known: link)[id] != nil }
    let small = try TestAccount(devices: 1, seed: 4_001).state
    for _ in 0..<Choices.offeredAccounts / size { try mesh.give(.account(large.encoded), to: 0, link) }
    #expect(isKept(large.id) && !isKept(small.id))
    let left = Choices.offeredAccounts % size
    for _ in 0...left / small.encoded.count { try mesh.give(.account(small.encoded), to: 0, link) }
    let last = try TestAccount(devices: 1, seed: 4_002).state
    try mesh.give(.account(last.encoded), to: 0, link)
    #expect(isKept(small.id) && !isKept(last.id) && mesh.isOpen(0, link))
  }

  @Test("a joiner takes no log with more records than honest accounts write")
  func tooManyRecords() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    let records = mesh.nodes[0].store.controlRecords(zone)
    for (bound, isTaken) in [(records.count, true), (records.count - 1, false)] {
      var joined = JoinedShare(zone, mesh.accounts[1].state, owner: mesh.accounts[0].state.id)
      joined.recordBound = bound
      _ = joined.note(account: mesh.accounts[0].state.encoded, mesh.cryptography)
      _ = joined.learnAccounts(mesh.cryptography)
      let learned = joined.learn(records, mesh.cryptography)
      #expect(learned == isTaken)
    }
  }

  @Test("a device and an account have as many authors as the limits say, and not one more")
  func authorsToTheLast() throws {
    let count = Limits.authorsOfAccount / Limits.instances + 1
    let mesh = try TestMesh([1, count])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.account(mesh.accounts[1].state.encoded), to: 0, link)
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let devices = try (0..<count).map { try mesh.accounts[1].device($0) }
    func answer(_ stored: Int, _ device: DeviceID) -> AuthorRoom.Answer {
      let authors = (0..<stored).map { index in
        Author(device: devices[index / Limits.instances], instance: InstanceID(UInt64(index % Limits.instances)))
      }
      let vector = VersionVector(Dictionary(uniqueKeysWithValues: authors.map { ($0, 1) }))
      var room = AuthorRoom(vector, state, own: nil)
      return room.take(device)
    }
    #expect(answer(Limits.instances - 1, devices[0]) == .room && answer(Limits.instances, devices[0]) == .excess)
    let last = devices[count - 1]
    #expect(answer(Limits.authorsOfAccount - 1, last) == .room && answer(Limits.authorsOfAccount, last) == .excess)
  }

  @Test("the last places for authors are those of the owner and of the node's own account")
  func lastPlaces() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    for node in 1...2 { try mesh.join(node, mesh.invite(zone), at: 0) }
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    func room(_ stored: Int) throws -> AuthorRoom {
      let authors = try (0..<stored).map { index in
        let id = (0..<32).map { $0 < 2 ? UInt8(truncatingIfNeeded: index >> ($0 * 8)) : 0xdd }
        return (Author(device: try #require(DeviceID(id)), instance: InstanceID(1)), UInt64(1))
      }
      return AuthorRoom(
        VersionVector(Dictionary(uniqueKeysWithValues: authors)), state, own: mesh.accounts[1].state.id)
    }
    let devices = try mesh.accounts.map { try $0.device(0) }
    func answers(_ stored: Int) throws -> [AuthorRoom.Answer] {
      try devices.map { device in
        var places = try room(stored)
        return places.take(device)
      }
    }
    let bound = Limits.authors - Limits.authorsOfAccount
    #expect(try answers(bound - 1) == [.room, .room, .room])
    #expect(try answers(bound) == [.room, .room, .full])
    #expect(try answers(Limits.authors) == [.full, .full, .full])
  }

  @Test("a joiner leaves out the largest states and takes the log")
  func largeStates() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    let large = mesh.accounts[1]
    var state = large.state
    for device in try devices(large, 40) { state.insert(device.certificate, mesh.cryptography) }
    let link = try mesh.admit(0, of: large, to: 0)
    try mesh.give(.account(state.encoded), to: 0, link)
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    let head = try #require(mesh.nodes[0].replica.shareState(zone)?.heads.first)
    try give(
      chain(large.devices[0], after: head, [.unknown(tag: 77, bytes: [])], mesh, zone), zone, mesh, to: 0, link)
    try mesh.nodes[0].replica.shares.rename(zone, "after it", now: mesh.now)
    let link2 = try mesh.invite(zone)
    try mesh.join(2, link2, at: 0)

    let node = mesh.nodes[0]
    var joined = JoinedShare(zone, mesh.accounts[2].state, owner: mesh.accounts[0].state.id)
    joined.stateBound = 4_096
    for id in node.replica.zones[zone]?.people.all ?? [] {
      let bytes = try #require(node.replica.accountState(id)).encoded
      let isSound = joined.note(account: bytes, mesh.cryptography)
      #expect(isSound)
    }
    let areSound = joined.learnAccounts(mesh.cryptography)
    #expect(areSound && joined.accounts[large.state.id] == nil && joined.accounts[mesh.accounts[0].state.id] != nil)
    let records = try #require(node.replica.zones[zone]).log.records.map(\.encoded)
    let isSound = joined.learn(records, mesh.cryptography)
    #expect(isSound)
    #expect(joined.state(mesh.cryptography).title == "after it")
    // Without a state that is left out, a record of an unknown device is invalid.
    var whole = JoinedShare(zone, mesh.accounts[2].state, owner: mesh.accounts[0].state.id)
    let isNoted = whole.note(account: node.replica.account.encoded, mesh.cryptography)
    let isOwnersSound = whole.learnAccounts(mesh.cryptography)
    let isWholeSound = whole.learn(records, mesh.cryptography)
    #expect(isNoted && isOwnersSound && !isWholeSound)

    // This is a file from which the state is missing.
    let store = mesh.nodes[2].store
    let bare = try #require(AccountState(large.state.genesis, mesh.cryptography))
    store.saveAccountStates([bare.id: bare.encoded])
    try mesh.restart(2, store: store)
    #expect(mesh.nodes[2].replica.zones[zone]?.log.count == records.count)
    try mesh.connect(2, 0)
    try mesh.pump()
    #expect(mesh.nodes[2].replica.accountState(large.state.id)?.certificates.count == 41)
    try mesh.write(2, "joined", "x", in: zone)
    #expect(mesh.title(0, "joined") == .text("x"))
  }
}
