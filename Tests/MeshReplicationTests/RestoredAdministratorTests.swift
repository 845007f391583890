import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A database from before a revocation, restored on the machine that revoked, must not lower the cutoff.
@Suite struct RestoredAdministratorTests {
  /// Creates a mesh whose node 0 has revoked node 1, and then got back its file from before node 1's last writes.
  private func restored(_ count: Int, isShown last: Int) throws -> TestMesh {
    let mesh = try TestMesh(count)
    let others = 1..<count
    for other in others { try mesh.meet(other, 0) }
    for key in ["a", "b"] { try mesh.write(1, key, "one") }
    for other in others { try mesh.meet(other, 0) }
    let older = mesh.nodes[0].store.copy()
    try mesh.write(1, "a", "two")
    try mesh.write(1, "c", "new")
    for other in others { try mesh.meet(other, 0) }
    try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now)
    for other in 2..<max(2, last + 1) { try mesh.meet(other, 0) }
    try mesh.restart(0, store: older)
    try mesh.wait(1_000)
    return mesh
  }

  private func expectAll(_ mesh: TestMesh, _ nodes: [Int], _ location: SourceLocation = #_sourceLocation) throws {
    for node in nodes {
      let titles = ["a", "b", "c"].map { mesh.title(node, $0) }
      #expect(titles == [.text("two"), .text("one"), .text("new")], "node \(node)", sourceLocation: location)
      #expect(
        try mesh.nodes[node].replica.zoneViews.view(mesh.zone)?.cuts == [mesh.nodes[1].device],
        sourceLocation: location)
    }
  }

  @Test("an older file under the same home does not lower the cutoff of a revoked device")
  func anOlderFileUnderTheSameHomeDoesNotLowerTheCutoffOfARevokedDevice() throws {
    let mesh = try restored(3, isShown: 2)
    #expect(mesh.title(0, "c") == nil && mesh.nodes[0].replica.notices.contains { $0.contains("older than its home") })
    try mesh.meet(2, 0)
    try mesh.wait(6_000)
    try expectAll(mesh, [0, 2])
    try mesh.restart(0)
    try mesh.wait(6_000)
    try expectAll(mesh, [0, 2])
  }

  @Test("a device that has not heard of the revocation is not enough")
  func aDeviceThatHasNotHeardOfTheRevocationIsNotEnough() throws {
    let mesh = try restored(4, isShown: 2)
    try mesh.meet(3, 0)
    try mesh.wait(6_000)
    #expect(try mesh.nodes[0].replica.zoneViews.view(mesh.zone)?.cuts == [])
    try mesh.meet(2, 0)
    try mesh.wait(6_000)
    try mesh.meet(3, 0)
    try expectAll(mesh, [0, 2, 3])
  }

  @Test("if no other device has the record, the revoked device ends where the file ends")
  func ifNoOtherDeviceHasTheRecordTheRevokedDeviceEndsWhereTheFileEnds() throws {
    for count in 2...3 {
      let mesh = try restored(count, isShown: 0)
      for other in 2..<max(2, count) { try mesh.meet(other, 0) }
      try mesh.wait(6_000)
      for other in 2..<max(2, count) { try mesh.meet(other, 0) }
      #expect(try mesh.nodes[0].replica.zoneViews.view(mesh.zone)?.cuts == [mesh.nodes[1].device])
      #expect(mesh.title(0, "a") == .text("one") && mesh.title(count == 2 ? 0 : 2, "c") == nil)
      #expect(mesh.nodes[0].replica.notices.contains { $0.contains("ends where this file ends") })
    }
  }
}
