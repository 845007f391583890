import MeshCore

/// The chunks of assets that this file has in its rows: to give them to others, and to download less.
struct AssetSources: InTransaction {
  let transaction: Transaction

  func showsInRow(_ asset: AssetID) throws -> Bool { try !contents.cells(showing: asset).isEmpty }

  /// Returns a chunk that a row has. A chunk that no row has any more doesn't count as shown from then on.
  func chunkOfRow(_ index: Int, _ asset: Asset, _ manifest: AssetManifest) throws -> [UInt8]? {
    let cells = try contents.cells(showing: asset.id)
    for cell in cells {
      if asset.size >= BlobServer.least, let rowid = try contents.rowid(of: cell, size: asset.size),
        let bytes = transaction.server.chunk(index, of: asset, cell, rowid: rowid),
        prove(bytes, index, asset, manifest)
      {
        return bytes
      }
      var found: [UInt8]?
      try contents.forEachChunk(of: cell, size: asset.size, index..<index + 1) { _, bytes in
        if prove(bytes, index, asset, manifest) { found = bytes }
        return false
      }
      if let found { return found }
    }
    if !cells.isEmpty { staged.proven.noteLost(index, of: asset.id) }
    return nil
  }

  /// Proves that the bytes from a row are the chunk. They are hashed, unless this was proven before. Returns false if they
  /// are not the chunk.
  func prove(_ bytes: [UInt8], _ index: Int, _ asset: Asset, _ manifest: AssetManifest) -> Bool {
    let sum = ChunkSum(bytes)
    if !staged.proven.contains(sum, index, of: asset) {
      guard manifest.isChunk(bytes, index, cryptography) else { return false }
      staged.proven.note(sum, index, of: asset)
    }
    staged.proven.noteFound(index, of: asset.id)
    return true
  }

  /// The number of cells that are checked for one asset. If its content is in many rows, a few are enough.
  private static let sources = 8

  /// Takes the chunks that this file already has, in other rows and in the values to be replaced. Each is read once.
  ///
  /// - Returns: The reason why they could not be kept, or nil if they were.
  func takeFromRows(_ asset: Asset, _ manifest: AssetManifest, _ wants: [AssetWant]) throws -> String? {
    do {
      for cell in try contents.cells(showing: asset.id) {
        try take(asset, manifest, from: cell, showing: asset.id) { chunk, bytes in
          if manifest.isChunk(bytes, chunk, cryptography) { try staged.write(bytes, chunk, asset, manifest) }
        }
      }
      for want in wants.prefix(Self.sources) {
        try takeFromPrevious(want, asset, manifest, isOnly: wants.count == 1)
      }
      return nil
    } catch let error as StoreError {
      return error.message
    }
  }

  /// Takes the chunks of a cell.
  ///
  /// - Parameter body: Handles each chunk of the cell.
  /// - Returns: False if it was done before, or is not necessary.
  @discardableResult
  private func take(
    _ asset: Asset, _ manifest: AssetManifest, from cell: RowCell, showing content: AssetID, size: Int? = nil,
    _ body: (Int, [UInt8]) throws -> Void
  ) throws -> Bool {
    let source = StagedAssets.Source(cell, showing: content)
    guard try !staged.isComplete(asset, manifest), !staged.isCompared(asset.id, with: source) else { return false }
    try contents.forEachChunk(of: cell, size: size ?? asset.size) { chunk, bytes in
      try body(chunk, bytes)
      return try !staged.isComplete(asset, manifest)
    }
    staged.noteCompared(asset.id, with: source)
    return true
  }

  /// Takes the chunks that the previous version has in common with the asset. Chunks in the same place stay there, if
  /// the row can be written in place.
  ///
  /// - Parameter isOnly: True if no other record waits for it.
  private func takeFromPrevious(_ want: AssetWant, _ asset: Asset, _ manifest: AssetManifest, isOnly: Bool) throws {
    guard let (cell, old) = try previous(want), let before = try contents.manifest(old.id), before.key == manifest.key
    else { return }
    var places: [ArraySlice<UInt8>: [Int]] = [:]
    for chunk in 0..<manifest.chunkCount where try !staged.chunks(asset, manifest).contains(chunk) {
      places[manifest.hash(ofChunk: chunk), default: []].append(chunk)
    }
    let stays = isOnly && cell.table.isPatched(asset, over: old, in: cell.index)
    let version = try transaction.dataVersion()
    var shared = ChunkSet(count: asset.chunkCount)
    let isTaken = try take(asset, manifest, from: cell, showing: old.id, size: old.size) { chunk, bytes in
      for place in places[before.hash(ofChunk: chunk)] ?? [] {
        if stays, place == chunk {
          if prove(bytes, chunk, old, before) { shared.insert(chunk) }
        } else if manifest.isChunk(bytes, place, cryptography) {
          try staged.write(bytes, place, asset, manifest)
        }
      }
    }
    guard stays, isTaken, shared.present > 0 else { return }
    let source = StagedAssets.Source(cell, showing: old.id)
    try staged.share(StagedAssets.Shared(source: source, chunks: shared, version: version), asset, manifest)
  }

  // MARK: The value to be replaced

  /// Returns the cell of a record that waits for an asset, and the asset that its row shows there. Returns nil if it
  /// shows none.
  func previous(_ want: AssetWant) throws -> (cell: RowCell, asset: Asset)? {
    guard let zone = try counters.read(id: want.zone), let table = catalog.table(want.ref.table),
      let index = table.indexes[want.column], let record = try ZoneRecords(transaction, zone: zone).load(want.ref),
      let old = record.shown[want.column]?.asset
    else { return nil }
    return (RowCell(table: table, key: want.ref.key, index: index), old)
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

  /// Confirms that the row still has its part of an asset, and the staging has the rest. Bytes can be written without
  /// firing triggers. If another connection has written meanwhile, they are compared again. If they differ, the row is
  /// shared no longer.
  ///
  /// - Returns: False if the row can't be patched.
  func confirmShared(_ asset: Asset, toPatch cell: RowCell, showing old: Asset?) throws -> Bool {
    guard let old, let shared = staged.shared[asset.id], staged.complete.contains(asset.id),
      shared.source == StagedAssets.Source(cell, showing: old.id)
    else { return false }
    let version = try transaction.dataVersion()
    if shared.version == version, try contents.rowid(of: cell, size: old.size) != nil { return true }
    guard try has(shared.chunks, of: old, cell) else {
      staged.unshare(asset.id)
      return false
    }
    staged.confirmShared(asset.id, version: version)
    return true
  }

  private func has(_ chunks: ChunkSet, of asset: Asset, _ cell: RowCell) throws -> Bool {
    guard let manifest = try contents.manifest(asset.id) else { return false }
    var isSame = true
    let isThere = try contents.forEachChunk(of: cell, size: asset.size) { index, bytes in
      isSame = !chunks.contains(index) || prove(bytes, index, asset, manifest)
      return isSame
    }
    return isThere && isSame
  }
}

extension Transaction {
  var sources: AssetSources { AssetSources(transaction: self) }
}
