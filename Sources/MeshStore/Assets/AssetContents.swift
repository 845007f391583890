import MeshCore

/// The manifests of assets, and their bytes in rows and in the staging.
struct AssetContents: InTransaction {
  let transaction: Transaction

  /// Saves a manifest inside a write transaction. A known manifest stays.
  func remember(_ manifest: AssetManifest) throws -> Asset {
    let asset = try manifest.asset(cryptography)
    try assets.insert(asset, manifest)
    return asset
  }

  /// Returns the manifest, or nil if the asset was never met.
  func manifest(_ asset: AssetID) throws -> AssetManifest? {
    if let known = staged.manifests[asset] { return known }
    guard let manifest = try assets.manifest(asset) else { return nil }
    staged.note(manifest, of: asset)
    return manifest
  }

  /// Returns whether the asset is complete in the staging, and can be written into rows.
  func isStaged(_ asset: Asset) throws -> Bool {
    guard !asset.isUnread, staged.unplaceable[asset.id] == nil, let manifest = try manifest(asset.id) else {
      return false
    }
    return try staged.isComplete(asset, manifest)
  }

  /// Copies an asset to the staging, from a row that is about to lose it, as far as the row has it.
  ///
  /// - Parameter isSynced: True if the copy has to survive a power cut from now on.
  func keep(_ asset: Asset, _ manifest: AssetManifest, from cell: RowCell, isSynced: Bool = true) throws {
    guard try !staged.isComplete(asset, manifest) else { return }
    try forEachChunk(of: cell, size: asset.size) { index, bytes in
      if manifest.isChunk(bytes, index, cryptography) {
        try staged.write(bytes, index, asset, manifest, isLasting: true)
      }
      return true
    }
    if isSynced { try staged.sync(asset) }
  }

  /// Returns the bytes of an asset that is in the cell or staged. Returns nil if they are not here, or are more than
  /// `limit`.
  func bytes(of asset: Asset, _ cell: RowCell?, limit: Int = StoreLimits.assetInMemory) throws -> [UInt8]? {
    guard asset.size <= limit else { return nil }
    if !asset.isUnread, let manifest = try manifest(asset.id), try staged.isComplete(asset, manifest) {
      var bytes: [UInt8] = []
      for chunk in 0..<asset.chunkCount {
        guard let next = try staged.read(chunk, asset, manifest) else { return nil }
        bytes += next
      }
      return bytes
    }
    var bytes: [UInt8] = []
    guard let cell else { return nil }
    try forEachChunk(of: cell, size: asset.size) { _, chunk in
      bytes += chunk
      return true
    }
    guard bytes.count == asset.size else { return nil }
    if asset.isUnread { return bytes }
    return try manifest(asset.id).map { try holds($0, cell) } == true ? bytes : nil
  }

  // MARK: Rows

  /// Returns the cells that show an asset, as far as mesh knows.
  func cells(showing asset: AssetID) throws -> [RowCell] { try assets.shown(asset, limit: 8).compactMap(cell) }

  /// Returns the cell of a table that is here.
  func cell(_ use: AssetWant) -> RowCell? {
    guard let table = catalog.table(use.ref.table), let index = table.indexes[use.column] else { return nil }
    return RowCell(table: table, key: use.ref.key, index: index)
  }

  /// Reads the BLOB of a cell chunk by chunk, with only one chunk in memory. If the table has no rowid, SQLite can only
  /// read the whole BLOB.
  ///
  /// - Parameters:
  ///   - chunks: The chunks to read, or nil for all.
  ///   - body: Returns false to stop.
  /// - Returns: False if the cell has no BLOB of that size.
  @discardableResult
  func forEachChunk(
    of cell: RowCell, size: Int, _ chunks: Range<Int>? = nil, _ body: (Int, [UInt8]) throws -> Bool
  ) throws -> Bool {
    let chunks = chunks ?? 0..<Asset.chunkCount(size: size)
    guard cell.table.rowidName != nil else { return try forEachChunkOfWhole(cell, size, chunks, body) }
    guard let place = try rowid(of: cell, size: size) else { return false }
    let blob = try Blob(sql, cell, rowid: place, isWritable: false)
    for index in chunks {
      guard try body(index, blob.read(Asset.range(ofChunk: index, size: size))) else { break }
    }
    return true
  }

  /// Returns nil if the cell has no BLOB of that size, or its table has no rowid.
  func rowid(of cell: RowCell, size: Int) throws -> Int64? {
    guard let rowid = cell.table.rowidName else { return nil }
    let column = cell.column.name.quotedName
    return try sql.integer(
      """
      SELECT \(rowid) FROM main.\(cell.table.schema.name.quotedName)
      WHERE \(cell.table.keyName.quotedName) = ?1 AND typeof(\(column)) = 'blob' AND length(\(column)) = ?2
      """, [cell.key, .count(size)])
  }

  private func forEachChunkOfWhole(
    _ cell: RowCell, _ size: Int, _ chunks: Range<Int>, _ body: (Int, [UInt8]) throws -> Bool
  ) throws -> Bool {
    let column = cell.column.name.quotedName
    let whole = try sql.first(
      """
      SELECT \(column) FROM main.\(cell.table.schema.name.quotedName)
      WHERE \(cell.table.keyName.quotedName) = ?1 AND typeof(\(column)) = 'blob' AND length(\(column)) = ?2
      """, [cell.key, .count(size)]
    ) { $0.bytes(0) }
    guard let whole else { return false }
    for index in chunks {
      guard try body(index, Array(whole[Asset.range(ofChunk: index, size: size)])) else { break }
    }
    return true
  }

  /// Returns the manifest of a BLOB in a row, or nil if the cell has none of that size.
  func manifest(of cell: RowCell, size: Int, key: [UInt8]) throws -> AssetManifest? {
    var builder = AssetManifest.Builder(key: key, cryptography)
    var sums: [ChunkSum] = []
    var chunks: [[UInt8]] = []
    try forEachChunk(of: cell, size: size) { index, bytes in
      sums.append(ChunkSum(bytes))
      chunks.append(bytes)
      if chunks.count == Self.hashedTogether || index == Asset.chunkCount(size: size) - 1 {
        builder.add(chunks)
        chunks.removeAll(keepingCapacity: true)
      }
      return true
    }
    guard let manifest = builder.manifest, manifest.size == size else { return nil }
    staged.proven.note(sums, of: try manifest.asset(cryptography).id)
    return manifest
  }

  /// The number of chunks that are hashed together: 2 MiB keep some cores busy.
  private static let hashedTogether = 8

  /// Returns whether the cell has exactly these bytes.
  func holds(_ manifest: AssetManifest, _ cell: RowCell) throws -> Bool {
    var isSame = true
    let isThere = try forEachChunk(of: cell, size: manifest.size) { index, bytes in
      isSame = manifest.isChunk(bytes, index, cryptography)
      return isSame
    }
    return isThere && isSame
  }
}

extension Transaction {
  var contents: AssetContents { AssetContents(transaction: self) }
}
