import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Which devices are admitted.
@Suite struct AdmissionTests {
  @Test("two devices of one account exchange what they wrote") func twoDevicesOfOneAccountExchangeWhatTheyWrote() throws
  {
    let mesh = try TestMesh(2)
    try mesh.write(0, "a", "first")
    try mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.title(1, "a") == .text("first"))
    try mesh.write(1, "a", "second")
    #expect(mesh.title(0, "a") == .text("second"))
    #expect(mesh.nodes[0].store.digest(try mesh.zone) == mesh.nodes[1].store.digest(try mesh.zone))
  }

  @Test("whoever ends a session for another one with the same device knows who was reached")
  func whoeverEndsASessionForAnotherOneWithTheSameDeviceKnowsWhoWasReached() throws {
    let mesh = try TestMesh(2)
    let (lower, higher) = mesh.nodes[0].device < mesh.nodes[1].device ? (0, 1) : (1, 0)
    let keys = mesh.account.devices[lower]
    let certificate = mesh.account.state.certificates[mesh.nodes[lower].device]
    let (first, firstInfo) = try mesh.open(higher, role: .listener, peer: keys.sessionKey)
    try mesh.give(.hello(mesh.hello(keys, certificate, firstInfo, to: higher)), to: higher, first)
    let (second, secondInfo) = try mesh.open(higher, role: .dialler, peer: keys.sessionKey)
    #expect(mesh.nodes[higher].replica.peerViews.device(at: second) == nil)
    try mesh.give(.hello(mesh.hello(keys, certificate, secondInfo, to: higher)), to: higher, second)
    #expect(mesh.goodbye(higher, second) == .replaced && mesh.isOpen(higher, first))
    let replica = mesh.nodes[higher].replica
    #expect(replica.peerViews.device(at: first) == mesh.nodes[lower].device)
    #expect(replica.peerViews.device(at: second) == mesh.nodes[lower].device)
    replica.linkClosed(second, now: mesh.now)
    #expect(replica.peerViews.device(at: second) == nil)
  }

  @Test("a hello signed for another session is refused") func aHelloSignedForAnotherSessionIsRefused() throws {
    let mesh = try TestMesh(2)
    let keys = mesh.account.devices[1]
    let certificate = mesh.account.state.certificates[try mesh.account.device(1)]
    let (_, earlier) = try mesh.open(0, peer: keys.sessionKey)
    let (link, _) = try mesh.open(0, peer: keys.sessionKey)
    try mesh.give(.hello(mesh.hello(keys, certificate, earlier, to: 0)), to: 0, link)
    #expect(mesh.goodbye(0, link) == .protocolViolation)
    #expect(mesh.nodes[0].replica.peerViews.all.isEmpty)
  }

  @Test("a certificate shown by who has other session keys is refused")
  func aCertificateShownByWhoHasOtherSessionKeysIsRefused() throws {
    let mesh = try TestMesh(3)
    let certificate = mesh.account.state.certificates[try mesh.account.device(1)]
    let (link, info) = try mesh.open(0, peer: mesh.account.devices[2].sessionKey)
    try mesh.give(.hello(mesh.hello(mesh.account.devices[1], certificate, info, to: 0)), to: 0, link)
    #expect(mesh.goodbye(0, link) == .notAdmitted)
  }

  @Test("a device of another account is refused, and is told nothing of this one")
  func aDeviceOfAnotherAccountIsRefusedAndIsToldNothingOfThisOne() throws {
    let mesh = try TestMesh(2)
    let other = try TestAccount(devices: 1, seed: 77)
    let keys = other.devices[0]
    let (link, info) = try mesh.open(0, peer: keys.sessionKey)
    try mesh.give(
      .hello(mesh.hello(keys, other.state.certificates[try other.device(0)], info, to: 0)), to: 0, link)
    #expect(mesh.goodbye(0, link) == .notAdmitted)
    #expect(mesh.nodes[0].sent[link]?.count == 1, "nothing but the goodbye")
  }

  @Test("a listener says nothing before it has accepted the dialler")
  func aListenerSaysNothingBeforeItHasAcceptedTheDialler() throws {
    let mesh = try TestMesh(2)
    let (link, _) = try mesh.open(0, peer: mesh.account.devices[1].sessionKey)
    try mesh.wait(1_000)
    #expect(mesh.nodes[0].sent[link] == nil)
  }

  @Test("a stranger with neither certificate nor link is refused")
  func aStrangerWithNeitherCertificateNorLinkIsRefused() throws {
    let mesh = try TestMesh(1)
    let stranger = try TestAccount(devices: 1, seed: 78).devices[0]
    let (link, info) = try mesh.open(0, peer: stranger.sessionKey)
    var hello = mesh.hello(stranger, nil, info, to: 0)
    hello.signature = []
    try mesh.give(.hello(hello), to: 0, link)
    #expect(mesh.goodbye(0, link) == .notAdmitted)
    #expect(mesh.nodes[0].sent[link]?.count == 1)
  }

  @Test("a silent peer is given up") func aSilentPeerIsGivenUp() throws {
    let mesh = try TestMesh(2)
    let (link, _) = try mesh.open(0, peer: mesh.account.devices[1].sessionKey)
    try mesh.wait(SessionStateMachine.helloLimit + 1)
    #expect(mesh.goodbye(0, link) == .stalled)
  }

  @Test("a revoked device is told, and refused") func aRevokedDeviceIsToldAndRefused() throws {
    let mesh = try TestMesh(2)
    try mesh.connect(1, 0)
    try mesh.pump()
    try mesh.nodes[0].replica.administration.revoke(try mesh.account.device(1), now: mesh.now)
    try mesh.pump()
    #expect(mesh.nodes[1].replica.isExcluded, "it was told before its session closed")
    #expect(mesh.nodes[0].replica.peerViews.all.isEmpty)
    // Its own software would not dial again, but other software might.
    let link = try mesh.admit(1, to: 0)
    #expect(mesh.goodbye(0, link) == .revoked)
    #expect(mesh.nodes[0].replica.peerViews.all.isEmpty)
  }

  @Test(
    "a message before the hello ends the session",
    arguments: [
      Message.zones([]), .ping(1), .credit(1),
    ])
  func aMessageBeforeTheHelloEndsTheSession(message: Message) throws {
    let mesh = try TestMesh(2)
    let (link, _) = try mesh.open(0, peer: mesh.account.devices[1].sessionKey)
    try mesh.give(message, to: 0, link)
    #expect(mesh.goodbye(0, link) == .protocolViolation)
  }

  @Test("a second hello ends the session") func aSecondHelloEndsTheSession() throws {
    let mesh = try TestMesh(2)
    let keys = mesh.account.devices[1]
    let (link, info) = try mesh.open(0, peer: keys.sessionKey)
    let hello = mesh.hello(keys, mesh.account.state.certificates[try mesh.account.device(1)], info, to: 0)
    try mesh.give(.hello(hello), to: 0, link)
    #expect(mesh.isOpen(0, link))
    try mesh.give(.hello(hello), to: 0, link)
    #expect(mesh.goodbye(0, link) == .protocolViolation)
  }

  @Test("garbage ends its session and no other") func garbageEndsItsSessionAndNoOther() throws {
    let mesh = try TestMesh(3)
    let (_, good) = try mesh.connect(1, 0)
    try mesh.pump()
    var generator = SplitMix64(seed: 4)
    for length in [0, 1, 2, 40, 300] {
      let link = try mesh.admit(2, to: 0)
      // The tag is a known one, so that the message isn't skipped as one of a later version.
      let bytes = length == 0 ? [] : [UInt8(5)] + (0..<length).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      try mesh.give(bytes, to: 0, link)
      #expect(mesh.goodbye(0, link) == .protocolViolation)
    }
    #expect(mesh.isOpen(0, good))
    try mesh.write(0, "a", "still here")
    #expect(mesh.title(1, "a") == .text("still here"))
  }

  @Test("a message of a later version is skipped") func aMessageOfALaterVersionIsSkipped() throws {
    let mesh = try TestMesh(2)
    let link = try mesh.admit(1, to: 0)
    try mesh.give([250, 1, 2, 3], to: 0, link)
    #expect(mesh.isOpen(0, link))
  }

  @Test("of two sessions dialled both ways one stays, the same at both ends", arguments: [false, true])
  func ofTwoSessionsDialledBothWaysOneStaysTheSameAtBothEnds(crossed: Bool) throws {
    let mesh = try TestMesh(2)
    let first = try crossed ? mesh.connect(1, 0) : mesh.connect(0, 1)
    let second = try crossed ? mesh.connect(0, 1) : mesh.connect(1, 0)
    try mesh.pump()
    #expect(mesh.nodes[0].replica.peerViews.all.count == 1)
    #expect(mesh.nodes[1].replica.peerViews.all.count == 1)
    let ends = crossed ? [(first.1, first.0), (second.0, second.1)] : [(first.0, first.1), (second.1, second.0)]
    #expect(ends.contains { mesh.isOpen(0, $0.0) && mesh.isOpen(1, $0.1) })
    try mesh.write(0, "a", "through")
    #expect(mesh.title(1, "a") == .text("through"))
  }

  @Test("of two sessions dialled one way the newer stays") func ofTwoSessionsDialledOneWayTheNewerStays() throws {
    let mesh = try TestMesh(2)
    let first = try mesh.connect(1, 0)
    try mesh.pump()
    let second = try mesh.connect(1, 0)
    try mesh.pump()
    #expect(!mesh.isOpen(0, first.1) && !mesh.isOpen(1, first.0))
    #expect(mesh.isOpen(0, second.1) && mesh.isOpen(1, second.0))
  }

  @Test("a device that meets itself closes the session") func aDeviceThatMeetsItselfClosesTheSession() throws {
    let mesh = try TestMesh(1)
    let link = try mesh.admit(0, to: 0)
    #expect(mesh.goodbye(0, link) == .notAdmitted)
  }
}
