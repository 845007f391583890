import MeshCore
import MeshReplication

/// What must hold at any time; and when all has settled.
extension Simulation {
  /// Bytes of a WAL: both connections copy it back when it has grown to 16 MiB, and a large transaction comes on top.
  static let walBound = 64 << 20

  /// Nodes that keep the rules and are still of the account: those that the promises are for.
  var honest: [SimulatedNode] { nodes.filter { !$0.isLiar && !$0.isRevoked } }

  /// A node never un-merges, and what it shows is the state of its vector.
  func look(_ node: SimulatedNode) throws {
    guard !node.isLiar, !node.isRevoked, let zone, let store = node.store else { return }
    try lookAtGroups(node)
    let merged = try store.mergedVector(zone)
    guard merged != node.merged else { return }
    let (before, after) = (standing(node.merged), standing(merged))
    if !before.isCovered(by: after) { violate("n\(node.index) had merged \(text(before)), now \(text(after))") }
    node.merged = merged
    say(node.index, "has \(text(merged))")
    try compareDigest(node, merged)
  }

  /// Without the authors of revoked devices, who are cut.
  private func standing(_ vector: VersionVector) -> VersionVector {
    let revoked = Set(nodes.filter(\.isRevoked).map(\.device))
    return revoked.isEmpty ? vector : VersionVector(vector.numbers.filter { !revoked.contains($0.key.device) })
  }

  /// A reader never sees half of a unit: all rows of a group come from one transaction.
  private func lookAtGroups(_ node: SimulatedNode) throws {
    for (group, seen) in try node.database.groups().sorted(by: { $0.key < $1.key }) {
      guard seen.values.count > 1 || seen.rows != AppSchema.groupSize else { continue }
      guard try !isExcused(group, node) else { continue }
      let values = seen.values.map(\.shown).joined(separator: ", ")
      violate("n\(node.index) shows half of a unit: group \(group) has \(seen.rows) rows with \(values)")
    }
  }

  /// Units of over 1,000 records may be seen growing, and their rows have stamps of several parts.
  private func isExcused(_ group: Int, _ node: SimulatedNode) throws -> Bool {
    guard plan.bulkWrites > 0, let zone, let store = node.store else { return false }
    let keys = node.vault.epochKeys(zone)
    for bytes in try wholeLog(store, zone) {
      let changeSet = try ChangeSet(bytes, with: cryptography)
      guard let key = keys[changeSet.header.epoch], let body = changeSet.body(key: key, with: cryptography),
        case .changes(let tables) = try ChangeSetBody(body, author: changeSet.header.author).content,
        changeSet.header.part != .only
      else { continue }
      for table in tables where table.table == AppSchema.leg.name {
        if table.rows.contains(where: { $0.key.shown.hasPrefix("g\(group)-") }) { return true }
      }
    }
    // Stored and not merged to its end: not yet in the log's order.
    return try isInsideUnit(store, zone)
  }

  /// Same vector, same digest: whoever has it, whenever.
  private func compareDigest(_ node: SimulatedNode, _ merged: VersionVector) throws {
    guard let zone, let store = node.store, try !isInsideUnit(store, zone) else { return }
    let digest = try store.digest(zone)
    guard let known = digests[merged] else {
      digests[merged] = digest
      return
    }
    if known != digest {
      violate("n\(node.index) has \(text(merged)) and digest \(text(digest)), somebody had \(text(known)) there")
    }
  }

  /// Between the parts of a local unit, or the slices of another's, the state is ahead of the vector. What a liar's change sets
  /// wait for never comes.
  func isInsideUnit(_ store: any ReplicaStore, _ zone: ZoneID) throws -> Bool {
    let others = Set(nodes.filter { $0.isLiar || $0.isRevoked }.map(\.device))
    let (stored, merged) = (try store.storedVector(zone), try store.mergedVector(zone))
    return stored.authors.contains { !others.contains($0.device) && stored[$0] != merged[$0] }
  }

  func check() throws {
    for node in nodes {
      do {
        try look(node)
      } catch {
        try fault(node, error)
      }
      if let size = node.database.disk?.size(of: SQLiteDatabase.wal), size > Self.walBound {
        violate("n\(node.index)'s WAL has \(size) bytes")
      }
    }
    guard let deadline else { return queue.add(.check, at: time.now + Self.checkInterval) }
    if try isSettled() {
      isOver = true
      return try checkEnd()
    }
    guard time.now < deadline else {
      for node in nodes { say(node.index, try standing(node)) }
      return violate("the nodes are not equal \(Self.settlingTime / 60_000) minutes after all was healed")
    }
    queue.add(.check, at: time.now + Self.checkInterval)
  }

  private func isSettled() throws -> Bool {
    guard let zone else { return false }
    var vectors: Set<VersionVector> = []
    for node in honest {
      guard let store = node.store, try store.pendingCount() == 0, try !isInsideUnit(store, zone) else { return false }
      vectors.insert(try store.mergedVector(zone))
    }
    return vectors.count <= 1
  }

  func wholeLog(_ store: any ReplicaStore, _ zone: ZoneID) throws -> [[UInt8]] {
    var log: [[UInt8]] = []
    var position: Int64 = 0
    while true {
      let batch = try store.changeSets(zone, beyond: VersionVector(), after: position, maximumBytes: 1 << 20)
      log += batch.changeSets
      position = batch.position
      if batch.isComplete { return log }
    }
  }

  // MARK: Texts

  private func standing(_ node: SimulatedNode) throws -> String {
    guard let zone, let store = node.store else { return "is down" }
    let role = node.isLiar ? "lies, " : node.isRevoked ? "is revoked, " : ""
    return
      "\(role)stored \(text(try store.storedVector(zone))), merged \(text(try store.mergedVector(zone))), "
      + "pending \(try store.pendingCount())"
  }

  /// Authors as nodes; several instances of one in the order of their ids.
  func text(_ vector: VersionVector) -> String {
    let parts = vector.authors.map { author in "\(nodeName(author.device)):\(vector[author])" }
    return parts.isEmpty ? "nothing" : parts.sorted().joined(separator: " ")
  }

  private func nodeName(_ device: DeviceID) -> String {
    nodes.first { $0.device == device }.map { "n\($0.index)" } ?? "?"
  }

  func text(_ digest: ZoneDigest) -> String {
    digest.hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
