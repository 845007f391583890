import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Handles `mesh wait`.
struct WaitAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func wait(_ request: WaitRequest) async throws -> WaitReport {
    let deadline = ContinuousClock.now + request.timeout
    let reachability = Reachability(context: context)
    var arrivals = Arrivals()
    while true {
      try driver.requireDatabase()
      let isOver = ContinuousClock.now >= deadline
      if request.here {
        // Without a daemon, no other process does the work.
        if !isRunning, try driver.workAlone(until: deadline) { return try naming(waitReport(here: true)) }
        let report = try waitReport(here: true)
        // This node's own work comes to an end. Other devices are waited for as long as they send something.
        let isExpecting = try expects(report, &arrivals)
        let isDone = try report.complete || !isExpecting && !isWorking && lock.message == nil
        if isDone || isOver { return try naming(report) }
      } else if replica.peerViews.isEmpty {
        if isOver || !reachability.mayConnect { throw reachability.noMember }
      } else {
        let report = try waitReport(here: false)
        if report.complete || isOver { return try naming(report) }
      }
      try await Task.sleep(for: Self.look)
    }
  }

  /// Adds what is merged and not where it should be.
  private func naming(_ report: WaitReport) throws -> WaitReport {
    var report = report
    report.held = try HeldAnswers(context: context).counts()
    return report
  }

  private func waitReport(here: Bool) throws -> WaitReport {
    var members = try replica.peerViews.flatMap { peer in
      try (peer.zones + awaitedZones(of: peer)).map { zone in
        WaitReport.Missing(
          zone: zone.description, device: peer.device.description, name: devices.name(of: peer),
          behind: try PeerAnswers(context: context).behind(peer, zone),
          assets: peer.backlogs[zone].map(LackingAssets.init))
      }
    }
    let isWorking = try isWorking
    if here {
      members = members.filter { $0.behind.here > 0 || $0.assets == nil }
      return WaitReport(
        working: try isWorking || replica.zoneIDs.contains(where: isAwaited), pending: 0, tooLong: 0, members: members,
        locked: lock.messageWithAdvice)
    }
    return WaitReport(
      working: isWorking, pending: try store.pendingCount(), tooLong: try store.tooLongCount(), members: members,
      assets: try AssetAnswers(context: context).lacking(), locked: lock.messageWithAdvice)
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
    let senders =
      try Set(report.missing.map(\.device)).map { ($0, received[$0] ?? 0) }
      + replica.zoneIDs.filter(isAwaited).map { ($0.description, 0) }
    return senders.count { !arrivals.look($0.0, count: $0.1, now: now) } > 0
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
    guard isRunning, let state = replica.shareState(zone), state.owner != replica.account.id,
      state.permission(replica.account.id) != nil
    else { return false }
    return try store.storedVector(zone).authors.isEmpty
  }
}
