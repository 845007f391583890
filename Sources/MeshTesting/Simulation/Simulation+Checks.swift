import MeshCore
import MeshReplication

/// What must hold: at any time, and at the end.
extension Simulation {
  /// A node never un-merges.
  func lookAtMerged(_ node: SimulatedNode) throws {
    guard let zone, let store = node.store else { return }
    let merged = try store.mergedVector(zone)
    guard merged != node.merged else { return }
    if !node.merged.isCovered(by: merged) {
      violate("n\(node.index) had merged \(text(node.merged)), now \(text(merged))")
    }
    node.merged = merged
    say(node.index, "has \(text(merged))")
    try compareDigest(node, merged)
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

  /// Between the parts of a local unit the state is ahead of the vector.
  private func isInsideUnit(_ store: any ReplicaStore, _ zone: ZoneID) throws -> Bool {
    try store.storedVector(zone) != store.mergedVector(zone)
  }

  func check() throws {
    for node in nodes { try lookAtMerged(node) }
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
    for node in nodes {
      guard let store = node.store, try store.pendingCount() == 0, try !isInsideUnit(store, zone) else { return false }
      vectors.insert(try store.mergedVector(zone))
    }
    return vectors.count == 1
  }

  private func checkEnd() throws {
    guard let zone, let first = nodes.first, let store = first.store else { return }
    for node in nodes {
      guard let digest = try node.store?.digest(zone) else { continue }
      say(node.index, "ends with \(text(node.merged)) and \(digest.records) records, digest \(text(digest))")
      if try digest != store.digest(zone) { violate("n\(node.index) and n0 have equal vectors and unequal digests") }
    }
    let contents = try first.database.contents()
    for node in nodes.dropFirst() {
      for difference in Self.differences(contents, try node.database.contents()).prefix(5) {
        violate("n0 and n\(node.index) have equal digests and unequal rows: \(difference)")
      }
    }
    try checkLog(store, zone, contents)
  }

  private func checkLog(_ store: any ReplicaStore, _ zone: ZoneID, _ contents: Contents) throws {
    let log = try wholeLog(store, zone)
    let oracle = Oracle(log, keys: nodes[0].vault.epochKeys(zone), cryptography)
    counts.changeSets = log.count
    counts.records = oracle.states.values.filter(\.isAlive).count
    if let fault = oracle.faults.first { violate("the log: \(fault)") }
    for node in nodes {
      if let lost = oracle.lost(node.ledger).first { violate("n\(node.index): \(lost)") }
      let held = try node.database.held()
      if let difference = oracle.differences(contents, held: held).first { violate("n\(node.index): \(difference)") }
    }
  }

  private func wholeLog(_ store: any ReplicaStore, _ zone: ZoneID) throws -> [[UInt8]] {
    var log: [[UInt8]] = []
    var position: Int64 = 0
    while true {
      let batch = try store.changeSets(zone, beyond: VersionVector(), after: position, maximumBytes: 1 << 20)
      log += batch.changeSets
      position = batch.position
      if batch.isComplete { return log }
    }
  }

  private static func differences(_ left: Contents, _ right: Contents) -> [String] {
    Set(left.keys).union(right.keys).sorted().filter { left[$0] != right[$0] }.map { name in
      func shown(_ row: [String: Value]?) -> String {
        row.map { $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }.joined(separator: " ") } ?? "none"
      }
      return "\(name): \(shown(left[name])) against \(shown(right[name]))"
    }
  }

  // MARK: Texts

  private func standing(_ node: SimulatedNode) throws -> String {
    guard let zone, let store = node.store else { return "is down" }
    return
      "stored \(text(try store.storedVector(zone))), merged \(text(try store.mergedVector(zone))), "
      + "pending \(try store.pendingCount()), refusals \(node.replica?.refusals.sorted { $0.key < $1.key } ?? [])"
  }

  /// Authors as nodes; several instances of one in the order of their ids.
  func text(_ vector: VersionVector) -> String {
    let parts = vector.authors.map { author in
      let node = nodes.first { $0.device == author.device }.map { "n\($0.index)" } ?? "?"
      return "\(node):\(vector[author])"
    }
    return parts.isEmpty ? "nothing" : parts.sorted().joined(separator: " ")
  }

  private func text(_ digest: ZoneDigest) -> String {
    digest.hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
