import MeshCore

/// The checked contents of the staging. The presence of chunks is kept only in memory, and determined by hashing after
/// a start. It is used inside accesses of the store, by one caller.
final class StagedAssets {
  private let staging: any AssetStaging
  private let cryptography: any Cryptography
  private var presence: [AssetID: ChunkSet] = [:]
  /// The known assets that lack nothing, including the chunks that rows share with them.
  private(set) var complete: Set<AssetID> = []
  /// The assets that arrived from other devices since the start.
  private var fetched: Set<AssetID> = []
  /// The manifests that were looked up last. An asset's id determines its manifest for good, and each chunk needs one.
  private(set) var manifests: [AssetID: AssetManifest] = [:]
  /// Assets of one chunk that arrived from others. They stay in memory for the short time until they are written into
  /// rows.
  private var short: [AssetID: [UInt8]] = [:]
  private var shortBytes = 0

  /// Complete assets for whose rows the disk had no room: the reason, and the time until which they wait.
  var unplaceable: [AssetID: (reason: String, until: Int64)] = [:]
  /// The cells in the file that have been compared with a wanted asset. All common chunks were taken.
  private var compared: [AssetID: Set<Source>] = [:]
  private var looks: [AssetID: Look] = [:]
  private var looksGeneration: Int?
  /// Assets with known chunks that records no longer use in some place. Perhaps no record waits for them any more.
  private var released: Set<AssetID> = []

  /// The zones and columns of a wanted asset. They hold until the uses of the asset, its chunks here or the catalog
  /// change. Without it, each write of a row would look at all wanted assets again.
  struct Look {
    let zones: [ZoneID]
    let columns: [(table: Int64, column: Int64)]
  }

  /// The chunks of an asset that the only row waiting for it already has in their places. Only the other chunks are
  /// written into it.
  private(set) var shared: [AssetID: Shared] = [:]

  struct Shared {
    let source: Source
    /// The chunks of the asset that the row shows, checked to be there.
    let chunks: ChunkSet
    /// The `PRAGMA data_version` at that time. As long as it is the same, no other connection has written.
    var version: Int
  }

  /// A cell, and the asset that it shows.
  struct Source: Hashable {
    let ref: RecordRef
    /// The index in the table's columns.
    let index: Int
    let content: AssetID
  }

  /// Bytes of short assets in memory. Further ones are staged like the others.
  private static let shortLimit = 8 << 20

  /// The number of manifests in memory. Each takes at most 122 KB.
  private static let manifestsKept = 16

  /// The number of bytes of overwritten BLOBs to keep.
  var budget = Choices.keptBlobs
  /// The bytes of kept BLOBs that were added since the budget was last checked.
  var keptSinceTrim = 0

  /// The checked chunks of rows.
  let proven = ProvenChunks()

  func note(_ manifest: AssetManifest, of asset: AssetID) {
    if manifests.count >= Self.manifestsKept { manifests = [:] }
    manifests[asset] = manifest
  }

  init(_ staging: any AssetStaging, _ cryptography: any Cryptography) {
    self.staging = staging
    self.cryptography = cryptography
  }

  /// Returns the chunks in the staging.
  func chunks(_ asset: Asset, _ manifest: AssetManifest) throws -> ChunkSet {
    if let known = presence[asset.id] { return known }
    var found = ChunkSet(count: asset.chunkCount)
    for index in 0..<found.count {
      let range = asset.range(ofChunk: index)
      // A file that ends before a chunk has none of the later chunks either.
      guard let bytes = try staging.read(range.count, at: range.lowerBound, of: asset.id) else { break }
      if manifest.isChunk(bytes, index, cryptography) { found.insert(index) }
    }
    // These chunks were found after a start, and may be in pages that no disk has yet.
    if found.present > 0 { try staging.sync(asset.id) }
    note(found, asset.id)
    return found
  }

  private func note(_ chunks: ChunkSet, _ asset: AssetID) {
    presence[asset] = chunks
    if union(chunks, asset).isComplete { complete.insert(asset) }
  }

  /// Returns the chunks that need not arrive, because they are in the staging or in the row that waits for them.
  func here(_ asset: Asset, _ manifest: AssetManifest) throws -> ChunkSet {
    union(try chunks(asset, manifest), asset.id)
  }

  private func union(_ chunks: ChunkSet, _ asset: AssetID) -> ChunkSet {
    guard let shared = shared[asset] else { return chunks }
    var union = chunks
    union.formUnion(shared.chunks)
    return union
  }

  /// Returns the number of chunks that are known to be here.
  func present(_ asset: AssetID) -> Int { presence[asset].map { union($0, asset).present } ?? 0 }

  /// Returns whether the asset is complete and would survive a power cut.
  func isKept(_ asset: AssetID) -> Bool { isWhole(asset) && isLasting(asset) }

  /// Returns whether the asset is complete without any row.
  private func isWhole(_ asset: AssetID) -> Bool { complete.contains(asset) && shared[asset] == nil }

  // MARK: Looks

  /// Begins a look at the wanted assets. Call `endLook` after it.
  ///
  /// - Returns: The assets of which perhaps no record waits any more.
  func beginLook(catalog generation: Int) -> [AssetID] {
    if looksGeneration != generation {
      looks = [:]
      released.formUnion(presence.keys)
      looksGeneration = generation
    }
    return released.sorted()
  }

  /// - Parameter wanted: The assets that were found. Earlier looks at others are forgotten.
  /// - Parameter isSwept: True if those that `beginLook` returned were removed if no record waits for them.
  func endLook(_ wanted: Set<AssetID>, isSwept: Bool) {
    looks = looks.filter { wanted.contains($0.key) }
    if isSwept { released = [] }
  }

  /// Returns what the last look found, and the chunks here. Returns nil if the asset has to be looked at.
  func look(_ asset: AssetID) -> (look: Look, chunks: ChunkSet)? {
    guard shared[asset] == nil, let look = looks[asset], let chunks = presence[asset] else { return nil }
    return (look, chunks)
  }

  func note(_ look: Look, of asset: AssetID) { looks[asset] = look }

  /// Notes that a record uses other assets now.
  func noteUses(of assets: Set<AssetID>, replacing old: Set<AssetID>) {
    for asset in assets.union(old) { looks[asset] = nil }
    released.formUnion(old.filter { presence[$0] != nil })
  }

  // MARK: Shared with a row

  func share(_ found: Shared, _ asset: Asset, _ manifest: AssetManifest) throws {
    shared[asset.id] = found
    note(try chunks(asset, manifest), asset.id)
  }

  func confirmShared(_ asset: AssetID, version: Int) { shared[asset]?.version = version }

  /// Forgets the chunks that a row shared, because the row has changed or now has all of the asset.
  func unshare(_ asset: AssetID) {
    guard shared.removeValue(forKey: asset) != nil else { return }
    (compared[asset], looks[asset]) = (nil, nil)
    if presence[asset]?.isComplete != true { complete.remove(asset) }
  }

  /// Makes a complete asset that arrived from others survive a power cut from now on.
  func settle(_ asset: AssetID) throws {
    guard isWhole(asset), !isLasting(asset) else { return }
    if let bytes = short.removeValue(forKey: asset) {
      shortBytes -= bytes.count
      try staging.write(bytes, at: 0, of: asset)
    }
    try staging.sync(asset)
    fetched.remove(asset)
  }

  /// Returns whether this may be the only copy of the asset.
  func isLasting(_ asset: AssetID) -> Bool { !fetched.contains(asset) }

  func isComplete(_ asset: Asset, _ manifest: AssetManifest) throws -> Bool {
    try chunks(asset, manifest).isComplete
  }

  /// Returns the chunk, or nil if it is not there.
  func read(_ index: Int, _ asset: Asset, _ manifest: AssetManifest) throws -> [UInt8]? {
    if let bytes = short[asset.id] { return bytes }
    guard try chunks(asset, manifest).contains(index) else { return nil }
    let range = asset.range(ofChunk: index)
    if let bytes = try staging.read(range.count, at: range.lowerBound, of: asset.id) { return bytes }
    forget(index, asset.id)
    return nil
  }

  /// Marks a chunk that has disappeared as missing, so that it is downloaded again.
  func forget(_ index: Int, _ asset: AssetID) {
    presence[asset]?.remove(index)
    complete.remove(asset)
    (compared[asset], shared[asset], looks[asset]) = (nil, nil, nil)
  }

  func isCompared(_ asset: AssetID, with source: Source) -> Bool { compared[asset]?.contains(source) ?? false }
  func noteCompared(_ asset: AssetID, with source: Source) { compared[asset, default: []].insert(source) }

  /// Keeps a chunk that was checked.
  ///
  /// - Parameter isLasting: True if it may be the only copy.
  func write(_ bytes: [UInt8], _ index: Int, _ asset: Asset, _ manifest: AssetManifest, isLasting: Bool = false) throws
  {
    if !isLasting, let reason = staging.shortage(bytes.count) { throw StoreError(.diskFull, reason) }
    var chunks = try chunks(asset, manifest)
    if asset.chunkCount == 1, !isLasting, shortBytes + bytes.count <= Self.shortLimit {
      if short.updateValue(bytes, forKey: asset.id) == nil { shortBytes += bytes.count }
    } else {
      try staging.write(bytes, at: asset.range(ofChunk: index).lowerBound, of: asset.id)
    }
    if isLasting { fetched.remove(asset.id) } else if chunks.present == 0 { fetched.insert(asset.id) }
    chunks.insert(index)
    proven.noteFound(index, of: asset.id)
    note(chunks, asset.id)
  }

  /// Returns whether enough of the disk stays free after this many more bytes.
  func hasRoom(_ bytes: Int) -> Bool { staging.shortage(bytes) == nil }

  func sync(_ asset: Asset) throws { try staging.sync(asset.id) }

  func remove(_ asset: AssetID) throws {
    if let bytes = short.removeValue(forKey: asset) { shortBytes -= bytes.count }
    presence[asset] = nil
    complete.remove(asset)
    fetched.remove(asset)
    (compared[asset], shared[asset], looks[asset]) = (nil, nil, nil)
    try staging.remove(asset)
  }

  /// Forgets the state of an asset in memory. Its bytes stay, and are checked again when they are needed.
  func rest(_ asset: AssetID) {
    presence[asset] = nil
    complete.remove(asset)
  }

  func assets() throws -> [AssetID] { try staging.assets() + short.keys.sorted() }
}

extension StagedAssets.Source {
  init(_ cell: RowCell, showing content: AssetID) {
    self.init(ref: RecordRef(table: cell.table.id, key: cell.key), index: cell.index, content: content)
  }
}
