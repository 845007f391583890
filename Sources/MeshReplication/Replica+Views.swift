package import MeshCore

/// Views of a replica for people and tests.
extension Replica {
  package var device: DeviceID { context.device }
  package var account: AccountState { book.account }
  package var certificate: Certificate? { account.certificate(device) }
  package var isRevoked: Bool { account.isRevoked(device) }
  package var zoneIDs: [ZoneID] { zones.ids }
  /// The zone of all records that are not in a share.
  package var privateZone: ZoneID? { zones.privateZone(of: account.id) }
  /// Sentences about this device's instances that a person should know, since the start.
  package var notices: [String] { incidents.notices }

  /// Notes that the database has nothing of this device, although it has signed change sets.
  package func noteOtherFile() {
    incidents.notify(
      "the database has nothing of what this device synchronized: another file took its place, or it was created again. Put "
        + "the right file there, or track this file's tables: mesh schema, and mesh track")
  }
  /// The number of refused change sets since the start, by reason.
  package var refusals: [String: Int] { incidents.refusals }
  /// The number of rows that were compared with the merged values since the start, and of those that had changed
  /// unnoticed.
  package var compared: (rows: Int, differences: Int) { localWrites.compared }

  /// True to keep the rows of every share that ends for this account, as records of this account.
  package var keepsCopies: Bool {
    get { standings.keepsCopies }
    set { standings.keepsCopies = newValue }
  }

  /// Decides for each share that others end for this account whether its rows stay.
  package var keepsRows: (@Sendable (ZoneID) -> Bool)? {
    get { standings.keepsRows }
    set { standings.keepsRows = newValue }
  }

  package struct ZoneView: Sendable {
    package var id: ZoneID
    package var owner: AccountID?
    package var title: String
    package var author: Author?
    package var merged: VersionVector
    package var stored: VersionVector
    package var digest: ZoneDigest
    /// The number of change sets that are stored and not merged, by reason, as of the last attempt.
    package var waiting: [WaitingReason: Int]
    package var epoch: EpochID?
    /// The reason that permitted local writes stay pending, or nil if they don't.
    package var cannotWrite: String?
    /// True if programs can't write to the zone, as in a share that is read-only. Then no writes are pending.
    package var refusesWrites: Bool
    package var lacksKey: Bool
    package var cuts: [DeviceID]
  }

  package struct PeerView: Sendable {
    package var link: LinkID
    package var device: DeviceID
    package var account: AccountID
    package var name: String
    package var address: String
    package var role: SessionBinding.Role
    package var zones: [ZoneID]
    /// The number of new change sets that it has sent in this session.
    package var received: UInt64
    /// The vectors that the peer last said it has merged.
    package var merged: [ZoneID: VersionVector]
    /// The vectors that it has acknowledged with its signature.
    package var acknowledged: [ZoneID: VersionVector]
    /// The missing assets of the acknowledged change sets, by zone. A zone is absent until the peer has said so.
    package var backlogs: [ZoneID: AssetBacklog]
    package var digests: [ZoneID: (vector: VersionVector, digest: ZoneDigest, unsent: Unsent)]
  }

  package func zoneView(_ id: ZoneID) throws -> ZoneView? {
    guard let zone = zones[id] else { return nil }
    return ZoneView(
      id: id, owner: zone.state.owner, title: zone.state.title, author: try writers.author(id),
      merged: try store.log.mergedVector(id),
      stored: try store.log.storedVector(id), digest: try store.zones.digest(id), waiting: zone.intake.waiting,
      epoch: zone.state.currentEpoch?.id, cannotWrite: cannotWrite(zone),
      refusesWrites: zone.isBarred && zone.state.owner != account.id, lacksKey: zone.keys.writing == nil,
      cuts: zone.state.cuts.keys.sorted())
  }

  private func cannotWrite(_ zone: Zone) -> String? {
    if certificate == nil { return "this device was revoked, or is not certified" }
    if zone.state.cuts[device] != nil { return "this device was cut from the zone" }
    // An account without write permission has no waiting writes.
    guard zone.state.permission(account.id) == .readWrite else { return nil }
    if zone.isBarred {
      return "this device has used up its \(Limits.instances) instances there. \(wayToNewLives)"
    }
    if !standings.hasPrivateZone {
      return "this device doesn't know its account's private zone yet. Another of the account's devices tells it"
    }
    if zone.keys.writing == nil {
      return
        "the key of the zone's current epoch is not here yet; it comes from a member that has it (mesh peers)"
    }
    return nil
  }

  /// The storage that one account uses on a zone's members.
  package struct ZoneUse: Sendable, Equatable {
    package var authors = 0
    package var controlRecords = 0
    package var controlBytes = 0
    /// True if the account is proven to write as more authors, or to fork more often, than it may. Its authors end at
    /// zero.
    package var isOverfull = false
  }

  /// Returns the use by account, except for this account, which manages its own devices.
  package func uses(of id: ZoneID) throws -> [AccountID: ZoneUse] {
    guard let zone = zones[id] else { return [:] }
    var uses: [AccountID: ZoneUse] = [:]
    for author in try store.log.storedVector(id).authors {
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

  /// The remedy if a device's instances are used up, or nearly. The text has sentences without the last full stop.
  package var wayToNewLives: String {
    let name = printable(certificate?.request.name ?? "")
    let last =
      book.power == nil
      ? "then revoke “\(name)” there: mesh device revoke"
      : "“\(name)” signs for the account: it stays a device, and can't write there any more"
    return
      "A copy of the database gets new ones, as a further device: sqlite3 DATABASE \"VACUUM INTO 'COPY'\", mesh device "
      + "invite on the machine that made the account, mesh init --home NEW --database COPY --link -; \(last)"
  }

  /// Returns the reason that this account is no longer a participant of a share, or nil if it is one.
  package func reasonOutside(_ zone: ZoneID) -> String? { zones[zone]?.reasonOutside(account.id) }

  package func isMember(_ account: AccountID, of zone: ZoneID) -> Bool {
    zones[zone]?.state.permission(account) != nil
  }

  /// Returns the account that a zone belongs to, once it is known.
  package func owner(of zone: ZoneID) -> AccountID? { zones[zone]?.state.owner }

  /// Returns the title of a zone, or an empty string if it has none.
  package func title(_ zone: ZoneID) -> String { zones[zone]?.state.title ?? "" }

  /// Returns the certificate of a device of this account or of another account that a zone here lists.
  package func certificate(of device: DeviceID) -> Certificate? {
    account.certificates[device] ?? accounts.states.values.lazy.compactMap { $0.certificates[device] }.first
  }

  /// Returns whether the device is revoked by its account, which may be any known account.
  package func isRevoked(_ device: DeviceID) -> Bool {
    account.isRevoked(device) || accounts.states.values.contains { $0.isRevoked(device) }
  }

  /// The reason that this machine's clock is not believed, or nil if it is. Nothing is signed while there is one.
  package var clockFault: String? { clocks.fault?.text }

  /// The peers with an open session, by device.
  package var peerViews: [PeerView] {
    sessions.sorted.compactMap { link, session in
      guard session.conversation.isOpen, let peer = session.peer else { return nil }
      return PeerView(
        link: link, device: peer.device, account: peer.account, name: peer.request.name, address: session.info.address,
        role: session.info.role, zones: session.conversation.commonZones, received: session.progress.received,
        merged: session.progress.merged, acknowledged: session.progress.acknowledged,
        backlogs: session.progress.backlogs, digests: session.progress.digests)
    }
  }

  /// Returns the account of the device at the other end of a session, once it is identified.
  package func account(at link: LinkID) -> AccountID? { sessions[link]?.peer?.account }

  /// Returns whether the peer of a session has proven its identity or that it has an invite.
  package func hasMet(_ link: LinkID) -> Bool { sessions.hasMet(link) }

  /// Returns the device at the other end of a session, so that its address isn't dialled again. The session is open, or
  /// ends because the device has another one.
  package func device(at link: LinkID) -> DeviceID? { sessions.device(at: link) }

  /// True once the zone's log, its schema and the key to write are here. Then a joining device is complete.
  package var isReady: Bool {
    guard let zone = privateZone.flatMap({ zones[$0] }) else { return false }
    return schema.hasForeignSchema && cannotWrite(zone) == nil
  }

  /// True if a zone has change sets to merge or merged records to show.
  package var isMergeDue: Bool { due.hasMerges }

  package func shareState(_ zone: ZoneID) -> ZoneState? {
    zones[zone].flatMap { $0.state.root == nil ? nil : $0.state }
  }

  /// Returns the state of an account of a share, as far as it is known here.
  package func accountState(_ id: AccountID) -> AccountState? { accounts[id] }

  /// Returns the reader of a zone's change sets.
  package func reader(_ id: ZoneID) -> ChangeSetReader { changeSetReader(id) }
}
