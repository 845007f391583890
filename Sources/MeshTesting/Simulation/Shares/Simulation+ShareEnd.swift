import MeshCore
import MeshReplication
import MeshStore

/// The rules for several zones that hold once everything has healed.
extension Simulation {
  /// Checks the log of a zone by reading it a second time, and checks which nodes have which keys.
  func checkControl(_ zone: KnownZone) throws {
    guard let owner = honest.first(where: { $0.home.account == zone.account }), let store = owner.store,
      let state = try zones.state(of: zone.id, at: owner)
    else { return }
    let records = try zones.controlRecords(store, zone.id)
    checkSecondReading(zone, owner, state, records)
    try checkLimits(zone, owner, state, records)
    let known = try nodes.filter { !$0.isLiar }.flatMap {
      try $0.store.map { try zones.controlRecords($0, zone.id) } ?? []
    }
    let log = ControlLog(records + known) { state.account(of: $0) }
    checkKeys(zone, state, log)
    for form in log.rareForms(owner: state.owner) { mesh.branches.add(form.rawValue) }
  }

  /// Checks the rows that a node shows, and its app's writes.
  func checkShares(_ node: SimulatedNode, _ oracles: [ZoneID: Oracle], _ contents: Contents) throws {
    var mine: [ShownRows.Zone] = []
    for zone in zones.all {
      guard let oracle = oracles[zone.id], try zones.members(zone).contains(where: { $0 === node }) else { continue }
      let rank = zone.account != node.home.account ? 2 : zone.root == nil ? 0 : 1
      mine.append(ShownRows.Zone(known: zone, oracle: oracle, rank: rank))
    }
    let expected = ShownRows(mine)
    // A row that is shown here only may take the place of a record of another zone. Then what refers to that record
    // shows something else than the merged states say.
    let here = try node.database.shownHereOnly()
    let excused = contents.hanging(on: here).union(expected.contents.hanging(on: here))
    let lacking = try node.lackingCells()
    let own = try ownCells(node, oracles)
    for difference in expected.differences(
      contents, besides: excused, own, lacking: lacking, names: zones.names(of:)
    ).prefix(3) {
      violate("n\(node.index): \(difference)")
    }
    try checkHeld(node, expected, besides: excused)
    try checkWrites(node, mine, oracles)
  }

  /// Checks that honest devices wrote only those records to a share that can belong to it.
  func checkScope(_ zone: KnownZone, _ oracle: Oracle) {
    let authors = Set(nodes.filter { !$0.isLiar }.map(\.device))
    let place = ShownRows.Zone(known: zone, oracle: oracle, rank: 0)
    for (name, state) in oracle.states where state.isAlive && !place.has(name) {
      guard let author = state.life?.author.device, authors.contains(author) else { continue }
      violate("\(name) was written to \(zone.name), to which it does not belong")
    }
  }

  /// Returns the cells that a migration of the node's app may have filled although its account may only read the share.
  /// Nobody has sent values for them.
  func ownCells(_ node: SimulatedNode, _ oracles: [ZoneID: Oracle]) throws -> Set<Ledger.Cell> {
    var cells: Set<Ledger.Cell> = []
    let account = zones.account(of: node)
    for zone in zones.all {
      guard let oracle = oracles[zone.id], try zones.authority(zone)?.permission(account) == .readOnly else { continue }
      for (name, state) in oracle.states where state.isAlive {
        for column in AppSchema.table(name.table)?.columns ?? []
        where column.mayLack && state.cells[column.name] == nil {
          cells.insert(Ledger.Cell(record: name, column: column.name))
        }
      }
    }
    return cells
  }

  /// Checks that each live record without a row is listed as held, with the reason and the awaited record that follow
  /// from the merged states.
  func checkHeld(_ node: SimulatedNode, _ expected: ShownRows, besides excused: Set<RecordName>) throws {
    guard let store = node.database.sqlite else { return }
    let records = try store.heldRecords(limit: .max)
    for zone in expected.zones.map(\.known) {
      let held = Dictionary(
        records.filter { $0.zone == zone.id && !$0.reason.isShown }.map { (RecordName($0), $0) },
        uniquingKeysWith: { first, _ in first })
      let hidden = Set(expected.hidden(in: zone.id)).subtracting(excused)
      for name in hidden.sorted() {
        let reasons = expected.reasons(name, in: zone.id)
        guard let record = held[name] else {
          violate("n\(node.index): \(name)\(zone.suffix) lives and is neither shown nor held")
          continue
        }
        guard let parent = reasons[record.reason] else {
          let reason = reasons.keys.map(\.name).sorted().joined(separator: " or ")
          violate("n\(node.index): \(name)\(zone.suffix) is held as \(record.reason.name), and the reason is \(reason)")
          continue
        }
        guard let parent, !record.waitsFor.contains(where: { parent == RecordName($0) }) else { continue }
        violate("n\(node.index): \(name)\(zone.suffix) is held, and does not name \(parent) for which it waits")
      }
      for (name, record) in held.sorted(by: { $0.key < $1.key })
      where !hidden.contains(name) && !excused.contains(name) {
        violate("n\(node.index): \(name)\(zone.suffix) is held as \(record.reason.name), and is to be shown")
      }
    }
  }

  /// Checks that every write of the node's app is in a valid change set, was beaten, is in a receipt, or is listed by a
  /// member that had it.
  private func checkWrites(_ node: SimulatedNode, _ mine: [ShownRows.Zone], _ oracles: [ZoneID: Oracle]) throws {
    node.ledger.naming = nil
    let missing = node.ledger.facts.filter { fact in !names(of: fact).contains { isTold($0, node, mine, oracles) } }
    guard !missing.isEmpty, let store = node.store else { return }
    let receipts = try receipts(store)
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

  /// Returns whether the node's account left the share by deleting its root with all records that belong to it. The
  /// account may have come back since.
  private func hasLeft(_ zone: KnownZone, _ node: SimulatedNode) -> Bool {
    zone.account != node.home.account && zone.root.map(node.ledger.deletes.contains) == true
  }

  private func receipts(_ store: any ReplicaStore) throws -> Set<Ledger.Fact> {
    var facts: Set<Ledger.Fact> = []
    for zone in zones.all {
      for receipt in try store.receipts(zone.id) {
        let record = RecordName(table: receipt.record.table.asciiLowercased, key: receipt.record.key)
        guard let values = receipt.values else {
          facts.insert(.delete(record))
          continue
        }
        for (column, value) in values {
          facts.insert(.value(Ledger.Cell(record: record, column: column.asciiLowercased), value))
        }
      }
    }
    return facts
  }
}
