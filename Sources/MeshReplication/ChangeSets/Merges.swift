import MeshCore

/// Merges the change sets that are stored.
struct Merges: Part {
  let context: Context
  let writers: Writers
  let reverts: Reverts
  let local: LocalWrites
  let acknowledgements: Acknowledgements

  /// Merges a slice of the next zone's change sets.
  func mergeNext(now: Moment) throws -> WorkStep.Outcome {
    guard let zone = due.chooseMerge() else { return .nothing }
    try merge(zone, now: now)
    return .made
  }

  private func merge(_ id: ZoneID, now: Moment) throws {
    let writers = try writers.prepare()
    let progress: ApplyProgress
    do {
      due.note(.unannounced)
      progress = try store.merges.apply(id, changeSetReader(id), flushing: writers, now: now.wall)
      due.finish(.unannounced)
    } catch is MissingKey {
      due.finish(.unannounced)
      probe?(.mergeWaitsForKey)
      // As in `upkeep`, merging continues when a key arrives.
      due.endMergeTurn()
      due.finish(.merge(id))
      return
    }
    switch progress {
    case .flushFirst:
      due.noteDatabase()
      due.endMergeTurn()
      // Without a key, nothing can be flushed, and therefore nothing can be merged. Both wait for the key.
      if !local.isReady(id, writers) { due.block(merge: id) }
    case .merged(_, let unitEnded, let flushed):
      due.note(.assets)
      try noticePending()
      // A flush may leave records of any zone to be shown, even if it made no change set.
      if try store.merges.isShowing() { due.noteMerges(zones.ids) }
      for (zone, head) in flushed.sorted(by: { $0.key < $1.key }) {
        if let writer = writers[zone] { try local.announce(head, writer, now: now) }
      }
      if unitEnded, flushed[id] == nil { try acknowledgements.pushNews(id, now: now) }
      if unitEnded, due.endMergeTurn() {
        try acknowledgements.acknowledge(id, now: now)
      }
      if unitEnded, zones[id]?.intake.takeOverQuota() == true {
        try sessions.ask(sessions.links(sharing: id), id, now: now)
      }
    case .idle(let waiting):
      // The last apply may have withdrawn rows that leave with their parents.
      try noticePending()
      due.endMergeTurn()
      zones[id]?.intake.note(waiting: waiting)
      if try reverts.storeAgain(id) { due.note(.merge(id)) } else { due.finish(.merge(id)) }
    }
  }
}
