import MeshCore

/// Writes complete assets into the rows that wait for them, and removes those for which none waits.
struct AssetPlacing: InTransaction {
  let transaction: Transaction

  struct Placement {
    let want: AssetWant
    let asset: AssetID
  }

  /// Returns as many placements as one transaction can take.
  func placeable(besides refused: Set<AssetID>) throws -> [Placement] {
    var (placements, bytes): ([Placement], Int) = ([], 0)
    for id in staged.complete.subtracting(refused).sorted() {
      guard let asset = try contents.manifest(id)?.asset(cryptography) else { continue }
      let wants = try assets.wants(asset.id, onlyShowable: true)
      if wants.isEmpty { continue }
      if !placements.isEmpty, bytes + asset.size * wants.count > StoreLimits.placedBytes { break }
      bytes += asset.size * wants.count
      placements += wants.prefix(StoreLimits.placedRows).map { Placement(want: $0, asset: asset.id) }
      if placements.count >= StoreLimits.placedRows { break }
    }
    return placements
  }

  /// Returns the assets that at least one more row now shows.
  func place(_ placements: [Placement], _ refused: [RecordRef: String]) throws -> Set<AssetID> {
    var placed: Set<AssetID> = []
    for (zone, group) in Dictionary(grouping: placements, by: \.want.zone).sorted(by: { $0.key < $1.key }) {
      guard let row = try counters.read(id: zone) else { continue }
      let records = ZoneRecords(transaction, zone: row)
      let materialiser = try Materialiser(records, transaction.progress(), refused: refused)
      for placement in group { try materialiser.show(placement.want.ref) }
      try materialiser.settle()
      for placement in group {
        if try assets.isShown(placement.asset, placement.want) { placed.insert(placement.asset) }
      }
    }
    return placed
  }

  /// Removes assets that no record waits for and no conflict lists.
  ///
  /// - Returns: False if that is not known yet, and nothing was removed.
  @discardableResult
  func sweepStaging(_ assets: [AssetID]) throws -> Bool {
    guard !assets.isEmpty else { return true }
    // Reverted values that wait to be written again belong to no record.
    guard try !work.hasRewrites() else { return false }
    for asset in assets where try self.assets.wants(asset).isEmpty && !self.assets.isKept(asset) {
      try staged.remove(asset)
    }
    return true
  }
}
