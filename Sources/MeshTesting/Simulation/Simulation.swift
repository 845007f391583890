/// Simulates nodes, a network and an app on each node, with all faults that can happen between them. It uses virtual
/// time, and one seed determines everything.
///
/// ```swift
/// let outcome = try Simulation(seed: 7, nodes: 4, steps: 100, plan: .badDisks).run { print($0) }
/// precondition(outcome.violation == nil)
/// ```
///
/// The replicas and the stores are the real ones. After the steps, all faults heal, and the nodes must come to the same
/// state.
package final class Simulation: MeshPart {
  package enum Storage: String, Sendable, CaseIterable {
    /// SQLite files on disks in memory.
    case sqlite
    /// `ModelStore`, which is many times faster and has no foreign keys.
    case model
  }

  /// The greatest number of devices that the account certifies for one simulation. More devices would show nothing new
  /// and take long.
  package static let mostNodes = 256
  /// The virtual milliseconds in which the nodes have to come to the same state after everything is healed.
  package static let settlingTime: Int64 = 30 * 60_000
  /// The milliseconds between two checks of the whole.
  private static let checkInterval: Int64 = 1_000

  let mesh: SimulatedMesh
  private let processes: Processes
  private let connections: SimulatedConnections
  private let joins: ShareJoins
  private let machines: MachineFaults
  private let apps: AppWrites
  private let migrations: AppMigrations
  private let history: FileIncidents
  private let assets: AssetUsers
  private let shares: ShareUsers
  private let liars: Liars
  private let runningChecks: RunningChecks
  private let settlement: Settlement
  private let finalChecks: FinalChecks
  private var stepsLeft: Int
  private var isOver = false

  /// - Parameters:
  ///   - nodes: The number of nodes, at least one. The first one makes the account's zone.
  ///   - steps: The number of writes and faults.
  package init(
    seed: UInt64, nodes count: Int, steps: Int, plan: FaultPlan = .ordinary, storage: Storage = .sqlite
  ) throws {
    guard (1...Self.mostNodes).contains(count) else {
      throw SimulationError("a simulation has 1 to \(Self.mostNodes) nodes")
    }
    guard plan.liars < count else {
      throw SimulationError("of \(count) nodes \(plan.liars) are to lie: take more nodes, or fewer liars")
    }
    stepsLeft = steps
    mesh = try SimulatedMesh(seed: seed, nodes: count, plan: plan.withoutIdleKeys(storage), storage: storage)
    machines = MachineFaults(mesh: mesh)
    apps = AppWrites(mesh: mesh)
    migrations = AppMigrations(mesh: mesh, apps: apps)
    assets = AssetUsers(mesh)
    history = FileIncidents(mesh, assets)
    joins = ShareJoins(mesh)
    shares = ShareUsers(mesh: mesh, apps: apps, joins: joins)
    liars = Liars(mesh)
    let control = ControlCheck(mesh, liars)
    runningChecks = RunningChecks(mesh, history, control)
    settlement = Settlement(mesh: mesh, joins: joins, assets: assets)
    finalChecks = FinalChecks(mesh, control, assets, history)
    processes = Processes(mesh, apps, migrations, shares, history, runningChecks)
    connections = SimulatedConnections(mesh: mesh, joins: joins)
  }

  /// Runs the simulation to its end. `print` gets each line of the trace. The last line is `digest` and the outcome's
  /// digest.
  package func run(print: @escaping (String) -> Void = { _ in }) throws -> Outcome {
    mesh.beginTrace(print)
    defer { for node in nodes { try? node.database.close() } }
    for node in nodes { mesh.schedule(.start(node.index), at: Int64(node.index)) }
    mesh.schedule(.step, at: 1_000)
    mesh.schedule(.check, at: Self.checkInterval)
    while mesh.violation == nil, !isOver, let event = mesh.nextEvent() { try handle(event) }
    mesh.counts.branches = mesh.branches.counts
    if let violation = mesh.violation { say(nil, "violation: \(violation)") }
    for line in mesh.counts.summary { say(nil, line) }
    let digest = mesh.traceDigest
    print("digest \(digest)")
    return Outcome(violation: mesh.violation, digest: digest, counts: mesh.counts, virtualTime: time.now)
  }

  private func handle(_ event: SimulatedMesh.Event) throws {
    switch event {
    case .start(let node): try processes.start(nodes[node])
    case .tick(let node, let life) where mesh.alive(node, life): try processes.tick(nodes[node], life)
    case .work(let node, let life) where mesh.alive(node, life): try processes.work(nodes[node])
    case .noticed(let node, let life) where mesh.alive(node, life): try processes.notice(nodes[node])
    case .dial(let route, let life): connections.dial(route, life)
    case .handshaken(let route, let wire): try connections.handshaken(route, wire)
    case .arrived(let wire, let from, let bytes): try connections.arrived(wire, from, bytes)
    case .closed(let wire, let end): try connections.noticeClosed(wire, end)
    case .join(let join, _): try joins.attempt(join)
    case .joinOpened(let join, _, let wire): try joins.open(join, wire)
    case .evict(let eviction) where mesh.alive(eviction.node, eviction.life): try assets.goOn(eviction)
    case .heal: machines.heal()
    case .mend(let node): nodes[node].database.disk?.mend()
    case .step: try step()
    case .check: try check()
    case .tick, .work, .noticed, .evict: break
    }
  }

  // MARK: Steps

  /// Lets faults happen to a node and its app write, until the steps are over.
  private func step() throws {
    guard stepsLeft > 0 else { return try settle() }
    stepsLeft -= 1
    processes.beginStep(isLast: stepsLeft == 0)
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
      (\.interruptions, apps.interrupt),
    ]
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
      node.database.beforeTransaction(0, nil)
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

  /// Checks all nodes and, when the steps are over, whether they are equal.
  private func check() throws {
    try runningChecks.check()
    guard let deadline = mesh.deadline else { return mesh.schedule(.check, in: Self.checkInterval) }
    try assets.askForAll()
    if try settlement.isReached() {
      isOver = true
      return try finalChecks.check()
    }
    guard time.now < deadline else {
      try settlement.explain()
      return violate("the nodes are not equal \(Self.settlingTime / 60_000) minutes after all was healed")
    }
    mesh.schedule(.check, in: Self.checkInterval)
  }
}
