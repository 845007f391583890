import MeshCore
import MeshReplication

/// The rules that hold once everything has healed and the nodes have equal vectors.
extension Simulation {
  /// The number of logs that are read again if there are more nodes. Each is read as a whole.
  private static let readLogs = 8

  func checkEnd() throws {
    var oracles: [ZoneID: Oracle] = [:]
    for zone in zones.all where try !zones.hasShares || !zones.isAbandoned(zone) {
      let oracle = try checkEnd(zone)
      oracles[zone.id] = oracle
      if let oracle { checkScope(zone, oracle) }
    }
    for node in honest {
      if let damage = try node.database.damage() { violate("n\(node.index)'s file is damaged: \(damage)") }
      for (reason, count) in node.replica?.refusals ?? [:] { mesh.counts.refusals[reason, default: 0] += count }
    }
    try compareRows(oracles)
    try checkTallies(oracles)
    for node in honest.prefix(Self.readLogs) {
      for asset in try node.database.needlessAssets() {
        violate("n\(node.index) keeps the bytes of \(asset), for which nothing waits")
      }
      let contents = try node.database.contents()
      if contents.keys.contains(where: { $0.key == Liar.forgedKey }) {
        violate("n\(node.index) shows a record that its author never wrote")
      }
      if zones.hasShares {
        try checkShares(node, oracles, contents)
      } else if let zone = zones.firstPrivateZone, let oracle = oracles[zone], let store = node.store {
        let log = try store.wholeLog(zone).map { try ChangeSet($0, with: cryptography).id }
        let naming = AssetNaming(zone: zone, cryptography: cryptography)
        node.ledger.naming = naming
        try checkWrites(node, oracle, in: Set(log))
        let held = try node.database.held(zone)
        let lacking = try node.lackingAssets()
        if assets.mayBeMissing { try AssetCheck(mesh: mesh, assets: assets).check(node, zone, oracle) }
        if let difference = oracle.differences(naming.name(contents), held: held, lacking: lacking).first {
          violate("n\(node.index): \(difference)")
        }
        if let known = zones[zone] {
          let excused = contents.hanging(on: try node.database.shownHereOnly())
          try checkHeld(
            node, ShownRows([ShownRows.Zone(known: known, oracle: oracle, rank: 0)]), besides: excused)
        }
      }
    }
  }

  /// Checks one zone: its members have equal states, which follow from their logs.
  private func checkEnd(_ zone: KnownZone) throws -> Oracle? {
    let members = try zones.members(zone)
    guard let first = members.first, let store = first.store else { return nil }
    let digest = try store.digest(zone.id)
    for node in members {
      guard let own = try node.store?.digest(zone.id) else { continue }
      let vector = mesh.text(node.merged(zone.id))
      say(node.index, "ends with \(vector) and \(own.records) records, digest \(own.hexadecimal)\(zone.suffix)")
      if own != digest {
        violate("n\(node.index) and n\(first.index) have equal vectors and unequal digests\(zone.suffix)")
      }
    }
    if zones.hasShares { try checkControl(zone) }
    return try members.prefix(Self.readLogs).map { try checkLog($0, zone, digest, isFirst: $0 === first) }.first
  }

  /// Checks that rows are equal if schemas and zones are equal. It compares columns that both have, and whose assets
  /// both have. A node may know a share that its owner doesn't know. It may then have rows of the share that its other
  /// devices refuse.
  private func compareRows(_ oracles: [ZoneID: Oracle]) throws {
    for account in zones.accounts.indices {
      let devices = try honest.filter { node in
        guard node.home.account == account else { return false }
        return try !zones.hasShares || !zones.zones(of: node).contains(where: zones.isAbandoned)
      }
      guard let first = devices.first else { continue }
      let contents = try first.database.contents()
      let own = try ownCells(first, oracles)
      for node in devices.dropFirst() {
        let lacking = try first.lackingCells().union(node.lackingCells()).union(own)
        let theirs = try node.database.contents()
        let excused = try contents.hanging(on: first.database.shownHereOnly())
          .union(theirs.hanging(on: node.database.shownHereOnly()))
        let (mine, others) = (contents.without(lacking, excused), theirs.without(lacking, excused))
        for difference in Self.differences(mine, others).prefix(5) {
          violate("n\(first.index) and n\(node.index) have equal digests and unequal rows: \(difference)")
        }
      }
    }
  }

  private func checkLog(
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
    let authors = Set(try store.storedVector(zone).authors).union(state.ends.keys)
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

  /// Checks that every write of the node is in a change set. It may also have been reverted with its branch. Then a
  /// later write beat it, or it is kept where `mesh conflicts` shows it. The same holds for writes of lost files and of
  /// revoked devices that another node had merged.
  private func checkWrites(_ node: SimulatedNode, _ oracle: Oracle, in log: Set<ChangeSetID>) throws {
    let lost = oracle.lost(node.ledger)
    let signed = lost.isEmpty ? [] : try history.archive.writes(of: node.ledger.facts, zones.keys, cryptography)
    // A write to a column whose merged value the row didn't show yet is kept, and not sent.
    let listed = lost.isEmpty ? [] : try node.database.kept()
    for fact in lost where !listed.contains(fact) && !signed.contains(where: { $0.fact == fact }) {
      violate("n\(node.index): \(fact) was committed and is in no change set")
    }
    let missing = (signed.filter { !$0.isOverwritten } + history.entrusted).filter { write in
      !oracle.tells(write.fact) && !oracle.beats(write) && (write.undoes.isEmpty || !write.undoes.isDisjoint(with: log))
    }
    guard !missing.isEmpty else { return }
    let kept = try honest.reduce(into: Set<Ledger.Fact>()) { $0.formUnion(try $1.database.kept()) }
    let listedWrites = (signed + history.entrusted).filter { kept.contains($0.fact) }
    for write in missing where !kept.contains(write.fact) {
      // A write that had overwritten it is listed.
      if listedWrites.contains(where: { $0.isLater(than: write) && $0.overwrites(write) }) { continue }
      violate("\(write.fact), by \(mesh.named("\(write.stamp.author)")), was cut, and is neither beaten nor kept")
    }
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

  private static func differences(_ left: Contents, _ right: Contents) -> [String] {
    Set(left.keys).union(right.keys).sorted().filter { !isEqual(left[$0], right[$0]) }.map { name in
      func shown(_ row: [String: Value]?) -> String {
        row.map { $0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }.joined(separator: " ") } ?? "none"
      }
      return "\(name): \(shown(left[name])) against \(shown(right[name]))"
    }
  }

  private static func isEqual(_ left: [String: Value]?, _ right: [String: Value]?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return left.allSatisfy { column, value in right[column].map { $0 == value } ?? true }
  }
}
