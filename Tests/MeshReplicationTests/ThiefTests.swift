import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A stolen device, certified until it is revoked, that tries to exclude the others.
@Suite struct ThiefTests {
  private func record(
    _ mesh: TestMesh, _ act: ControlAct, by index: Int, number: UInt64, previous: ControlID?, parents: [ControlID]
  ) throws -> ControlRecord {
    try ControlRecord(
      zone: mesh.zone, parents: parents, number: number, previous: previous, act: act,
      secrets: mesh.account.devices[index], mesh.cryptography)
  }

  private func heads(_ mesh: TestMesh) throws -> [ControlID] {
    try [
      #require(mesh.nodes[0].store.controlRecords(mesh.zone).map { try ControlRecord($0, mesh.cryptography).id }.last)
    ]
  }

  /// Creates four devices. The last one is the thief's, and knows everything.
  private func world() throws -> TestMesh {
    let mesh = try TestMesh(4)
    for other in 1...2 { try mesh.connect(other, 0) }
    try mesh.pump()
    try mesh.write(1, "a", "mine")
    return mesh
  }

  @Test("a thief that cuts everybody cuts nobody, before and after it is revoked")
  func aThiefThatCutsEverybodyCutsNobodyBeforeAndAfterItIsRevoked() throws {
    let mesh = try world()
    let signers: [([UInt8]) -> [UInt8]] = [mesh.account.devices[3].sign, { _ in [UInt8](repeating: 0, count: 64) }]
    for sign in signers {
      for victim in 0...2 {
        let link = try mesh.admit(3, to: 0)
        let act = ControlAct.cut(
          DeviceCut(try mesh.account.device(victim), last: nil, heads: [:], zone: try mesh.zone, sign: sign))
        let cut = try record(mesh, act, by: 3, number: 1, previous: nil, parents: heads(mesh))
        try mesh.give(.controlRecords(mesh.zone, [cut.encoded]), to: 0, link)
        #expect(!mesh.isOpen(0, link), "who brings it is shown out")
      }
    }
    try expectAllWrite(mesh)
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(3), now: mesh.now)
    try mesh.pump()
    try expectAllWrite(mesh)
  }

  private func expectAllWrite(_ mesh: TestMesh) throws {
    let zone = try mesh.zone
    for node in 0...2 {
      try mesh.write(node, "by \(node)", "at \(mesh.now.wall)")
      for reader in 0...2 { #expect(mesh.title(reader, "by \(node)") == .text("at \(mesh.now.wall)")) }
      #expect(try mesh.nodes[node].replica.zoneViews.view(zone)?.cannotWrite == nil)
    }
    #expect(mesh.title(2, "a") == .text("mine"))
    #expect(mesh.nodes[0].store.digest(zone) == mesh.nodes[2].store.digest(zone))
    try mesh.wait(1_000)
  }

  @Test("what an account once signed is not turned against another, nor against another zone's writers")
  func whatAnAccountOnceSignedIsNotTurnedAgainstAnotherNorAgainstAnotherZonesWriters() throws {
    let mesh = try world()
    let zone = try mesh.zone
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(3), now: mesh.now)
    try mesh.pump()
    let cuts = try mesh.nodes[0].store.controlRecords(zone).compactMap { bytes -> [UInt8]? in
      if case .cut(let cut) = try ControlRecord(bytes, mesh.cryptography).act { return cut.signature }
      return nil
    }
    let signature = try #require(cuts.first)
    let link = try mesh.admit(2, to: 0)
    let act = ControlAct.cut(
      DeviceCut(try mesh.account.device(1), last: nil, heads: [:], zone: zone, sign: { _ in signature }))
    let forged = try record(mesh, act, by: 2, number: 1, previous: nil, parents: heads(mesh))
    try mesh.give(.controlRecords(zone, [forged.encoded]), to: 0, link)
    #expect(try mesh.nodes[0].replica.zoneViews.view(zone)?.cuts == [mesh.account.device(3)])
  }

  @Test("a proof of a fork that nobody signed cuts nobody") func aProofOfAForkThatNobodySignedCutsNobody() throws {
    let mesh = try world()
    let zone = try mesh.zone
    let author = try #require(try mesh.nodes[1].replica.zoneViews.view(zone)?.author)
    let own = try #require(mesh.nodes[1].store.excerpt(zone, author, through: 1, count: 1).last)
    // The thief signs the other branch itself.
    var header = own.header
    header.time = HybridTime(header.time.value + 1)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[header.epoch])
    let forged = try ChangeSet(header, body: [], key: key, secrets: mesh.account.devices[3], with: mesh.cryptography)
    let proof = try #require(ForkProof(own, forged.signedHeader))
    let link = try mesh.admit(3, to: 0)
    let lie = try record(mesh, .fork(proof), by: 3, number: 1, previous: nil, parents: heads(mesh))
    try mesh.give(.controlRecords(zone, [lie.encoded]), to: 0, link)
    #expect(!mesh.isOpen(0, link))
    try expectAllWrite(mesh)
  }

  @Test("a record that its author did not sign ends the session, and nothing of it is kept")
  func aRecordThatItsAuthorDidNotSignEndsTheSessionAndNothingOfItIsKept() throws {
    let mesh = try world()
    let zone = try mesh.zone
    let before = mesh.nodes[0].store.controlRecords(zone)
    let link = try mesh.admit(3, to: 0)
    let own = try record(
      mesh, .title("stolen", time: HybridTime(milliseconds: mesh.now.wall)), by: 3, number: 1, previous: nil,
      parents: heads(mesh))
    var altered = own.encoded
    altered[altered.count - 1] ^= 1
    try mesh.give(.controlRecords(zone, [altered]), to: 0, link)
    #expect(!mesh.isOpen(0, link))
    #expect(mesh.nodes[0].store.controlRecords(zone) == before)
    #expect(mesh.nodes[1].store.controlRecords(zone) == before)
    try expectAllWrite(mesh)
  }

  @Test("a device that fills the control log is refused, and nobody else")
  func aDeviceThatFillsTheControlLogIsRefusedAndNobodyElse() throws {
    let mesh = try world()
    let zone = try mesh.zone
    let link = try mesh.admit(3, to: 0)
    let start = try heads(mesh)
    var last: ControlRecord?
    var records: [[UInt8]] = []
    for number in 1...UInt64(Choices.controlRecords + 40) {
      let next = try record(
        mesh, .unknown(tag: 77, bytes: []), by: 3, number: number, previous: last?.id,
        parents: last.map { [$0.id] } ?? start)
      records.append(next.encoded)
      last = next
    }
    for start in stride(from: 0, to: records.count, by: Limits.controlBatch) {
      try mesh.give(
        .controlRecords(zone, Array(records[start..<min(start + Limits.controlBatch, records.count)])), to: 0, link)
    }
    let kept = mesh.nodes[0].store.controlRecords(zone).count
    #expect(kept >= Choices.controlRecords && kept < Choices.controlRecords + 20)
    #expect(mesh.nodes[0].replica.refusals["control-over-quota"] != nil)
    #expect(mesh.isOpen(0, link))
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(3), now: mesh.now)
    try mesh.pump()
    try expectAllWrite(mesh)
    #expect(mesh.nodes[1].store.controlRecords(zone).count == mesh.nodes[0].store.controlRecords(zone).count)
  }

  @Test("a control record that does not continue its author's ends the session")
  func aControlRecordThatDoesNotContinueItsAuthorsEndsTheSession() throws {
    let mesh = try world()
    let link = try mesh.admit(3, to: 0)
    let first = try record(mesh, .unknown(tag: 77, bytes: []), by: 3, number: 1, previous: nil, parents: heads(mesh))
    let leap = try record(
      mesh, .unknown(tag: 77, bytes: []), by: 3, number: 3, previous: first.id, parents: [first.id])
    try mesh.give(.controlRecords(mesh.zone, [first.encoded, leap.encoded]), to: 0, link)
    #expect(!mesh.isOpen(0, link))
    try expectAllWrite(mesh)
  }
}
