import MeshCore
import MeshCrypto
import MeshTesting
import Testing

@testable import MeshReplication

/// The number of sessions, and the peers that find room. Node 0 is the owner's.
@Suite struct SessionBoundTests {
  private func isOpen(_ mesh: TestMesh, _ links: [LinkID]) -> [Bool] { links.map { mesh.isOpen(0, $0) } }

  @Test("an account has as many sessions as devices, and the owner's devices find room")
  func sessionsOfAccount() throws {
    let mesh = try TestMesh([2, Choices.sessionsOfAccount + 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    let links = try (0...Choices.sessionsOfAccount).map { try mesh.admit($0, of: mesh.accounts[1], to: 0) }
    #expect(!isOpen(mesh, links.dropLast()).contains(false))
    let last = try #require(links.last)
    #expect(!mesh.isOpen(0, last) && mesh.goodbye(0, last) == .stalled)
    #expect(mesh.isOpen(0, try mesh.admit(1, to: 0)))
  }

  @Test("if a node has too many sessions, the newest one of the account with the most ends")
  func sessionsOfAll() throws {
    let mesh = try TestMesh([2, 3, 2])
    let zone = try mesh.share()
    for node in [2, 5] { try mesh.join(node, mesh.invite(zone), at: 0) }
    mesh.nodes[0].replica.greeting.sessionBound = 4
    let most = try (0..<3).map { try mesh.admit($0, of: mesh.accounts[1], to: 0) }
    let other = try mesh.admit(0, of: mesh.accounts[2], to: 0)
    #expect(!isOpen(mesh, most + [other]).contains(false))
    let own = try mesh.admit(1, to: 0)
    #expect(isOpen(mesh, most + [other, own]) == [true, true, false, true, true])
    let another = try mesh.admit(1, of: mesh.accounts[2], to: 0)
    #expect(isOpen(mesh, most + [other, own, another]) == [true, true, false, true, true, false])
    #expect(mesh.goodbye(0, another) == .stalled)
  }

  @Test("an account that opens sessions again and again is told to come back")
  func sessionsOpened() throws {
    let mesh = try TestMesh([2, 1])
    let zone = try mesh.share()
    try mesh.join(2, mesh.invite(zone), at: 0)
    for _ in 0..<Choices.sessionsOpened { #expect(mesh.isOpen(0, try mesh.admit(0, of: mesh.accounts[1], to: 0))) }
    let refused = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    #expect(!mesh.isOpen(0, refused) && mesh.goodbye(0, refused) == .stalled)
    #expect(mesh.isOpen(0, try mesh.admit(1, to: 0)), "the owner's devices have no such bound")
    try mesh.wait(1_001)
    #expect(mesh.isOpen(0, try mesh.admit(0, of: mesh.accounts[1], to: 0)))
  }

  @Test("a node with a fault says so, and each side is told which one ended the session")
  func faults() throws {
    let mesh = try TestMesh(2)
    let (link, other) = try mesh.connect(0, 1)
    try mesh.pump()
    #expect(mesh.isOpen(0, link) && mesh.isOpen(1, other))
    let (here, there) = (mesh.nodes[0].replica, mesh.nodes[1].replica)
    here.stall(link)
    let actions = here.takeActions()
    for case .send(_, let bytes) in actions { try there.received(other, bytes, now: mesh.now(1)) }
    let ends = (actions + there.takeActions()).compactMap { if case .close(_, let end) = $0 { end } else { nil } }
    #expect(ends.map(\.code) == [.stalled, .stalled] && ends.map(\.isFromPeer) == [false, true])
    #expect(ends.map { $0.reason.hasPrefix("this node") } == [true, false])
    #expect(ends.last?.reason.hasPrefix("the other device ended the session: the node has a fault") == true)
    #expect(!mesh.isOpen(0, link) && !mesh.isOpen(1, other))
  }

  @Test("an introduction before a hello that is too long ends the session")
  func longIntroduction() throws {
    let mesh = try TestMesh(2)
    let (link, _) = try mesh.open(0, peer: mesh.nodes[1].keys.sessionKey)
    let state = mesh.accounts[0].state.encoded
    var size = 0
    while size <= Choices.introduction, mesh.goodbye(0, link) == nil {
      try mesh.give(.account(state), to: 0, link)
      size += state.count
    }
    #expect(mesh.goodbye(0, link) == .protocolViolation && size + 2 * state.count > Choices.introduction)
  }

  @Test("peers that don't identify themselves make room for one another")
  func unnamed() throws {
    let mesh = try TestMesh(2)
    let named = try mesh.admit(1, to: 0)
    let key = mesh.nodes[1].keys.sessionKey
    let links = try (0...Choices.unnamedSessions).map { _ in try mesh.open(0, peer: key).0 }
    try mesh.pump()
    #expect(mesh.nodes[0].replica.sessions.count == Choices.unnamedSessions + 1)
    #expect(mesh.goodbye(0, links[0]) == .stalled && mesh.goodbye(0, links[1]) == nil)
    #expect(mesh.isOpen(0, named))
  }

  @Test("devices that only look at an invite are told to come back")
  func claimants() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    let (open, other) = (try mesh.invite(zone, uses: nil), try mesh.invite(zone, uses: nil))
    var looks = 0
    while looks < 1_000, case .offered = try mesh.join(1, open, at: 0, claims: false) { looks += 1 }
    #expect(looks > 200 && looks < 1_000)
    guard case .wait = try mesh.join(1, open, at: 0, claims: false) else {
      Issue.record("it is not told to come back")
      return
    }
    guard case .offered = try mesh.join(1, other, at: 0, claims: false) else {
      Issue.record("the allowance is that of one invite")
      return
    }
    try mesh.wait(10_000)
    #expect(try mesh.join(1, open, at: 0) == .done)
  }

  @Test("admitted accounts use up nothing of their invite's allowance")
  func joiners() throws {
    let mesh = try TestMesh([1, 1, 1])
    let zone = try mesh.share()
    let open = try mesh.invite(zone, uses: nil)
    var looks = 0
    while looks < 1_000, case .offered = try mesh.join(1, open, at: 0, claims: false) { looks += 1 }
    try mesh.wait(1_000)
    let left = try #require(mesh.nodes[0].replica.admission.showing.entries.values.first)
    #expect(try mesh.join(1, open, at: 0) == .done)
    let after = try #require(mesh.nodes[0].replica.admission.showing.entries.values.first)
    let now = mesh.now.steady
    #expect(
      after.left(rate: Choices.controlSendingPerMillisecond, now: now)
        <= left.left(rate: Choices.controlSendingPerMillisecond, now: now))
  }

  @Test("states that come before the records that name them count in later messages")
  func offeredStates() throws {
    let mesh = try TestMesh([1, 1])
    let zone = try mesh.share()
    try mesh.join(1, mesh.invite(zone), at: 0)
    let link = try mesh.admit(0, of: mesh.accounts[1], to: 0)
    let replica = mesh.nodes[0].replica
    for seed in [1_000, 2_000] as [UInt64] {
      let state = try TestAccount(devices: 1, seed: seed).state
      try mesh.give(.account(state.encoded), to: 0, link)
      #expect(replica.sessions[link]?.offers.merged == nil)
      for _ in 0..<2 { try mesh.give(.controlRecords(zone, []), to: 0, link) }
      #expect(replica.sessions[link]?.offers.merged?.accounts[state.id] == state)
    }
    #expect(replica.sessions[link]?.offers.merged?.changes == replica.book.changes)
  }
}
