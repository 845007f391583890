import MeshCore
import MeshReplication
import MeshStore

/// Checks the BLOBs that nodes lack, and those that they send.
struct AssetCheck: MeshPart {
  let mesh: SimulatedMesh
  let assets: AssetUsers

  /// Checks that requested assets arrive if an honest node has them.
  ///
  /// An honest node must have them, with four exceptions. A liar or a revoked device wrote them. Or they were given up
  /// because a liar claimed to have them. Or an app discarded them. Or the only file that had them was replaced.
  func check(_ node: SimulatedNode, _ zone: ZoneID, _ oracle: Oracle) throws {
    let others = Set(nodes.filter { $0.isLiar || $0.isRevoked }.map(\.device))
    let contents = try node.database.contents(AppSchema.withAssets)
    let naming = AssetNaming(zone: zone, cryptography: cryptography)
    let absent = try node.absentCells()
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
        isDiscarded || discarded.contains(.asset(place.asset)) || assets.trustedLiars.contains(place.asset.id)
        || assets.abandoned.contains(place.asset.id) || place.writer.map(others.contains) ?? true
      let isThere = try honest.contains {
        try $0.store?.assets.chunks(of: place.asset.id, zone: zone)?.isComplete ?? false
      }
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

extension SimulatedNode {
  /// Returns the cells for whose merged assets the node doesn't have the bytes.
  func absentCells() throws -> [Ledger.CellName: AssetPlace] {
    let places = try database.sqlite?.assets.awaited(limit: .max) ?? []
    return Dictionary(places.map { ($0.cell, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the cells whose merged BLOBs the node lacks. They show other values.
  func lackingCells() throws -> Set<Ledger.CellName> {
    try (store as? ModelStore)?.lackingCells() ?? Set(absentCells().keys)
  }

  /// Returns the assets that the node waits for, and those that it doesn't download.
  func lackingAssets() throws -> Set<Asset> {
    let wanted = try store?.assets.wantedAssets(limit: 1_000).map(\.asset) ?? []
    return Set(try wanted + absentCells().values.filter { !$0.isFetched }.map(\.asset))
  }
}

extension AssetPlace {
  /// The cell, with the names of `AppSchema`.
  var cell: Ledger.CellName {
    Ledger.CellName(record: RecordName(table: table.asciiLowercased, key: key), column: column.asciiLowercased)
  }
}
