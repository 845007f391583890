package import MeshCore

/// Actions on shares for the user of a node.
package struct Shares: Part {
  let context: Context
  let logs: ControlLogs
  let keys: KeyRing
  let changes: ControlChanges
  let standings: StandingBook

  /// Creates a zone from a root record and the records that reach it. The records move at the next flush.
  @discardableResult
  package func create(of root: RecordName, title: String, now: Moment) throws -> ZoneID {
    guard certificate != nil else { throw ReplicaError.notReady("the account revoked this device, so it can't share") }
    if let obstacle = try store.zones.obstacle(toSharing: root) { throw ShareError.notShareable(obstacle) }
    let root = try store.zones.root(named: root)
    let nonce = randomness.bytes(32)
    guard let zone = ZoneID(cryptography.hash(account.id.bytes + nonce)) else { throw ReplicaError.badDeviceKey }
    // All records are stored or none. A machine that fails in between must not leave a share without its title or key.
    var records: [ControlRecord] = []
    do {
      for act in [
        .shareGenesis(account: account.id, nonce: nonce, root: root),
        ControlAct.title(title, time: HybridTime(milliseconds: now.wall)),
      ] {
        let record = try logs.record(act, zone)
        records.append(record)
        logs.know(record)
      }
      if let (epoch, key) = try keys.newEpoch(zone) {
        records.append(epoch)
        keys.know(epoch, key)
      }
      try store.control.insertControlRecords(records.map { ($0.id, $0.encoded) }, zone: zone)
    } catch {
      zones.remove(zone)
      throw error
    }
    for record in records { logs.passOn([record], zone) }
    try changes.changed(zone, now: now)
    return zone
  }

  package func rename(_ zone: ZoneID, _ title: String, now: Moment) throws {
    let state = try owned(zone)
    guard !state.isStopped else { throw ShareError.isStopped(zone) }
    guard state.title != title else { return }
    // The greatest time wins, even if this machine's clock is behind the clock of the device that gave the previous
    // title.
    let time = max(HybridTime(milliseconds: now.wall), state.titled.next)
    try changes.append(.title(title, time: time), zone, now: now)
  }

  /// Creates an invite to a share.
  ///
  /// - Parameters:
  ///   - uses: The number of accounts that this device admits with it, or nil if any member may admit any number.
  ///   - expires: The expiry in milliseconds since 1970, or 0 for never.
  package func invite(
    to zone: ZoneID, _ permission: Permission, uses: UInt64?, expires: Int64, account: DisplayedID<AccountKind>?,
    addresses: [String], now: Moment
  ) throws -> ShareInviteContent {
    let state = try owned(zone)
    guard !state.isStopped else { throw ShareError.isStopped(zone) }
    guard expires == 0 || expires > now.wall else {
      throw ReplicaError.notReady("an invite must expire later than now: give it a time that is longer than 0")
    }
    guard uses != 0 else { throw ReplicaError.notReady("an invite has at least one use") }
    let seed = randomness.bytes(32)
    let terms = InviteTerms(
      publicHalf: cryptography.publicKey(seed: seed), permission: permission, expires: expires,
      use: uses.map { .limited($0, by: device) } ?? .open, account: account)
    let record = try logs.record(.invite(terms), zone)
    try logs.publish(record)
    try changes.changed(zone, now: now)
    guard let owner = state.owner else { throw ShareError.notOwner }
    return ShareInviteContent(seed: seed, zone: zone, owner: owner, record: record.id, addresses: addresses)
  }

  /// Revokes an invite. It admits no further account, and the accounts that it admitted stay.
  package func revokeInvite(_ invite: ControlID, of zone: ZoneID, now: Moment) throws {
    let state = try owned(zone)
    guard let known = state.invites[invite] else { throw ShareError.unknownInvite(invite) }
    guard !known.isRevoked else { return }
    try changes.append(revocation(known, zone), zone, now: now)
  }

  /// Returns the record that revokes an invite. It also names removed accounts that the invite admitted, because their
  /// change sets depend on the admission. If there are more than a record can name, it names those that wrote most.
  private func revocation(_ invite: InviteState, _ zone: ZoneID) throws -> ControlAct {
    var written: [AccountID: UInt64] = [:]
    for (author, head) in try store.log.mergedTips(zone) {
      guard let account = zones[zone]?.state.account(of: author.device) else { continue }
      written[account, default: 0] += head.number
    }
    let standing = invite.accounts.sorted { (written[$1] ?? 0, $0) < (written[$0] ?? 0, $1) }
    return .revokeInvite(invite.id, standing: standing.prefix(Limits.standingAccounts).sorted())
  }

  /// Changes a participant's permission. After a change to read-only, change sets that are not merged here don't count.
  package func setPermission(_ permission: Permission, of account: AccountID, in zone: ZoneID, now: Moment) throws {
    let state = try owned(zone)
    guard !state.isStopped else { throw ShareError.isStopped(zone) }
    guard let participant = state.participants[account], let before = participant.permission else {
      throw ShareError.noParticipant(account)
    }
    guard before != permission else { return }
    let cuts = permission == .readOnly ? try ends(of: account, zone) : [:]
    try changes.append(.participant(account, permission, invite: participant.invite, cuts: cuts), zone, now: now)
  }

  /// Removes an account, and revokes the invite that admitted it.
  ///
  /// - Parameter undoing: True to revert everything that the account ever wrote, on every device, and to free the room
  ///   that it took. This is also possible for an account that is already removed.
  package func remove(_ account: AccountID, from zone: ZoneID, undoing: Bool = false, now: Moment) throws {
    let state = try owned(zone)
    guard let participant = state.participants[account], undoing || participant.status != .removed else {
      throw ShareError.noParticipant(account)
    }
    if let invite = participant.invite.flatMap({ state.invites[$0] }), !invite.isRevoked {
      try logs.append(revocation(invite, zone), zone)
    }
    let cuts = undoing ? [:] : try ends(of: account, zone)
    try changes.append(.participant(account, nil, invite: participant.invite, cuts: cuts), zone, now: now)
  }

  /// Ends this account's membership in a share.
  ///
  /// - Parameter keepingCopy: True to keep the rows, as records of this account.
  package func leave(_ zone: ZoneID, keepingCopy: Bool = false, now: Moment) throws {
    guard let state = zones[zone]?.state, state.root != nil else { throw ShareError.unknownShare(zone) }
    guard state.owner != account.id else { throw ShareError.ownerCannotLeave }
    guard state.permission(account.id) != nil else { return }
    if keepingCopy { try store.zones.keepCopy(of: zone) }
    try changes.append(.leave(cuts: try ends(of: account.id, zone)), zone, now: now)
  }

  /// Ends the share for all accounts except its owner, who keeps the records.
  package func stop(_ zone: ZoneID, now: Moment) throws {
    let state = try owned(zone)
    guard !state.isStopped else { return }
    standings.noteStop(zone)
    try changes.append(.stop, zone, now: now)
  }

  /// Ends a share whose root a program deleted. The owner stops it, and other accounts leave it.
  func rootDeleted(_ zone: ZoneID, now: Moment) throws {
    // The program's delete can't be undone here.
    guard zones[zone] != nil, logs.hasNumber(zone) else { return incidents.notify(logs.usedUpNumbers(zone)) }
    if zones[zone]?.state.owner == account.id { try stop(zone, now: now) } else { try leave(zone, now: now) }
  }

  private func owned(_ zone: ZoneID) throws -> ZoneState {
    // The user saw and decided on everything that is here.
    logs.recompute(zone)
    guard let state = zones[zone]?.state, state.root != nil else { throw ShareError.unknownShare(zone) }
    guard state.owner == account.id else { throw ShareError.notOwner }
    guard certificate != nil, state.cuts[device] == nil else {
      throw ReplicaError.notReady("the account revoked this device, so it can't change the share")
    }
    return state
  }

  /// Returns where an account's authors end, as merged here. If there are more than a record can name, the authors that
  /// wrote least end at zero. Otherwise an account with that many authors could not be removed.
  private func ends(of account: AccountID, _ zone: ZoneID) throws -> [Author: ControlAct.CutPoint] {
    let heads = try store.log.mergedTips(zone).filter { zones[zone]?.state.account(of: $0.key.device) == account }
    let named = heads.sorted { ($1.value.number, $0.key) < ($0.value.number, $1.key) }.prefix(Limits.cutAuthors)
    let points = named.map { ($0.key, ControlAct.CutPoint(number: $0.value.number, id: $0.value.id)) }
    return Dictionary(points, uniquingKeysWith: { first, _ in first })
  }
}

/// The reason that an action on a share is impossible.
package enum ShareError: Error, CustomStringConvertible, Sendable {
  case notShareable(ShareObstacle)
  case unknownShare(ZoneID)
  case notOwner
  case isStopped(ZoneID)
  case ownerCannotLeave
  case unknownInvite(ControlID)
  case noParticipant(AccountID)

  package var description: String {
    switch self {
    case .notShareable(let obstacle): obstacle.sentence
    case .unknownShare(let zone): "there is no share \(zone) here: mesh share list shows those there are"
    case .notOwner: "only the share's owner can do this"
    case .isStopped(let zone): "the share \(zone) was stopped: share its record again with mesh share create"
    case .ownerCannotLeave: "the owner of a share can't leave it: mesh share stop ends it for everybody"
    case .unknownInvite(let invite): "the share has no invite \(invite): mesh share invites shows those it has"
    case .noParticipant(let account): "\(account) is no participant of the share: mesh share show shows who is"
    }
  }
}

extension ShareObstacle {
  /// The rule that prevents sharing, and the remedy.
  var sentence: String {
    switch self {
    case .notSynchronized(let table): "the table \(table) is not synchronized: synchronize it: mesh track \(table)"
    case .isPrivate(let table): "the table \(table) is private: its records stay on the account's own devices"
    case .notRoot(let table, let keys):
      "the table \(table) has references (\(keys.joined(separator: ", "))), and such a table can't hold the root of a share: share a "
        + "record of a table that has none"
    case .noRecord(let name):
      "the table \(name.table) has no record with the key \(printable(name.key.literal, limit: 100))"
    case .alreadyShared(_, let zone): "the record is in the share \(zone) already"
    }
  }
}
