import MeshCore

/// Counts the rare branches that the nodes of a simulation take.
final class BranchCounts {
  private(set) var counts: [String: Int] = [:]

  /// Notes a branch of the store or of the replica.
  var probe: BranchProbe { { [self] in add($0.rawValue) } }

  func add(_ name: String) { counts[name, default: 0] += 1 }
}

/// Rare forms of a share's control log. They are found when a run ends.
enum RareLog: String, CaseIterable {
  /// Two records lower or end the permission of one account, and neither knew of the other.
  case loweredTwiceAtOnce
  /// The owner removes an account that leaves at the same time.
  case removedWhileLeaving
  /// A participant admits an account.
  case admittedByParticipant
  /// The owner stops the share.
  case shareStopped
}

extension ControlLog {
  /// Returns the rare forms of a log.
  func rareForms(owner: AccountID?) -> Set<RareLog> {
    var forms: Set<RareLog> = []
    var lowerings: [AccountID: [(id: ControlID, isLeave: Bool)]] = [:]
    for record in all {
      switch record.act {
      case .stop: forms.insert(.shareStopped)
      case .admission where account(of: record) != owner: forms.insert(.admittedByParticipant)
      case .participant(let account, let permission, _, _) where permission != .readWrite:
        lowerings[account, default: []].append((record.id, false))
      case .leave:
        if let account = account(of: record) { lowerings[account, default: []].append((record.id, true)) }
      default: break
      }
    }
    for lowerings in lowerings.values {
      for (index, one) in lowerings.enumerated() {
        for other in lowerings[..<index] where !hasSeen(one.id, other.id) && !hasSeen(other.id, one.id) {
          forms.insert(one.isLeave == other.isLeave ? .loweredTwiceAtOnce : .removedWhileLeaving)
        }
      }
    }
    return forms
  }
}

/// The branches that runs should reach.
package enum Coverage {
  /// The names of all branches.
  package static let branches = RareBranch.allCases.map(\.rawValue) + RareLog.allCases.map(\.rawValue)

  /// By the name of a plan, the branches that it is for. Some seeds of the plan alone have to reach them.
  package static let purposes: [String: Set<String>] = [
    "ordinary": names(.unitsMergedTogether, .flushedInMerge, .hiddenRowShown, .rowShownHereOnly),
    "partitioned": names(.unitsMergedTogether, .flushedInMerge),
    "wrong-clocks": names(.clockNotBelieved),
    "writing": names(.unitMergedInSlices, .runBegun, .valueSentInPieces, .epochChanged),
    "counting": names(.partsFolded),
    "assets": names(.assetSettled, .assetEvicted, .valueSentInPieces),
    "lying": names(.ownChangeSetMet),
    "history": names(.ownChangeSetMet, .instanceRenewed, .forkProven, .writtenAgain),
    "live-restores": names(.otherHistoryFound, .ownChangeSetMet),
    "schemas": names(.hiddenRowShown, .columnRenamed),
    "migrations": names(.columnRenamed),
    "shares": names(.recordMoved, .mergeWaitsForMove, .epochChanged, .shareEnded, .receiptKept),
  ]

  private static func names(_ branches: RareBranch...) -> Set<String> { Set(branches.map(\.rawValue)) }
}
