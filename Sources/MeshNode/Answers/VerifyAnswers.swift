import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Proves that this node and its members have the same records.
struct VerifyAnswers: NodePart {
  let context: NodeContext

  nonisolated(nonsending) func verify(timeout: Duration) async throws -> VerifyReport {
    let reachability = Reachability(context: context)
    let deadline = ContinuousClock.now + timeout
    var asked: ContinuousClock.Instant?
    while true {
      if asked.map({ ContinuousClock.now - $0 > Self.askAgain }) ?? true {
        replica.requestDigests()
        driver.performActions()
        asked = .now
      }
      try driver.requireDatabase()
      let comparisons = try comparisons()
      let isOver = ContinuousClock.now >= deadline
      if comparisons.isEmpty, isOver || !reachability.mayConnect { throw reachability.noMember }
      let locked = lock.messageWithAdvice
      if isOver || locked == nil && !comparisons.isEmpty && comparisons.allSatisfy(\.isDecided) {
        return VerifyReport(
          comparisons: comparisons.map(\.comparison), locked: locked,
          older: try store.refusedRecords(limit: Self.olderNamed).map {
            VerifyReport.Older(zone: $0.zone.description, table: $0.table, key: ReportedValue($0.key))
          }, olderCount: try store.refusedCount(), held: try HeldAnswers(context: context).counts())
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
    try replica.peerViews.flatMap { peer in
      try peer.zones.compactMap { zone in
        guard let view = try replica.zoneView(zone) else { return nil }
        let theirs = peer.digests[zone]
        let (unsentHere, unsentThere) = (try store.unsent(zone), theirs?.unsent ?? .nothing)
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
}
