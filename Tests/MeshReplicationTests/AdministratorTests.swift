import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// The account continues when the machine that created it is away, lost or stolen.
@Suite struct AdministratorTests {
  /// Creates four devices that know each other. The first holds the account's key and is the hub.
  private func world() throws -> TestMesh {
    let mesh = try TestMesh(4)
    for other in 1...3 { try mesh.connect(other, 0) }
    try mesh.pump()
    try mesh.write(3, "early", "before")
    return mesh
  }

  private func leave(_ mesh: TestMesh, _ node: Int) throws {
    for other in mesh.nodes.indices where other != node { mesh.part(node, other) }
    try mesh.pump()
  }

  private func newKey(_ seed: UInt64) -> AccountSigner {
    let key = AccountKey(randomness: SeededRandomness(seed: seed))
    return AccountSigner(publicKey: key.publicKey) { key.sign($0) }
  }

  private func recovery(_ mesh: TestMesh) -> AccountSigner {
    let key = mesh.account.recovery
    return AccountSigner(publicKey: key.publicKey) { key.sign($0) }
  }

  /// Returns the private zone according to a node's log.
  private func state(_ mesh: TestMesh, _ node: Int) throws -> ZoneState {
    let records = try mesh.nodes[node].store.controlRecords(mesh.zone).map { try ControlRecord($0, mesh.cryptography) }
    return try ZoneState(
      mesh.zone, records: records, accounts: Accounts([mesh.nodes[node].replica.account]), mesh.cryptography)
  }

  /// Expects that each node shows the writes of the others, and that all have the same digest.
  private func expectAllWrite(_ mesh: TestMesh, _ nodes: [Int]) throws {
    let zone = try mesh.zone
    for node in nodes {
      try mesh.write(node, "by \(node)", "at \(mesh.now.wall)")
      for reader in nodes { #expect(mesh.title(reader, "by \(node)") == .text("at \(mesh.now.wall)")) }
    }
    #expect(Set(nodes.map { mesh.nodes[$0].store.digest(zone) }).count == 1)
    try mesh.wait(6_000)
  }

  @Test("an administrator revokes a device while the machine with the account's key is away")
  func anAdministratorRevokes() throws {
    let mesh = try world()
    let lost = try mesh.account.device(3)
    #expect(throws: ReplicaError.self) { try mesh.nodes[1].replica.administration.revoke(lost, now: mesh.now) }
    try mesh.nodes[0].replica.administration.promote(mesh.account.device(1), now: mesh.now)
    try mesh.pump()
    try leave(mesh, 0)
    try mesh.connect(2, 1)
    try mesh.connect(3, 1)
    try mesh.pump()
    try mesh.nodes[1].replica.administration.revoke(lost, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[3].replica.isExcluded)
    try mesh.write(3, "late", "after")
    try mesh.connect(3, 2)
    try mesh.pump()
    #expect(mesh.title(2, "late") == nil)
    try expectAllWrite(mesh, [1, 2])
    try mesh.connect(0, 2)
    try mesh.pump()
    #expect(mesh.nodes[0].replica.account.isExcluded(lost))
    try expectAllWrite(mesh, [0, 1, 2])
    #expect(mesh.title(0, "early") == .text("before"))
  }

  @Test("an administrator admits a device by an invite, and all devices accept its writes")
  func anAdministratorCertifies() throws {
    let mesh = try world()
    try mesh.nodes[0].replica.administration.promote(mesh.account.device(1), now: mesh.now)
    try mesh.pump()
    let invite = try mesh.nodes[1].replica.devices.issueInvite(
      expires: mesh.now.wall + 1_000, addresses: [], now: mesh.now)
    let keys = DeviceKeys(randomness: SeededRandomness(seed: 77))
    let request = try #require(CertificateRequest(name: "tablet", for: mesh.account.state.id, secrets: keys))
    let (wire, info) = try mesh.open(1, peer: keys.sessionKey)
    let theirs = LinkInfo(
      role: .dialler, handshakeHash: info.handshakeHash, remoteStatic: mesh.nodes[1].keys.sessionKey, address: "test")
    var joining = Joining(
      invite: invite, request: request, info: theirs, secrets: keys, cryptography: mesh.cryptography)
    var outputs = joining.start()
    var taken = 0
    var certificate: Certificate?
    while !outputs.isEmpty {
      for case .send(let message) in outputs { try mesh.give(message, to: 1, wire) }
      for case .done(let done, _) in outputs { certificate = done }
      let answers = mesh.nodes[1].sent[wire] ?? []
      outputs = answers.dropFirst(taken).flatMap { joining.receive($0) }
      taken = answers.count
    }
    let certified = try #require(certificate)
    #expect(certified.authority.administrator == (try mesh.account.device(1)))
    for node in [0, 2, 3] { #expect(mesh.nodes[node].replica.account.certificate(certified.device) == certified) }
  }

  @Test("signatures by a demoted administrator don't count, and its earlier ones stay valid")
  func aDemotedAdministratorIsAnOrdinaryDevice() throws {
    let mesh = try world()
    let (administrator, lost) = (try mesh.account.device(1), try mesh.account.device(3))
    try mesh.nodes[0].replica.administration.promote(administrator, now: mesh.now)
    try mesh.pump()
    try mesh.nodes[1].replica.administration.revoke(lost, now: mesh.now)
    try mesh.pump()
    try leave(mesh, 1)
    try mesh.nodes[0].replica.administration.demote(administrator, now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[2].replica.account.isExcluded(lost), "the revocation stands by the account's key")
    // The former administrator doesn't know of its demotion, and revokes another device.
    try mesh.nodes[1].replica.administration.revoke(mesh.account.device(2), now: mesh.now)
    try mesh.connect(1, 0)
    try mesh.pump()
    for node in 0...2 {
      #expect(try !mesh.nodes[node].replica.account.isExcluded(mesh.account.device(2)))
      #expect(mesh.nodes[node].replica.account.isExcluded(lost))
    }
    try expectAllWrite(mesh, [0, 1, 2])
  }

  @Test("the recovery key replaces a lost account key, and the former key no longer counts")
  func theKeyIsReplaced() throws {
    let mesh = try world()
    try leave(mesh, 0)
    try mesh.connect(2, 1)
    try mesh.connect(3, 1)
    try mesh.pump()
    let (thief, replaced) = (try mesh.account.device(0), newKey(40))
    #expect(throws: ReplicaError.self) {
      try mesh.nodes[1].replica.administration.replaceKey(
        with: replaced, recovery: newKey(41), readmitting: [], now: mesh.now)
    }
    try mesh.nodes[1].replica.administration.replaceKey(
      with: replaced, recovery: recovery(mesh), readmitting: [], now: mesh.now)
    try mesh.pump()
    try expectAllWrite(mesh, [1, 2, 3])
    try mesh.nodes[1].replica.administration.revoke(thief, now: mesh.now)
    // The thief has the former key, and uses it before it hears of anything.
    for victim in 1...3 { try mesh.nodes[0].replica.administration.revoke(mesh.account.device(victim), now: mesh.now) }
    try mesh.write(0, "stolen", "write")
    try mesh.connect(0, 2)
    try mesh.pump()
    for node in 1...3 {
      #expect(mesh.nodes[node].replica.account.isExcluded(thief))
      #expect(!mesh.nodes[node].replica.isExcluded)
      #expect(mesh.title(node, "stolen") == nil)
    }
    try expectAllWrite(mesh, [1, 2, 3])
    #expect(!mesh.nodes[0].replica.administration.holdsAccountKey || mesh.nodes[0].replica.account.successor == nil)
  }

  @Test("the recovery key readmits devices that the thief of a key revoked")
  func devicesAreReadmitted() throws {
    let mesh = try world()
    for victim in [3, 2, 1] {
      try mesh.nodes[0].replica.administration.revoke(mesh.account.device(victim), now: mesh.now)
      try mesh.pump()
    }
    #expect(mesh.nodes[1].replica.isExcluded)
    try leave(mesh, 0)
    try mesh.nodes[1].replica.administration.replaceKey(
      with: newKey(40), recovery: recovery(mesh), readmitting: [mesh.account.device(2)], now: mesh.now)
    try mesh.nodes[1].replica.administration.revoke(mesh.account.device(0), now: mesh.now)
    try mesh.connect(1, 2)
    try mesh.connect(1, 3)
    try mesh.pump()
    #expect(!mesh.nodes[1].replica.isExcluded && !mesh.nodes[2].replica.isExcluded)
    #expect(mesh.nodes[3].replica.isExcluded, "who is not readmitted stays out")
    try expectAllWrite(mesh, [1, 2])
  }

  @Test("a revocation that the replacement of a key ends without having heard of it is noticed")
  func unheardRevocation() throws {
    let mesh = try world()
    let lost = try mesh.account.device(3)
    try leave(mesh, 1)
    try mesh.nodes[0].replica.administration.revoke(lost, now: mesh.now)
    try mesh.pump()
    try mesh.nodes[1].replica.administration.replaceKey(
      with: newKey(40), recovery: recovery(mesh), readmitting: [], now: mesh.now)
    try mesh.connect(1, 0)
    try mesh.pump()
    #expect(!mesh.nodes[0].replica.account.isExcluded(lost))
    #expect(mesh.nodes[0].replica.notices.contains { $0.contains("mesh device revoke \(lost)") })
    #expect(mesh.nodes[1].replica.notices.isEmpty)
  }

  @Test("the end of a revoked device stays the same when the key is replaced, and no former key moves it")
  func cutsOutliveTheirSigner() throws {
    let mesh = try world()
    let zone = try mesh.zone
    let lost = try mesh.account.device(3)
    try mesh.nodes[0].replica.administration.revoke(lost, now: mesh.now)
    try mesh.pump()
    let before = try #require(state(mesh, 2).cuts[lost])
    #expect(!before.isEmpty)
    try leave(mesh, 0)
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.nodes[1].replica.administration.replaceKey(
      with: newKey(40), recovery: recovery(mesh), readmitting: [], now: mesh.now)
    try mesh.pump()
    // The holder of the former key makes a cut at zero for a device that was cut at its end.
    let forged = DeviceCut(lost, last: nil, heads: [:], zone: zone, sign: mesh.account.key.sign)
    let own = try mesh.nodes[1].store.controlRecords(zone).map { try ControlRecord($0, mesh.cryptography) }
      .filter { $0.author == mesh.nodes[2].device }.max { $0.number < $1.number }
    let record = try ControlRecord(
      zone: zone, parents: state(mesh, 1).heads, number: (own?.number ?? 0) + 1,
      previous: own?.id, act: .cut(forged), secrets: mesh.account.devices[2], mesh.cryptography)
    let link = try mesh.admit(2, to: 1)
    try mesh.give(.controlRecords(zone, [record.encoded]), to: 1, link)
    mesh.disconnect(link)
    try mesh.connect(2, 1)
    try mesh.pump()
    try mesh.wait(6_000)
    let after = try state(mesh, 1)
    #expect(after.cuts[lost] == before)
    let counting = try #require(after.countingCuts[lost])
    #expect(!counting.isEmpty && counting.allSatisfy { $0.authority.generation == 1 })
    #expect(mesh.title(1, "early") == .text("before") && mesh.title(2, "early") == .text("before"))
    try expectAllWrite(mesh, [1, 2])
  }
}
