import MeshCore
import MeshReplication

/// Reads a node's log a second time, from its first byte.
struct LogCheck: MeshPart {
  let mesh: SimulatedMesh
  let history: FileIncidents

  /// Checks the log of a zone at a node, and returns what follows from it.
  ///
  /// - Parameters:
  ///   - digest: The digest that the members have.
  ///   - isFirst: True for the first member whose log is read. Its log is also given to the other kind of store.
  func check(
    _ node: SimulatedNode, _ known: KnownZone, _ digest: ZoneDigest, isFirst: Bool
  ) throws -> Oracle {
    let (zone, keys) = (known.id, node.vault.epochKeys(known.id))
    guard let store = node.store, let state = try zones.state(of: zone, at: node) else {
      throw SimulationError("n\(node.index) is down at the end")
    }
    let log = try store.wholeLog(zone)
    let citations = try citations(log)
    let control = ControlLog(try zones.controlRecords(store, zone)) { state.account(of: $0) }
    let lowered = state.accounts.filter(control.hasLoweredInVain)
    let oracle = Oracle(
      log,
      Oracle.Context(
        keys: keys, isCertified: { state.account(of: $0) != nil }, hasMoves: zones.hasShares,
        limit: { state.limit($0, citing: citations[$0]) },
        wasCutInVain: { device in state.account(of: device).map(lowered.contains) ?? false }, latest: latest,
        device: node.device,
        isWrittenAgain: try isWrittenAgain()), cryptography)
    if let fault = oracle.faults.first { violate("n\(node.index)'s log\(known.suffix): \(mesh.named(fault))") }
    if oracle.digest != digest {
      violate(
        "n\(node.index)'s digest is \(digest.hexadecimal); computed from its log it is \(oracle.digest.hexadecimal)\(known.suffix)"
          + (try differingRecords(node, known, oracle)))
    }
    try checkConflicts(node, oracle, state)
    guard isFirst else { return oracle }
    mesh.counts.changeSets += log.count
    mesh.counts.records += oracle.states.values.count(where: \.isAlive)
    let authors = Set(try store.log.storedVector(zone).authors).union(state.ends.keys)
    let cuts = Dictionary(
      authors.compactMap { author in state.limit(author, citing: citations[author]).map { (author, $0) } },
      uniquingKeysWith: { first, _ in first }
    )
    let reader = ChangeSetReader(
      keys: keys, cuts: cuts, unknown: { state.limit(ofUnknown: $0) }, cryptography: cryptography)
    do {
      let other = try Referee.digest(of: log, zone: zone, by: mesh.storage == .model ? .sqlite : .model, reader)
      if other != digest {
        violate("the other kind of store makes \(other.hexadecimal) of n\(node.index)'s log\(known.suffix)")
      }
    } catch {
      violate("the other kind of store does not take n\(node.index)'s log\(known.suffix): \(mesh.named("\(error)"))")
    }
    return oracle
  }

  private func differingRecords(_ node: SimulatedNode, _ zone: KnownZone, _ oracle: Oracle) throws -> String {
    guard let stored = try node.database.recordHashes(zone.id) else { return "" }
    let merged = oracle.hashes
    let names = Set(stored.keys).union(merged.keys).filter { stored[$0] != merged[$0] }.sorted()
    return ": \(names.prefix(5).map(\.description).joined(separator: ", "))"
  }

  /// Returns the control record that each author cites.
  private func citations(_ log: [[UInt8]]) throws -> [Author: ControlID] {
    var citations: [Author: ControlID] = [:]
    for bytes in log {
      let header = try ChangeSet(bytes, with: cryptography).header
      if header.number == 1 { citations[header.author] = header.citation }
    }
    return citations
  }

  /// Returns a function that recognizes writes that are written again. A device writes its reverted changes again,
  /// under another instance. So do the account's other devices that have them. The behavior of liars is unknown.
  private func isWrittenAgain() throws -> @Sendable (Stamp) -> Bool {
    guard mesh.rewritesHistory else { return { _ in false } }
    let (stamps, liars) = (
      try history.archive.stamps(zones.keys, cryptography), Set(nodes.filter(\.isLiar).flatMap(\.devices))
    )
    return { stamp in
      liars.contains(stamp.author.device)
        || stamps[stamp.time]?.contains { $0 != stamp.author } ?? false
    }
  }

  /// The latest possible time: the fastest possible clock, plus the time by which a node accepts change sets ahead of
  /// its own clock.
  private var latest: Int64 {
    VirtualClock.epoch + time.now + Int64(plan.clockError) + Choices.clockBound
  }

  /// Checks that each losing value that nobody had seen is kept. This doesn't apply if files were replaced or authors
  /// had cutoffs, because logs were then merged again. It also doesn't apply to a unit that is merged in slices with
  /// local writes in between.
  private func checkConflicts(_ node: SimulatedNode, _ oracle: Oracle, _ state: ZoneState) throws {
    let isPlain =
      !zones.hasShares && plan.bulkWrites == 0 && state.cuts.isEmpty && state.ends.isEmpty && !node.hasOtherHistory
    guard isPlain, let kept = try node.database.conflicts() else { return }
    // Nothing is lost if the same value is there again.
    let lost = oracle.conflicts.filter { $0.value != (oracle.value($0.key.record, $0.key.column) ?? .null) }
    let missing = Set(lost.keys).subtracting(kept).map { "\($0.record).\($0.column)" }.sorted()
    if let first = missing.first {
      violate("n\(node.index) has not kept \(missing.count) losing values, one of \(first)")
    }
  }
}
