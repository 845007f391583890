/// Runs one seed after another with varied plans until a run fails. Then finds the smallest run that still fails.
package struct Soak {
  /// The plan of every run, or nil to vary it. Each run is derived from one number, so the same number gives the same
  /// run.
  private let plan: FaultPlan?
  /// The number of attempts to make a failing run smaller. Each is a run.
  private static let attempts = 200

  /// - Parameter plan: The plan for every run, or nil to vary it.
  package init(plan: FaultPlan? = nil) { self.plan = plan }

  /// Returns the run with this number.
  package func run(_ number: UInt64) -> PlannedRun {
    var generator = SplitMix64(seed: number, stream: 77)
    let nodes =
      generator.once(in: 10) ? Int.random(in: 8...14, using: &generator) : Int.random(in: 2...5, using: &generator)
    let steps = generator.once(in: 8) ? 500 : Int.random(in: 30...200, using: &generator)
    var varied = plan ?? Self.plan(&generator)
    if varied.liars >= nodes { varied.liars = nodes - 1 }
    let storage: Simulation.Storage = generator.once(in: 5) ? .model : .sqlite
    return PlannedRun(
      plan: varied.withoutIdleKeys(storage), seed: number, nodes: nodes, steps: steps, storage: storage)
  }

  /// Returns a mixture of named plans in which each fault is off, unchanged, or more frequent.
  private static func plan(_ generator: inout SplitMix64) -> FaultPlan {
    var plan = FaultPlan.plan(named: FaultPlan.mixture(&generator)) ?? .ordinary
    guard generator.once(in: 2) else { return plan }
    for key in FaultPlan.Key.all {
      guard case .chance(let field) = key.kind, plan[keyPath: field] > 0 else { continue }
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: plan[keyPath: field] = 0
      case 1: plan[keyPath: field] = max(2, plan[keyPath: field] / 4)
      default: break
      }
    }
    return plan
  }

  /// Returns the violation in a run, or nil if there is none.
  package static func violation(_ run: PlannedRun) throws -> String? {
    try Simulation(
      seed: run.seed ?? 1, nodes: run.nodes ?? 3, steps: run.steps ?? 200, plan: run.plan,
      storage: run.storage ?? .sqlite
    ).run().violation
  }

  // MARK: Shrinking

  /// Returns a smaller run that also fails, with fewer steps, nodes and faults. Faults are switched off one by one, and
  /// as many steps and nodes as possible are removed.
  package static func shrunk(_ run: PlannedRun, tell: (String) -> Void) throws -> PlannedRun {
    var (smallest, left) = (run, attempts)
    func fails(_ candidate: PlannedRun) throws -> Bool {
      guard left > 0 else { return false }
      left -= 1
      return try violation(candidate) != nil
    }
    var hasShrunk = true
    while hasShrunk, left > 0 {
      hasShrunk = false
      for (candidate, text) in candidates(smallest) where try fails(candidate) {
        tell(text)
        smallest = candidate
        hasShrunk = true
        break
      }
    }
    return smallest
  }

  /// Returns the smaller runs to try, largest reduction first.
  private static func candidates(_ run: PlannedRun) -> [(PlannedRun, String)] {
    var candidates: [(PlannedRun, String)] = []
    let (nodes, steps) = (run.nodes ?? 3, run.steps ?? 200)
    for fewer in [steps / 2, steps * 3 / 4, steps * 9 / 10, steps - 1] where fewer < steps && fewer > 0 {
      var candidate = run
      candidate.steps = fewer
      candidates.append((candidate, "\(fewer) steps"))
    }
    for fewer in [2, nodes / 2, nodes - 1] where fewer < nodes && fewer > max(1, run.plan.liars) {
      var candidate = run
      candidate.nodes = fewer
      candidates.append((candidate, "\(fewer) nodes"))
    }
    for key in FaultPlan.Key.all {
      guard case .chance(let field) = key.kind, run.plan[keyPath: field] > 0 else { continue }
      var candidate = run
      candidate.plan[keyPath: field] = 0
      candidate.plan = candidate.plan.withoutIdleKeys(candidate.storage ?? .sqlite)
      candidates.append((candidate, "no \(key.path)"))
    }
    return candidates
  }
}
