public import MeshCore

/// The assets: long BLOBs that are downloaded and given to other devices chunk by chunk.
public final class StoreAssets: AssetStore, StorePart {
  let access: StoreAccess
  /// Complete assets that could not be written into their rows. They are not tried again until another asset arrives.
  var refusedAssets: Set<AssetID> = []
  /// True if a power cut may undo commits that wrote assets into rows.
  var hasUnsettledAssets = false

  init(_ access: StoreAccess) { self.access = access }

  var staged: StagedAssets { access.staged }

  // MARK: Fetching

  public func stage(_ bytes: [UInt8], chunk index: Int, of id: AssetID) throws -> ChunkOutcome {
    try read { transaction in
      guard let manifest = try transaction.contents.manifest(id), try transaction.assets.isFetched(id) else { return .notNeeded }
      let asset = try manifest.asset(cryptography)
      guard try !staged.here(asset, manifest).contains(index) else { return .notNeeded }
      guard manifest.isChunk(bytes, index, cryptography) else { return .wrong }
      do {
        try staged.write(bytes, index, asset, manifest)
      } catch let error as StoreError {
        return .noRoom(error.message)
      }
      // The sum is used when its row is asked whether it still has the chunk.
      if asset.chunkCount > 1 { staged.proven.note(ChunkSum(bytes), index, of: asset) }
      let isComplete = staged.complete.contains(id)
      if isComplete { refusedAssets = [] }
      return .staged(isComplete: isComplete)
    }
  }

  // MARK: Giving

  public func chunk(_ index: Int, of id: AssetID, zone: ZoneID) throws -> [UInt8]? {
    try read { transaction in
      guard try transaction.assets.isUsed(id, in: zone), let manifest = try transaction.contents.manifest(id),
        index < manifest.chunkCount
      else { return nil }
      let asset = try manifest.asset(cryptography)
      if let bytes = try staged.read(index, asset, manifest) {
        if manifest.isChunk(bytes, index, cryptography) { return bytes }
        staged.forget(index, id)
      }
      return try transaction.sources.chunkOfRow(index, asset, manifest)
    }
  }

  public func chunks(of id: AssetID, zone: ZoneID) throws -> ChunkSet? {
    let chunks = try read { transaction -> ChunkSet? in
      guard try transaction.assets.isUsed(id, in: zone), let manifest = try transaction.contents.manifest(id) else { return nil }
      let asset = try manifest.asset(cryptography)
      // The bytes are checked when a peer asks for them, because a row may have been written since.
      return try transaction.sources.showsInRow(id) ? .all(asset.chunkCount) : staged.chunks(asset, manifest)
    }
    // Another device may give up its copy because this one is complete.
    guard let chunks, chunks.isComplete else { return chunks }
    try settleAssets()
    if !staged.isLasting(id) { reached(.assetSettled) }
    try guarding { try staged.settle(id) }
    return chunks
  }

  // MARK: Putting in place

  public func placeAssets(now: Int64) throws -> Bool {
    staged.unplaceable = staged.unplaceable.filter {
      $0.value.until > now && $0.value.until <= now + Self.placementPause
    }
    let places = try read { transaction in
      let places = try AssetPlacing(transaction: transaction).placeable(besides: refusedAssets.union(staged.unplaceable.keys))
      for place in places where staged.shared[place.asset] == nil {
        if let (cell, old) = try transaction.sources.previous(place.want) { try transaction.kept.prepare(old, cell) }
      }
      return places
    }
    guard !places.isEmpty else { return false }
    // Assets that arrived from others can be requested again. Those that were kept here may be the only copy.
    let isDurable = places.contains { staged.isLasting($0.asset) }
    let placed: Set<AssetID>
    do {
      placed = try writeRefusing(isDurable: isDurable) { transaction, refused in
        try transaction.applying { try AssetPlacing(transaction: transaction).place(places, refused) }
      }
    } catch let error as StoreError where error.code == .diskFull {
      // They stay in the staging. Rows are shorter, and may still have room.
      for place in places { staged.unplaceable[place.asset] = (error.message, now + Self.placementPause) }
      return true
    }
    if !isDurable { hasUnsettledAssets = true }
    for asset in placed {
      staged.unshare(asset)
      try sweep(asset)
    }
    // Chunks that a row no longer shares are downloaded.
    let left = Set(places.map(\.asset)).subtracting(placed)
    refusedAssets.formUnion(left.intersection(staged.complete))
    return !placed.isEmpty || !left.isSubset(of: staged.complete)
  }

  /// The milliseconds for which assets are not tried again after the disk had no room for them.
  private static let placementPause: Int64 = 30_000

  /// Removes a staged asset if no row waits for it any more.
  private func sweep(_ asset: AssetID) throws {
    guard try read({ try $0.assets.wants(asset).isEmpty && !$0.assets.isKept(asset) }) else { return }
    try guarding { try staged.remove(asset) }
  }

  /// Deletes assets that no record has, in the staging and in the tables of mesh.
  func sweep() throws {
    try write(isDurable: false) { transaction in
      let there = try staged.assets()
      try transaction.kept.forget(besides: Set(there))
      try transaction.kept.trim()
      try AssetPlacing(transaction: transaction).sweepStaging(there)
      if try !transaction.work.hasRewrites() { try transaction.assets.removeUnused() }
    }
  }
}
