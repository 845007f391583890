import MeshCore

/// Handles a new version of a long BLOB that has the same length as the one before. Equal chunks in the row stay, and
/// only the different chunks are overwritten.
extension Materialiser {
  /// Writes the chunks of an asset that its row doesn't have.
  func patch(_ key: Value, _ column: Int64, _ asset: Asset, _ table: TableForm) throws {
    guard let index = table.indexes[column], let manifest = try transaction.contents.manifest(asset.id),
      let shared = transaction.staged.shared[asset.id]
    else { throw Self.lostChunk }
    let cell = Cell(table: table, key: key, index: index)
    guard let place = try transaction.contents.rowid(of: cell, size: asset.size) else { throw Self.lostChunk }
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
