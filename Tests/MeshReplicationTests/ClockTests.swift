import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A device signs nothing while its clock is not believed, and gets out of what it signed before.
@Suite struct ClockTests {
  private func cannotWrite(_ mesh: TestMesh, _ node: Int) throws -> String? {
    try mesh.nodes[node].replica.zoneView(mesh.zone)?.cannotWrite
  }

  @Test(arguments: [(Choices.clockBound - 1, true), (Choices.clockBound, true), (Choices.clockBound + 1, false)])
  func `a jump beyond the bound stops signing until the clock is right`(jump: Int64, signs: Bool) throws {
    let mesh = try TestMesh(1)
    try mesh.wait(1_000)
    try mesh.wait(1_000, jump: jump)
    try mesh.write(0, "a", "written")
    #expect(try (cannotWrite(mesh, 0) == nil) == signs)
    #expect((mesh.nodes[0].store.pendingCount() == 0) == signs)
    try mesh.wait(1_000, jump: -jump)
    #expect(mesh.nodes[0].store.pendingCount() == 0)
  }

  @Test func `a jump that nobody contradicts is believed after a while`() throws {
    let mesh = try TestMesh(1)
    try mesh.wait(1_000)
    try mesh.wait(1_000, jump: 3_600_000)
    try mesh.write(0, "a", "written")
    #expect(mesh.nodes[0].store.pendingCount() == 1)
    try mesh.wait(Choices.clockBound)
    #expect(mesh.nodes[0].store.pendingCount() == 1)
    try mesh.wait(1)
    #expect(mesh.nodes[0].store.pendingCount() == 0)
  }

  @Test func `what was signed ahead of time is taken back and written again with the time as it is`() throws {
    let mesh = try TestMesh(2)
    try mesh.write(1, "before", "stays")
    try mesh.meet(1, 0)
    let hour: Int64 = 3_600_000
    try mesh.wait(1_000, jump: hour)
    try mesh.wait(Choices.clockBound + 1)
    try mesh.write(1, "early", "an hour ahead")
    #expect(mesh.nodes[1].store.pendingCount() == 0)
    try mesh.wait(1_000, jump: -hour)
    try mesh.connect(1, 0)
    try mesh.pump()
    let zone = try mesh.zone
    #expect(try mesh.nodes[0].replica.zoneView(zone)?.waiting[.futureTime] == 1)
    #expect(try mesh.nodes[0].replica.signedAhead(zone, now: mesh.now).count == 1)
    #expect(throws: ReplicaError.self) { try mesh.nodes[0].replica.restamp(now: mesh.now) }
    #expect(try mesh.nodes[1].replica.restamp(now: mesh.now) == [zone: 1])
    try mesh.pump()
    #expect(mesh.title(0, "early") == .text("an hour ahead") && mesh.title(0, "before") == .text("stays"))
    #expect(mesh.nodes[0].store.digest(zone) == mesh.nodes[1].store.digest(zone))
    #expect(try mesh.nodes[1].replica.signedAhead(zone, now: mesh.now).isEmpty)
    #expect(throws: ReplicaError.self) { try mesh.nodes[1].replica.restamp(now: mesh.now) }
  }
}
