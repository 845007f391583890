public import MeshCore

/// Assets in memory. Their chunks stay permanently. A row has its BLOB, or the value that it had before.
extension ModelStore {
  /// An asset that the store has met.
  struct ModelAsset {
    let manifest: AssetManifest
    var chunks: [Int: [UInt8]] = [:]

    var content: [UInt8]? {
      guard chunks.count == manifest.chunkCount else { return nil }
      return (0..<manifest.chunkCount).reduce(into: []) { $0 += chunks[$1] ?? [] }
    }

    var present: ChunkSet {
      chunks.keys.reduce(into: ChunkSet(count: manifest.chunkCount)) { $0.insert($1) }
    }
  }

  /// Returns the row that a record shows.
  ///
  /// - Parameter before: The row that it showed before.
  func row(_ state: RecordState<String>, before: [String: Value]?) -> [String: Value]? {
    guard state.isAlive else { return nil }
    var row: [String: Value] = [:]
    for (column, cell) in state.cells {
      guard case .asset(let asset) = cell.value else {
        row[column] = cell.value
        continue
      }
      row[column] = metAssets[asset.id]?.content.map(Value.blob) ?? before?[column] ?? .null
    }
    return row
  }

  /// Returns the field to send for a value. For a long BLOB, it is a manifest, and the bytes are kept.
  func field(_ value: Value, zone: ZoneID) throws -> FieldValue {
    if case .asset(let asset) = value, let known = metAssets[asset.id] { return .asset(known.manifest) }
    guard case .blob(let bytes) = value, Asset.isAsset(size: bytes.count) else { return .value(value) }
    var builder = AssetManifest.Builder(key: AssetManifest.key(of: zone, cryptography), cryptography)
    var chunks: [Int: [UInt8]] = [:]
    for index in 0..<Asset.chunkCount(size: bytes.count) {
      let chunk = Array(bytes[Asset.range(ofChunk: index, size: bytes.count)])
      chunks[index] = chunk
      builder.add(chunk)
    }
    guard let manifest = builder.manifest else { return .value(.null) }
    metAssets[try manifest.asset(cryptography).id] = ModelAsset(manifest: manifest, chunks: chunks)
    return .asset(manifest)
  }

  /// Returns the tables with the names of assets in place of their manifests.
  func naming(_ tables: [TableChanges]) throws -> [TableChanges] {
    var tables = tables
    for table in tables.indices {
      for row in tables[table].rows.indices {
        for field in tables[table].rows[row].fields.indices {
          guard case .asset(let manifest) = tables[table].rows[row].fields[field].value else { continue }
          let asset = try manifest.asset(cryptography)
          if metAssets[asset.id] == nil { metAssets[asset.id] = ModelAsset(manifest: manifest) }
          tables[table].rows[row].fields[field].value = .value(.asset(asset))
        }
      }
    }
    return tables
  }

  func meet(_ manifests: [AssetID: AssetManifest]) {
    for (id, manifest) in manifests where metAssets[id] == nil { metAssets[id] = ModelAsset(manifest: manifest) }
  }

  private func users(of asset: AssetID) -> [(zone: ZoneID, name: RecordName)] {
    zoneOrder.flatMap { zone in
      (zoneData[zone]?.records ?? [:]).filter { _, state in
        state.isAlive
          && state.cells.values.contains { if case .asset(let used) = $0.value { used.id == asset } else { false } }
      }.map { (zone, $0.key) }
    }
  }

  public func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets {
    let missing = metAssets.filter { $0.value.content == nil && !besides.contains($0.key) }.sorted { $0.key < $1.key }
    let wanted = try missing.compactMap { id, known -> WantedAsset? in
      let zones = Set(users(of: id).map(\.zone)).sorted()
      guard !zones.isEmpty else { return nil }
      return WantedAsset(asset: try known.manifest.asset(cryptography), zones: zones, staged: known.present)
    }
    return WantedAssets(Array(wanted.prefix(limit)), isAll: wanted.count <= limit)
  }

  /// Returns the cells of live records whose BLOBs are not complete here.
  func lackingCells() -> Set<Ledger.Cell> {
    var found: Set<Ledger.Cell> = []
    for zone in zoneData.values {
      for (name, state) in zone.records where state.isAlive {
        for (column, cell) in state.cells {
          guard case .asset(let asset) = cell.value, metAssets[asset.id]?.content == nil else { continue }
          found.insert(Ledger.Cell(record: name, column: column))
        }
      }
    }
    return found
  }

  public func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog {
    var backlog = AssetBacklog()
    for (id, known) in metAssets where known.content == nil && users(of: id).contains(where: { $0.zone == zone }) {
      let here = known.chunks.values.reduce(0) { $0 + $1.count }
      let amount = AssetBacklog.Amount(assets: 1, bytes: known.manifest.size - here)
      if absent.contains(id) { backlog.absent += amount } else { backlog.coming += amount }
    }
    return backlog
  }

  public func noteSources(_ sources: [AssetID: DeviceID], now: Int64) {}

  public func stage(_ bytes: [UInt8], chunk index: Int, of asset: AssetID) -> ChunkOutcome {
    guard let known = metAssets[asset], known.chunks[index] == nil else { return .notNeeded }
    guard known.manifest.isChunk(bytes, index, cryptography) else { return .wrong }
    metAssets[asset]?.chunks[index] = bytes
    let isComplete = metAssets[asset]?.content != nil
    if isComplete { completed.insert(asset) }
    return .staged(isComplete: isComplete)
  }

  public func placeAssets(now: Int64) -> Bool {
    guard let asset = completed.popFirst() else { return false }
    let waiting = Set(pending.map(\.name))
    for (zone, name) in users(of: asset) where !waiting.contains(name) {
      rows[name] = zoneData[zone]?.records[name].flatMap { row($0, before: rows[name]) }
    }
    return true
  }

  public func chunk(_ index: Int, of asset: AssetID, zone: ZoneID) -> [UInt8]? {
    users(of: asset).contains { $0.zone == zone } ? metAssets[asset]?.chunks[index] : nil
  }

  public func chunks(of asset: AssetID, zone: ZoneID) -> ChunkSet? {
    users(of: asset).contains { $0.zone == zone } ? metAssets[asset]?.present : nil
  }
}
