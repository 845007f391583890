import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// The order in which another device of the owner learns that a share was stopped.
@Suite struct StoppedShareOrderTests {
  @Test("another device of the owner merges what the stopping device had before a share's records become private")
  func whatWasMissedIsMergedFirst() throws {
    let mesh = try TestMesh([2])
    let zone = try mesh.share()
    try mesh.meet(0, 1)
    mesh.part(0, 1)
    try mesh.write(0, "a", "last", in: zone)
    try mesh.nodes[0].replica.shares.stop(zone, now: mesh.now)
    try mesh.pump()
    func isPrivate(_ node: Int) -> Bool {
      mesh.nodes[node].store.standings.contains { $0.zone == zone && $0.isStopped }
    }
    #expect(isPrivate(0) && !isPrivate(1))
    try mesh.connect(0, 1)
    var wasEarly = false
    try mesh.pump { wasEarly = wasEarly || isPrivate(1) && mesh.title(1, "a") == nil }
    #expect(!wasEarly)
    try mesh.wait(1_000)
    #expect(isPrivate(1) && mesh.title(1, "a") == .text("last"))
  }

  @Test("if no device of the account is connected, a stopped share's records become private at once")
  func nobodyIsWaitedForAlone() throws {
    let mesh = try TestMesh([2])
    let zone = try mesh.share()
    try mesh.meet(0, 1)
    try mesh.nodes[0].replica.shares.stop(zone, now: mesh.now)
    mesh.part(0, 1)
    #expect(mesh.nodes[0].store.standings.contains { $0.zone == zone && $0.isStopped })
  }
}
