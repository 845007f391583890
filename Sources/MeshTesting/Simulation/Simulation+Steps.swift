import MeshCore

/// Writes and faults until the steps are over, followed by the healing of all faults.
extension Simulation {
  /// The number of hasty writes in one step. Each makes work for all nodes, between whose pieces others may follow.
  private static let hastyWrites = 12

  func step() throws {
    guard stepsLeft > 0 else { return try settle() }
    stepsLeft -= 1
    hastyLeft = Self.hastyWrites
    let node = nodes[Int.random(in: 0..<nodes.count, using: &mesh.generator)]
    // Every step makes one draw for each kind, so that changing one chance affects no other.
    var due: [(Simulation) -> (SimulatedNode) throws -> Void] = []
    for (chance, fault) in Self.faults where mesh.generator.once(in: plan[keyPath: chance]) { due.append(fault) }
    for fault in due { try fault(self)(node) }
    try write(node)
    if node.isLiar, node.replica != nil { try lie(node) }
    mesh.schedule(.step, in: Int64(Int.random(in: 0...plan.pause, using: &mesh.generator)))
  }

  /// The faults that can happen in a step, to the step's node or to the network.
  private static var faults: [(KeyPath<FaultPlan, Int>, (Simulation) -> (SimulatedNode) throws -> Void)] {
    [
      (\.clockJumps, Simulation.jump), (\.cuts, Simulation.cut), (\.silentCuts, Simulation.cutSilently),
      (\.stalls, Simulation.stall), (\.partitions, Simulation.partition),
      (\.oneWayPartitions, Simulation.partitionOneWay), (\.diskErrors, Simulation.failDisk),
      (\.fullDisks, Simulation.fillDisk), (\.addedColumns, Simulation.addColumn), (\.alterations, Simulation.rebuild),
      (\.constraints, Simulation.constrain), (\.uniques, Simulation.makeUnique), (\.references, Simulation.refer),
      (\.together, Simulation.writeTogether),
      (\.kills, Simulation.kill), (\.powerCuts, Simulation.cutPower), (\.deaths, Simulation.beginDeath),
      (\.restarts, Simulation.restart), (\.pauses, Simulation.pauseProcess), (\.revocations, Simulation.revoke),
      (\.restores, Simulation.restoreFile), (\.homeRestores, Simulation.restoreHome),
      (\.fileCopies, Simulation.copyFile), (\.homeCopies, Simulation.copyHome),
      (\.droppedColumns, Simulation.dropColumn), (\.readdedColumns, Simulation.readdColumn),
      (\.renamedColumns, Simulation.renameColumn),
      (\.recreatedTables, Simulation.recreate), (\.untrackedTables, Simulation.untrack), (\.rescans, Simulation.rescan),
      (\.assetPolicies, Simulation.changeAssetPolicy), (\.assetFetches, Simulation.fetchAsset),
      (\.assetEvictions, Simulation.evictAsset),
      (\.shareCreates, Simulation.createShare), (\.shareInvites, Simulation.invite),
      (\.shareUninvites, Simulation.uninvite), (\.sharePermissions, Simulation.changePermission),
      (\.shareFlaps, Simulation.flapPermission), (\.shareRemovals, Simulation.removeParticipant),
      (\.shareLeaves, Simulation.leaveShare), (\.shareStops, Simulation.stopShare),
      (\.rootDeletes, Simulation.deleteRoot),
      (\.bypasses, Simulation.bypass), (\.liveRestores, Simulation.restoreLive),
      (\.renamedTables, Simulation.renameTable),
    ]
  }

  /// Makes the node's app write, and perhaps share a row, while the node has taken in a part of earlier writes.
  func hurry(_ node: SimulatedNode) throws {
    hastyLeft -= 1
    occurred("writers.hasty")
    try write(node)
    if node.replica != nil, plan.shareCreates > 0, mesh.generator.once(in: 4) { try createShare(node) }
  }

  private func write(_ node: SimulatedNode) throws {
    let isDown = node.replica == nil
    guard !isDown || mesh.generator.once(in: plan.writesWhileDown), !node.isRevoked else { return }
    if zones.hasShares {
      let keys = (try? node.database.contents())?.keys.sorted() ?? []
      node.writer.known = Dictionary(grouping: keys, by: \.table).mapValues { $0.map(\.key) }
    }
    try write(node, node.writer.next(added: node.database.added), isDown)
  }

  /// Makes all apps write at once. If clocks agree, the stamps have one time, and only their authors distinguish them.
  func writeTogether(_ node: SimulatedNode) throws {
    occurred("writers.together")
    let group = Int.random(in: 0..<AppSchema.groups, using: &mesh.generator)
    for node in nodes where node.replica != nil && !node.isRevoked {
      let value = Value.text("n\(node.index)-at-\(time.now)")
      try write(node, AppTransaction(statements: [.group(group, value: value)], ending: .commit), false)
    }
  }

  func write(_ node: SimulatedNode, _ transaction: AppTransaction, _ isDown: Bool) throws {
    do {
      let isCommitted = try node.write(transaction)
      let text = transaction.statements.map(\.description).joined(separator: "; ")
      say(node.index, "\(isCommitted ? "commits" : "takes back"): \(text)")
      guard isCommitted else { return }
    } catch {
      if node.database.disk?.isDead == true { return try mesh.die(node) }
      guard mesh.isFault(node, error) else { return violate("n\(node.index)'s app fails: \(error)") }
      return say(node.index, "cannot write: its disk fails")
    }
    mesh.counts.commits += 1
    if isDown { occurred("writers.whileDown") }
    for oddity in node.writer.oddities { occurred(oddity) }
    node.writer.oddities = []
    // Sometimes the notice is missed, and the slow poll has to find the change.
    guard !isDown, !mesh.generator.once(in: 10) else { return }
    mesh.schedule(
      .noticed(node: node.index, life: node.life), in: Int64.random(in: 0...20, using: &mesh.generator))
  }

  // MARK: The end

  private func settle() throws {
    mesh.deadline = time.now + Self.settlingTime
    say(nil, "the steps are over, all heals")
    heal()
    try stopCopies()
    for node in nodes where !node.isStopped {
      node.isDoomed = false
      node.vault.diesAtMark = false
      node.database.disk?.die(within: 0)
      node.database.disk?.mend()
      try completeSchema(node)
      if node.pausedUntil > time.now { resume(node) }
      // A node whose clock is ahead of the others' by more than the bound signs nothing during that time.
      node.clock.jump(toAhead: 0)
      if node.isHistoryLost, node.replica != nil { try mesh.startOver(node) }
      if node.replica == nil { mesh.schedule(.start(node.index), at: time.now) }
    }
  }

  /// Resumes a paused node. Its events wait at the time when the pause was to end, so it is dialed and ticked at that
  /// time at the latest.
  private func resume(_ node: SimulatedNode) { node.pausedUntil = time.now }
}
