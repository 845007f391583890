import MeshCore

/// Handles a new version of a long BLOB that has the same length as the one before. Equal chunks in the row stay, and
/// only the different chunks are overwritten.
extension Transaction {
  /// Returns the cell of a record that waits for an asset, and the asset that its row shows there. Returns nil if it
  /// shows none.
  func previous(_ want: AssetWant) throws -> (cell: Cell, asset: Asset)? {
    guard let zone = try zoneRows.read(id: want.zone), let table = catalog.table(want.ref.table),
      let index = table.indexes[want.column], let record = try ZoneRecords(self, zone: zone).load(want.ref),
      let old = record.shown[want.column]?.asset
    else { return nil }
    return (Cell(table: table, key: want.ref.key, index: index), old)
  }

  /// Ends the sharing of an asset's chunks with a row, if another row now waits for it too, or the row shows something
  /// else. Returns whether it did.
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

  /// Returns whether the row still has its part of an asset, and the staging has the rest. Bytes can be written without
  /// firing triggers. If another connection has written meanwhile, they are compared again.
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
  /// Writes the chunks of an asset that its row doesn't have.
  func patch(_ key: Value, _ column: Int64, _ asset: Asset, _ table: TableForm) throws {
    guard let index = table.indexes[column], let manifest = try transaction.manifest(asset.id),
      let shared = transaction.staged.shared[asset.id]
    else { throw Self.lostChunk }
    let cell = Cell(table: table, key: key, index: index)
    guard let place = try transaction.rowid(of: cell, size: asset.size) else { throw Self.lostChunk }
    let blob = try Blob(transaction.sql, cell, rowid: place, isWritable: true)
    for chunk in 0..<asset.chunkCount where !shared.chunks.contains(chunk) {
      guard let bytes = try transaction.staged.read(chunk, asset, manifest) else { throw Self.lostChunk }
      try blob.write(bytes, at: asset.range(ofChunk: chunk).lowerBound)
    }
  }
}

extension StagedAssets.Source {
  init(_ cell: Cell, showing content: AssetID) {
    self.init(ref: RecordRef(table: cell.table.id, key: cell.key), index: cell.index, content: content)
  }
}
