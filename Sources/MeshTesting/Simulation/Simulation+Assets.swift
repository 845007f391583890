import MeshCore
import MeshReplication
import MeshStore

/// An eviction in progress, in which a node asks which other devices have the asset.
struct Eviction {
  let node: Int
  let life: Int
  let asset: AssetID
  /// The time at which it gives up.
  let until: Int64
  var attempts = 0
}

/// Users who do without some BLOBs. They set a table to on-demand, request some assets, and evict others.
extension Simulation {
  /// The milliseconds that members have to report their assets, the time between two looks, and the number of times
  /// that programs may interfere.
  private static let answerTime: Int64 = 10_000
  private static let look: Int64 = 50
  private static let attempts = 5

  func changeAssetPolicy(_ node: SimulatedNode) throws {
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
      try store.setAssetPolicy(policy, table: table)
      replica.downloads.choicesChanged()
    }
  }

  func fetchAsset(_ node: SimulatedNode) throws {
    guard let store = choosing(node) else { return }
    var absent: [AssetPlace] = []
    try mesh.guarded(node) { absent = try store.awaitedAssets(limit: .max) }
    guard let place = absent.randomElement(using: &mesh.generator) else { return }
    occurred("assets.fetches")
    say(node.index, "asks for \(place.asset.id), for \(place.table)/\(place.key.shown)")
    try mesh.input(node) { replica, _ in
      try store.requestAsset(place.asset.id)
      replica.downloads.choicesChanged()
    }
  }

  func evictAsset(_ node: SimulatedNode) throws {
    guard let store = choosing(node) else { return }
    var shown: [AssetPlace] = []
    try mesh.guarded(node) {
      for (name, row) in try node.database.contents(AppSchema.withAssets).sorted(by: { $0.key < $1.key }) {
        guard row.values.contains(where: \.isLongBLOB), !node.database.untracked.contains(name.table) else { continue }
        shown += try store.assets(table: name.table, key: name.key, column: nil).filter(\.isShown)
      }
      // Sometimes an asset is chosen that is still downloading.
      if mesh.generator.once(in: 4) {
        shown = try store.awaitedAssets(limit: .max).filter { $0.isFetched || $0.here > 0 }
      }
    }
    guard let place = shown.randomElement(using: &mesh.generator) else { return }
    occurred("assets.evictions")
    var hasBegun = false
    try mesh.input(node) { replica, _ in hasBegun = replica.copies.beginEviction(place.asset.id, zones: [place.zone]) }
    guard hasBegun else { return }
    say(node.index, "means to evict \(place.asset.id), of \(place.table)/\(place.key.shown)")
    let eviction = Eviction(node: node.index, life: node.life, asset: place.asset.id, until: time.now + Self.answerTime)
    mesh.schedule(.evict(eviction), in: Self.look)
  }

  /// Continues an eviction that a node has begun.
  func goOn(_ eviction: Eviction) throws {
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
    _ eviction: Eviction, _ node: SimulatedNode, _ store: Store, trusting device: DeviceID
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
        try store.evict(eviction.asset)
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
  func noteAbandonedAssets(_ node: SimulatedNode) throws {
    let long = nodes.reduce(into: Set<Value>()) { $0.formUnion($1.longBLOBs) }
    for zone in zones.all {
      let naming = AssetNaming(zone: zone.id, cryptography: cryptography)
      for case .asset(let asset) in long.map(naming.name) {
        func has(_ holder: SimulatedNode) throws -> Bool? {
          try holder.store.map { try $0.chunks(of: asset.id, zone: zone.id)?.isComplete ?? false }
        }
        guard try has(node) != false, try !honest.contains(where: { try $0 !== node && has($0) == true }) else {
          continue
        }
        abandonedAssets.insert(asset.id)
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
        for (table, policy) in try store.assetPolicies().sorted(by: { $0.key < $1.key }) where policy == .onDemand {
          try store.setAssetPolicy(.always, table: table)
        }
      }
      try mesh.input(node) { replica, _ in
        let absent = try store.awaitedAssets(limit: .max).filter { !$0.isFetched && $0.choice == false }
        for place in absent { try store.requestAsset(place.asset.id) }
        replica.downloads.choicesChanged()
      }
    }
  }

  /// Returns the cells for whose merged assets the node doesn't have the bytes.
  func absentCells(_ node: SimulatedNode) throws -> [Ledger.Cell: AssetPlace] {
    let places = try node.database.sqlite?.awaitedAssets(limit: .max) ?? []
    return Dictionary(
      places.map { ($0.cell, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Returns the cells whose merged BLOBs the node lacks. They show other values.
  func lackingCells(_ node: SimulatedNode) throws -> Set<Ledger.Cell> {
    try (node.store as? ModelStore)?.lackingCells() ?? Set(absentCells(node).keys)
  }

  /// Returns the assets that the node waits for, and those that it doesn't download.
  func lackingAssets(_ node: SimulatedNode) throws -> Set<Asset> {
    let wanted = try node.store?.wantedAssets(limit: 1_000).map(\.asset) ?? []
    return Set(try wanted + absentCells(node).values.filter { !$0.isFetched }.map(\.asset))
  }

  /// Checks that requested assets arrive if an honest node has them.
  ///
  /// An honest node must have them, with four exceptions. A liar or a revoked device wrote them. Or they were given up
  /// because a liar claimed to have them. Or an app discarded them. Or the only file that had them was replaced.
  func checkAbsent(_ node: SimulatedNode, _ zone: ZoneID, _ oracle: Oracle) throws {
    let others = Set(nodes.filter { $0.isLiar || $0.isRevoked }.map(\.device))
    let contents = try node.database.contents(AppSchema.withAssets)
    let naming = AssetNaming(zone: zone, cryptography: cryptography)
    let absent = try absentCells(node)
    // Their names take a hash of all bytes.
    let discarded =
      absent.isEmpty ? [] : nodes.reduce(into: Set<Value>()) { $0.formUnion($1.discarded.shown.map(naming.name)) }
    for (cell, place) in absent.sorted(by: { $0.key < $1.key }) {
      let shown = naming.name(contents[cell.record]?[cell.column] ?? .null)
      // An app may write anything to a table that is not synchronized here.
      let isTracked = !node.database.untracked.contains(cell.record.table)
      // The app's own write may have lost while the table was not synchronized.
      let isOwn = node.ledger.facts.contains(.value(cell, shown))
      if isTracked, shown != .null, !isOwn, oracle.sent[cell]?.contains(shown) != true {
        violate("n\(node.index) shows \(shown.shown) in \(cell.record).\(cell.column), which nobody wrote there")
      }
      let isDiscarded = nodes.contains { $0.discarded.awaited.contains(place.asset.id) }
      let isExcused =
        isDiscarded || discarded.contains(.asset(place.asset)) || trustedLiars.contains(place.asset.id)
        || abandonedAssets.contains(place.asset.id) || place.writer.map(others.contains) ?? true
      let isThere = try honest.contains { try $0.store?.chunks(of: place.asset.id, zone: zone)?.isComplete ?? false }
      if place.isFetched, place.held == nil, !isExcused, !isThere {
        violate("nobody has \(place.asset.id), which n\(node.index) lacks in \(cell.record).\(cell.column)")
      }
    }
    try checkEdits(oracle, naming)
  }

  /// Checks that no node sends a BLOB that its app never wrote. A value that a row still shows is no edit.
  private func checkEdits(_ oracle: Oracle, _ naming: AssetNaming) throws {
    // A copy has the writes of another node's app.
    for node in honest where !node.hasOtherHistory {
      let written = Set(node.longBLOBs.map(naming.name))
      for (cell, assets) in oracle.assetEdits[node.device] ?? [:] where !assets.isSubset(of: written) {
        violate("n\(node.index) says that its app wrote a BLOB into \(cell.record).\(cell.column), which it did not")
      }
    }
  }
}

extension AssetPlace {
  /// The cell, with the names of `AppSchema`.
  var cell: Ledger.Cell {
    Ledger.Cell(record: RecordName(table: table.asciiLowercased, key: key), column: column.asciiLowercased)
  }
}
