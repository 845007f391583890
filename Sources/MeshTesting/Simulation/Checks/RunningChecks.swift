import MeshCore
import MeshReplication

/// The rules that hold at any time.
final class RunningChecks: MeshPart {
  let mesh: SimulatedMesh
  private let history: FileIncidents
  private let control: ControlCheck
  /// The digest of each merged state that some node had. The last change set of each author identifies the state.
  private var digests: [[Author: ChangeSetID]: ZoneDigest] = [:]
  /// The greatest size of a WAL in bytes. Both connections copy it back when it has grown to 16 MiB, and a large
  /// transaction may add to it.
  private static let walBound = 64 << 20

  init(_ mesh: SimulatedMesh, _ history: FileIncidents, _ control: ControlCheck) {
    (self.mesh, self.history, self.control) = (mesh, history, control)
  }

  /// Looks at all nodes.
  func check() throws {
    for node in nodes {
      do {
        try look(node)
        try lookAtValues(node)
        if zones.hasShares { try control.look(node) }
      } catch {
        try mesh.fault(node, error)
      }
      if let size = node.database.disk?.size(of: SQLiteDatabase.wal), size > Self.walBound {
        violate("n\(node.index)'s WAL has \(size) bytes")
      }
    }
  }

  /// Checks that a node never un-merges, and that it shows the state of its vector.
  func look(_ node: SimulatedNode) throws {
    guard !node.isLiar, let store = node.store else { return }
    if zones.hasShares { try lookForLeaks(node, store) }
    guard !node.isRevoked else { return }
    try lookAtGroups(node)
    for zone in try zones.zones(of: node) { try look(node, zone, store) }
  }

  private func look(_ node: SimulatedNode, _ zone: KnownZone, _ store: any ReplicaStore) throws {
    let heads = try store.log.mergedTips(zone.id)
    guard heads != node.heads[zone.id] ?? [:] else { return }
    let (before, merged) = (node.merged(zone.id), VersionVector(heads.mapValues(\.number)))
    if !before.isCovered(by: merged), try !isCut(before, to: merged, node, zone, store) {
      violate("n\(node.index) had merged \(mesh.text(before)), now \(mesh.text(merged))\(zone.suffix)")
    }
    node.heads[zone.id] = heads
    say(node.index, "has \(mesh.text(merged))\(zone.suffix)")
    if mesh.rewritesHistory { try history.archiveWrites(of: node, in: zone.id, store) }
    try compareDigest(node, zone, store)
  }

  /// Checks that tables show no value that nobody wrote.
  private func lookAtValues(_ node: SimulatedNode) throws {
    guard !node.isLiar, !node.isStopped, node.store != nil, let contents = try node.database.changedContents() else {
      return
    }
    let lies = nodes.compactMap(\.liar?.written)
    for (name, row) in contents where name.table != AppSchema.tally.name {
      for (column, value) in row where !mesh.written.has(name, column, value) {
        if lies.contains(where: { $0.has(name, column, value) }) { continue }
        violate("n\(node.index) shows \(value.shown) in \(name).\(column), which nobody wrote there")
      }
    }
  }

  /// Returns whether all authors that went back have cutoffs, and none is below its cutoff. Also returns true if
  /// everything is gone because the account is no longer a member, or was none for a while.
  private func isCut(
    _ before: VersionVector, to after: VersionVector, _ node: SimulatedNode, _ zone: KnownZone,
    _ store: any ReplicaStore
  ) throws -> Bool {
    guard let state = try zones.state(of: zone.id, at: node) else { return false }
    if try zones.wasOut(node, state) { return true }
    let citations = try store.log.citations(zone.id)
    return before.authors.filter { after[$0] < before[$0] }.allSatisfy { author in
      guard let limit = state.limit(author, citing: citations[author]) else { return false }
      // A cutoff inside a unit goes back to the end of the unit before. A lower cutoff may be known and not carried out
      // yet.
      return after[author] >= limit || plan.bulkWrites + plan.longValues > 0
    }
  }

  /// Checks that a reader never sees half of a unit: all rows of a group come from one transaction.
  private func lookAtGroups(_ node: SimulatedNode) throws {
    for (group, seen) in try node.database.groups().sorted(by: { $0.key < $1.key }) {
      guard seen.values.count > 1 || seen.rows != AppSchema.groupSize else { continue }
      guard try !isExcused(group, node) else { continue }
      let values = seen.values.map(\.shown).joined(separator: ", ")
      violate("n\(node.index) shows half of a unit: group \(group) has \(seen.rows) rows with \(values)")
    }
  }

  /// Returns whether a group may be incomplete. Units of over 1,000 records may be visible while they grow, and their
  /// rows have stamps of several parts.
  private func isExcused(_ group: Int, _ node: SimulatedNode) throws -> Bool {
    guard plan.bulkWrites > 0, let zone = zones.privateZone(of: node), let store = node.store else { return false }
    let keys = node.vault.epochKeys(zone)
    for bytes in try store.wholeLog(zone) {
      let changeSet = try ChangeSet(bytes, with: cryptography)
      guard let key = keys[changeSet.header.epoch], let body = changeSet.body(key: key, with: cryptography),
        case .changes(let tables) = try ChangeSetBody(body, author: changeSet.header.author).content,
        changeSet.header.part != .only
      else { continue }
      for table in tables where table.table.asciiLowercased == AppSchema.leg.name {
        if table.rows.contains(where: { $0.key.shown.hasPrefix("g\(group)-") }) { return true }
      }
    }
    // The unit is stored and not merged to its end, so it is not in the log's order yet.
    return try isInsideUnit(store, zone)
  }

  /// Checks that the same change sets give the same digest, on any node and at any time.
  private func compareDigest(_ node: SimulatedNode, _ zone: KnownZone, _ store: any ReplicaStore) throws {
    guard try !isInsideUnit(store, zone.id), try !node.database.isReverting() else { return }
    // If an app wrote within a flush, hashes may have values that are still pending.
    guard try plan.interruptions == 0 || store.localWrites.pendingCount() == 0 else { return }
    let (digest, heads) = (try store.zones.digest(zone.id), node.heads[zone.id] ?? [:])
    guard let known = digests.updateValue(digest, forKey: heads.mapValues(\.id)), known != digest else { return }
    violate(
      "n\(node.index) has \(mesh.text(node.merged(zone.id))) and digest \(digest.hexadecimal), somebody had \(known.hexadecimal) "
        + "there\(zone.suffix)\(try differingRecords(node, zone))")
  }

  /// Returns which records differ from those of a node that has the same change sets now, as the end of a sentence.
  private func differingRecords(_ node: SimulatedNode, _ zone: KnownZone) throws -> String {
    let heads = node.heads[zone.id]
    guard let other = honest.first(where: { $0 !== node && $0.heads[zone.id] == heads }),
      let mine = try node.database.recordHashes(zone.id), let theirs = try other.database.recordHashes(zone.id)
    else { return "" }
    let names = Set(mine.keys).union(theirs.keys).filter { mine[$0] != theirs[$0] }.sorted()
    return "; from n\(other.index) differ: \(names.map(\.description).joined(separator: ", "))"
  }

  /// Checks that a node whose account was never given an invite knows nothing of a share: no log, no change sets, no
  /// key.
  private func lookForLeaks(_ node: SimulatedNode, _ store: any ReplicaStore) throws {
    let known = Set(try store.control.knownZones())
    for zone in zones.all where node.home.account != zone.account && !zone.invited.contains(node.home.account) {
      if !node.vault.epochKeys(zone.id).isEmpty {
        violate("n\(node.index) has a key of \(zone.name), and no part in it")
      }
      if known.contains(zone.id) { violate("n\(node.index) knows \(zone.name), and has no part in it") }
    }
  }
}

extension MeshPart {
  /// Returns whether the state is ahead of the vector: between the parts of a local unit, or the slices of another
  /// author's unit. A liar's change sets may wait for others that never arrive. So may those of an earlier life, if the
  /// only copy of their past was on a machine that was stopped.
  func isInsideUnit(_ store: any ReplicaStore, _ zone: ZoneID) throws -> Bool {
    let others = Set(nodes.filter { $0.isLiar || $0.isRevoked }.map(\.device))
    let (stored, merged) = (try store.log.storedVector(zone), try store.log.mergedVector(zone))
    let open = stored.authors.filter { !others.contains($0.device) && stored[$0] != merged[$0] }
    guard !open.isEmpty, nodes.contains(where: \.isStopped) else { return !open.isEmpty }
    let alive = try honest.compactMap { node in
      try node.store?.zones.instance(zone).map { Author(device: node.device, instance: $0) }
    }
    return open.contains(where: alive.contains)
  }
}

extension ReplicaStore {
  /// Returns all merged change sets of a zone, in the order of merging.
  func wholeLog(_ zone: ZoneID) throws -> [[UInt8]] {
    try changeSets(zone, beyond: VersionVector())
  }

  /// Returns all merged change sets beyond a vector, in the order of merging.
  func changeSets(_ zone: ZoneID, beyond vector: VersionVector) throws -> [[UInt8]] {
    var log: [[UInt8]] = []
    var position: Int64 = 0
    while true {
      let batch = try self.log.changeSets(zone, beyond: vector, of: nil, after: position, maximumBytes: 1 << 20)
      log += batch.changeSets
      position = batch.position
      if batch.isComplete { return log }
    }
  }
}

extension ZoneDigest {
  var hexadecimal: String { hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
