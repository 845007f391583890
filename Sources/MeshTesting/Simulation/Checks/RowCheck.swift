import MeshCore
import MeshReplication
import MeshStore

/// Checks that tables show the rows that follow from the merged states, and that all other records are listed.
struct RowCheck: MeshPart {
  let mesh: SimulatedMesh

  /// Checks the rows that a node shows if there is one zone.
  func check(_ node: SimulatedNode, _ oracle: Oracle, _ zone: KnownZone, _ contents: Contents) throws {
    let naming = AssetNaming(zone: zone.id, cryptography: cryptography)
    let held = try node.database.held(zone.id)
    let lacking = try node.lackingAssets()
    if let difference = oracle.differences(naming.name(contents), held: held, lacking: lacking).first {
      violate("n\(node.index): \(difference)")
    }
    let excused = contents.hanging(on: try node.database.shownHereOnly())
    try checkHeld(node, ShownRows([ShownRows.Zone(known: zone, oracle: oracle, rank: 0)]), besides: excused)
  }

  /// Checks the rows that a node shows of several zones.
  func check(
    _ node: SimulatedNode, _ mine: [ShownRows.Zone], _ oracles: [ZoneID: Oracle], _ contents: Contents
  ) throws {
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
  }

  /// Checks that each live record without a row is listed as held, with the reason and the awaited record that follow
  /// from the merged states.
  private func checkHeld(_ node: SimulatedNode, _ expected: ShownRows, besides excused: Set<RecordName>) throws {
    guard let store = node.database.sqlite else { return }
    let records = try store.held.list(limit: .max)
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

  /// Checks that rows are equal if schemas and zones are equal. It compares columns that both have, and whose assets
  /// both have. A node may know a share that its owner doesn't know. It may then have rows of the share that its other
  /// devices refuse.
  func compare(_ oracles: [ZoneID: Oracle]) throws {
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

  /// Returns the cells that a migration of the node's app may have filled although its account may only read the share.
  /// Nobody has sent values for them.
  private func ownCells(_ node: SimulatedNode, _ oracles: [ZoneID: Oracle]) throws -> Set<Ledger.CellName> {
    var cells: Set<Ledger.CellName> = []
    let account = zones.account(of: node)
    for zone in zones.all {
      guard let oracle = oracles[zone.id], try zones.authority(zone)?.permission(account) == .readOnly else { continue }
      for (name, state) in oracle.states where state.isAlive {
        for column in AppSchema.table(name.table)?.columns ?? []
        where column.mayLack && state.cells[column.name] == nil {
          cells.insert(Ledger.CellName(record: name, column: column.name))
        }
      }
    }
    return cells
  }

  /// Checks that honest devices wrote only those records to a share that can belong to it.
  func checkScope(_ zone: KnownZone, _ oracle: Oracle) {
    let authors = Set(nodes.filter { !$0.isLiar }.flatMap { [$0.device, $0.firstDevice] })
    let place = ShownRows.Zone(known: zone, oracle: oracle, rank: 0)
    for (name, state) in oracle.states where state.isAlive && !place.has(name) {
      guard let author = state.life?.author.device, authors.contains(author) else { continue }
      violate("\(name) was written to \(zone.name), to which it does not belong")
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
