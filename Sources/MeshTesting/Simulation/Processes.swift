import MeshCore
import MeshReplication

/// The nodes' processes: their starts, their ticks, and their work in pieces.
final class Processes: MeshPart {
  let mesh: SimulatedMesh
  private let apps: AppWrites
  private let migrations: AppMigrations
  private let shares: ShareUsers
  private let history: FileIncidents
  private let checks: RunningChecks
  /// The number of hasty writes that may still be made in this step.
  private var hastyLeft = 0

  /// The milliseconds between two ticks of a replica.
  private static let tickInterval: Int64 = 250
  /// The number of hasty writes in one step. Each makes work for all nodes, between whose pieces others may follow.
  private static let hastyWrites = 12

  init(
    _ mesh: SimulatedMesh, _ apps: AppWrites, _ migrations: AppMigrations, _ shares: ShareUsers,
    _ history: FileIncidents, _ checks: RunningChecks
  ) {
    (self.mesh, self.apps, self.migrations, self.shares) = (mesh, apps, migrations, shares)
    (self.history, self.checks) = (history, checks)
  }

  func start(_ node: SimulatedNode) throws {
    guard node.replica == nil, !node.isStopped else { return }
    do {
      if let damage = try node.database.damage() {
        return violate("n\(node.index)'s file is damaged when it starts: \(damage)")
      }
      try apps.writeOlderCopy(node)
      try node.start()
    } catch {
      return try failStart(node, error)
    }
    guard node.setAside == nil else { return violate("n\(node.index) works with another account's file") }
    say(node.index, node.life == 1 ? "starts" : "starts again, life \(node.life)")
    try makePrivateZone(node)
    guard node.replica != nil else { return }
    if node.home.place == 0 { history.noteRevoked(node) }
    try mesh.guarded(node) { try checks.look(node) }
    guard node.replica != nil else { return }
    mesh.schedule(.tick(node: node.index, life: node.life), in: Self.tickInterval)
    for route in mesh.network.routes.indices where mesh.network.routes[route].from == node.index {
      mesh.network.routes[route].wire = nil
      mesh.schedule(.dial(route: route, life: node.life), in: Int64.random(in: 1...200, using: &mesh.generator))
    }
  }

  /// Handles a failed start. The operator starts the node again.
  private func failStart(_ node: SimulatedNode, _ error: any Error) throws {
    if node.database.disk?.isDead == true || error is SimulatedDeath {
      return try mesh.crash(node, "dies while it starts", isMachine: true)
    }
    if case ReplicaError.foreignDatabase = error, try history.putBack(node) {
      if mesh.deadline != nil { try migrations.complete(node) }
      return mesh.schedule(.start(node.index), in: Int64.random(in: 500...3_000, using: &mesh.generator))
    }
    guard mesh.isFault(node, error) else { return violate("n\(node.index) does not start: \(mesh.named("\(error)"))") }
    say(node.index, "does not start: its disk fails")
    try node.end()
    mesh.schedule(.start(node.index), in: Int64.random(in: 500...3_000, using: &mesh.generator))
  }

  /// Makes the private zone of the account whose key a node holds.
  private func makePrivateZone(_ node: SimulatedNode) throws {
    guard node.home.place == 0, zones.privateZone(of: node) == nil else { return }
    var made: ZoneID?
    try mesh.input(node) { replica, now in
      made = try replica.administration.createPrivateZone(title: "private", now: now)
    }
    guard let made else { return }
    zones.notePrivateZone(made, of: node)
  }

  func tick(_ node: SimulatedNode, _ life: Int) throws {
    // This is a slow poll in addition to the notices, which may be missed.
    if time.now % (4 * Self.tickInterval) < Self.tickInterval { try notice(node) }
    guard mesh.alive(node.index, life) else { return }
    try mesh.input(node) { replica, now in try replica.tick(now: now) }
    mesh.schedule(.tick(node: node.index, life: life), in: Self.tickInterval)
  }

  /// Reacts like a node that sees its file change.
  func notice(_ node: SimulatedNode) throws {
    try mesh.input(node) { replica, _ in
      guard try node.database.hasChanged() else { return }
      replica.databaseChanged()
    }
  }

  func work(_ node: SimulatedNode) throws {
    guard let replica = node.replica else { return }
    var (hasMore, hasFailed) = (false, true)
    try mesh.guarded(node) {
      hasMore = try replica.work(now: node.clock.moment)
      if mesh.rewritesHistory, !node.isLiar { try history.archiveWrites(of: node) }
      hasFailed = false
    }
    guard try mesh.finish(node, replica) else { return }
    node.isWorkQueued = false
    // A faulty operation is tried again later.
    if hasFailed { return mesh.queueWork(node, after: Int64.random(in: 100...2_000, using: &mesh.generator)) }
    guard hasMore else { return }
    try mesh.guarded(node) { try checks.look(node) }
    if hastyLeft > 0, node.replica === replica, mesh.generator.once(in: plan.hasty) { try hurry(node) }
    if node.replica === replica { mesh.queueWork(node) }
  }

  // MARK: Haste

  /// Begins a step. Until the next one, apps may write between two pieces of their nodes' work, but not after the last
  /// step.
  func beginStep(isLast: Bool) { hastyLeft = isLast ? 0 : Self.hastyWrites }

  /// Makes the node's app write, and perhaps share a row, while the node has taken in a part of earlier writes.
  private func hurry(_ node: SimulatedNode) throws {
    hastyLeft -= 1
    occurred("writers.hasty")
    try apps.write(node)
    if node.replica != nil, plan.shareCreates > 0, mesh.generator.once(in: 4) { try shares.create(node) }
  }
}
