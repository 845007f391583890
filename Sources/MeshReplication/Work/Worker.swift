import MeshCore

/// The work on the database, in bounded pieces and in the order of `WorkStep`.
struct Worker: Part {
  let context: Context
  let clocks: Clocks
  let changes: ControlChanges
  let localWrites: LocalWrites
  let reverts: Reverts
  let merges: Merges
  let acknowledgements: Acknowledgements
  let downloads: AssetDownloads
  let standings: StandingBook

  /// Does one bounded piece of work (a flush part or an apply slice). Returns true if more is to do.
  func next(now: Moment) throws -> Bool {
    clocks.look(now)
    for step in WorkStep.allCases {
      switch try perform(step, now: now) {
      case .made: return true
      case .blocked: return false
      case .nothing: continue
      }
    }
    return false
  }

  private func perform(_ step: WorkStep, now: Moment) throws -> WorkStep.Outcome {
    switch step {
    case .resumeDeletions: try changes.resumeDropping(now: now)
    case .readControlLogs: try changes.readNews(now: now)
    case .upkeep: return try localWrites.upkeep(now: now)
    case .announceUnannounced: try localWrites.announceUnannounced(now: now)
    case .flush: return try localWrites.flush(now: now)
    case .carryOutReverts: for zone in zones.ids { try reverts.carryOutReverts(zone, now: now) }
    case .writeAgain: for zone in zones.ids where try localWrites.writeAgain(zone, now: now) { return .made }
    case .merge: return try merges.mergeNext(now: now)
    case .acknowledge: for zone in zones.ids { try acknowledgements.acknowledge(zone, now: now) }
    case .assets: return .init(hasMore: try downloads.work(now: now))
    case .tellBacklogs: try downloads.tellBacklogs(now: now)
    case .dropEnded: return .init(hasMore: try standings.dropEnded(now: now))
    }
    return .nothing
  }
}
