import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Waits until this node and its members have everything of each other, or are proven equal.
struct WaitAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func wait(_ request: WaitRequest) async throws -> WaitReport {
    let deadline = ContinuousClock.now + request.timeout
    if request.here { return try naming(await waitHere(until: deadline)) }
    addresses.dialSoon(replica)
    while true {
      try driver.requireDatabase()
      try requireTables()
      let isOver = ContinuousClock.now >= deadline
      if replica.peerViews.all.isEmpty {
        if isOver || !mayConnect { throw noMember }
      } else {
        let report = try waitReport(here: false)
        if report.complete || isOver {
          var named = try naming(report, readingTables: report.complete)
          named.absent = try PeerAnswers(context: context).absent()
          return named
        }
      }
      try await Task.sleep(for: Self.look)
    }
  }

  /// Waits until this machine's tables show what was merged.
  nonisolated(nonsending) private func waitHere(until deadline: ContinuousClock.Instant) async throws -> WaitReport {
    var arrivals = Arrivals()
    var commits = SteadyCommits()
    while true {
      try driver.requireDatabase()
      var isDone = false
      // Without a daemon, no other process does the work.
      if !isRunning { isDone = try await driver.workAlone(until: deadline) }
      var report = try waitReport(here: true)
      if !isDone {
        // This node's own work comes to an end, unless programs write faster than it flushes. Other devices are waited for
        // as long as they send something.
        let isExpecting = try noteArrivals(for: report, &arrivals)
        let areSteady = commits.look(try store.file.dataVersion(), now: .now)
        isDone = try report.complete || !isExpecting && (!driver.isWorking || areSteady)
      }
      let isOver = ContinuousClock.now >= deadline
      if isDone || isOver {
        let locked = try await lock.lastingMessage()
        if locked == nil || isOver {
          report.locked = locked.map { "\($0) \(WriteLock.wayOut)" }
          report.complete = report.complete && locked == nil
          return report
        }
      }
      try await Task.sleep(for: Self.look)
    }
  }

  /// Adds what is merged and not where it should be, and what isn't captured.
  ///
  /// - Parameter readsTables: True to look for rows that vanished unnoticed, which reads all rows.
  private func naming(_ report: WaitReport, readingTables readsTables: Bool = false) throws -> WaitReport {
    var report = report
    report.held = try HeldAnswers(context: context).counts()
    report.receipts = try ShareAnswers(context: context).receiptCounts()
    guard readsTables else { return report }
    report.uncaptured = try store.capture.uncapturedTables()
    report.vanished = Dictionary(uniqueKeysWithValues: try store.capture.vanishedRows())
    report.complete = report.uncaptured.isEmpty && report.vanished.isEmpty
    return report
  }

  private func waitReport(here: Bool) throws -> WaitReport {
    var members = try replica.peerViews.all.flatMap { peer in
      try (peer.zones + awaitedZones(of: peer)).map { zone in
        WaitReport.Missing(
          zone: zone.description, device: peer.device.description, name: devices.name(of: peer),
          behind: try PeerAnswers(context: context).behind(peer, zone),
          assets: peer.backlogs[zone].map(LackingAssets.init))
      }
    }
    let isWorking = try driver.isWorking
    if here {
      members = members.filter { $0.behind.here > 0 || $0.assets == nil }
      return WaitReport(
        working: try isWorking || replica.zoneIDs.contains(where: isAwaited), pending: 0, tooLong: 0, members: members)
    }
    return WaitReport(
      working: isWorking, pending: try store.localWrites.pendingCount(), tooLong: try store.figures.unsentCount(),
      members: members,
      assets: try AssetAnswers(context: context).lacking(), locked: lock.messageWithAdvice, clock: replica.clockFault)
  }

  /// Notes what has arrived. Returns whether one of the devices that say they have more still sends something, or may be
  /// about to begin.
  private func noteArrivals(for report: WaitReport, _ arrivals: inout Arrivals) throws -> Bool {
    let received = Dictionary(
      replica.peerViews.all.map { ($0.device.description, $0.received) }, uniquingKeysWith: { $0.saturatingAdding($1) })
    let now = ContinuousClock.now
    let senders =
      try Set(report.missing.map(\.device)).map { ($0, received[$0] ?? 0) }
      + replica.zoneIDs.filter(isAwaited).map { ($0.description, 0) }
    return senders.count { !arrivals.look($0.0, count: $0.1, now: now) } > 0
  }

  /// Returns the zones in which a peer is a member, if its session is so new that it has named none. Its vectors are
  /// not known yet.
  private func awaitedZones(of peer: PeerView) -> [ZoneID] {
    guard peer.zones.isEmpty else { return [] }
    return replica.zoneIDs.filter {
      replica.isMember(peer.account, of: $0) && replica.isMember(replica.account.id, of: $0)
    }
  }

  /// Returns whether nothing has arrived yet of a share that this account has joined.
  private func isAwaited(_ zone: ZoneID) throws -> Bool {
    guard isRunning, let state = replica.shareState(zone), state.owner != replica.account.id,
      state.permission(replica.account.id) != nil
    else { return false }
    return try store.log.storedVector(zone).authors.isEmpty
  }

  // MARK: Proof

  nonisolated(nonsending) func verify(timeout: Duration) async throws -> VerifyReport {
    let deadline = ContinuousClock.now + timeout
    var asked: ContinuousClock.Instant?
    addresses.dialSoon(replica)
    while true {
      if asked.map({ ContinuousClock.now - $0 > Self.askAgain }) ?? true {
        replica.requestDigests()
        driver.performActions()
        asked = .now
      }
      try driver.requireDatabase()
      try requireTables()
      let comparisons = try comparisons()
      let isOver = ContinuousClock.now >= deadline
      if comparisons.isEmpty, isOver || !mayConnect { throw noMember }
      let locked = lock.messageWithAdvice
      if isOver || locked == nil && !comparisons.isEmpty && comparisons.allSatisfy(\.isDecided) {
        let hasVanished = try !store.capture.vanishedRows().isEmpty
        return VerifyReport(
          comparisons: comparisons.map {
            var comparison = $0.comparison
            if hasVanished, comparison.outcome == .equal { comparison.outcome = .unsentHere }
            return comparison
          }, locked: locked,
          older: try store.held.refused(limit: Self.olderNamed).map {
            VerifyReport.Older(zone: $0.zone.description, table: $0.table, key: ReportedValue($0.key))
          }, olderCount: try store.figures.refusedCount(), held: try HeldAnswers(context: context).counts())
      }
      try await Task.sleep(for: Self.look)
    }
  }

  private static let askAgain = Duration.milliseconds(500)
  /// The maximum number of records that `verify` names because their rows are older than the merged values.
  private static let olderNamed = 100

  /// Compares this node with each member in each zone. A comparison is undecided if the member may still report
  /// something else.
  private func comparisons() throws -> [(comparison: VerifyReport.Comparison, isDecided: Bool)] {
    try replica.peerViews.all.flatMap { peer in
      try peer.zones.compactMap { zone in
        guard let view = try replica.zoneViews.view(zone) else { return nil }
        let theirs = peer.digests[zone]
        let (unsentHere, unsentThere) = (try store.capture.unsent(zone), theirs?.unsent ?? .nothing)
        let isComparable = theirs?.vector == view.merged && unsentHere != .pending && unsentThere != .pending
        let outcome: VerifyReport.Comparison.Outcome =
          if isComparable, theirs?.digest != view.digest {
            .unequal
          } else if unsentHere != .nothing {
            .unsentHere
          } else if unsentThere != .nothing {
            .unsentThere
          } else {
            isComparable ? .equal : .notInTime
          }
        let comparison = VerifyReport.Comparison(
          zone: zone.description, device: peer.device.description, name: devices.name(of: peer), outcome: outcome,
          here: view.digest.hash.hexadecimal, there: theirs.map { $0.digest.hash.hexadecimal })
        return (comparison, isComparable)
      }
    }
  }

  /// Refuses to answer for a file of which no table was ever tracked. Nothing is missing then, because nothing is
  /// synchronized.
  private func requireTables() throws {
    guard try !store.tables.wereEverTracked() else { return }
    let isAccepted = try AcceptedDatabase(home: home).isAccepted(store.place)
    guard try isAccepted || store.tables.areAllUntracked() else { return }
    let what =
      isAccepted
      ? "\(printable(store.place)) took the place of the file that this device has synchronized, and none of its tables is"
      : "no table of \(printable(store.place)) is"
    throw Refusal(
      code: "tables.none",
      message:
        "\(what) tracked, so nothing is synchronized. mesh schema lists the tables of other devices. Then: mesh track TABLE…"
    )
  }

  // MARK: Without a connection

  /// Whether another device may still connect: an address is dialled, or the node has just started and knows others.
  private var mayConnect: Bool {
    guard !replica.isExcluded else { return false }
    return !awaitedAddresses.isEmpty || addresses.isExpectingPeers && knowsOthers
  }

  private var awaitedAddresses: [HostPort] { addresses.wanted.filter { addresses.mayAnswer($0, replica) } }

  private var knowsOthers: Bool {
    replica.account.liveDevices.contains { $0 != replica.device }
      || replica.zoneIDs.contains { zone in
        guard let state = replica.shareState(zone), state.permission(replica.account.id) != nil else { return false }
        return state.owner != replica.account.id
          || state.participants.values.contains { $0.permission != nil }
      }
  }

  /// The reason that no device is connected, with the attempts so far.
  private var noMember: Refusal {
    if let revocation = NodeChecks(context: context).revocation {
      return Refusal(code: "device.revoked", message: "\(revocation.what) \(revocation.wayOut ?? "")")
    }
    let work = NodeChecks(context: context).workCheck()
    if work.state == .alarm {
      return Refusal(
        code: "peers.none", message: "no other device is connected. \(work.what) \(work.wayOut ?? "")", exit: .noMember)
    }
    let tried = awaitedAddresses.map { address -> String in
      guard let dial = addresses.dials[address] else { return "\(address): not tried yet" }
      let outcome = dial.lastError.map { printable($0) } ?? "no answer yet"
      if let since = dial.triedSince {
        return "\(address), tried since \(ControlJSON.text(Date(milliseconds: since))): \(outcome)"
      }
      let until = dial.connectedUntil.map { ControlJSON.text(Date(milliseconds: $0)) } ?? "a moment ago"
      return "\(address), connected until \(until): \(outcome)"
    }
    return .noMember(tried: tried, knowsOthers: knowsOthers)
  }
}
