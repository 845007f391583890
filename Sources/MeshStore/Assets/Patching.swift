import MeshCore

/// A new version of a long BLOB that is as long as the one before: what the row has of it already stays where it is, and the chunks in
/// which they differ are written over the others.
extension Session {
  /// The cell of a record that waits for an asset, and the asset that its row shows there; nil where it shows none.
  func previous(_ want: AssetWant) throws -> (cell: Cell, asset: Asset)? {
    guard let zone = try ZoneRow.read(id: want.zone, sql), let table = catalog.table(want.ref.table),
      let index = table.indexes[want.column], let record = try ZoneRecords(self, zone: zone).load(want.ref),
      let old = record.shown[want.column]?.asset
    else { return nil }
    return (Cell(table: table, key: want.ref.key, index: index), old)
  }

  /// True where a row has shared some of an asset, and is not the only one any more that waits for it, or shows something else.
  func stopSharing(_ asset: Asset, _ wants: [AssetWant]) throws -> Bool {
    guard let source = staged.shared[asset.id]?.source else { return false }
    if wants.count == 1, let (cell, old) = try previous(wants[0]),
      cell.table.isPatched(asset, over: old, in: cell.index), source == StagedAssets.Source(cell, showing: old.id)
    {
      return false
    }
    staged.unshare(asset.id)
    return true
  }

  /// Whether the row still has its part of an asset, and the staging the rest. Bytes can be written past all triggers: what was compared is
  /// compared again where somebody has written meanwhile.
  func isReady(_ asset: Asset, toPatch cell: Cell, showing old: Asset?) throws -> Bool {
    guard let old, let shared = staged.shared[asset.id], staged.complete.contains(asset.id),
      shared.source == StagedAssets.Source(cell, showing: old.id)
    else { return false }
    let version = try dataVersion()
    if shared.version == version, try rowid(of: cell, size: old.size) != nil { return true }
    guard try has(shared.chunks, of: old, cell) else {
      staged.unshare(asset.id)
      return false
    }
    staged.confirmShared(asset.id, version: version)
    return true
  }

  private func has(_ chunks: ChunkSet, of asset: Asset, _ cell: Cell) throws -> Bool {
    guard let manifest = try manifest(asset.id) else { return false }
    var isSame = true
    let isThere = try forEachChunk(of: cell, size: asset.size) { index, bytes in
      isSame = !chunks.contains(index) || isChunk(bytes, index, asset, manifest)
      return isSame
    }
    return isThere && isSame
  }
}

extension Materialiser {
  /// Writes the chunks of an asset that its row does not have.
  func patch(_ key: Value, _ column: Int64, _ asset: Asset, _ table: TableForm) throws {
    guard let index = table.indexes[column], let manifest = try session.manifest(asset.id),
      let shared = session.staged.shared[asset.id]
    else { throw Self.lostChunk }
    let cell = Cell(table: table, key: key, index: index)
    guard let place = try session.rowid(of: cell, size: asset.size) else { throw Self.lostChunk }
    let blob = try Blob(session.sql, cell, rowid: place, isWritable: true)
    for chunk in 0..<asset.chunkCount where !shared.chunks.contains(chunk) {
      guard let bytes = try session.staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
      try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
    }
  }
}

extension StagedAssets.Source {
  init(_ cell: Cell, showing content: AssetID) {
    self.init(ref: RecordRef(table: cell.table.id, key: cell.key), index: cell.index, content: content)
  }
}
