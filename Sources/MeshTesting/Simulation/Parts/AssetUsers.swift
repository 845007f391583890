import MeshCore
import MeshReplication
import MeshStore

/// An eviction in progress, in which a node asks which other devices have the asset.
struct PendingEviction {
  let node: Int
  let life: Int
  let asset: AssetID
  /// The time at which it gives up.
  let until: Int64
  var attempts = 0
}

/// Users who do without some BLOBs. They set a table to on-demand, request some assets, and evict others.
final class AssetUsers: MeshPart {
  let mesh: SimulatedMesh
  /// The assets that nodes gave up because a liar claimed to have them.
  private(set) var trustedLiars: Set<AssetID> = []
  /// The assets whose bytes only a file had that was replaced.
  private(set) var abandoned: Set<AssetID> = []

  /// The milliseconds that members have to report their assets, the time between two looks, and the number of times
  /// that programs may interfere.
  private static let answerTime: Int64 = 10_000
  private static let look: Int64 = 50
  private static let attempts = 5

  init(_ mesh: SimulatedMesh) { self.mesh = mesh }

  func changePolicy(_ node: SimulatedNode) throws {
    guard let store = choosing(node) else { return }
    let table = AppSchema.withAssets[Int.random(in: 0..<AppSchema.withAssets.count, using: &mesh.generator)]
    let policy = mesh.generator.once(in: 2) ? AssetPolicy.always : .onDemand
    // The app may have dropped, renamed or untracked the table.
    var isThere = node.database.columns[table] != nil && !node.database.untracked.contains(table)
    try mesh.guarded(node) { isThere = try isThere && node.database.isInStep() }
    guard isThere, node.replica != nil else { return }
    occurred("assets.policies")
    say(node.index, "has the BLOBs of \(table) fetched \(policy.rawValue)")
    try mesh.input(node) { replica, _ in
      try store.assets.setPolicy(policy, table: table)
      replica.downloads.choicesChanged()
    }
  }

  func fetch(_ node: SimulatedNode) throws {
    guard let store = choosing(node) else { return }
    var absent: [AssetPlace] = []
    try mesh.guarded(node) { absent = try store.assets.awaited(limit: .max) }
    guard let place = absent.randomElement(using: &mesh.generator) else { return }
    occurred("assets.fetches")
    say(node.index, "asks for \(place.asset.id), for \(place.table)/\(place.key.shown)")
    try mesh.input(node) { replica, _ in
      try store.assets.request(place.asset.id)
      replica.downloads.choicesChanged()
    }
  }

  func beginEviction(_ node: SimulatedNode) throws {
    guard let store = choosing(node) else { return }
    var shown: [AssetPlace] = []
    try mesh.guarded(node) {
      for (name, row) in try node.database.contents(AppSchema.withAssets).sorted(by: { $0.key < $1.key }) {
        guard row.values.contains(where: \.isLongBLOB), !node.database.untracked.contains(name.table) else { continue }
        shown += try store.assets.places(table: name.table, key: name.key, column: nil).filter(\.isShown)
      }
      // Sometimes an asset is chosen that is still downloading.
      if mesh.generator.once(in: 4) {
        shown = try store.assets.awaited(limit: .max).filter { $0.isFetched || $0.here > 0 }
      }
    }
    guard let place = shown.randomElement(using: &mesh.generator) else { return }
    occurred("assets.evictions")
    var hasBegun = false
    try mesh.input(node) { replica, _ in hasBegun = replica.copies.beginEviction(place.asset.id, zones: [place.zone]) }
    guard hasBegun else { return }
    say(node.index, "means to evict \(place.asset.id), of \(place.table)/\(place.key.shown)")
    let eviction = PendingEviction(
      node: node.index, life: node.life, asset: place.asset.id, until: time.now + Self.answerTime)
    mesh.schedule(.evict(eviction), in: Self.look)
  }

  /// Continues an eviction that a node has begun.
  func goOn(_ eviction: PendingEviction) throws {
    let node = nodes[eviction.node]
    guard let store = node.database.sqlite, let holders = node.replica?.copies.holders(eviction.asset) else { return }
    switch holders {
    case .asking where time.now < eviction.until && mesh.deadline == nil:
      return mesh.schedule(.evict(eviction), in: Self.look)
    case .held(let device) where mesh.deadline == nil: try evict(eviction, node, store, trusting: device)
    case .asking, .held, .nobody:
      say(node.index, "keeps \(eviction.asset): nobody says that they have it")
      try mesh.input(node) { replica, _ in replica.copies.endEviction(eviction.asset) }
    }
  }

  private func evict(
    _ eviction: PendingEviction, _ node: SimulatedNode, _ store: Store, trusting device: DeviceID
  ) throws {
    var next = eviction
    next.attempts += 1
    var (isOver, outcome) = (true, "evicts")
    // Nobody else is informed before it is done, so no message comes in between.
    try mesh.input(node) { replica, now in
      defer { if isOver { replica.copies.endEviction(eviction.asset) } }
      replica.databaseChanged()
      while try replica.work(now: now) {}
      do {
        try store.assets.evict(eviction.asset)
        replica.downloads.choicesChanged()
      } catch EvictionError.written where next.attempts < Self.attempts {
        isOver = false
      } catch let error as EvictionError {
        outcome = "keeps, for \(error):"
      }
    }
    guard isOver else { return mesh.schedule(.evict(next), in: Self.look) }
    if nodes.contains(where: { $0.isLiar && $0.device == device }) { trustedLiars.insert(eviction.asset) }
    say(node.index, "\(outcome) \(eviction.asset)")
  }

  /// Returns the store of a node at which a user can choose now.
  private func choosing(_ node: SimulatedNode) -> Store? {
    guard node.replica != nil, !node.isRevoked, !node.isLiar, node.pausedUntil <= time.now, mesh.deadline == nil else {
      return nil
    }
    return node.database.sqlite
  }

  /// Notes the BLOBs whose bytes go away with a node's file, because no other honest node has them yet.
  func noteAbandoned(_ node: SimulatedNode) throws {
    let long = nodes.reduce(into: Set<Value>()) { $0.formUnion($1.longBLOBs) }
    for zone in zones.all {
      let naming = AssetNaming(zone: zone.id, cryptography: cryptography)
      for case .asset(let asset) in long.map(naming.name) {
        func has(_ holder: SimulatedNode) throws -> Bool? {
          try holder.store.map { try $0.assets.chunks(of: asset.id, zone: zone.id)?.isComplete ?? false }
        }
        guard try has(node) != false, try !honest.contains(where: { try $0 !== node && has($0) == true }) else {
          continue
        }
        abandoned.insert(asset.id)
      }
    }
  }

  // MARK: The end

  /// Makes some users request all assets in the end. No evicted asset may be lost.
  func askForAll() throws {
    guard plan.assetEvictions + plan.assetPolicies > 0 else { return }
    for node in honest where node.index % 2 == 0 && node.replica != nil {
      guard let store = node.database.sqlite else { continue }
      try mesh.guarded(node) {
        for (table, policy) in try store.assets.policies().sorted(by: { $0.key < $1.key }) where policy == .onDemand {
          try store.assets.setPolicy(.always, table: table)
        }
      }
      try mesh.input(node) { replica, _ in
        let absent = try store.assets.awaited(limit: .max).filter { !$0.isFetched && $0.choice == false }
        for place in absent { try store.assets.request(place.asset.id) }
        replica.downloads.choicesChanged()
      }
    }
  }

  /// Whether an honest node may wait forever for an asset: one that only a liar, a revoked device or a replaced file has,
  /// or that no neighbor downloads.
  var mayBeMissing: Bool {
    !abandoned.isEmpty || nodes.contains { $0.isLiar || $0.isRevoked }
      || plan.assetPolicies + plan.assetEvictions > 0
  }
}
