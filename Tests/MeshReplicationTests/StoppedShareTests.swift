import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// Writes of a participant to a share that had already ended.
@Suite struct StoppedShareTests {
  @Test(
    "what nobody has who goes on with the share is kept as receipts, and nothing else", arguments: [false, true],
    [false, true])
  func whatNobodyHasWhoGoesOnWithTheShareIsKeptAsReceiptsAndNothingElse(
    restarts: Bool, isLeft: Bool
  ) throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "sent", in: zone)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "unsent", in: zone)
    try mesh.write(1, "b", "new", in: zone)
    if restarts { try mesh.restart(1) }
    if isLeft {
      try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    } else {
      try mesh.nodes[0].replica.shares.stop(zone, now: mesh.now)
    }
    try mesh.pump()
    try mesh.meet(1, 0)
    #expect(mesh.permission(1, zone, of: 1) == nil && mesh.title(1, "a") == nil)
    #expect(mesh.title(0, "a") == .text("sent"))
    let receipts = mesh.nodes[1].store.receipts(zone)
    #expect(Set(receipts.map { $0.values?["title"] }) == [.text("unsent"), .text("new")])
    if restarts { try mesh.restart(1) }
    try mesh.pump()
    #expect(mesh.nodes[1].store.receipts(zone).count == receipts.count)
  }

  @Test("a database from before a share was joined is told from one whose share was left")
  func aDatabaseFromBeforeAShareWasJoinedIsToldFromOneWhoseShareWasLeft() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    let before = mesh.nodes[1].store.copy()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.restart(1, store: before)
    #expect(mesh.nodes[1].replica.notices.filter { $0.contains("join again") && $0.contains("\(zone)") }.count == 1)
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
    try mesh.pump()
    try mesh.restart(1)
    #expect(!mesh.nodes[1].replica.notices.contains { $0.contains("join again") })
  }

  @Test("a copy that is kept has what was not sent, and so have receipts", arguments: [false, true])
  func aKeptCopyHasWhatWasNotSent(isConfigured: Bool) throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(1, "b", "new", in: zone)
    mesh.nodes[1].replica.keepsCopies = isConfigured
    try mesh.nodes[1].replica.shares.leave(zone, keepingCopy: !isConfigured, now: mesh.now)
    if !isConfigured { try mesh.restart(1) }
    try mesh.pump()
    #expect(mesh.title(1, "b") == .text("new"))
    // A person who joins again needs the receipts, because the copy has to go then.
    #expect(mesh.nodes[1].store.receipts(zone).map { $0.values?["title"] } == [.text("new")])
  }

  @Test("a copy that is kept sends what was not sent once its account joins again")
  func aKeptCopySendsAgain() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    try mesh.write(1, "b", "new", in: zone)
    try mesh.nodes[1].replica.shares.leave(zone, keepingCopy: true, now: mesh.now)
    try mesh.pump()
    try mesh.meet(1, 0)
    #expect(mesh.title(0, "b") == nil)
    try mesh.join(1, mesh.invite(zone), at: 0)
    try mesh.meet(1, 0)
    #expect(mesh.title(0, "b") == .text("new"))
  }

  @Test("a second leave that keeps a copy makes receipts again")
  func aSecondKeptCopy() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    for title in ["one", "two"] {
      try mesh.join(1, mesh.invite(zone), at: 0)
      try mesh.meet(1, 0)
      try mesh.write(1, title, title, in: zone)
      try mesh.nodes[1].replica.shares.leave(zone, keepingCopy: true, now: mesh.now)
      try mesh.pump()
      #expect(mesh.nodes[1].store.receipts(zone).contains { $0.values?["title"] == .text(title) })
      try mesh.meet(1, 0)
    }
  }

  @Test("a device that leaves and joins again more often than it has instances stops to write, and loses nothing")
  func tooManyDepartures() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    for round in 1...Limits.instances + 2 {
      try mesh.join(1, mesh.invite(zone), at: 0)
      try mesh.meet(1, 0)
      try mesh.write(1, "k\(round)", "x", in: zone)
      try mesh.meet(1, 0)
      let came = (1...round).filter { mesh.title(0, "k\($0)") == .text("x") }
      #expect(came == Array(1...min(round, Limits.instances)))
      try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
      try mesh.pump()
      try mesh.meet(1, 0)
    }
  }

  @Test("an account that joins again acknowledges what it has got, also if it had all of it before")
  func acknowledgedAgain() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    for _ in 1...2 {
      try mesh.join(1, mesh.invite(zone), at: 0)
      if mesh.nodes[0].replica.peerViews.all.isEmpty { try mesh.connect(1, 0) }
      try mesh.pump()
      let peer = try #require(mesh.nodes[0].replica.peerViews.all.first)
      #expect(peer.acknowledged[zone] == mesh.nodes[0].store.mergedVector(zone))
      try mesh.nodes[1].replica.shares.leave(zone, now: mesh.now)
      try mesh.pump()
    }
  }
}
