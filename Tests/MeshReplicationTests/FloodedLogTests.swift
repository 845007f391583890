import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A participant that fills the control log of a share can't stop the others. Node 0 is the owner's.
@Suite struct FloodedLogTests {
  @Test("epochs whose keys nobody gives keep no other key from a new member")
  func epochsWhoseKeysNobodyGivesKeepNoOtherKeyFromANewMember() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(0, "a", "before", in: zone)
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let honest = try #require(state.currentEpoch?.id)
    // There are more epochs than one message requests, each with a lower id.
    var last = try #require(state.heads.first)
    var records: [[UInt8]] = []
    var drawn: UInt64 = 0
    while records.count <= Limits.controlBatch {
      drawn += 1
      let record = try ControlRecord(
        zone: zone, parents: [last], number: UInt64(records.count) + 1, previous: records.isEmpty ? nil : last,
        act: .epoch(commitment: (0..<32).map { UInt8(truncatingIfNeeded: drawn >> ($0 % 8 * 8)) }),
        secrets: mesh.accounts[1].devices[0], mesh.cryptography)
      guard let id = EpochID(record.id.bytes), id < honest else { continue }
      last = record.id
      records.append(record.encoded)
    }
    try give(records, to: mesh, zone)
    #expect(mesh.nodes[0].replica.shareState(zone)?.epochs.count ?? 0 > Limits.controlBatch)
    try mesh.join(2, mesh.invite(zone), at: 0)
    try mesh.connect(2, 0)
    try mesh.pump()
    #expect(mesh.title(2, "a") == .text("before"))
  }

  @Test("a session rests after what everybody has to read, unless its peer only passes that on")
  func aSessionRestsAfterWhatEverybodyHasToReadUnlessItsPeerOnlyPassesThatOn() throws {
    let mesh = try TestMesh([2, 1, 1])
    let zone = try mesh.share()
    for node in 2...3 { try mesh.join(node, mesh.invite(zone), at: 0) }
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    let state = mesh.accounts[1].state.encoded
    func rests(_ message: Message, of account: Int, device: Int = 0, at node: Int) throws -> Bool {
      let link = try mesh.admit(device, of: mesh.accounts[account], to: node)
      return try mesh.nodes[node].replica.received(link, message.encoded, now: mesh.now(node))
    }
    let records = Message.controlRecords(zone, [])
    #expect(try rests(records, of: 1, at: 0) && rests(.account(state), of: 1, at: 0))
    #expect(try rests(records, of: 2, at: 2), "from another participant")
    #expect(try !rests(records, of: 0, device: 1, at: 0) && !rests(.account(state), of: 0, device: 1, at: 0))
    #expect(try !rests(records, of: 0, at: 2) && rests(.account(state), of: 0, at: 2), "from the owner")
    #expect(try !rests(.changeSets(zone, []), of: 1, at: 0) && !rests(.ping(1), of: 1, at: 0))
  }

  /// Invents accounts that try to join.
  ///
  /// - Parameter isInvited: True if they use a forwarded open invite, false if they use an invented one.
  @Test(
    "invented accounts keep nobody from joining, and come in by nothing but the owner's invite",
    arguments: [false, true])
  func inventedAccountsKeepNobodyFromJoiningAndComeInByNothingButTheOwnersInvite(isInvited: Bool)
    throws
  {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone, .readOnly), at: 0)
    try mesh.meet(1, 0)
    let open = try mesh.invite(zone, .readOnly, uses: nil)
    let before = try #require(mesh.nodes[0].replica.shareState(zone)?.heads.first)
    var (last, records) = (before, [[UInt8]]())
    while records.count < (isInvited ? Limits.participants - 2 : 1) {
      let invented = try TestAccount(devices: 1, seed: 10_000 + UInt64(records.count))
      let claim = ShareClaim(
        isInvited ? open.record : last, zone: zone, genesis: invented.state.genesis,
        certificate: try #require(invented.state.certificate(invented.device(0))),
        seed: isInvited ? open.seed : [UInt8](repeating: 4, count: 32),
        secrets: invented.devices[0], mesh.cryptography)
      let record = try ControlRecord(
        zone: zone, parents: [last], number: UInt64(records.count) + 1, previous: records.isEmpty ? nil : last,
        act: .admission(claim), secrets: mesh.accounts[1].devices[0], mesh.cryptography)
      last = record.id
      records.append(record.encoded)
    }
    try give(records, to: mesh, zone)
    #expect(mesh.nodes[0].replica.shareState(zone)?.heads == [isInvited ? last : before])
    #expect(try mesh.join(2, mesh.invite(zone), at: 0) == .done)
  }

  @Test("a log with more branches than a message can name keeps every session open")
  func aLogWithMoreBranchesThanAMessageCanNameKeepsEverySessionOpen() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    for node in 1...2 { try mesh.join(node, mesh.invite(zone), at: 0) }
    try mesh.meet(1, 0)
    let parent = try #require(mesh.nodes[0].replica.shareState(zone)?.heads.first)
    let branches = try (0...Limits.toldHeads).map { index in
      try ControlRecord(
        zone: zone, parents: [parent], number: 1, previous: nil, act: epoch(index),
        secrets: mesh.accounts[1].devices[0], mesh.cryptography
      ).encoded
    }
    try give(branches, to: mesh, zone)
    #expect(mesh.nodes[0].replica.shareState(zone)?.heads.count ?? 0 > Limits.toldHeads)
    let (link, other) = try mesh.connect(2, 0)
    try mesh.pump()
    try mesh.wait(10_000)
    #expect(mesh.isOpen(2, link) && mesh.isOpen(0, other))
    #expect(mesh.nodes[2].replica.shareState(zone)?.heads == mesh.nodes[0].replica.shareState(zone)?.heads)
    try mesh.write(0, "a", "after", in: zone)
    #expect(mesh.title(2, "a") == .text("after"))
  }

  @Test("an account that asks for the log again and again is sent so much, and the rest later")
  func anAccountThatAsksForTheLogAgainAndAgainIsSentSoMuchAndTheRestLater() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    let long = ControlAct.unknown(tag: 200, bytes: [UInt8](repeating: 1, count: 15_000))
    try give(try chain(mesh, zone, 100) { _ in long }, to: mesh, zone)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    func sent() -> Int {
      (mesh.nodes[0].sent[link] ?? []).reduce(0) {
        if case .controlRecords(_, let records) = $1 { $0 + records.reduce(0) { $0 + $1.count } } else { $0 }
      }
    }
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    let log = sent()
    #expect(log > 1_500_000)
    for _ in 0..<20 { try mesh.give(.controlHeads(zone, []), to: 0, link) }
    #expect(sent() < Choices.controlSending + 2 * log)
    // Another session of the account has no allowance of its own.
    let before = sent()
    try mesh.wait(30_000)
    #expect(sent() == before + log)
  }

  @Test("a log is sent as fast as the connection accepts it") func sentInPieces() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    func sent() -> Int {
      (mesh.nodes[0].sent[link] ?? []).count { if case .controlRecords = $0 { true } else { false } }
    }
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    let before = sent()
    mesh.nodes[0].replica.noteQueued(Choices.outflow, on: link)
    try mesh.give(.controlHeads(zone, []), to: 0, link)
    #expect(before > 0 && sent() == before)
    mesh.nodes[0].replica.noteQueued(0, on: link)
    try mesh.wait(1_000)
    #expect(sent() > before)
  }

  @Test("news of an account that sends on and on wait for one another, and nobody else's do")
  func newsOfAnAccountThatSendsOnAndOnWaitForOneAnotherAndNobodyElsesDo() throws {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(1 + 1, mesh.invite(zone), at: 0)
    try mesh.meet(2, 0)
    let records = try chain(mesh, zone, 400) { .unknown(tag: 200, bytes: [UInt8($0 & 0xff), UInt8($0 >> 8)]) }
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    func heads() -> [ControlID]? { mesh.nodes[0].replica.shareState(zone)?.heads }
    for record in records { try mesh.give(.controlRecords(zone, [record]), to: 0, link) }
    let last = try ControlRecord(try #require(records.last), mesh.cryptography).id
    #expect(heads() != [last])
    // A record of the owner's other device is read immediately, together with the waiting ones.
    try mesh.meet(1, 0)
    try mesh.nodes[1].replica.shares.rename(zone, "fresh", now: mesh.now)
    try mesh.meet(1, 0)
    #expect(mesh.nodes[0].replica.shareState(zone)?.title == "fresh")
    let more = try chain(mesh, zone, 1, after: records, { _ in .unknown(tag: 200, bytes: []) })
    try mesh.give(.controlRecords(zone, more), to: 0, link)
    let id = try ControlRecord(more[0], mesh.cryptography).id
    #expect(heads()?.contains(id) == false)
    try mesh.wait(10_000)
    #expect(heads()?.contains(id) == true)
  }

  @Test("heads that are told already are told again after a while")
  func headsThatAreToldAlreadyAreToldAgainAfterAWhile() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    let records = try chain(mesh, zone, 3) { _ in .unknown(tag: 200, bytes: []) }
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    func told() -> Int {
      (mesh.nodes[0].sent[link] ?? []).count { if case .controlHeads = $0 { true } else { false } }
    }
    let before = told()
    for _ in 0..<10 { try mesh.give(.controlRecords(zone, [records[2]]), to: 0, link) }
    #expect(told() == before + 1)
    try mesh.wait(2_000)
    #expect(told() == before + 2)
  }

  @Test("keys that nobody gives are asked for again a few at a time")
  func keysThatNobodyGivesAreAskedForAgainAFewAtATime() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try give(try chain(mesh, zone, 600, epoch), to: mesh, zone)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.want(zone, VersionVector()), to: 0, link)
    func asked() -> [EpochID] {
      (mesh.nodes[0].sent[link] ?? []).flatMap { message -> [EpochID] in
        if case .keyRequest(_, let epochs) = message { epochs } else { [] }
      }
    }
    #expect(Set(asked()).count >= 600)
    let before = asked().count
    try mesh.wait(6_000)
    let again = asked().count - before
    #expect(again > 0 && again <= 300)
    // Eventually it asks for all of them.
    for _ in 0..<2 { try mesh.wait(6_000) }
    #expect(Set(asked().dropFirst(before)).count >= 600)
  }

  private func epoch(_ index: Int) -> ControlAct {
    .epoch(commitment: (0..<32).map { UInt8(truncatingIfNeeded: index >> ($0 % 8 * 8)) })
  }

  /// Returns records of the first device of account 1, one after the other.
  private func chain(
    _ mesh: TestMesh, _ zone: ZoneID, _ count: Int, after: [[UInt8]] = [], _ act: (Int) -> ControlAct
  ) throws -> [[UInt8]] {
    var last = try after.last.map { try ControlRecord($0, mesh.cryptography).id }
    let first = try #require(last ?? mesh.nodes[0].replica.shareState(zone)?.heads.first)
    return try (0..<count).map { index in
      let record = try ControlRecord(
        zone: zone, parents: [last ?? first], number: UInt64(after.count + index) + 1, previous: last, act: act(index),
        secrets: mesh.accounts[1].devices[0], mesh.cryptography)
      last = record.id
      return record.encoded
    }
  }

  private func give(_ records: [[UInt8]], to mesh: TestMesh, _ zone: ZoneID) throws {
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    for start in stride(from: 0, to: records.count, by: 64) {
      try mesh.give(.controlRecords(zone, Array(records[start..<min(start + 64, records.count)])), to: 0, link)
    }
    try mesh.wait(10_000)
  }
}
