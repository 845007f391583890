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
      guard let manifest = try transaction.manifest(id), try transaction.assets.isFetched(id) else { return .notNeeded }
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
      guard try transaction.assets.isUsed(id, in: zone), let manifest = try transaction.manifest(id),
        index < manifest.chunkCount
      else { return nil }
      let asset = try manifest.asset(cryptography)
      if let bytes = try staged.read(index, asset, manifest) {
        if manifest.isChunk(bytes, index, cryptography) { return bytes }
        staged.forget(index, id)
      }
      return try transaction.chunkOfRow(index, asset, manifest)
    }
  }

  public func chunks(of id: AssetID, zone: ZoneID) throws -> ChunkSet? {
    let chunks = try read { transaction -> ChunkSet? in
      guard try transaction.assets.isUsed(id, in: zone), let manifest = try transaction.manifest(id) else { return nil }
      let asset = try manifest.asset(cryptography)
      // The bytes are checked when a peer asks for them, because a row may have been written since.
      return try transaction.showsInRow(id) ? .all(asset.chunkCount) : staged.chunks(asset, manifest)
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
      let places = try transaction.placeable(besides: refusedAssets.union(staged.unplaceable.keys))
      for place in places where staged.shared[place.asset] == nil {
        if let (cell, old) = try transaction.previous(place.want) { try transaction.prepareToKeep(old, cell) }
      }
      return places
    }
    guard !places.isEmpty else { return false }
    // Assets that arrived from others can be requested again. Those that were kept here may be the only copy.
    let isDurable = places.contains { staged.isLasting($0.asset) }
    let placed: Set<AssetID>
    do {
      placed = try writeRefusing(isDurable: isDurable) { transaction, refused in
        try transaction.applying { try transaction.place(places, refused) }
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
      try transaction.forgetKept(besides: Set(there))
      try transaction.trimKept()
      try transaction.sweepStaging(there)
      if try !transaction.work.hasRewrites() { try transaction.assets.removeUnused() }
    }
  }
}

extension Transaction {
  fileprivate func showsInRow(_ asset: AssetID) throws -> Bool { try !cells(showing: asset).isEmpty }

  fileprivate func chunkOfRow(_ index: Int, _ asset: Asset, _ manifest: AssetManifest) throws -> [UInt8]? {
    for cell in try cells(showing: asset.id) {
      if asset.size >= BlobServer.least, let rowid = try rowid(of: cell, size: asset.size),
        let bytes = server.chunk(index, of: asset, cell, rowid: rowid), isChunk(bytes, index, asset, manifest)
      {
        return bytes
      }
      var found: [UInt8]?
      try forEachChunk(of: cell, size: asset.size, index..<index + 1) { _, bytes in
        if isChunk(bytes, index, asset, manifest) { found = bytes }
        return false
      }
      if let found { return found }
    }
    return nil
  }

  /// Returns whether the bytes from a row are the chunk. They are hashed unless that was determined before.
  func isChunk(_ bytes: [UInt8], _ index: Int, _ asset: Asset, _ manifest: AssetManifest) -> Bool {
    let sum = ChunkSum(bytes)
    if staged.proven.contains(sum, index, of: asset) { return true }
    guard manifest.isChunk(bytes, index, cryptography) else { return false }
    staged.proven.note(sum, index, of: asset)
    return true
  }

  /// The number of cells that are checked for one asset. If its content is in many rows, a few are enough.
  private static let sources = 8

  /// Takes the chunks that this file already has, in other rows and in the values to be replaced. Each is read once.
  ///
  /// - Returns: The reason why they could not be kept, or nil if they were.
  func takeFromRows(_ asset: Asset, _ manifest: AssetManifest, _ wants: [AssetWant]) throws -> String? {
    do {
      for cell in try cells(showing: asset.id) {
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
    _ asset: Asset, _ manifest: AssetManifest, from cell: Cell, showing content: AssetID, size: Int? = nil,
    _ body: (Int, [UInt8]) throws -> Void
  ) throws -> Bool {
    let source = StagedAssets.Source(cell, showing: content)
    guard try !staged.isComplete(asset, manifest), !staged.isCompared(asset.id, with: source) else { return false }
    try forEachChunk(of: cell, size: size ?? asset.size) { chunk, bytes in
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
    guard let (cell, old) = try previous(want), let before = try self.manifest(old.id), before.key == manifest.key
    else { return }
    var places: [ArraySlice<UInt8>: [Int]] = [:]
    for chunk in 0..<manifest.chunkCount where try !staged.chunks(asset, manifest).contains(chunk) {
      places[manifest.hash(ofChunk: chunk), default: []].append(chunk)
    }
    let stays = isOnly && cell.table.isPatched(asset, over: old, in: cell.index)
    let version = try dataVersion()
    var shared = ChunkSet(count: asset.chunkCount)
    let isTaken = try take(asset, manifest, from: cell, showing: old.id, size: old.size) { chunk, bytes in
      for place in places[before.hash(ofChunk: chunk)] ?? [] {
        if stays, place == chunk {
          if isChunk(bytes, chunk, old, before) { shared.insert(chunk) }
        } else if manifest.isChunk(bytes, place, cryptography) {
          try staged.write(bytes, place, asset, manifest)
        }
      }
    }
    guard stays, isTaken, shared.present > 0 else { return }
    let source = StagedAssets.Source(cell, showing: old.id)
    try staged.share(StagedAssets.Shared(source: source, chunks: shared, version: version), asset, manifest)
  }

  // MARK: Sweeping

  /// Removes assets that no record waits for and no conflict lists.
  func sweepStaging(_ assets: [AssetID]) throws {
    // Reverted values that wait to be written again belong to no record.
    guard try !assets.isEmpty && !work.hasRewrites() else { return }
    for asset in assets where try self.assets.wants(asset).isEmpty && !self.assets.isKept(asset) {
      try staged.remove(asset)
    }
  }

  // MARK: Placing

  struct Placement {
    let want: AssetWant
    let asset: AssetID
  }

  /// Returns as many placements as one transaction can take.
  fileprivate func placeable(besides refused: Set<AssetID>) throws -> [Placement] {
    var (placements, bytes): ([Placement], Int) = ([], 0)
    for id in staged.complete.subtracting(refused).sorted() {
      guard let asset = try manifest(id)?.asset(cryptography) else { continue }
      let wants = try assets.wants(asset.id, onlyShowable: true)
      if wants.isEmpty { continue }
      if !placements.isEmpty, bytes + asset.size * wants.count > StoreLimits.placedBytes { break }
      bytes += asset.size * wants.count
      placements += wants.prefix(StoreLimits.placedRows).map { Placement(want: $0, asset: asset.id) }
      if placements.count >= StoreLimits.placedRows { break }
    }
    return placements
  }

  /// Returns the assets that at least one more row now shows.
  fileprivate func place(_ placements: [Placement], _ refused: [RecordRef: String]) throws -> Set<AssetID> {
    var placed: Set<AssetID> = []
    for (zone, group) in Dictionary(grouping: placements, by: \.want.zone).sorted(by: { $0.key < $1.key }) {
      guard let row = try zoneRows.read(id: zone) else { continue }
      let records = ZoneRecords(self, zone: row)
      let materialiser = try Materialiser(records, progress(), refused: refused)
      for placement in group { try materialiser.show(placement.want.ref) }
      try materialiser.settle()
      try zoneRows.save(records.zone)
      for placement in group {
        if try assets.isShown(placement.asset, placement.want) { placed.insert(placement.asset) }
      }
    }
    return placed
  }
}
