/// Plans that are made of several others.
extension FaultPlan {
  /// Returns the plan that a name stands for. The name of a mixture has plus signs, as in `shares+assets`. Returns nil
  /// if a part of the name is not the name of a plan.
  public static func plan(named name: String) -> FaultPlan? {
    let parts = name.split(separator: "+", omittingEmptySubsequences: false).map { named[String($0)] }
    let plans = parts.compactMap { $0 }
    return plans.count == parts.count ? mixture(of: plans) : nil
  }

  /// Returns the plan in which all of these happen. A fault is as frequent as in the plan in which it is the most
  /// frequent. For other values, the last plan that differs from `calm` counts. Long values are at most 200 kB long.
  public static func mixture(of plans: [FaultPlan]) -> FaultPlan {
    guard plans.count > 1 else { return plans.first ?? .calm }
    var mixture = FaultPlan.calm
    mixture.spellings = 2
    for key in keys {
      let special = plans.filter { $0.value(key) != calm.value(key) }
      guard let last = special.last else { continue }
      guard case .chance(let field) = key.kind else {
        mixture.take(key, from: last)
        continue
      }
      mixture[keyPath: field] = special.map { $0[keyPath: field] }.filter { $0 > 0 }.min() ?? 0
    }
    // Every node of every zone handles them, which takes most of the time of a run.
    if mixture.longValues + mixture.photos > 0 {
      mixture.longSize = mixture.longSize.clamped(to: 17_000...longestMixed)
    }
    // One plan may switch off what a key of another needs.
    return mixture.withoutIdleKeys(.sqlite)
  }

  /// The greatest size of a long value in a mixture.
  private static let longestMixed = 200_000

  /// The names of the plans of which random mixtures are made.
  private static let ingredients = named.keys.filter { !["calm", "wide"].contains($0) }.sorted()

  /// Returns the name of a mixture of two to four plans, drawn from a seed.
  public static func mixture(from seed: UInt64) -> String {
    var generator = SplitMix64(seed: seed, stream: 78)
    return mixture(&generator)
  }

  static func mixture(_ generator: inout SplitMix64) -> String {
    let count = Int.random(in: 2...4, using: &generator)
    return ingredients.shuffled(using: &generator).prefix(count).sorted().joined(separator: "+")
  }

  private mutating func take(_ key: Key, from other: FaultPlan) {
    switch key.kind {
    case .chance(let field), .number(let field): self[keyPath: field] = other[keyPath: field]
    case .span(let field): self[keyPath: field] = other[keyPath: field]
    case .flag(let field): self[keyPath: field] = other[keyPath: field]
    case .topology: topology = other.topology
    }
  }

  // MARK: Keys without effect

  /// Returns why a key has no effect in this plan, or nil if it has one or is off. The text names the keys of which one
  /// has to be set as well.
  func idleness(_ key: Key, _ storage: Simulation.Storage) -> String? {
    guard value(key) != Self.calm.value(key), value(key) != .integer(0) else { return nil }
    if storage == .model, Self.needsFile(key.path) { return "run.storage has to be \"sqlite\"" }
    for group in Self.needs(key.path) where !group.contains(where: isOn) {
      return "set \(group.joined(separator: " or ")) as well"
    }
    return nil
  }

  /// Returns this plan with its keys that have no effect set to their values in `calm`.
  func withoutIdleKeys(_ storage: Simulation.Storage) -> FaultPlan {
    var plan = self
    while true {
      let idle = Self.keys.filter { plan.idleness($0, storage) != nil }
      if idle.isEmpty { return plan }
      for key in idle { plan.take(key, from: .calm) }
    }
  }

  private func isOn(_ path: String) -> Bool {
    switch path {
    case "accounts.count": accounts > 1
    case "network.topology": topology == .regular
    default: Self.keys.first { $0.path == path }.map { value($0) != .integer(0) } ?? false
    }
  }

  private static let ends = [
    "nodes.kills", "nodes.powerCuts", "nodes.deaths", "nodes.restarts", "history.restores", "history.homeRestores",
    "history.liveRestores", "history.fileCopies", "history.homeCopies",
  ]
  private static let longBLOBs = ["writers.longValues", "assets.photos"]

  /// Returns groups of keys. If a key of each group is on, the key has an effect.
  private static func needs(_ path: String) -> [[String]] {
    switch path {
    case "network.degree": [["network.topology"]]
    case "network.slowRate": [["network.slowLinks"]]
    case "network.stallTime": [["network.stalls"]]
    case "network.partitionTime": [["network.partitions", "network.oneWayPartitions"]]
    case "clock.jumps": [["clock.error"]]
    case "nodes.deathWithin": [["nodes.deaths"]]
    case "nodes.downTime", "writers.whileDown": [ends]
    case "nodes.pauseTime": [["nodes.pauses"]]
    case "disk.errorTime", "disk.errorRate": [["disk.errors"]]
    case "disk.fullTime", "disk.fullRate": [["disk.full"]]
    case "writers.bulkSize": [["writers.bulk"]]
    case "writers.longSize", "assets.policies", "assets.fetches", "assets.evictions": [longBLOBs]
    case "liars.wrongChunks": [["liars.count"], longBLOBs]
    case "shares.creates": [["accounts.count"]]
    case "liars.clocks", "liars.certificates": [["liars.count"], ["accounts.count"]]
    case "liars.overreaches", "liars.controlForgeries", "liars.oldEpochs", "liars.keyLeaks":
      [["liars.count"], ["accounts.count"], ["shares.creates"]]
    case "liars.revokedWrites":
      [["liars.count"], ["accounts.count"], ["shares.creates"], ["nodes.revocations"]]
    case _ where path.hasPrefix("shares."): [["accounts.count"], ["shares.creates"]]
    case _ where path.hasPrefix("liars.") && path != "liars.count": [["liars.count"]]
    default: []
    }
  }

  /// Returns whether a fault needs a disk, a schema or shares, which the model store doesn't have.
  private static func needsFile(_ path: String) -> Bool {
    let writers = ["whileDown", "together", "hasty", "bulk", "bulkSize", "longValues", "longSize"].map {
      "writers.\($0)"
    }
    return path.hasPrefix("disk.") || path.hasPrefix("history.")
      || path.hasPrefix("writers.") && !writers.contains(path)
      || [
        "accounts.count", "nodes.rescans", "nodes.deathWithin", "assets.policies", "assets.fetches", "assets.evictions",
      ].contains(path)
  }
}
