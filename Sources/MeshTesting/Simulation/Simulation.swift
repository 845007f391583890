import MeshCore

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
public final class Simulation: MeshPart {
  public enum Storage: String, Sendable, CaseIterable {
    /// SQLite files on disks in memory.
    case sqlite
    /// `ModelStore`, which is many times faster and has no foreign keys.
    case model
  }

  /// The greatest number of devices that the account certifies for one simulation. More devices would show nothing new
  /// and take long.
  public static let mostNodes = 256
  /// The virtual milliseconds in which the nodes have to come to the same state after everything is healed.
  public static let settlingTime: Int64 = 30 * 60_000
  /// The milliseconds between two ticks of a replica, and between two checks of the whole.
  static let tickInterval: Int64 = 250
  static let checkInterval: Int64 = 1_000

  let mesh: SimulatedMesh
  let joins: ShareJoins
  let machines: MachineFaults
  let apps: AppWrites
  let migrations: AppMigrations
  let history: FileHistory
  let assets: AssetUsers
  let shares: ShareUsers
  let liars: Liars
  var stepsLeft: Int
  /// The number of hasty writes that may still be made in this step.
  var hastyLeft = 0
  var isOver = false
  /// The states of control logs that were read plainly, by their heads.
  var plainlyRead: Set<Set<ControlID>> = []
  /// The digest of each merged state that some node had. The last change set of each author identifies the state.
  var digests: [[Author: ChangeSetID]: ZoneDigest] = [:]

  /// - Parameters:
  ///   - nodes: The number of nodes, at least one. The first one makes the account's zone.
  ///   - steps: The number of writes and faults.
  public init(
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
    history = FileHistory(mesh, assets)
    joins = ShareJoins(mesh)
    shares = ShareUsers(mesh: mesh, apps: apps, joins: joins)
    liars = Liars(mesh)
  }

  /// Runs the simulation to its end. `print` gets each line of the trace. The last line is `digest` and the outcome's
  /// digest.
  public func run(print: @escaping (String) -> Void = { _ in }) throws -> Outcome {
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
}
