import MeshCore

/// Sets where authors end, and handles the change sets beyond that.
struct Reverts: Part {
  let context: Context
  let cutoffs: Cutoffs
  let writers: Writers
  let acknowledgements: Acknowledgements

  /// Sets the limits of authors whose first change sets have arrived. Those of all others stay as they are.
  func setLimits(_ id: ZoneID, of authors: some Sequence<Author>) throws {
    guard let state = zones[id]?.state else { return }
    // Change sets that this device wrote as another author may have come back to an older file.
    if authors.contains(where: { $0.device == device }) { return try setLimits(id) }
    for author in authors where state.account(of: author.device) != nil || state.mayLackDevices {
      let citation = try store.log.stored(id, author).citation
      let limit = cutoffs.limit(author, id, state, citing: citation)
      if zones[id]?.limits.set(limit, of: author) == true {
        probe?(.limitRaised)
        zones[id]?.intake.noteRefused()
      }
    }
  }

  /// Sets the limits to those of the current control log.
  ///
  /// Limits also rise. Actions of a device stop counting if it was revoked before any device had seen them. Then change
  /// sets that were reverted are requested again, and this device doesn't reuse a number.
  func setLimits(_ id: ZoneID) throws {
    let limits = try cutoffs.limits(id)
    guard let raised = zones[id]?.limits.set(limits), !raised.isEmpty else { return }
    probe?(.limitRaised)
    zones[id]?.intake.noteRefused()
    if let author = try writers.author(id), raised[author] != nil, let other = try writers.otherFile(id) {
      try writers.renewInstance(id, because: nil, besides: other)
    }
  }

  /// Reverts the change sets above a cutoff, after local writes are flushed. Those writes were made on the state with
  /// these change sets, and are reverted with them. Until then, nothing above the cutoff is merged. A device that was
  /// itself revoked keeps its tables as they are. Its own cutoff may arrive before the news that it was revoked.
  func carryOutReverts(_ id: ZoneID, now: Moment) throws {
    guard zones[id]?.limits.noteWork(now: now) == true, certificate != nil, zones[id]?.state.cuts[device] == nil,
      !due.contains(.upkeep), let limits = zones[id]?.limits.current
    else { return }
    do {
      if try store.merges.isRevertDue(limits, zone: id) {
        guard try store.localWrites.pendingCount() == 0 else { return }
        due.note(.assets)
        zones[id]?.limits.beginRevert(now: now)
        zones[id]?.intake.forgetRoom()
        try store.merges.revert(limits, aftermath: try aftermath(id), zone: id, changeSetReader(id), now: now.wall)
      }
    } catch is MissingKey {
      // As in `upkeep`, the work is done once the key is here.
      return
    } catch is PendingWrites {
      return due.noteDatabase()
    }
    try noticePending()
    guard zones[id]?.limits.noteCarriedOut() == true else { return }
    zones[id]?.intake.forgetForks()
    due.note(.merge(id))
    try acknowledgements.pushNews(id, now: now)
    try sessions.ask(sessions.links(sharing: id), id, now: now)
  }

  /// Restores change sets of this account that were refused and may be valid again. If all devices had refused them, no
  /// other device has them.
  func storeAgain(_ id: ZoneID) throws -> Bool {
    guard try store.log.hasReverted(id), let state = zones[id]?.state, state.permission(account.id) != nil else {
      return false
    }
    var citations = try store.log.citations(id)
    return try store.log.storeAgain(id) { changeSet in
      let author = changeSet.header.author
      if changeSet.header.number == 1, citations[author] == nil { citations[author] = changeSet.header.citation }
      return cutoffs.refusal(changeSet, state, id, citing: citations[author]) == nil
    }
  }

  /// Returns how to handle the change sets above a cutoff.
  ///
  /// If a device of this account forked, every device of the account that has its change sets writes them again with
  /// their original times, because the forked device has lost one of the branches. Change sets of forked devices of
  /// other accounts are kept for inspection. So are those of this account's revoked devices, because the device that
  /// revoked them may not have had them. Change sets that this account wrote without permission are kept for its users.
  ///
  /// An account that has left learns nothing more about rejected change sets and has no receipt. Change sets that its
  /// departure had let stand are kept here.
  private func aftermath(_ id: ZoneID) throws -> [Author: Aftermath] {
    guard let zone = zones[id] else { return [:] }
    let citations = try store.log.citations(id)
    let departures = zone.departures
    var aftermath: [Author: Aftermath] = [:]
    for author in zone.limits.current.keys {
      if zone.state.cuts[author.device] != nil {
        if zone.state.account(of: author.device) == account.id { aftermath[author] = .kept }
      } else if zone.state.permission(account.id) == nil, author.device == device {
        aftermath[author] = .receipt
      } else if zone.state.lostPermission(author, citations[author]) != nil {
        if zone.state.account(of: author.device) == account.id {
          aftermath[author] = .receipt
        } else if let limit = zone.limits.current[author], let end = departures[author], end > limit {
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
}

extension Zone {
  /// Returns whether the author signed two branches. (An author can also be ended by its own device, which then writes
  /// its change sets again.)
  fileprivate func hasForked(_ author: Author) -> Bool {
    log.records(of: .fork).contains { record in
      if case .fork(let proof) = record.act { proof.author == author } else { false }
    }
  }

  /// The authors that removals and departures of accounts name. They wrote something before.
  var departedAuthors: Set<Author> { Set(endings.flatMap(\.ends.keys)) }

  /// The accounts that were removed or left, with what each of their authors had written.
  private var endings: [(account: AccountID?, ends: [Author: ControlAct.CutPoint])] {
    [ControlAct.Kind.participant, .leave].flatMap { Array(log.records(of: $0)) }.compactMap { record in
      switch record.act {
      case .participant(let account, nil, _, let ends): (account, ends)
      case .leave(let ends): (state.account(of: record.author), ends)
      default: nil
      }
    }
  }

  /// The limits that the removal or departure of an account left to each of its authors.
  fileprivate var departures: [Author: UInt64] {
    var departures: [Author: UInt64] = [:]
    for (account, ends) in endings {
      guard let account, state.permission(account) == nil else { continue }
      for (author, end) in ends where state.account(of: author.device) == account {
        departures[author] = max(departures[author] ?? 0, end.number)
      }
    }
    return departures
  }
}
