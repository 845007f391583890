import MeshCore
import MeshReplication

/// What must hold at any time; and when all has settled.
extension Simulation {
  /// Bytes of a WAL: both connections copy it back when it has grown to 16 MiB, and a large transaction comes on top.
  static let walBound = 64 << 20

  /// Nodes that keep the rules and are still of the account: those that the promises are for.
  var honest: [SimulatedNode] { nodes.filter { !$0.isLiar && !$0.isRevoked && !$0.isStopped } }

  /// A node never un-merges, and what it shows is the state of its vector.
  func look(_ node: SimulatedNode) throws {
    guard !node.isLiar, !node.isRevoked, let zone, let store = node.store else { return }
    try lookAtGroups(node)
    let heads = try store.mergedHeads(zone)
    guard heads != node.heads else { return }
    let (before, merged) = (node.merged, VersionVector(heads.mapValues(\.number)))
    if !before.isCovered(by: merged), try !isCut(before, to: merged, store, zone) {
      violate("n\(node.index) had merged \(text(before)), now \(text(merged))")
    }
    node.heads = heads
    say(node.index, "has \(text(merged))")
    if rewritesHistory { try archive.take(from: node.device, store, zone, cryptography) }
    try compareDigest(node)
  }

  /// Whether all that went back are authors who were cut, none of them below where the cut is.
  private func isCut(
    _ before: VersionVector, to after: VersionVector, _ store: any ReplicaStore, _ zone: ZoneID
  ) throws -> Bool {
    let state = try zoneState(store, zone)
    return before.authors.filter { after[$0] < before[$0] }.allSatisfy { author in
      guard let limit = state.limit(author, citing: nil) else { return false }
      // A cut inside a unit goes back to the end of the one before; a lower one may be known and not yet carried out.
      return after[author] >= limit || plan.bulkWrites + plan.longValues > 0
    }
  }

  /// What the control log of a node says.
  func zoneState(_ store: any ReplicaStore, _ zone: ZoneID) throws -> ZoneState {
    let records = try store.controlRecords(zone).map { try ControlRecord($0, cryptography) }
    let account = nodes.lazy.compactMap { $0.replica?.account }.first
    return ZoneState(zone, records: records, accounts: Accounts(account.map { [$0] } ?? []), cryptography)
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

  /// Same change sets, same digest: whoever has them, whenever.
  private func compareDigest(_ node: SimulatedNode) throws {
    guard let zone, let store = node.store, try !isInsideUnit(store, zone), try !node.database.isCutting() else {
      return
    }
    let digest = try store.digest(zone)
    guard let known = digests.updateValue(digest, forKey: node.heads.mapValues(\.id)), known != digest else { return }
    violate("n\(node.index) has \(text(node.merged)) and digest \(text(digest)), somebody had \(text(known)) there")
  }

  /// Between the parts of a local unit, or the slices of another's, the state is ahead of the vector. What a liar's change sets
  /// wait for never comes.
  func isInsideUnit(_ store: any ReplicaStore, _ zone: ZoneID) throws -> Bool {
    let others = Set(nodes.filter { $0.isLiar || $0.isRevoked }.map(\.device))
    let (stored, merged) = (try store.storedVector(zone), try store.mergedVector(zone))
    return stored.authors.contains { !others.contains($0.device) && stored[$0] != merged[$0] }
  }

  /// What was merged may be cut, but for revoked devices.
  var rewritesHistory: Bool {
    plan.restores + plan.homeRestores + plan.fileCopies + plan.homeCopies + plan.forks > 0
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
    var states: Set<[Author: ChangeSetID]> = []
    for node in honest {
      guard let store = node.store, try store.pendingCount() == 0, try !isInsideUnit(store, zone),
        try node.database.isInStep(), try !node.database.isCutting()
      else { return false }
      states.insert(try store.mergedHeads(zone).mapValues(\.id))
    }
    return states.count <= 1
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
    let role = node.isLiar ? "lies, " : node.isRevoked ? "is revoked, " : node.isStopped ? "is stopped, " : ""
    return
      "\(role)stored \(text(try store.storedVector(zone))), merged \(text(try store.mergedVector(zone))), "
      + "pending \(try store.pendingCount())"
      + (try node.database.isInStep() ? "" : ", has not looked at its schema")
      + (try node.database.isCutting() ? ", is not done with what was cut" : "")
  }

  /// Authors as nodes; several instances of one in the order of their ids.
  func text(_ vector: VersionVector) -> String {
    let parts = vector.authors.map { author in "\(nodeName(author.device)):\(vector[author])" }
    return parts.isEmpty ? "nothing" : parts.sorted().joined(separator: " ")
  }

  private func nodeName(_ device: DeviceID) -> String {
    nodes.first { $0.firstDevice == device }.map { "n\($0.index)" } ?? "?"
  }

  func text(_ digest: ZoneDigest) -> String {
    digest.hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
