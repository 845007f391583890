import MeshCore

/// Manifests, and the bytes that are kept for records.
extension Transaction {
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
  func keep(_ asset: Asset, _ manifest: AssetManifest, from cell: Cell, isSynced: Bool = true) throws {
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
  func bytes(of asset: Asset, _ cell: Cell?, limit: Int = StoreLimits.assetInMemory) throws -> [UInt8]? {
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
}

extension Asset {
  /// Returns an asset that stands for a BLOB of this size in a row, whose bytes were not read.
  static func unread(_ size: Int) -> Asset { Asset(id: AssetID.zero, size: size) }
  var isUnread: Bool { id == .zero }
}

extension Value {
  /// Whether the value is a long BLOB that was not read.
  var isUnread: Bool { if case .asset(let asset) = self { asset.isUnread } else { false } }
  var asset: Asset? { if case .asset(let asset) = self { asset } else { nil } }
}
