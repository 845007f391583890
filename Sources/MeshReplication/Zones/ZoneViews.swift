package import MeshCore

/// The state of a zone, as people and tests see it.
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

/// The storage that one account uses on a zone's members.
package struct ZoneUse: Sendable, Equatable {
  package var authors = 0
  package var controlRecords = 0
  package var controlBytes = 0
  /// True if the account is proven to write as more authors, or to fork more often, than it may. Its authors end at
  /// zero.
  package var isOverfull = false
}

/// The states of the zones, as people and tests see them.
package struct ZoneViews: Part {
  let context: Context
  let writers: Writers
  let standings: StandingBook
  let schema: SchemaExchange

  package func view(_ id: ZoneID) throws -> ZoneView? {
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
      return "this device has used up its \(Limits.instances) instances there. \(adviceForNewInstances)"
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

  /// The remedy if a device's instances are used up, or nearly. The text has sentences without the last full stop.
  package var adviceForNewInstances: String {
    let name = printable(certificate?.request.name ?? "")
    let last =
      book.power == nil
      ? "then revoke “\(name)” there: mesh device revoke"
      : "“\(name)” signs for the account: it stays a device, and can't write there any more"
    return
      "A copy of the database gets new ones, as a further device: sqlite3 DATABASE \"VACUUM INTO 'COPY'\", mesh device "
      + "invite on the machine that made the account, mesh init --home NEW --database COPY --link -; \(last)"
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

  /// True once the zone's log, its schema and the key to write are here. Then a joining device is complete.
  package var isReady: Bool {
    guard let zone = zones.privateZone(of: account.id).flatMap({ zones[$0] }) else { return false }
    return schema.hasForeignSchema && cannotWrite(zone) == nil
  }
}
