package import MeshCore

/// The recovery for a device that signed change sets ahead of time.
package struct Restamping: Part {
  let context: Context
  let clocks: Clocks
  let cutoffs: Cutoffs
  let logs: ControlLogs
  let changes: ControlChanges

  /// Reverts the change sets that this device signed further ahead of the clock than others accept. They are then
  /// written again with the current time.
  ///
  /// - Returns: The number of reverted change sets, by zone.
  package func restamp(now: Moment) throws -> [ZoneID: Int] {
    clocks.look(now)
    if let fault = clocks.fault { throw ReplicaError.notReady("nothing was restamped: \(fault.text)") }
    guard certificate != nil else { throw ReplicaError.notReady("the account revoked this device: it signs nothing") }
    var taken: [ZoneID: Int] = [:]
    for id in zones.ids where zones[id]?.state.permission(account.id) == .readWrite {
      let ahead = try signedAhead(id, now: now)
      if let other = ahead.keys.filter({ $0.device != device }).min(),
        try store.log.mergedVector(id)[other] == ahead[other]?.number
      {
        throw ReplicaError.notReady(
          "this device has merged change sets of \(other.device) that are signed ahead of time as well: "
            + "run mesh device restamp there first")
      }
      for (author, head) in ahead.sorted(by: { $0.key < $1.key }) where author.device == device {
        let number = try store.log.unitEnd(id, author, notLaterThan: Self.latest(now))
        try logs.append(.end(instance: author.instance, number: number), id)
        taken[id, default: 0] += Int(clamping: head.number - number)
      }
      if taken[id] != nil { try changes.changed(id, now: now) }
    }
    guard !taken.isEmpty else {
      throw ReplicaError.notReady(
        "this device signed nothing that is more than \(Choices.clockBound / 60_000) minutes ahead of the clock")
    }
    return taken
  }

  /// Returns the authors whose last change set here is further ahead of the clock than is accepted.
  package func signedAhead(_ id: ZoneID, now: Moment) throws -> [Author: ChangeSetTip] {
    let citations = try store.log.citations(id)
    return try store.log.storedTips(id).filter { author, head in
      head.time > Self.latest(now) && head.number <= cutoffs.limit(author, id, citing: citations[author]) ?? .max
    }
  }

  private static func latest(_ now: Moment) -> HybridTime {
    HybridTime(HybridTime(milliseconds: now.wall + Choices.clockBound).value | UInt64(UInt16.max))
  }
}
