import MeshCore

/// Computes where authors end, and handles the change sets beyond that.
extension Replica {
  /// Returns the number of the last valid change set of an author, or nil if nothing ends the author. An author that
  /// this device has not begun to write will cite its current grant.
  func limit(_ author: Author, _ id: ZoneID, citing citation: ControlID?) -> UInt64? {
    guard let state = zones[id]?.state else { return 0 }
    let own = author.device == device ? state.citation(account.id) : nil
    return state.limit(author, citing: citation ?? own)
  }

  func limit(_ author: Author, _ id: ZoneID) throws -> UInt64? {
    limit(author, id, citing: try store.stored(id, author).citation)
  }

  /// Returns where the known authors end, for those that do.
  func cutLimits(_ id: ZoneID) throws -> [Author: UInt64] {
    guard let state = zones[id]?.state else { return [:] }
    let citations = try store.citations(id)
    var authors = Set(try store.storedVector(id).authors).union(citations.keys).union(state.ends.keys)
    for (device, points) in state.cuts {
      authors.formUnion(points.keys.map { Author(device: device, instance: $0) })
    }
    var limits: [Author: UInt64] = [:]
    // A lost certificate is no reason to revert change sets that were valid while it was here, except for certificates
    // that all nodes drop alike.
    for author in authors where state.account(of: author.device) != nil || state.mayLackDevices {
      limits[author] = cutLimit(author, id, state, citing: citations[author])
    }
    return try limits.merging(unsent(id, state)) { min($0, $1) }
  }

  private func cutLimit(_ author: Author, _ id: ZoneID, _ state: ZoneState, citing citation: ControlID?) -> UInt64? {
    // For an author whose first change set is missing, only the instance tells what it cites.
    let isUnknown = citation == nil && author.device != device
    return isUnknown ? state.limit(ofUnknown: author) : limit(author, id, citing: citation)
  }

  /// Sets the limits of authors whose first change sets have arrived. Those of all others stay as they are.
  func setLimits(_ id: ZoneID, of authors: some Sequence<Author>) throws {
    guard let state = zones[id]?.state else { return }
    // Change sets that this device wrote as another author may have come back to an older file.
    if authors.contains(where: { $0.device == device }) { return try setLimits(id) }
    for author in authors where state.account(of: author.device) != nil || state.mayLackDevices {
      let citation = try store.stored(id, author).citation
      let (before, limit) = (zones[id]?.limits[author], cutLimit(author, id, state, citing: citation))
      guard before != limit else { continue }
      zones[id]?.limits[author] = limit
      if let before, limit ?? .max > before {
        probe?(.limitRaised)
        zones[id]?.hasRefused = true
      }
    }
  }

  /// Sets the limits to those of the current control log.
  ///
  /// Limits also rise. Actions of a device stop counting if it was revoked before any device had seen them. Then change
  /// sets that were cut are requested again, and this device doesn't reuse a number.
  func setLimits(_ id: ZoneID) throws {
    let before = zones[id]?.limits ?? [:]
    let limits = try cutLimits(id)
    zones[id]?.limits = limits
    let raised = before.filter { limits[$0.key] ?? .max > $0.value }
    guard !raised.isEmpty else { return }
    probe?(.limitRaised)
    zones[id]?.hasRefused = true
    if let author = try author(id), raised[author] != nil, try reasonForNewInstance(id) != nil {
      try renewInstance(id, because: nil)
    }
  }

  /// Returns where this device's authors end in a share that has ended for its account: at the vector that a device of
  /// the owner has acknowledged. Another participant may be removed before it passes on what it has.
  ///
  /// If the account was removed, the removal says where its authors end. But another device of the owner may reject a
  /// write that the removal accepts, and this device no longer hears of it. So its authors end at the vector that all
  /// devices of the owner have acknowledged, as far as this device has met them.
  private func unsent(_ id: ZoneID, _ state: ZoneState) throws -> [Author: UInt64] {
    guard state.root != nil, state.owner != nil, state.permission(account.id) == nil,
      try !keepsCopies && !store.keepsCopy(of: id)
    else { return [:] }
    let taken = try store.acknowledgements(id).compactMap { device, bytes -> VersionVector? in
      guard let owner = state.owner, owner != account.id, state.account(of: device) == owner, !isRevoked(device) else {
        return nil
      }
      var reader = ByteReader(bytes)
      return try? Acknowledgement(from: &reader).merged
    }
    let isRemoved = state.participants[account.id]?.status == .removed
    // If this device has met only one, that is usually the one that removed the account.
    if isRemoved, taken.count < 2 { return [:] }
    let own = try store.mergedVector(id).authors.filter { $0.device == device }
    return Dictionary(
      own.map { author in
        let numbers = taken.map { $0[author] }
        return (author, (isRemoved ? numbers.min() : numbers.max()) ?? 0)
      }, uniquingKeysWith: { first, _ in first })
  }

  /// Reverts the change sets that a cut refuses, after local writes are flushed. Those writes were made on the state
  /// with these change sets, and are reverted with them. Until then, nothing beyond the cut is merged. A device that
  /// was itself revoked keeps its tables as they are.
  func carryOutCuts(_ id: ZoneID, now: Moment) throws {
    zones[id]?.cutPause.noteWork(now: now.steady)
    guard let zone = zones[id], zone.limits != zone.carriedOut, zone.cutPause.isOver(now: now.steady),
      certificate != nil, !needsUpkeep
    else { return }
    do {
      if try store.takesBack(zone.limits, zone: id) {
        guard try store.pendingCount() == 0 else { return }
        needsAssets = true
        zones[id]?.cutPause.begin(now: now.steady)
        zones[id]?.authorRoom = nil
        try store.cut(zone.limits, aftermath: try aftermath(id), zone: id, try reader(id), now: now.wall)
      }
    } catch is MissingKey {
      // As in `upkeep`, the cut is carried out once the key is here.
      return
    } catch is PendingWrites {
      return databaseChanged()
    }
    try noticePending()
    zones[id]?.carriedOut = zone.limits
    // After a start, this step may only have looked for a cut that was interrupted.
    guard zone.limits != zone.carriedOut ?? [:] else { return }
    zones[id]?.mayWriteAgain = true
    zones[id]?.forked = []
    zones[id]?.needsApply = true
    try pushNews(id, now: now)
    for link in links(sharing: id) { try ask(link, id, now: now) }
  }

  /// Restores change sets of this account that were refused and may be valid again. If all devices had refused them, no
  /// other device has them.
  func putBack(_ id: ZoneID) throws -> Bool {
    guard try store.hasTakenBack(id), let state = zones[id]?.state, state.permission(account.id) != nil else {
      return false
    }
    var citations = try store.citations(id)
    return try store.putBack(id) { changeSet in
      let author = changeSet.header.author
      if changeSet.header.number == 1, citations[author] == nil { citations[author] = changeSet.header.citation }
      return refusal(changeSet, state, id, citing: citations[author]) == nil
    }
  }

  /// Returns how to handle the change sets that a cut reverts.
  ///
  /// If a device of this account forked, every device of the account that has its change sets writes them again with
  /// their original times, because the forked device has lost one of the branches. Change sets of forked devices of
  /// other accounts are kept for inspection. Change sets that this account wrote without permission are kept for its
  /// users.
  ///
  /// An account that has left learns nothing more about rejected change sets and has no receipt. Change sets that its
  /// departure had let stand are kept here.
  private func aftermath(_ id: ZoneID) throws -> [Author: Aftermath] {
    guard let zone = zones[id] else { return [:] }
    let citations = try store.citations(id)
    let departures = zone.departures
    var aftermath: [Author: Aftermath] = [:]
    for author in zone.limits.keys where zone.state.cuts[author.device] == nil {
      if zone.state.permission(account.id) == nil, author.device == device {
        aftermath[author] = .receipt
      } else if zone.state.lostPermission(author, citations[author]) != nil {
        if zone.state.account(of: author.device) == account.id {
          aftermath[author] = .receipt
        } else if let limit = zone.limits[author], let end = departures[author], end > limit {
          aftermath[author] = .kept
        }
      } else if zone.state.ends[author] != nil {
        let isForkOfOwn =
          zone.state.account(of: author.device) == account.id && zone.hasForked(author) && mayWrite(zone)
        aftermath[author] = author.device == device || isForkOfOwn ? .writtenAgain : .kept
      }
    }
    return aftermath
  }

  /// Cuts this account's revoked devices in every zone where the account is a member and they are not cut yet. A crash
  /// may have interrupted a revocation. Then it creates an epoch whose key the revoked devices don't get. A cut by a
  /// signer that no longer counts is signed again with the same ends.
  func cutRevokedDevices(now: Moment) throws {
    guard let power else { return }
    for zone in zones.keys.sorted() where zones[zone]?.state.permission(account.id) != nil {
      guard zones[zone].map(hasNumber) == true else { continue }
      let known = zones[zone]?.state.countingCuts ?? [:]
      let uncut = account.revocations.keys.filter { device in
        known[device]?.contains { account.counts($0.authority) } != true
      }
      for device in uncut.sorted() {
        let former = known[device] ?? []
        let ends = try former.isEmpty ? ends(of: device, zone) : zones[zone]?.state.cuts[device] ?? [:]
        let last = former.isEmpty ? lastRecord(of: device, zone) : DeviceCut.ControlPoint.least(former.map(\.last))
        let cut = DeviceCut(
          device, last: last, heads: ends, zone: zone, authority: power.authority, sign: power.sign)
        try append(.cut(cut), zone)
      }
      if !uncut.isEmpty { try controlChanged(zone, now: now) }
    }
  }

  /// Returns where a device's instances end, as merged here.
  private func ends(of device: DeviceID, _ zone: ZoneID) throws -> [InstanceID: ControlAct.CutPoint] {
    let heads = try store.mergedHeads(zone).filter { $0.key.device == device }
    let points = heads.map { ($0.key.instance, ControlAct.CutPoint(number: $0.value.number, id: $0.value.id)) }
    return Dictionary(points, uniquingKeysWith: { first, _ in first })
  }

  private func lastRecord(of device: DeviceID, _ zone: ZoneID) -> DeviceCut.ControlPoint? {
    let last = zones[zone]?.log.last(of: device)
    return last.map { DeviceCut.ControlPoint(number: $0.number, id: $0.id) }
  }

  /// Returns where an account's authors end, as merged here. If there are more than a record can name, the authors that
  /// wrote least end at zero. Otherwise an account with that many authors could not be removed.
  func ends(of account: AccountID, _ zone: ZoneID) throws -> [Author: ControlAct.CutPoint] {
    let heads = try store.mergedHeads(zone).filter { zones[zone]?.state.account(of: $0.key.device) == account }
    let named = heads.sorted { ($1.value.number, $0.key) < ($0.value.number, $1.key) }.prefix(Limits.cutAuthors)
    let points = named.map { ($0.key, ControlAct.CutPoint(number: $0.value.number, id: $0.value.id)) }
    return Dictionary(points, uniquingKeysWith: { first, _ in first })
  }
}

extension Replica.Zone {
  /// Returns whether the author signed two branches. (An author can also be ended by its own device, which then writes
  /// its change sets again.)
  fileprivate func hasForked(_ author: Author) -> Bool {
    log.records(of: .fork).contains { record in
      if case .fork(let proof) = record.act { proof.author == author } else { false }
    }
  }

  /// The limits that the removal or departure of an account left to each of its authors.
  fileprivate var departures: [Author: UInt64] {
    var departures: [Author: UInt64] = [:]
    for record in [ControlAct.Kind.participant, .leave].flatMap({ Array(log.records(of: $0)) }) {
      let (account, ends): (AccountID?, [Author: ControlAct.CutPoint]) =
        switch record.act {
        case .participant(let account, nil, _, let ends): (account, ends)
        case .leave(let ends): (state.account(of: record.author), ends)
        default: (nil, [:])
        }
      guard let account, state.permission(account) == nil else { continue }
      for (author, end) in ends where state.account(of: author.device) == account {
        departures[author] = max(departures[author] ?? 0, end.number)
      }
    }
    return departures
  }
}

extension DeviceCut.ControlPoint {
  /// Returns the lowest of the points that several cuts leave a device, or nil if one of them leaves it nothing.
  fileprivate static func least(_ points: [DeviceCut.ControlPoint?]) -> DeviceCut.ControlPoint? {
    guard !points.contains(nil) else { return nil }
    return points.compactMap(\.self).min { ($0.number, $0.id) < ($1.number, $1.id) }
  }
}
