import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// What a participant wrote to a share that was over by then.
@Suite struct StoppedShareTests {
  @Test(arguments: [false, true]) func `what the owner has not seen is kept as receipts, and nothing else`(
    restarts: Bool
  )
    throws
  {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "sent", in: zone)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "unsent", in: zone)
    try mesh.write(1, "b", "new", in: zone)
    if restarts { try mesh.restart(1) }
    try mesh.nodes[0].replica.stopSharing(zone, now: mesh.now)
    try mesh.pump()
    try mesh.meet(1, 0)
    #expect(mesh.permission(1, zone, of: 1) == nil && mesh.title(1, "a") == nil)
    #expect(mesh.title(0, "a") == .text("sent"))
    let receipts = try mesh.nodes[1].store.receipts(zone)
    #expect(Set(receipts.map { $0.values?["title"] }) == [.text("unsent"), .text("new")])
    if restarts { try mesh.restart(1) }
    try mesh.pump()
    #expect(try mesh.nodes[1].store.receipts(zone).count == receipts.count)
  }
}
