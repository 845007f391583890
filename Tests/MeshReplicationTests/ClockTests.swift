import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A device signs nothing while its clock isn't believed, and can undo what it signed before.
@Suite struct ClockTests {
  private func clockFault(_ mesh: TestMesh, _ node: Int) -> String? {
    mesh.nodes[node].replica.clockFault
  }

  @Test(
    "a jump beyond the bound stops signing until the clock is right",
    arguments: [(Choices.clockBound - 1, true), (Choices.clockBound, true), (Choices.clockBound + 1, false)])
  func aJumpBeyondTheBoundStopsSigningUntilTheClockIsRight(jump: Int64, signs: Bool) throws {
    let mesh = try TestMesh(1)
    try mesh.wait(1_000)
    try mesh.wait(1_000, jump: jump)
    try mesh.write(0, "a", "written")
    #expect((clockFault(mesh, 0) == nil) == signs)
    #expect((mesh.nodes[0].store.pendingCount() == 0) == signs)
    try mesh.wait(1_000, jump: -jump)
    #expect(mesh.nodes[0].store.pendingCount() == 0)
  }

  @Test("a jump that nobody contradicts is believed after a while")
  func aJumpThatNobodyContradictsIsBelievedAfterAWhile() throws {
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

  @Test("a clock that peers contradicted is not believed for their going away")
  func aClockThatPeersContradictedIsNotBelievedForTheirGoingAway() throws {
    let mesh = try TestMesh(2)
    mesh.clockError[1] = 20 * 60_000
    let (link, _) = try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.wait(1)
    #expect(clockFault(mesh, 1) != nil && clockFault(mesh, 0) == nil)
    try mesh.write(1, "a", "written")
    mesh.disconnect(link)
    try mesh.wait(Choices.clockBound + 1)
    #expect(clockFault(mesh, 1) != nil && mesh.nodes[1].store.pendingCount() == 1)
    mesh.clockError[1] = Choices.clockBound
    try mesh.wait(1)
    #expect(clockFault(mesh, 1) == nil && mesh.nodes[1].store.pendingCount() == 0)
  }

  @Test("what was signed ahead of time is taken back and written again with the time as it is")
  func whatWasSignedAheadOfTimeIsTakenBackAndWrittenAgainWithTheTimeAsItIs() throws {
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
    #expect(try mesh.nodes[0].replica.zoneViews.view(zone)?.waiting[.futureTime] == 1)
    #expect(try mesh.nodes[0].replica.restamping.signedAhead(zone, now: mesh.now).count == 1)
    #expect(throws: ReplicaError.self) { try mesh.nodes[0].replica.restamping.restamp(now: mesh.now) }
    #expect(try mesh.nodes[1].replica.restamping.restamp(now: mesh.now) == [zone: 1])
    try mesh.pump()
    #expect(mesh.title(0, "early") == .text("an hour ahead") && mesh.title(0, "before") == .text("stays"))
    #expect(mesh.nodes[0].store.digest(zone) == mesh.nodes[1].store.digest(zone))
    #expect(try mesh.nodes[1].replica.restamping.signedAhead(zone, now: mesh.now).isEmpty)
    #expect(throws: ReplicaError.self) { try mesh.nodes[1].replica.restamping.restamp(now: mesh.now) }
  }
}
