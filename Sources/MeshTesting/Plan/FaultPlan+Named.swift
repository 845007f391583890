/// The plans that need no file. The command line and a plan's `base` use their names.
extension FaultPlan {
  /// An ordinary network without any faults.
  package static let calm = FaultPlan()

  /// A little of everything that happens to honest nodes on a bad day.
  package static let ordinary: FaultPlan = {
    var plan = FaultPlan()
    (plan.slowLinks, plan.doubleDials) = (6, 10)
    (plan.cuts, plan.silentCuts, plan.stalls) = (14, 40, 60)
    (plan.partitions, plan.oneWayPartitions) = (40, 80)
    plan.clockJumps = 40
    (plan.kills, plan.powerCuts, plan.deaths, plan.restarts, plan.pauses) = (60, 60, 60, 120, 120)
    plan.writesWhileDown = 3
    return plan
  }()

  package static let crashing: FaultPlan = {
    var plan = ordinary
    (plan.kills, plan.powerCuts, plan.deaths, plan.restarts) = (15, 12, 10, 40)
    plan.downTime = 50...4_000
    return plan
  }()

  package static let partitioned: FaultPlan = {
    var plan = ordinary
    (plan.partitions, plan.oneWayPartitions, plan.cuts, plan.silentCuts, plan.stalls) = (12, 12, 6, 12, 12)
    plan.pauses = 30
    return plan
  }()

  /// Wall clocks that are wrong by more than the bound, and that jump.
  package static let wrongClocks: FaultPlan = {
    var plan = ordinary
    (plan.clockError, plan.clockJumps) = (8 * 60_000, 10)
    return plan
  }()

  /// Clocks that agree, and writes in the same milliseconds, which give stamps with one time and several authors.
  package static let simultaneous: FaultPlan = {
    var plan = ordinary
    (plan.clockError, plan.clockJumps, plan.pause, plan.together) = (0, 0, 30, 5)
    plan.partitionTime = 20...400
    plan.downTime = 1...100
    plan.pauseTime = 5...300
    plan.stallTime = 5...300
    return plan
  }()

  package static let line: FaultPlan = {
    var plan = ordinary
    plan.topology = .line
    return plan
  }()

  /// Disks that fail, fill up and lose their power.
  package static let badDisks: FaultPlan = {
    var plan = ordinary
    (plan.powerCuts, plan.deaths, plan.kills) = (20, 8, 40)
    (plan.diskErrors, plan.fullDisks) = (15, 15)
    return plan
  }()

  /// Programs that write much at once and long values, and a device that is revoked.
  package static let writing: FaultPlan = {
    var plan = ordinary
    (plan.bulkWrites, plan.longValues) = (60, 20)
    (plan.revocations, plan.deaths) = (150, 20)
    return plan
  }()

  /// Programs on all nodes that write to the same columns with policies, in partitions and between crashes.
  package static let counting: FaultPlan = {
    var plan = partitioned
    (plan.kills, plan.powerCuts, plan.deaths, plan.restarts) = (15, 20, 0, 40)
    plan.counts = 2
    return plan
  }()

  /// BLOBs from 20 KiB to 1 MiB, which are evicted and requested. Their sources come and go, and one of them lies.
  package static let assets: FaultPlan = {
    var plan = ordinary
    (plan.longValues, plan.longSize) = (3, 20 << 10...1 << 20)
    (plan.kills, plan.powerCuts, plan.deaths, plan.cuts, plan.silentCuts) = (20, 25, 15, 12, 12)
    (plan.rescans, plan.liars, plan.wrongChunks) = (40, 1, 4)
    (plan.photos, plan.assetPolicies, plan.assetFetches, plan.assetEvictions) = (4, 25, 6, 2)
    return plan
  }()

  /// One member that lies in every way it can.
  package static let lying: FaultPlan = {
    var plan = ordinary
    plan.liars = 1
    (plan.forgeries, plan.truncations, plan.replays, plan.gaps) = (6, 12, 8, 12)
    (plan.farFutures, plan.generations, plan.floods, plan.forks) = (20, 20, 20, 20)
    (plan.brokenChains, plan.contexts, plan.forgedHeads, plan.unknownTables) = (20, 10, 10, 20)
    (plan.crowds, plan.relays, plan.hostileSchemas) = (10, 8, 20)
    return plan
  }()

  /// Files and homes that are restored from copies, copied to other machines, and run twice.
  package static let history: FaultPlan = {
    var plan = ordinary
    (plan.restores, plan.homeRestores, plan.fileCopies, plan.homeCopies) = (30, 30, 60, 80)
    return plan
  }()

  /// Files that are restored while the node has them open.
  package static let liveRestores: FaultPlan = {
    var plan = ordinary
    plan.liveRestores = 6
    return plan
  }()

  /// Apps that change their tables at different times, and triggers without a guard.
  package static let schemas: FaultPlan = {
    var plan = ordinary
    (plan.addedColumns, plan.droppedColumns, plan.renamedColumns) = (25, 40, 40)
    (plan.alterations, plan.recreatedTables, plan.badTriggers, plan.rescans) = (25, 40, 3, 40)
    plan.readdedColumns = 40
    (plan.constraints, plan.uniques, plan.references) = (10, 10, 15)
    return plan
  }()

  /// Machines that rename columns and tables in stages, untrack tables and track them again, and join with copies of their own.
  package static let migrations: FaultPlan = {
    var plan = ordinary
    (plan.addedColumns, plan.renamedColumns, plan.untrackedTables, plan.olderCopies) = (25, 12, 8, 2)
    plan.renamedTables = 20
    return plan
  }()

  /// Accounts that share, lower permissions, remove, leave, stop and come back, and one that lies.
  package static let shares: FaultPlan = {
    var plan = ordinary
    (plan.accounts, plan.liars, plan.pause) = (4, 1, 1_200)
    (plan.shareCreates, plan.shareInvites, plan.shareUninvites) = (12, 6, 60)
    (plan.sharePermissions, plan.shareFlaps, plan.shareRemovals) = (14, 50, 30)
    (plan.shareLeaves, plan.shareStops, plan.rootDeletes) = (60, 100, 80)
    (plan.bypasses, plan.keptCopies, plan.revocations, plan.foreignKeysOff) = (25, 3, 80, 4)
    (plan.forgeries, plan.replays, plan.forks) = (20, 12, 40)
    (plan.overreaches, plan.controlForgeries, plan.oldEpochs, plan.keyLeaks) = (8, 12, 12, 12)
    plan.revokedWrites = 8
    (plan.generations, plan.contexts, plan.forgedHeads, plan.unknownTables, plan.clockLies) = (20, 20, 12, 20, 8)
    (plan.crowds, plan.relays, plan.hostileSchemas, plan.certificateFloods) = (4, 8, 12, 12)
    return plan
  }()

  /// Programs that write, move and share rows again before the node has flushed what they wrote.
  package static let hasty: FaultPlan = {
    var plan = ordinary
    (plan.accounts, plan.pause, plan.hasty) = (3, 600, 2)
    (plan.shareCreates, plan.shareInvites, plan.sharePermissions) = (8, 4, 20)
    (plan.shareStops, plan.rootDeletes, plan.bypasses) = (60, 60, 25)
    return plan
  }()

  /// Apps write while their nodes are at work, and records move in and out of shares.
  package static let interrupting: FaultPlan = {
    var plan = hasty
    plan.interruptions = 2
    return plan
  }()

  /// Hundreds of nodes that do little.
  package static let wide: FaultPlan = {
    var plan = FaultPlan()
    (plan.topology, plan.meetsGradually) = (.regular, false)
    (plan.slowLinks, plan.cuts, plan.silentCuts, plan.partitions) = (10, 6, 20, 40)
    (plan.kills, plan.powerCuts, plan.pauses) = (30, 30, 30)
    return plan
  }()

  package static let named: [String: FaultPlan] = [
    "calm": calm, "ordinary": ordinary, "crashing": crashing, "partitioned": partitioned, "wrong-clocks": wrongClocks,
    "simultaneous": simultaneous,
    "line": line, "assets": assets, "bad-disks": badDisks, "writing": writing, "counting": counting, "lying": lying,
    "history": history,
    "hasty": hasty, "interrupting": interrupting, "live-restores": liveRestores,
    "schemas": schemas, "migrations": migrations,
    "shares": shares, "wide": wide,
  ]
}
