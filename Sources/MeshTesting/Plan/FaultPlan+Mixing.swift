/// Plans that are made of several others.
extension FaultPlan {
  /// Returns the plan that a name stands for. The name of a mixture has plus signs, as in `shares+assets`. Returns nil
  /// if a part of the name is not the name of a plan.
  package static func plan(named name: String) -> FaultPlan? {
    let parts = name.split(separator: "+", omittingEmptySubsequences: false).map { named[String($0)] }
    let plans = parts.compactMap { $0 }
    return plans.count == parts.count ? mixture(of: plans) : nil
  }

  /// Returns the plan in which all of these happen. A fault is as frequent as in the plan in which it is the most
  /// frequent. For other values, the last plan that differs from `calm` counts. Long values are at most 200 kB long.
  package static func mixture(of plans: [FaultPlan]) -> FaultPlan {
    guard plans.count > 1 else { return plans.first ?? .calm }
    var mixture = FaultPlan.calm
    mixture.spellings = 2
    for key in Key.all {
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
  package static func mixture(from seed: UInt64) -> String {
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
    if storage == .model, key.needsFile { return "run.storage has to be \"sqlite\"" }
    for group in key.needs where !group.contains(where: isOn) {
      return "set \(group.joined(separator: " or ")) as well"
    }
    return nil
  }

  /// Returns this plan with its keys that have no effect set to their values in `calm`.
  func withoutIdleKeys(_ storage: Simulation.Storage) -> FaultPlan {
    var plan = self
    while true {
      let idle = Key.all.filter { plan.idleness($0, storage) != nil }
      if idle.isEmpty { return plan }
      for key in idle { plan.take(key, from: .calm) }
    }
  }

  private func isOn(_ path: String) -> Bool {
    switch path {
    case "accounts.count": accounts > 1
    case "network.topology": topology == .regular
    default: Key.all.first { $0.path == path }.map { value($0) != .integer(0) } ?? false
    }
  }
}
