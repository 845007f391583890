import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Keys of epochs that members send, withhold or ask for.
@Suite struct EpochKeyTests {
  /// Returns a key that a test chose.
  private func key(_ number: UInt8) throws -> EpochKey {
    try #require(EpochKey([UInt8](repeating: number, count: 32)))
  }

  /// Returns records that open one epoch for each key, in the name of a device that has written no other records.
  private func epochs(_ mesh: TestMesh, _ zone: ZoneID, _ keys: [EpochKey], by secrets: DeviceKeys, at node: Int) throws
    -> [ControlRecord]
  {
    var records: [ControlRecord] = []
    for key in keys {
      let heads = try #require(mesh.nodes[node].replica.shareState(zone)?.heads)
      records.append(
        try ControlRecord(
          zone: zone, parents: records.last.map { [$0.id] } ?? heads, number: UInt64(records.count) + 1,
          previous: records.last?.id, act: .epoch(commitment: key.commitment(mesh.cryptography)), secrets: secrets,
          mesh.cryptography))
    }
    return records
  }

  private func seal(_ key: EpochKey, _ epoch: EpochID, _ zone: ZoneID, _ mesh: TestMesh, to node: Int) throws -> [UInt8]
  {
    let recipient = try #require(mesh.nodes[node].replica.certificate?.request.sealingKey)
    return try #require(
      mesh.cryptography.seal(
        key.bytes, to: recipient, epoch: epoch.bytes,
        context: zone.bytes + epoch.bytes + mesh.nodes[node].device.bytes))
  }

  private func keysSent(_ mesh: TestMesh, by node: Int, _ link: LinkID) -> [[EpochID: [UInt8]]] {
    (mesh.nodes[node].sent[link] ?? []).compactMap { if case .keys(_, let keys) = $0 { keys } else { nil } }
  }

  @Test("a key that is not the one its epoch commits to is not kept, and the right one is") func commitment() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let right = try key(1)
    let record = try #require(try epochs(mesh, zone, [right], by: mesh.accounts[1].devices[0], at: 0).first)
    let epoch = try #require(EpochID(record.id.bytes))
    try mesh.give(.controlRecords(zone, [record.encoded]), to: 0, link)
    for (given, isKept) in [(try key(2), false), (right, true)] {
      try mesh.give(.keys(zone, [epoch: try seal(given, epoch, zone, mesh, to: 0)]), to: 0, link)
      try mesh.wait(200)
      #expect(mesh.nodes[0].vault.epochKeys(zone)[epoch]?.bytes == (isKept ? right.bytes : nil))
    }
  }

  @Test("a device that a cut names gets no key, before its revocation is known as well") func cutDevices() throws {
    let mesh = try TestMesh(3)
    let zone = try mesh.zone
    let former = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let (victim, other) = (try mesh.admit(2, to: 0), try mesh.admit(1, to: 0))
    // The cut is in the control log, and the account's state with the revocation is not here yet.
    let last = try #require(mesh.nodes[0].store.controlRecords(zone).last)
    let cut = try ControlRecord(
      zone: zone, parents: [ControlRecord(last, mesh.cryptography).id], number: 1, previous: nil,
      act: .cut(
        DeviceCut(try mesh.account.device(2), last: nil, heads: [:], zone: zone, sign: mesh.account.key.sign)),
      secrets: mesh.account.devices[1], mesh.cryptography)
    try mesh.give(.controlRecords(zone, [cut.encoded]), to: 0, other)
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    #expect(epoch != former && mesh.isOpen(0, victim))
    for link in [victim, other] { try mesh.give(.keyRequest(zone, [former, epoch].sorted()), to: 0, link) }
    #expect(keysSent(mesh, by: 0, victim).isEmpty)
    #expect(keysSent(mesh, by: 0, other).contains { $0[epoch] != nil })
  }

  @Test("a peer that asks for a key again and again is sent it four times, and again after a while")
  func askedAgainAndAgain() throws {
    let mesh = try TestMesh(2)
    let zone = try mesh.zone
    let epoch = try #require(try mesh.nodes[0].replica.zoneViews.view(zone)?.epoch)
    let link = try mesh.admit(1, to: 0)
    for _ in 0..<9 { try mesh.give(.keyRequest(zone, [epoch]), to: 0, link) }
    #expect(keysSent(mesh, by: 0, link).count == 4)
    try mesh.wait(5_001)
    try mesh.give(.keyRequest(zone, [epoch]), to: 0, link)
    #expect(keysSent(mesh, by: 0, link).count == 5)
  }

  @Test("participants' keys fill the room for keys to its last place, and the owner's have room beside them")
  func room() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    for node in 1...2 { try mesh.join(node, mesh.invite(zone), at: 0) }
    try mesh.meet(1, 0)
    let vault = mesh.nodes[1].vault
    let known = vault.epochKeys(zone).count
    let filling = try (0..<Choices.epochKeys - 1 - known).map { index in
      let id = (0..<32).map { $0 < 4 ? UInt8(truncatingIfNeeded: index >> ($0 * 8)) : 0xaa }
      return (try #require(EpochID(id)), try key(3))
    }
    try vault.saveEpochKeys(Dictionary(uniqueKeysWithValues: filling), zone: zone)
    try mesh.restart(1)
    let keys = try (4...6).map { try key($0) }
    let link = try mesh.admit(0, of: mesh.accounts[2], to: 1)
    let records = try epochs(mesh, zone, keys, by: mesh.accounts[2].devices[0], at: 1)
    try mesh.give(.controlRecords(zone, records.map(\.encoded)), to: 1, link)
    let sealed = try zip(records, keys).map { record, key in
      let epoch = try #require(EpochID(record.id.bytes))
      return (epoch, try seal(key, epoch, zone, mesh, to: 1))
    }
    try mesh.give(.keys(zone, Dictionary(uniqueKeysWithValues: sealed)), to: 1, link)
    try mesh.wait(200)
    #expect(vault.epochKeys(zone).count == Choices.epochKeys)
    try mesh.nodes[0].replica.shares.remove(mesh.accounts[2].state.id, from: zone, now: mesh.now)
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(200)
    let owners = try #require(mesh.nodes[1].replica.shareState(zone)?.currentEpoch?.id)
    #expect(vault.epochKeys(zone)[owners] != nil)
  }
}
