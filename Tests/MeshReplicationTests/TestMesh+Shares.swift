import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// Helpers for shares among the accounts of a test mesh.
extension TestMesh {
  static let root = RecordName(table: "list", key: .text("root"))

  /// Shares a record of account 0 on its first node.
  func share() throws -> ZoneID {
    nodes[0].store.write(Self.root, ["title": .text("root")])
    nodes[0].replica.databaseChanged()
    try pump()
    let zone = try nodes[0].replica.shares.create(of: Self.root, title: "list", now: now)
    try pump()
    return zone
  }

  func invite(
    _ zone: ZoneID, _ permission: Permission = .readWrite, by node: Int = 0, uses: UInt64? = 1, expires: Int64 = 0,
    for account: AccountID? = nil
  ) throws -> ShareInviteContent {
    let invite = try nodes[node].replica.shares.invite(
      to: zone, permission, uses: uses, expires: expires, account: account.map { DisplayedID($0) },
      addresses: ["test"], now: now)
    try pump()
    return invite
  }

  /// The result of joining.
  enum Joined: Equatable {
    case done
    case offered(ShareJoining.Offer)
    case wait
    case refused(String)
  }

  /// Makes a node dial another with an invite to a share.
  ///
  /// - Parameter isLate: Whether all other messages arrive before the joiner knows that it was let in.
  @discardableResult
  func join(
    _ joiner: Int, _ invite: ShareInviteContent, at member: Int, claims: Bool = true, isLate: Bool = false
  ) throws -> Joined {
    let keys = nodes[joiner].keys
    let (session, info) = try open(member, peer: keys.sessionKey)
    let dialler = LinkInfo(
      role: .dialler, handshakeHash: info.handshakeHash, remoteStatic: nodes[member].keys.sessionKey, address: "test")
    var joining = ShareJoining(
      invite: invite, account: nodes[joiner].replica.account, device: nodes[joiner].device, info: dialler,
      claims: claims,
      secrets: keys, cryptography: cryptography)
    var outputs = joining.start()
    var result: Joined?
    var heard = 0
    while result == nil || !outputs.isEmpty {
      for output in outputs {
        switch output {
        case .send(let message): try give(message, to: member, session)
        case .offered(let offer): if !claims { result = .offered(offer) }
        case .done(let joined):
          if isLate { try pump() }
          try nodes[joiner].replica.admission.adopt(joined, now: now)
          result = .done
        case .wait: result = .wait
        case .refused(let reason): result = .refused(reason)
        }
      }
      outputs = []
      let messages = nodes[member].sent[session] ?? []
      guard heard < messages.count else { break }
      while heard < messages.count, outputs.isEmpty, result == nil {
        outputs = joining.receive(messages[heard])
        heard += 1
      }
    }
    nodes[member].replica.linkClosed(session, now: now)
    try pump()
    return try #require(result)
  }

  func write(_ node: Int, _ key: String, _ title: String, in zone: ZoneID) throws {
    nodes[node].store.write(RecordName(table: "list", key: .text(key)), ["title": .text(title)], zone: zone)
    nodes[node].replica.databaseChanged()
    try pump()
  }

  func permission(_ node: Int, _ zone: ZoneID, of account: Int) -> Permission? {
    nodes[node].replica.shareState(zone)?.permission(accounts[account].state.id)
  }

  /// Expects that nodes have equal states of a zone.
  func expectEqual(_ members: [Int], _ zone: ZoneID) throws {
    let digests = members.map { nodes[$0].store.digest(zone) }
    let states = members.map { nodes[$0].replica.shareState(zone) }
    #expect(Set(digests).count == 1, "digests of \(members)")
    #expect(states.allSatisfy { $0 == states[0] }, "logs of \(members)")
  }
}
