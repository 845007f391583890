import MeshCore
import MeshReplication

/// Checks that every write of an app that was committed is somewhere.
struct WriteCheck: MeshPart {
  let mesh: SimulatedMesh
  let history: FileIncidents

  /// Checks that every write of the node is in a change set. It may also have been reverted with its branch. Then a
  /// later write beat it, or it is kept where `mesh conflicts` shows it. The same holds for writes of lost files and of
  /// revoked devices that another node had merged.
  func check(_ node: SimulatedNode, _ oracle: Oracle, in log: Set<ChangeSetID>) throws {
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

  // MARK: Shares

  /// Checks that every write of the node's app is in a valid change set, was beaten, is in a receipt, or is listed by a
  /// member that had it. A value may also be local (see `isLocal`).
  func check(
    _ node: SimulatedNode, _ mine: [ShownRows.Zone], _ oracles: [ZoneID: Oracle], _ contents: Contents
  ) throws {
    node.ledger.naming = nil
    let missing = node.ledger.facts.filter { fact in
      !names(of: fact).contains { isTold($0, node, mine, oracles) } && !isLocal(fact, node, mine, contents)
    }
    guard !missing.isEmpty, node.store != nil else { return }
    let receipts = try receipts(node.database)
    let signed = try history.archive.writes(of: Set(missing.flatMap(names(of:))), zones.keys, cryptography)
    let beaten = try history.archive.beaten(signed, zones.keys, cryptography)
    let listed = try honest.reduce(into: receipts) { $0.formUnion(try $1.database.kept()) }
    for fact in missing.sorted(by: { $0.description < $1.description }) {
      let names = names(of: fact)
      if listed.contains(fact) || names.contains(where: { listed.contains($0) || beaten.contains($0) }) { continue }
      let write = signed.first { names.contains($0.fact) }
      if let write, let oracle = oracles[write.zone], oracle.beats(write) { continue }
      // The change set that created the record was reverted too.
      if let write, !write.undoes.isEmpty, oracles[write.zone]?.states[fact.record] == nil { continue }
      let fate = write.map { "was signed in \(zones.name($0.zone)) and is gone" } ?? "is in no change set"
      violate("n\(node.index): \(fact) was committed, \(fate), and in no receipt or list")
    }
  }

  private func names(of fact: Ledger.Fact) -> [Ledger.Fact] {
    guard case .value(let cell, let value) = fact else { return [fact] }
    return zones.names(of: value).sorted().map { .value(cell, $0) }
  }

  private func isTold(
    _ fact: Ledger.Fact, _ node: SimulatedNode, _ mine: [ShownRows.Zone], _ oracles: [ZoneID: Oracle]
  ) -> Bool {
    switch fact {
    case .value: oracles.values.contains { $0.tells(fact) }
    case .delete(let name):
      oracles.values.contains { $0.deleted.contains(name) }
        // Its account may have created the record again, in a zone of its own.
        || zones.all.contains { hasLeft($0, node) && oracles[$0.id]?.states[name] != nil }
        || mine.allSatisfy { $0.oracle.states[name]?.isAlive != true || hasLeft($0.known, node) }
    }
  }

  /// Returns whether a row of a read-only share shows the value, in a column that nobody synchronizes for this record. A
  /// program may fill such a column for itself.
  private func isLocal(
    _ fact: Ledger.Fact, _ node: SimulatedNode, _ mine: [ShownRows.Zone], _ contents: Contents
  ) -> Bool {
    guard case .value(let cell, let value) = fact, contents[cell.record]?[cell.column] == value else { return false }
    return mine.contains { zone in
      guard let state = zone.oracle.states[cell.record], state.isAlive, state.cells[cell.column] == nil else {
        return false
      }
      return node.replica?.shareState(zone.known.id)?.permission(zones.account(of: node)) == .readOnly
    }
  }

  /// Returns whether the node's account left the share by deleting its root with all records that belong to it. The
  /// account may have come back since.
  private func hasLeft(_ zone: KnownZone, _ node: SimulatedNode) -> Bool {
    zone.account != node.home.account && zone.root.map(node.ledger.deletes.contains) == true
  }

  private func receipts(_ database: any SimulatedDatabase) throws -> Set<Ledger.Fact> {
    var facts: Set<Ledger.Fact> = []
    for zone in zones.all {
      for receipt in try database.receipts(zone.id) {
        let record = RecordName(table: receipt.record.table.asciiLowercased, key: receipt.record.key)
        guard let values = receipt.values else {
          facts.insert(.delete(record))
          continue
        }
        for (column, value) in values {
          facts.insert(.value(Ledger.CellName(record: record, column: column.asciiLowercased), value))
        }
      }
    }
    return facts
  }
}
