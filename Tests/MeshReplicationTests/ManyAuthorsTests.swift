import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A participant that writes as more authors than a control record can name.
@Suite struct ManyAuthorsTests {
  private static let devices = Limits.cutAuthors / Limits.instances + 2

  private func joined() throws -> (TestMesh, ZoneID) {
    let mesh = try TestMesh([1, Self.devices])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    return (mesh, zone)
  }

  /// Writes as each device, with nearly every instance that it can have. One more instance would end the device.
  private func flood(_ mesh: TestMesh, _ zone: ZoneID) throws {
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let grant = try #require(state.participants[mesh.accounts[1].state.id]?.grant)
    let epoch = try #require(state.currentEpoch?.id)
    let key = try #require(mesh.nodes[0].vault.epochKeys(zone)[epoch])
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    for index in 0..<Self.devices {
      for instance in 1..<UInt32(Limits.instances) {
        let author = Author(
          device: try mesh.accounts[1].device(index), instance: InstanceID(under: grant, random: instance))
        let header = ChangeSetHeader(
          zone: zone, author: author, number: 1, previous: nil, citation: grant,
          time: HybridTime(milliseconds: mesh.now.wall), epoch: epoch, part: .only)
        let body = ChangeSetBody(context: CausalContext(), content: .changes([]))
        let changeSet = try ChangeSet(
          header, body: body.encoded(author: author), key: key, secrets: mesh.accounts[1].devices[index],
          with: mesh.cryptography)
        try mesh.give(.changeSets(zone, [changeSet.bytes]), to: 0, link)
      }
    }
    #expect(mesh.nodes[0].store.mergedVector(zone).authors.count > Limits.cutAuthors)
  }

  @Test("it can be lowered and removed like any other") func itCanBeLoweredAndRemovedLikeAnyOther() throws {
    let (mesh, zone) = try joined()
    try mesh.write(1, "a", "honest", in: zone)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "honest, too", in: zone)
    try mesh.meet(1, 0)
    try flood(mesh, zone)
    let account = mesh.accounts[1].state.id
    try mesh.nodes[0].replica.shares.setPermission(.readOnly, of: account, in: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.permission(0, zone, of: 1) == .readOnly)
    #expect(mesh.title(0, "a") == .text("honest, too"), "who wrote most keeps it")
    try mesh.nodes[0].replica.shares.remove(account, from: zone, now: mesh.now)
    try mesh.pump()
    #expect(mesh.permission(0, zone, of: 1) == nil)
  }
}
