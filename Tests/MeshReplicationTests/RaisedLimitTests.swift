import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// A change to read-only that stops counting, because the owner had already revoked the device that made it.
@Suite struct RaisedLimitTests {
  /// Creates two devices of the owner (0 and 1) and two participants (2 and 3). Node 2 writes a last change that node 3
  /// has, and also node 0 if it is connected. Node 1 makes node 2 read-only without knowing the change. One of the
  /// participants hears of that and reverts the change, and node 0 revokes node 1.
  private func mesh(heardBy node: Int, isOwnerThere: Bool) throws -> (TestMesh, ZoneID) {
    let mesh = try TestMesh([2, 1, 1])
    let zone = try mesh.share()
    for joiner in [2, 3] {
      #expect(try mesh.join(joiner, mesh.invite(zone), at: 0) == .done)
      try mesh.connect(joiner, 0)
    }
    try mesh.connect(2, 3)
    try mesh.pump()
    try mesh.write(2, "a", "one", in: zone)
    try mesh.meet(1, 0)
    if !isOwnerThere { for joiner in [2, 3] { mesh.part(joiner, 0) } }
    try mesh.write(2, "a", "two", in: zone)
    #expect(mesh.title(0, "a") == .text(isOwnerThere ? "two" : "one") && mesh.title(3, "a") == .text("two"))
    for joiner in [2, 3] { mesh.part(joiner, 0) }
    mesh.part(2, 3)
    try mesh.nodes[1].replica.shares.setPermission(.readOnly, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    try mesh.meet(1, node)
    #expect(mesh.title(node, "a") == .text("one"))
    try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now)
    return (mesh, zone)
  }

  @Test("what was taken back for it comes again", arguments: [2, 3], [false, true])
  func whatWasTakenBackForItComesAgain(node: Int, restarts: Bool) throws {
    let (mesh, zone) = try mesh(heardBy: node, isOwnerThere: true)
    if restarts { try mesh.restart(node) }
    for joiner in [2, 3] { try mesh.connect(joiner, 0) }
    try mesh.pump()
    for node in [0, 2, 3] { #expect(mesh.title(node, "a") == .text("two")) }
    try mesh.expectEqual([0, 2, 3], zone)
  }

  @Test("whose writes were taken back gives no number twice", arguments: [false, true])
  func whoseWritesWereTakenBackGivesNoNumberTwice(restarts: Bool) throws {
    let (mesh, zone) = try mesh(heardBy: 2, isOwnerThere: false)
    try mesh.meet(2, 0)
    #expect(mesh.title(2, "a") == .text("two"))
    if restarts { try mesh.restart(2) }
    try mesh.wait(1_000)
    try mesh.write(2, "a", "three", in: zone)
    for joiner in [2, 3] { try mesh.connect(joiner, 0) }
    try mesh.pump()
    for node in [0, 2, 3] {
      #expect(mesh.title(node, "a") == .text("three"))
      #expect(mesh.nodes[node].replica.refusals["fork"] == nil)
    }
    try mesh.expectEqual([0, 2, 3], zone)
  }

  @Test("what all who had it took back comes from who wrote it", arguments: [false, true], [false, true])
  func whatAllWhoHadItTookBackComesFromWhoWroteIt(isRemoved: Bool, restarts: Bool) throws {
    let mesh = try TestMesh([2, 1, 1])
    let zone = try mesh.share()
    for joiner in [2, 3] {
      #expect(try mesh.join(joiner, mesh.invite(zone), at: 0) == .done)
      try mesh.connect(joiner, 0)
    }
    try mesh.pump()
    try mesh.write(2, "a", "one", in: zone)
    try mesh.meet(1, 0)
    for joiner in [2, 3] { mesh.part(joiner, 0) }
    try mesh.write(2, "a", "two", in: zone)
    try mesh.meet(2, 3)
    try mesh.write(3, "b", "on top", in: zone)
    let other = mesh.accounts[1].state.id
    if isRemoved {
      try mesh.nodes[1].replica.shares.remove(other, from: zone, now: mesh.now)
    } else {
      try mesh.nodes[1].replica.shares.setPermission(.readOnly, of: other, in: zone, now: mesh.now)
    }
    for joiner in [2, 3] { try mesh.meet(1, joiner) }
    #expect(mesh.title(2, "a") == (isRemoved ? nil : .text("one")) && mesh.title(3, "a") == .text("one"))
    if restarts { try mesh.restart(2) }
    try mesh.nodes[0].replica.administration.revoke(mesh.nodes[1].device, now: mesh.now)
    for joiner in [2, 3] { try mesh.connect(joiner, 0) }
    try mesh.pump()
    for node in [0, 2, 3] {
      #expect(mesh.title(node, "a") == .text("two"))
      #expect(mesh.title(node, "b") == .text("on top"))
    }
    try mesh.expectEqual([0, 2, 3], zone)
    try mesh.write(2, "a", "three", in: zone)
    try mesh.pump()
    for node in [0, 2, 3] { #expect(mesh.title(node, "a") == .text("three")) }
  }

  /// The write of a program isn't signed before its device hears that it was made read-only and read-write again.
  @Test(
    "what is pending when a lowering and a raise come at once goes with what is taken back, or is sent",
    arguments: [false, true], [false, true])
  func whatIsPendingWhenALoweringAndARaiseComeAtOnceGoesWithWhatIsTakenBackOrIsSent(
    hasUnseen: Bool, restarts: Bool
  ) throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    #expect(try mesh.join(1, mesh.invite(zone), at: 0) == .done)
    try mesh.connect(1, 0)
    try mesh.write(1, "a", "one", in: zone)
    mesh.part(1, 0)
    // The change set was signed and met by no device. The change to read-only reverts it, and the pending write is
    // based on it.
    if hasUnseen { try mesh.write(1, "a", "two", in: zone) }
    mesh.nodes[1].store.write(
      RecordName(table: "list", key: .text("b")), ["title": .text("pending")], zone: zone)
    for permission in [Permission.readOnly, .readWrite] {
      try mesh.nodes[0].replica.shares.setPermission(permission, of: mesh.accounts[1].state.id, in: zone, now: mesh.now)
    }
    // Then it is signed before another device is met.
    if restarts { try mesh.restart(1) }
    try mesh.connect(1, 0)
    try mesh.pump()
    let isTakenBack = hasUnseen || restarts
    #expect(mesh.nodes[1].store.pendingCount() == 0)
    #expect(mesh.title(0, "a") == .text("one") && mesh.title(1, "a") == .text("one"))
    #expect(mesh.title(0, "b") == (isTakenBack ? nil : .text("pending")))
    let receipts = mesh.nodes[1].store.receipts(zone).map(\.record.key)
    #expect(receipts.contains(.text(Array("b".utf8))) == isTakenBack)
    try mesh.write(1, "c", "after", in: zone)
    #expect(mesh.title(0, "c") == .text("after"))
    try mesh.write(0, "d", "from the owner", in: zone)
    #expect(mesh.title(1, "d") == .text("from the owner"))
    try mesh.expectEqual([0, 1], zone)
  }
}
