import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// What a participant that fills the control log of a share keeps from nobody. Node 0 is the owner's.
@Suite struct FloodedLogTests {
  @Test func `epochs whose keys nobody gives keep no other key from a new member`() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(0, "a", "before", in: zone)
    let state = try #require(mesh.nodes[0].replica.shareState(zone))
    let honest = try #require(state.currentEpoch?.id)
    // More than one message asks for, each with a lower id.
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

  /// - Parameter isInvited: By a link that lets in anybody, which somebody passed on; else by one that was made up.
  @Test(arguments: [false, true])
  func `invented accounts keep nobody from joining, and come in by nothing but the owner's invite`(isInvited: Bool)
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
        isInvited ? open.invite : last, zone: zone, genesis: invented.state.genesis,
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

  private func give(_ records: [[UInt8]], to mesh: TestMesh, _ zone: ZoneID) throws {
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    for start in stride(from: 0, to: records.count, by: 64) {
      try mesh.give(.controlRecords(zone, Array(records[start..<min(start + 64, records.count)])), to: 0, link)
    }
  }
}
