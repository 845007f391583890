package import MeshCore

/// Downloads and serves the assets that records use.
extension ModelStore {
  private func users(of asset: AssetID) -> [(zone: ZoneID, name: RecordName)] {
    zoneOrder.flatMap { zone in
      (zoneData[zone]?.records ?? [:]).filter { _, state in
        state.isAlive
          && state.cells.values.contains { if case .asset(let used) = $0.value { used.id == asset } else { false } }
      }.map { (zone, $0.key) }
    }
  }

  package func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets {
    let missing = metAssets.wanted.filter { !besides.contains($0.key) }.sorted { $0.key < $1.key }
    let wanted = try missing.compactMap { id, known -> WantedAsset? in
      let zones = Set(users(of: id).map(\.zone)).sorted()
      guard !zones.isEmpty else { return nil }
      return WantedAsset(asset: try known.manifest.asset(cryptography), zones: zones, staged: known.present)
    }
    return WantedAssets(Array(wanted.prefix(limit)), isAll: wanted.count <= limit)
  }

  /// Returns the cells of live records whose BLOBs are not complete here.
  func lackingCells() -> Set<Ledger.CellName> {
    var found: Set<Ledger.CellName> = []
    for zone in zoneData.values {
      for (name, state) in zone.records where state.isAlive {
        for (column, cell) in state.cells {
          guard case .asset(let asset) = cell.value, metAssets[asset.id]?.content == nil else { continue }
          found.insert(Ledger.CellName(record: name, column: column))
        }
      }
    }
    return found
  }

  package func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog {
    var backlog = AssetBacklog()
    for (id, known) in metAssets.missing where users(of: id).contains(where: { $0.zone == zone }) {
      let here = known.chunks.values.reduce(0) { $0 + $1.count }
      let amount = AssetBacklog.Amount(assets: 1, bytes: known.manifest.size - here)
      if absent.contains(id) { backlog.absent += amount } else { backlog.coming += amount }
    }
    return backlog
  }

  package func noteSources(_ sources: [AssetID: DeviceID], now: Int64) {}

  package func undelivered(_ zone: ZoneID, limit: Int) -> [Asset] {
    let home = standings.first { $0.role == .privateZone }.flatMap { zoneData[$0.zone] }
    let devices = Set((home?.authors.keys.map(\.device) ?? []) + [device].compactMap(\.self))
    let cells = (zoneData[zone]?.records ?? [:]).values.filter(\.isAlive).flatMap(\.cells.values)
    let own = Set(cells.filter { devices.contains($0.stamp.author.device) }.compactMap(\.value.asset))
    let lacking = own.filter { deliveredAssets[zone]?.contains($0.id) != true }
    return Array(lacking.sorted { $0.id < $1.id }.prefix(limit))
  }

  package func noteDelivered(_ assets: Set<AssetID>, in zone: ZoneID) {
    deliveredAssets[zone, default: []].formUnion(assets)
  }

  package func stage(_ bytes: [UInt8], chunk index: Int, of asset: AssetID) -> ChunkOutcome {
    metAssets.stage(bytes, chunk: index, of: asset)
  }

  package func placeAssets(now: Int64) -> Bool {
    guard let asset = metAssets.nextCompleted() else { return false }
    let waiting = Set(pending.map(\.name))
    for (zone, name) in users(of: asset) where !waiting.contains(name) {
      rows[name] = zoneData[zone]?.records[name].flatMap { metAssets.row($0, before: rows[name]) }
    }
    return true
  }

  package func chunk(_ index: Int, of asset: AssetID, zone: ZoneID) -> [UInt8]? {
    guard patchedChunks[asset]?.contains(index) != true else { return nil }
    return users(of: asset).contains { $0.zone == zone } ? metAssets[asset]?.chunks[index] : nil
  }

  package func chunks(of asset: AssetID, zone: ZoneID) -> ChunkSet? {
    var chunks = users(of: asset).contains { $0.zone == zone } ? metAssets[asset]?.present : nil
    for index in patchedChunks[asset] ?? [] { chunks?.remove(index) }
    return chunks
  }
}
