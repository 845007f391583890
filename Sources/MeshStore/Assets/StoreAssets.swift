package import MeshCore

/// The assets: long BLOBs that are downloaded and given to other devices chunk by chunk.
package final class StoreAssets: AssetStore, StorePart {
  let access: StoreAccess
  /// Complete assets that could not be written into their rows. They are not tried again until another asset arrives.
  private var refused: Set<AssetID> = []
  /// True if a power cut may undo commits that wrote assets into rows.
  private var hasUnsettled = false

  init(_ access: StoreAccess) { self.access = access }

  var staged: StagedAssets { access.staged }

  // MARK: Fetching

  package func stage(_ bytes: [UInt8], chunk index: Int, of id: AssetID) throws -> ChunkOutcome {
    try read { transaction in
      guard let manifest = try transaction.contents.manifest(id), try transaction.assets.isFetched(id) else {
        return .notNeeded
      }
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
      if isComplete { refused = [] }
      return .staged(isComplete: isComplete)
    }
  }

  package func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets {
    try read { transaction in
      let isSwept = try AssetPlacing(transaction: transaction).sweepStaging(
        staged.beginLook(catalog: transaction.catalog.generation))
      let places = AssetPlaces(transaction: transaction)
      var room = FetchRoom()
      var wanted = WantedAssets([], isAll: true)
      var met: Set<AssetID> = []
      for (asset, device) in try transaction.assets.inWant(limit: limit + besides.count + 1) {
        guard !besides.contains(asset.id) else {
          room.occupy(staged.present(asset.id) * Limits.chunk, of: device)
          continue
        }
        guard !met.contains(asset.id) else { continue }
        let known = staged.look(asset.id)
        let uses = known == nil ? try transaction.assets.wants(asset.id) : []
        let columns = known?.look.columns ?? uses.map { ($0.ref.table, $0.column) }
        guard columns.contains(where: { places.takes(asset.size, table: $0.table, column: $0.column) }) else {
          continue
        }
        guard met.count < limit, room.take(asset.size, of: device) else {
          wanted.isAll = false
          continue
        }
        let found = known.map {
          let fault = staged.unplaceable[asset.id]?.reason
          return WantedAsset(asset: asset, zones: $0.look.zones, staged: $0.chunks, fault: fault)
        }
        guard let found = try found ?? look(asset, uses, transaction) else { continue }
        met.insert(asset.id)
        wanted.assets.append(found)
      }
      staged.endLook(met, isSwept: isSwept)
      return wanted
    }
  }

  /// Takes the chunks of an asset that rows have. Returns nil if its manifest is not here.
  private func look(_ asset: Asset, _ uses: [AssetWant], _ transaction: Transaction) throws -> WantedAsset? {
    guard let manifest = try transaction.contents.manifest(asset.id) else { return nil }
    if try transaction.sources.stopSharing(asset, uses) { refused.remove(asset.id) }
    let fault = try transaction.sources.takeFromRows(asset, manifest, uses)
    let zones = try transaction.assets.zones(using: asset.id)
    let chunks = try staged.here(asset, manifest)
    if fault == nil {
      staged.note(StagedAssets.Look(zones: zones, columns: uses.map { ($0.ref.table, $0.column) }), of: asset.id)
    }
    return WantedAsset(asset: asset, zones: zones, staged: chunks, fault: fault ?? staged.unplaceable[asset.id]?.reason)
  }

  package func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog {
    try settle()
    return try read { transaction in
      var isComing: [Asset: Bool] = [:]
      let places = AssetPlaces(transaction: transaction)
      for use in try places.lacking(in: zone) {
        let isTaken = places.takes(use.asset.size, table: use.table, column: use.column)
        let comes = use.isFetched && isTaken && !absent.contains(use.asset.id)
        isComing[use.asset] = comes || isComing[use.asset] ?? false
      }
      var backlog = AssetBacklog()
      for (asset, comes) in isComing where !staged.isKept(asset.id) {
        let bytes = max(0, asset.size - staged.present(asset.id) * Limits.chunk)
        let amount = AssetBacklog.Amount(assets: 1, bytes: bytes)
        if comes { backlog.coming += amount } else { backlog.absent += amount }
      }
      return backlog
    }
  }

  /// Makes the assets that were reported as present survive a power cut. Chunks that arrive are requested again after a
  /// power cut, so nothing is synced before.
  private func settle() throws {
    try guarding { for asset in refused { try staged.settle(asset) } }
    guard hasUnsettled else { return }
    // A durable commit syncs all commits before it, and this one changes a page.
    try write { try $0.applying {} }
    hasUnsettled = false
  }

  // MARK: Giving

  package func chunk(_ index: Int, of id: AssetID, zone: ZoneID) throws -> [UInt8]? {
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

  package func chunks(of id: AssetID, zone: ZoneID) throws -> ChunkSet? {
    let chunks = try read { transaction -> ChunkSet? in
      guard try transaction.assets.isUsed(id, in: zone), let manifest = try transaction.contents.manifest(id) else {
        return nil
      }
      let asset = try manifest.asset(cryptography)
      // A row may have been written since. That comes to light when a peer asks for a chunk.
      return try transaction.sources.showsInRow(id) ? staged.proven.shown(asset) : staged.chunks(asset, manifest)
    }
    // Another device may give up its copy because this one is complete.
    guard let chunks, chunks.isComplete else { return chunks }
    try settle()
    if !staged.isLasting(id) { reached(.assetSettled) }
    try guarding { try staged.settle(id) }
    return chunks
  }

  // MARK: Putting in place

  package func placeAssets(now: Int64) throws -> Bool {
    staged.unplaceable = staged.unplaceable.filter {
      $0.value.until > now && $0.value.until <= now + Self.placementPause
    }
    let places = try read { transaction in
      let places = try AssetPlacing(transaction: transaction).placeable(besides: refused.union(staged.unplaceable.keys))
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
      placed = try writeRefusing(isDurable: isDurable, notingAt: now) { transaction, refused in
        try transaction.applying { try AssetPlacing(transaction: transaction).place(places, refused) }
      }
    } catch let error as StoreError where error.code == .diskFull {
      // They stay in the staging. Rows are shorter, and may still have room.
      for place in places { staged.unplaceable[place.asset] = (error.message, now + Self.placementPause) }
      return true
    }
    if !isDurable { hasUnsettled = true }
    for asset in placed {
      staged.unshare(asset)
      try sweep(asset)
    }
    // Chunks that a row no longer shares are downloaded.
    let left = Set(places.map(\.asset)).subtracting(placed)
    refused.formUnion(left.intersection(staged.complete))
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

  // MARK: Removing

  /// Removes an asset from the rows that show it, and doesn't download it until it is requested.
  ///
  /// The records keep their value. They return to the state before the BLOB arrived, so nothing is sent, and no row
  /// says that somebody cleared the column. Each row shows NULL in it, or the default if the column is `NOT NULL`. The
  /// asset is also removed from the staging.
  ///
  /// Nothing may be pending. The caller has made sure that another device has the bytes.
  ///
  /// - Returns: The number of rows that showed it.
  /// - Throws: `EvictionError`. In that case, only changes of an earlier call remain.
  @discardableResult
  package func evict(_ asset: AssetID) throws -> Int {
    var rows = 0
    while true {
      let version = try read { try $0.dataVersion() }
      let cells = try read { try Eviction(transaction: $0).evictable(asset) }
      // Bytes can be written without firing triggers, so the compared state must still be valid.
      let done = try write { transaction in
        guard try transaction.dataVersion() == version else {
          transaction.reached(.evictionInterrupted)
          throw EvictionError.written
        }
        return try Eviction(transaction: transaction).evict(cells, asset)
      }
      rows += done
      guard done == StoreLimits.placedRows else { break }
    }
    refused.remove(asset)
    try guarding { try staged.remove(asset) }
    return rows
  }
}
