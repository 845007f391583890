import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Handles `mesh wait`.
extension Node {
  func wait(_ request: WaitRequest) async throws -> WaitReport {
    let deadline = ContinuousClock.now + request.timeout
    var arrivals = Arrivals()
    while true {
      lookAtDatabase()
      if let suspension { throw suspension }
      let isOver = ContinuousClock.now >= deadline
      if request.here {
        // Without a daemon, no other process does the work.
        if listening == nil, try workAlone(until: deadline) { return try naming(waitReport(here: true)) }
        let report = try waitReport(here: true)
        // This node's own work comes to an end. Other devices are waited for as long as they send something.
        let isExpecting = try expects(report, &arrivals)
        if try report.complete || isOver || !isExpecting && !isWorking && lockedBy == nil { return try naming(report) }
      } else if replica.peerViews.isEmpty {
        if isOver || !mayConnect { throw noMember }
      } else {
        let report = try waitReport(here: false)
        if report.complete || isOver { return try naming(report) }
      }
      try await Task.sleep(for: Self.look)
    }
  }

  /// Flushes, merges and shows as far as this home can alone.
  ///
  /// - Returns: False if the time ran out first.
  @discardableResult
  func workAlone(until deadline: ContinuousClock.Instant) throws -> Bool {
    try beginGuard()
    replica.databaseChanged()
    while try replica.work(now: time.now) {
      performActions()
      if ContinuousClock.now >= deadline { return false }
    }
    return true
  }

  /// Adds what is merged and not where it should be.
  private func naming(_ report: WaitReport) throws -> WaitReport {
    var report = report
    report.held = try heldCounts()
    return report
  }

  private func waitReport(here: Bool) throws -> WaitReport {
    var members = try replica.peerViews.flatMap { peer in
      try (peer.zones + awaitedZones(of: peer)).map { zone in
        WaitReport.Missing(
          zone: zone.description, device: peer.device.description, name: name(of: peer),
          behind: try behind(peer, zone), assets: peer.backlogs[zone].map(LackingAssets.init))
      }
    }
    let isWorking = try isWorking
    if here {
      members = members.filter { $0.behind.here > 0 || $0.assets == nil }
      return WaitReport(
        working: try isWorking || replica.zoneIDs.contains(where: isAwaited), pending: 0, tooLong: 0, members: members,
        locked: lockedBy)
    }
    return WaitReport(
      working: isWorking, pending: try store.pendingCount(), tooLong: try store.tooLongCount(), members: members,
      assets: try lackingAssets(), locked: lockedBy)
  }

  /// Whether this node itself still captures, merges or shows rows.
  private var isWorking: Bool {
    get throws { try store.isUpkeepDue() || store.isShowing() || replica.isMergeDue }
  }

  /// Returns whether one of the devices that say they have more still sends something, or may be about to begin.
  private func expects(_ report: WaitReport, _ arrivals: inout Arrivals) throws -> Bool {
    let received = Dictionary(
      replica.peerViews.map { ($0.device.description, $0.received) }, uniquingKeysWith: { $0.saturatingAdding($1) })
    let now = ContinuousClock.now
    var isExpecting = false
    for device in Set(report.missing.map(\.device)) {
      let isQuiet = arrivals.isQuiet(device, count: received[device] ?? 0, now: now)
      isExpecting = isExpecting || !isQuiet
    }
    for zone in try replica.zoneIDs.filter(isAwaited) {
      let isQuiet = arrivals.isQuiet(zone.description, count: 0, now: now)
      isExpecting = isExpecting || !isQuiet
    }
    return isExpecting
  }

  /// Returns the zones in which a peer is a member, if its session is so new that it has named none. Its vectors are
  /// not known yet.
  private func awaitedZones(of peer: Replica.PeerView) -> [ZoneID] {
    guard peer.zones.isEmpty else { return [] }
    return replica.zoneIDs.filter {
      replica.isMember(peer.account, of: $0) && replica.isMember(replica.account.id, of: $0)
    }
  }

  /// Returns whether nothing has arrived yet of a share that this account has joined.
  private func isAwaited(_ zone: ZoneID) throws -> Bool {
    guard listening != nil, let state = replica.shareState(zone), state.owner != replica.account.id,
      state.permission(replica.account.id) != nil
    else { return false }
    return try store.storedVector(zone).authors.isEmpty
  }

  // MARK: Without a connection

  /// Whether another device may still connect: an address is dialled, or the node has just started and knows others.
  var mayConnect: Bool {
    guard !replica.isRevoked else { return false }
    return wantedPeers.contains(where: mayAnswer) || isExpectingPeers && knowsOthers
  }

  /// Returns whether the device at an address may have something in common with this one. It is not known before the
  /// first session.
  private func mayAnswer(_ address: HostPort) -> Bool { dials[address]?.device.map { !hasNoPart($0) } ?? true }

  private var knowsOthers: Bool {
    replica.account.liveDevices.contains { $0 != replica.device }
      || replica.zoneIDs.contains { zone in
        guard let state = replica.shareState(zone), state.permission(replica.account.id) != nil else { return false }
        return state.owner != replica.account.id
          || state.participants.values.contains { $0.permission != nil }
      }
  }

  /// The reason that no device is connected, with the attempts so far.
  var noMember: Refusal {
    if let revocation {
      return Refusal(code: "device.revoked", message: "\(revocation.what) \(revocation.wayOut ?? "")")
    }
    let tried = wantedPeers.map { address -> String in
      guard mayAnswer(address) else { return "\(address): its device has nothing in common with this one any more" }
      guard let dial = dials[address], let since = dial.triedSince else { return "\(address): not tried yet" }
      let outcome = dial.lastError.map { printable($0) } ?? "no answer yet"
      return "\(address), tried since \(ControlJSON.text(Self.date(since))): \(outcome)"
    }
    return .noMember(tried: tried, knowsOthers: knowsOthers)
  }

  /// The check that fails if the account has revoked this device, or nil if it hasn't.
  var revocation: HealthCheck? {
    guard replica.isRevoked else { return nil }
    if replica.account.isUnconfirmed(replica.device) {
      return HealthCheck(
        "device", .alarm,
        "The account's key was replaced, and nobody has confirmed this device since: it takes no part, and its writes "
          + "stay here.",
        wayOut: "On the machine with the account's key: mesh device confirm \(replica.device)")
    }
    return HealthCheck(
      "device", .alarm, "The account revoked this device: it takes no further part, and its writes stay here.",
      wayOut: "Make a new home, and join again with an invite of the account: mesh init --home DIR --database PATH "
        + "--link -")
  }
}
