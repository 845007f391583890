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
    let due = faults.filter { chance, _ in mesh.generator.once(in: plan[keyPath: chance]) }
    for (_, fault) in due { try fault(node) }
    try apps.write(node)
    if node.isLiar, node.replica != nil { try liars.lie(node) }
    mesh.schedule(.step, in: Int64(Int.random(in: 0...plan.pause, using: &mesh.generator)))
  }

  /// The faults that can happen in a step, to the step's node or to the network. Their order is that of the draws.
  private var faults: [(KeyPath<FaultPlan, Int>, (SimulatedNode) throws -> Void)] {
    [
      (\.clockJumps, machines.jump), (\.cuts, machines.cut), (\.silentCuts, machines.cutSilently),
      (\.stalls, machines.stall), (\.partitions, machines.partition),
      (\.oneWayPartitions, machines.partitionOneWay), (\.diskErrors, machines.failDisk),
      (\.fullDisks, machines.fillDisk), (\.addedColumns, migrations.addColumn), (\.alterations, migrations.rebuild),
      (\.constraints, migrations.constrain), (\.uniques, migrations.toggleUnique),
      (\.references, migrations.refer), (\.together, apps.writeAll),
      (\.kills, machines.kill), (\.powerCuts, machines.cutPower), (\.deaths, machines.beginDeath),
      (\.restarts, machines.restart), (\.pauses, machines.pause), (\.revocations, history.revoke),
      (\.restores, history.restoreFile), (\.homeRestores, history.restoreHome),
      (\.fileCopies, history.copyFile), (\.homeCopies, history.copyHome),
      (\.droppedColumns, migrations.dropColumn), (\.readdedColumns, migrations.readdColumn),
      (\.renamedColumns, migrations.renameColumn), (\.recreatedTables, migrations.recreate),
      (\.untrackedTables, migrations.untrack), (\.rescans, migrations.rescan),
      (\.assetPolicies, assets.changePolicy), (\.assetFetches, assets.fetch), (\.assetEvictions, assets.beginEviction),
      (\.shareCreates, shares.create), (\.shareInvites, shares.invite), (\.shareUninvites, shares.uninvite),
      (\.sharePermissions, shares.changePermission), (\.shareFlaps, shares.flap), (\.shareRemovals, shares.remove),
      (\.shareLeaves, shares.leave), (\.shareStops, shares.stop), (\.rootDeletes, shares.deleteRoot),
      (\.bypasses, shares.bypass), (\.liveRestores, history.restoreLive), (\.renamedTables, migrations.renameTable),
    ]
  }

  /// Makes the node's app write, and perhaps share a row, while the node has taken in a part of earlier writes.
  func hurry(_ node: SimulatedNode) throws {
    hastyLeft -= 1
    occurred("writers.hasty")
    try apps.write(node)
    if node.replica != nil, plan.shareCreates > 0, mesh.generator.once(in: 4) { try shares.create(node) }
  }

  // MARK: The end

  private func settle() throws {
    mesh.deadline = time.now + Self.settlingTime
    say(nil, "the steps are over, all heals")
    machines.heal()
    try history.stopCopies()
    for node in nodes where !node.isStopped {
      node.isDoomed = false
      node.vault.diesAtMark = false
      node.database.disk?.die(within: 0)
      node.database.disk?.mend()
      try migrations.complete(node)
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
