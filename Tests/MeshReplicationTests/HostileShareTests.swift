import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Attacks by a current or former participant. Node 0 is the owner's, node 1 writes, and node 2 only reads.
@Suite struct HostileShareTests {
  private let mesh: TestMesh
  private let zone: ZoneID

  init() throws {
    mesh = try TestMesh([1, 1, 1, 1])
    zone = try mesh.share()
    for (node, permission) in [(1, Permission.readWrite), (2, .readOnly)] {
      try mesh.join(node, mesh.invite(zone, permission), at: 0)
      try mesh.meet(node, 0)
    }
    try mesh.meet(1, 0)
  }

  private func heads() throws -> [ControlID] { try #require(mesh.nodes[0].replica.shareState(zone)?.heads) }

  private func record(_ act: ControlAct, by account: Int) throws -> ControlRecord {
    try ControlRecord(
      zone: zone, parents: heads(), number: 1, previous: nil, act: act, secrets: mesh.accounts[account].devices[0],
      mesh.cryptography)
  }

  private func changeSet(
    by account: Int, citing citation: ControlID?, title: String, as instance: InstanceID? = nil
  ) throws -> ChangeSet {
    let keys = mesh.accounts[account].devices[0]
    let author = Author(
      device: try mesh.accounts[account].device(0),
      instance: instance ?? citation.map { InstanceID(under: $0, random: 77) } ?? InstanceID(77))
    let epoch = try #require(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    let time = HybridTime(milliseconds: mesh.now.wall)
    let row = RowChange(
      key: .text("forged"), generation: 1, isLife: true, stamp: Stamp(time: time, author: author),
      fields: [.init(column: 0, value: .value(.text(Array(title.utf8))))])
    let body = ChangeSetBody(
      context: CausalContext(), content: .changes([TableChanges(table: "list", columns: ["title"], rows: [row])]))
    let header = ChangeSetHeader(
      zone: zone, author: author, number: 1, previous: nil, citation: citation, time: time, epoch: epoch, part: .only)
    return try ChangeSet(header, body: body.encoded(author: author), key: key, secrets: keys, with: mesh.cryptography)
  }

  @Test("who may only read, or cites another's grant or none, is refused")
  func whoMayOnlyReadOrCitesAnothersGrantOrNoneIsRefused() throws {
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let grants = [1, 2].map { state.participants[mesh.accounts[$0].state.id]?.grant }
    let link = try mesh.admit(0, of: mesh.accounts[2], to: 0)
    for citation in [nil, grants[0], grants[1]] {
      try mesh.give(.changeSets(zone, [changeSet(by: 2, citing: citation, title: "lie").bytes]), to: 0, link)
    }
    #expect(mesh.title(0, "forged") == nil && mesh.nodes[0].replica.refusals["not-permitted"] == 3)
    let other = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    // An instance tells by itself under which grant it writes.
    let beside = try changeSet(by: 1, citing: grants[0], title: "lie", as: InstanceID(77))
    try mesh.give(.changeSets(zone, [beside.bytes]), to: 0, other)
    #expect(mesh.title(0, "forged") == nil && mesh.nodes[0].replica.refusals["not-permitted"] == 4)
    #expect(!mesh.nodes[0].replica.hasRefusedFaults)
    try mesh.give(.changeSets(zone, [changeSet(by: 1, citing: grants[0], title: "true").bytes]), to: 0, other)
    #expect(mesh.title(0, "forged") == .text("true"), "the same by who may")
  }

  @Test("a change set comes before the grant that it cites and is taken with it")
  func aChangeSetComesBeforeTheGrantThatItCitesAndIsTakenWithIt() throws {
    // The owner gives node 2 write permission. Node 1, which hears of it last, is shown its change set first.
    let account = mesh.accounts[2].state.id
    try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: account, in: zone, now: mesh.now)
    try mesh.pump()
    let grant = try #require(mesh.nodes[0].replica.shareState(zone)?.participants[account]?.grant)
    let early = try changeSet(by: 2, citing: grant, title: "early")
    let link = try mesh.admit(0, of: mesh.accounts[2], to: 1)
    try mesh.give(.changeSets(zone, [early.bytes]), to: 1, link)
    #expect(mesh.title(1, "forged") == nil)
    try mesh.meet(1, 0)
    let wanted = (mesh.nodes[1].sent[link] ?? []).filter { if case .want = $0 { true } else { false } }
    #expect(wanted.count > 1, "it asks again")
    try mesh.give(.changeSets(zone, [early.bytes]), to: 1, link)
    #expect(mesh.title(1, "forged") == .text("early"))
  }

  @Test("a change set that its author did not sign is not asked for again when it might be valid")
  func unsignedIsNotAskedFor() throws {
    for isSigned in [false, true] {
      let link = try mesh.admit(0, of: mesh.accounts[2], to: 0)
      var bytes = try changeSet(by: 2, citing: nil, title: "lie").bytes
      if !isSigned { bytes[bytes.count - 1] ^= 1 }
      try mesh.give(.changeSets(zone, [bytes]), to: 0, link)
      func wants() -> Int {
        (mesh.nodes[0].sent[link] ?? []).count { if case .want(zone, _) = $0 { true } else { false } }
      }
      let before = wants()
      try mesh.wait(1_000)
      try mesh.nodes[0].replica.shares.rename(zone, "renamed, \(isSigned)", now: mesh.now)
      try mesh.pump()
      #expect(wants() - before == (isSigned ? 1 : 0))
    }
  }

  @Test("nobody grants, invites, stops or names what is not theirs")
  func nobodyGrantsInvitesStopsOrNamesWhatIsNotTheirs() throws {
    let lies: [ControlAct] = [
      .participant(mesh.accounts[3].state.id, .readWrite, invite: nil, cuts: [:]),
      .participant(mesh.account.state.id, nil, invite: nil, cuts: [:]), .stop,
      .title("mine", time: HybridTime(milliseconds: mesh.now.wall)),
      .invite(
        InviteTerms(
          publicHalf: [UInt8](repeating: 1, count: 32), permission: .readWrite, expires: 0, use: .open, account: nil)),
    ]
    for act in lies {
      let before = try heads()
      let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
      try mesh.give(.controlRecords(zone, [record(act, by: 1).encoded]), to: 0, link)
      #expect(mesh.goodbye(0, link) == .protocolViolation)
      #expect(try heads() == before)
    }
  }

  @Test("who keeps a share's key to itself keeps nobody from writing elsewhere")
  func whoKeepsASharesKeyToItselfKeepsNobodyFromWritingElsewhere() throws {
    let leave = try record(.leave(cuts: [:]), by: 2)
    let epoch = try ControlRecord(
      zone: zone, parents: [leave.id], number: 1, previous: nil,
      act: .epoch(commitment: [UInt8](repeating: 1, count: 32)), secrets: mesh.accounts[1].devices[0], mesh.cryptography
    )
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    try mesh.give(.controlRecords(zone, [leave.encoded, epoch.encoded]), to: 0, link)
    #expect(try mesh.nodes[0].replica.zoneViews.view(zone)?.cannotWrite != nil)
    let own = try mesh.zone
    let before = mesh.nodes[0].store.mergedVector(own)
    try mesh.write(0, "s", "shared", in: zone)
    try mesh.write(0, "p", "private")
    #expect(mesh.nodes[0].store.mergedVector(own).count(beyond: before) == 1)
    #expect(mesh.nodes[0].store.pendingCount() == 1)
    for _ in 0..<8 { try mesh.wait(5_001) }
    #expect(mesh.nodes[0].store.pendingCount() == 0)
  }

  @Test("a device that was lowered too often may only read, and writes on elsewhere")
  func aDeviceThatWasLoweredTooOftenMayOnlyReadAndWritesOnElsewhere() throws {
    try mesh.connect(1, 0)
    for round in 0...Limits.instances {
      try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
      try mesh.pump()
      try mesh.write(1, "s", "round \(round)", in: zone)
      try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
      try mesh.pump()
    }
    try mesh.nodes[0].replica.shares.setPermission(.readWrite, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    try mesh.pump()
    try mesh.write(1, "s", "once too often", in: zone)
    try mesh.write(1, "p", "private")
    #expect(mesh.nodes[1].store.pendingCount() == 0)
    #expect(mesh.title(1, "p") == .text("private") && mesh.title(1, "s") == mesh.title(0, "s"))
    #expect(mesh.nodes[1].store.receipts(zone).contains { $0.values?["title"] == .text("once too often") })
  }

  @Test("a claim holds in the session of its own device only") func aClaimHoldsInTheSessionOfItsOwnDeviceOnly() throws {
    let share = try mesh.invite(zone, uses: nil)
    let invited = mesh.accounts[3]
    let claim = ShareClaim(
      share.record, zone: zone, genesis: invited.state.genesis,
      certificate: try #require(invited.state.certificate(invited.device(0))), seed: share.seed,
      secrets: invited.devices[0], mesh.cryptography)
    // Another device brings the claim, with a proof of the invite.
    let thief = try TestAccount(devices: 1, seed: 900)
    let (link, info) = try mesh.open(0, peer: thief.devices[0].sessionKey)
    var hello = mesh.hello(thief.devices[0], try thief.state.certificate(thief.device(0)), info, to: 0)
    hello.proof = InviteProof(seed: share.seed, handshakeHash: info.handshakeHash, mesh.cryptography)
    hello.sign(
      thief.devices[0],
      SessionBinding(
        signer: .dialler, handshakeHash: info.handshakeHash, peerStatic: mesh.nodes[0].keys.sessionKey))
    try mesh.give(.hello(hello), to: 0, link)
    #expect(mesh.goodbye(0, link) == nil)
    try mesh.give(.shareClaim(zone, claim), to: 0, link)
    #expect(mesh.goodbye(0, link) == .protocolViolation)
    #expect(mesh.permission(0, zone, of: 3) == nil)
  }

  @Test("a proof that was made for another session is refused") func aProofThatWasMadeForAnotherSessionIsRefused()
    throws
  {
    let share = try mesh.invite(zone, uses: nil)
    let keys = mesh.accounts[3].devices[0]
    let (link, info) = try mesh.open(0, peer: keys.sessionKey)
    var hello = mesh.hello(keys, try mesh.accounts[3].state.certificate(mesh.accounts[3].device(0)), info, to: 0)
    hello.proof = InviteProof(
      seed: share.seed, handshakeHash: [UInt8](repeating: 1, count: 64), mesh.cryptography)
    hello.sign(
      keys,
      SessionBinding(
        signer: .dialler, handshakeHash: info.handshakeHash, peerStatic: mesh.nodes[0].keys.sessionKey))
    try mesh.give(.hello(hello), to: 0, link)
    #expect(mesh.goodbye(0, link) == .notAdmitted)
    #expect(mesh.nodes[0].sent[link]?.count == 1, "nothing but the goodbye")
  }

  @Test("strangers get neither the log nor keys, whatever they know")
  func strangersGetNeitherTheLogNorKeysWhateverTheyKnow() throws {
    let private0 = try mesh.zone
    let epoch = try #require(mesh.nodes[0].replica.zoneViews.view(private0)?.epoch)
    try mesh.write(0, "p", "private")
    let author = try #require(mesh.nodes[0].replica.zoneViews.view(private0)?.author)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let before = mesh.nodes[0].sent[link]?.count
    try mesh.give(.controlHeads(private0, []), to: 0, link)
    try mesh.give(.keyRequest(private0, [epoch]), to: 0, link)
    try mesh.give(.want(private0, VersionVector()), to: 0, link)
    try mesh.give(.digestRequest(private0), to: 0, link)
    try mesh.give(.excerptRequest(private0, author, through: 1), to: 0, link)
    #expect(mesh.nodes[0].sent[link]?.count == before && mesh.isOpen(0, link))
  }

  @Test("who was removed gets no keys, and its epochs encrypt nothing")
  func whoWasRemovedGetsNoKeysAndItsEpochsEncryptNothing() throws {
    let removed = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.remove(removed, from: zone, now: mesh.now)
    try mesh.pump()
    let current = try #require(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id)
    let own = try record(.epoch(commitment: [UInt8](repeating: 5, count: 32)), by: 1)
    // A friend who is still a member passes on the epoch, and would pass on the key.
    let friend = try mesh.admit(0, of: mesh.accounts[2], to: 0)
    try mesh.give(.controlRecords(zone, [own.encoded]), to: 0, friend)
    #expect(mesh.nodes[0].replica.shareState(zone)?.currentEpoch?.id == current)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    #expect(mesh.goodbye(0, link) == .noMember)
    let keys = (mesh.nodes[0].sent[link] ?? []).filter { if case .keys = $0 { true } else { false } }
    #expect(keys.isEmpty)
  }

  @Test("an invite's last use is not spent twice at two sides of a partition")
  func anInvitesLastUseIsNotSpentTwiceAtTwoSidesOfAPartition() throws {
    let share = try mesh.invite(zone)
    try mesh.meet(1, 0)
    #expect(try mesh.join(3, share, at: 1) == .wait)
    #expect(try mesh.join(3, share, at: 0) == .done)
    #expect(mesh.nodes[0].replica.shareState(zone)?.invites[share.record]?.usesLeft == 0)
  }
}
