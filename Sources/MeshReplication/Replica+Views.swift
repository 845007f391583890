public import MeshCore

/// What people and tests see of a replica.
extension Replica {
  public struct ZoneView: Sendable {
    public var id: ZoneID
    public var owner: AccountID?
    public var title: String
    public var author: Author?
    public var merged: VersionVector
    public var stored: VersionVector
    public var digest: ZoneDigest
    /// Stored and not merged, by reason, as of the last attempt.
    public var waiting: [WaitingReason: Int]
    public var epoch: EpochID?
    /// Why local writes stay pending that this account may make; nil where they don't.
    public var cannotWrite: String?
    /// Programs are refused then, as in a share that is read-only: nothing of theirs is pending.
    public var refusesWrites: Bool
    public var lacksKey: Bool
    public var cuts: [DeviceID]
  }

  public struct PeerView: Sendable {
    public var link: LinkID
    public var device: DeviceID
    public var account: AccountID
    public var name: String
    public var address: String
    public var role: SessionBinding.Role
    public var zones: [ZoneID]
    /// What the peer last said it has merged.
    public var merged: [ZoneID: VersionVector]
    /// What it has acknowledged with its signature.
    public var acknowledged: [ZoneID: VersionVector]
    /// What it lacks of the assets of that; nil where it has not said.
    public var backlogs: [ZoneID: AssetBacklog]
    public var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)]
  }

  public func zoneView(_ id: ZoneID) throws -> ZoneView? {
    guard let zone = zones[id] else { return nil }
    return ZoneView(
      id: id, owner: zone.state.owner, title: zone.state.title, author: try author(id),
      merged: try store.mergedVector(id),
      stored: try store.storedVector(id), digest: try store.digest(id), waiting: zone.waiting,
      epoch: zone.state.currentEpoch?.id, cannotWrite: cannotWrite(zone),
      refusesWrites: zone.isBarred && zone.state.owner != account.id, lacksKey: zone.lacksKey,
      cuts: zone.state.cuts.keys.sorted())
  }

  private func cannotWrite(_ zone: Zone) -> String? {
    if certificate == nil { return "this device was revoked, or is not certified" }
    if zone.state.cuts[device] != nil { return "this device was cut from the zone" }
    // Who is not meant to write has nothing that waits.
    guard zone.state.permission(account.id) == .readWrite else { return nil }
    if zone.isBarred {
      return "this device has used up the \(Limits.instances) writing lives that it gets there. \(wayToNewLives)"
    }
    if zone.lacksKey {
      return
        "the key of the zone's current epoch is not here yet; a member that has it gives it (mesh peers shows them)"
    }
    return nil
  }

  /// What one account makes a zone's members keep.
  public struct ZoneUse: Sendable, Equatable {
    public var authors = 0
    public var controlRecords = 0
    public var controlBytes = 0
    /// It is proven to write as more authors, or to fork more often, than it may, and ends at zero.
    public var isOverfull = false
  }

  /// By account: of all but this one, whose own devices it is to look after.
  public func uses(of id: ZoneID) throws -> [AccountID: ZoneUse] {
    guard let zone = zones[id] else { return [:] }
    var uses: [AccountID: ZoneUse] = [:]
    for author in try store.storedVector(id).authors {
      if let account = zone.state.account(of: author.device) { uses[account, default: ZoneUse()].authors += 1 }
    }
    for (device, use) in zone.log.uses {
      guard let account = zone.state.account(of: device) else { continue }
      uses[account, default: ZoneUse()].controlRecords += use.records
      uses[account, default: ZoneUse()].controlBytes += use.bytes
    }
    for account in zone.state.overfullAccounts { uses[account, default: ZoneUse()].isOverfull = true }
    uses[account.id] = nil
    return uses
  }

  /// What to do where a device's writing lives are used up, or nearly: sentences, without the last full stop.
  public var wayToNewLives: String {
    let name = printable(certificate?.request.name ?? "")
    let last =
      power == nil
      ? "then revoke “\(name)” there: mesh device revoke"
      : "“\(name)” signs for the account: it stays a device, and writes no more there"
    return
      "A copy of the database gets new ones, as a further device: sqlite3 DATABASE \"VACUUM INTO 'COPY'\", mesh device "
      + "invite on the machine that made the account, mesh init --home NEW --database COPY --link -; \(last)"
  }

  /// Why this account has no part in a share any more; nil where it has.
  public func reasonOutside(_ zone: ZoneID) -> String? { zones[zone]?.state.reasonOutside(account.id) }

  public func isMember(_ account: AccountID, of zone: ZoneID) -> Bool {
    zones[zone]?.state.permission(account) != nil
  }

  /// The account that a zone belongs to, once that is known.
  public func owner(of zone: ZoneID) -> AccountID? { zones[zone]?.state.owner }

  /// What the zone is called; empty where nobody said so.
  public func title(_ zone: ZoneID) -> String { zones[zone]?.state.title ?? "" }

  /// Of this account's device, or of another's that a zone here lists.
  public func certificate(of device: DeviceID) -> Certificate? {
    account.certificates[device] ?? accounts.states.values.lazy.compactMap { $0.certificates[device] }.first
  }

  /// By its account, of whichever.
  public func isRevoked(_ device: DeviceID) -> Bool {
    account.isRevoked(device) || accounts.states.values.contains { $0.isRevoked(device) }
  }

  /// Why this machine's clock is not believed, if so: nothing is signed meanwhile.
  public var clockFault: String? { clockWatch.fault?.text }

  /// Peers with an open session, by device.
  public var peerViews: [PeerView] {
    sessions.sorted { $0.key < $1.key }.compactMap { link, session in
      guard session.conversation.isOpen, let peer = session.peer else { return nil }
      return PeerView(
        link: link, device: peer.device, account: peer.account, name: peer.request.name, address: session.info.address,
        role: session.info.role, zones: session.conversation.commonZones, merged: session.merged,
        acknowledged: session.acknowledged, backlogs: session.backlogs, digests: session.digests)
    }
  }

  /// Whose device is at the other end of a link, once that is believed.
  public func account(at link: LinkID) -> AccountID? { sessions[link]?.peer?.account }

  /// Whether the peer of a link has proven who it is, or that it has an invite.
  public func hasMet(_ link: LinkID) -> Bool {
    guard let session = sessions[link] else { return false }
    return session.peer != nil || session.claimant != nil || session.joiningBy != nil
  }

  /// Who is at the other end of a link: a peer with an open session, or one whose session ends because it has another. Its
  /// address need not be dialled again.
  public func device(at link: LinkID) -> DeviceID? {
    guard let session = sessions[link], session.conversation.isOpen else { return replaced[link] }
    return session.peer?.device
  }

  /// True once the zone's log, its schema and the key to write are here: a joining device has what it came for.
  public var isReady: Bool {
    guard let zone = privateZone.flatMap({ zones[$0] }) else { return false }
    return hasForeignSchema && cannotWrite(zone) == nil
  }

  /// A zone has change sets to merge, or merged records to show.
  public var isMergeDue: Bool { zones.values.contains { $0.needsApply } }

  public var sessionCount: Int { sessions.count }

  /// Nothing waits to be performed.
  public var hasNoActions: Bool { actions.isEmpty }
}
