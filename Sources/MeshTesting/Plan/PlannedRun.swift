import Foundation

/// A plan and its run, as one file has them: `{"base": …, "run": {"seed": …}, "network": {…}, …}`.
package struct PlannedRun: Sendable, Equatable {
  package var plan: FaultPlan
  /// Nil if the file doesn't set it.
  package var seed: UInt64?
  package var nodes: Int?
  package var steps: Int?
  package var storage: Simulation.Storage?

  package init(
    plan: FaultPlan, seed: UInt64? = nil, nodes: Int? = nil, steps: Int? = nil, storage: Simulation.Storage? = nil
  ) {
    self.plan = plan
    (self.seed, self.nodes, self.steps, self.storage) = (seed, nodes, steps, storage)
  }

  // MARK: Reading

  /// - Parameter storage: The storage to use instead of the file's.
  /// - Throws: `PlanError`, which names the key, the rule and the way out.
  package init(json: [UInt8], storage other: Simulation.Storage? = nil) throws {
    let document: JSON
    do {
      document = try JSONDecoder().decode(JSON.self, from: Data(json))
    } catch {
      throw PlanError("", "is not JSON", "write one object, like {\"nodes\": {\"powerCuts\": 20}}")
    }
    guard case .object(var sections) = document else {
      throw PlanError("", "is no object", "write one object, like {\"nodes\": {\"powerCuts\": 20}}")
    }
    self.init(plan: try Self.base(sections.removeValue(forKey: "base")))
    if let about = sections.removeValue(forKey: "about") {
      guard case .text(let text) = about else { throw PlanError("about", "is no text", "put it in quotes") }
      plan.about = text
    }
    if let run = sections.removeValue(forKey: "run") { try read(run: run) }
    storage = other ?? storage
    var stated: [FaultPlan.Key] = []
    let keys = Dictionary(FaultPlan.Key.all.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    for (name, value) in sections.sorted(by: { $0.key < $1.key }) {
      if let key = keys[name] {
        try plan.set(key, value)
        stated.append(key)
        continue
      }
      guard case .object(let fields) = value, keys.keys.contains(where: { $0.hasPrefix("\(name).") }) else {
        throw Self.unknown(
          name, among: Set(keys.keys.map { String($0.prefix { $0 != "." }) }).union(["about", "base", "run"]))
      }
      for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
        let path = "\(name).\(field)"
        guard let key = keys[path] else {
          throw Self.unknown(path, among: Set(keys.keys.filter { $0.hasPrefix("\(name).") }))
        }
        try plan.set(key, value)
        stated.append(key)
      }
    }
    for key in stated {
      guard let wayOut = plan.idleness(key, storage ?? .sqlite) else { continue }
      throw PlanError(key.path, "has no effect in this plan", wayOut)
    }
  }

  private static func unknown(_ key: String, among known: Set<String>) -> PlanError {
    PlanError(key, "is not a key of a plan", "use one of \(known.sorted().joined(separator: ", "))")
  }

  private static func base(_ value: JSON?) throws -> FaultPlan {
    guard let value else { return .calm }
    guard case .text(let name) = value, let plan = FaultPlan.plan(named: name) else {
      throw PlanError(
        "base", "names no plan",
        "use one or several, with “+” between them, of \(FaultPlan.named.keys.sorted().joined(separator: ", "))")
    }
    return plan
  }

  private mutating func read(run: JSON) throws {
    guard case .object(let fields) = run else {
      throw PlanError("run", "is no object", "write {\"seed\": 1, \"nodes\": 3, \"steps\": 100}")
    }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      switch (name, value) {
      case ("seed", .integer(let number)) where number >= 0: seed = UInt64(number)
      case ("nodes", .integer(let number)) where (1...Simulation.mostNodes).contains(number): nodes = number
      case ("steps", .integer(let number)) where number >= 0: steps = number
      case ("storage", .text(let text)) where Simulation.Storage(rawValue: text) != nil:
        storage = Simulation.Storage(rawValue: text)
      case ("seed", _), ("steps", _):
        throw PlanError("run.\(name)", "is no whole number from 0", "write one")
      case ("nodes", _):
        throw PlanError("run.nodes", "is out of bounds", "write a whole number from 1 to \(Simulation.mostNodes)")
      case ("storage", _): throw PlanError("run.storage", "names no storage", "write \"sqlite\" or \"model\"")
      default: throw Self.unknown("run.\(name)", among: ["run.seed", "run.nodes", "run.steps", "run.storage"])
      }
    }
  }

  // MARK: Writing

  /// The differences from `calm`, with sorted keys. Equal plans give equal bytes.
  package var json: String {
    var sections: [String: JSON] = [:]
    var run: [String: JSON] = [:]
    run["seed"] = seed.map { .integer(Int(clamping: $0)) }
    run["nodes"] = nodes.map { .integer($0) }
    run["steps"] = steps.map { .integer($0) }
    run["storage"] = storage.map { .text($0.rawValue) }
    if !run.isEmpty { sections["run"] = .object(run) }
    if !plan.about.isEmpty { sections["about"] = .text(plan.about) }
    for key in FaultPlan.Key.all where plan.value(key) != FaultPlan.calm.value(key) {
      let names = key.path.split(separator: ".").map(String.init)
      guard names.count == 2 else {
        sections[key.path] = plan.value(key)
        continue
      }
      var section: [String: JSON] = [:]
      if case .object(let known)? = sections[names[0]] { section = known }
      section[names[1]] = plan.value(key)
      sections[names[0]] = .object(section)
    }
    return JSON.object(sections).written() + "\n"
  }
}

extension FaultPlan {
  fileprivate mutating func set(_ key: Key, _ value: JSON) throws {
    switch (key.kind, value) {
    case (.chance(let field), .integer(let number)) where key.bounds.contains(number): self[keyPath: field] = number
    case (.number(let field), .integer(let number)) where key.bounds.contains(number): self[keyPath: field] = number
    case (.span(let field), .list(let list)):
      guard list.count == 2, case .integer(let least) = list[0], case .integer(let greatest) = list[1],
        least <= greatest, key.bounds.contains(least), key.bounds.contains(greatest)
      else { throw PlanError(key.path, "is no span within its bounds", "write \(key.form)") }
      self[keyPath: field] = least...greatest
    case (.flag(let field), .flag(let flag)): self[keyPath: field] = flag
    case (.topology, .text(let text)):
      guard let topology = Topology(rawValue: text) else {
        throw PlanError(key.path, "names no topology", "write one of \(key.form)")
      }
      self.topology = topology
    default: throw PlanError(key.path, "has an impossible value", "write \(key.form)")
    }
  }

  func value(_ key: Key) -> JSON {
    switch key.kind {
    case .chance(let field), .number(let field): .integer(self[keyPath: field])
    case .span(let field):
      .list([.integer(self[keyPath: field].lowerBound), .integer(self[keyPath: field].upperBound)])
    case .flag(let field): .flag(self[keyPath: field])
    case .topology: .text(topology.rawValue)
    }
  }
}
