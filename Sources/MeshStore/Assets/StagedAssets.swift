import MeshCore

/// What is in the staging, proven. Which chunks of an asset are there is in memory alone, and found out by hashing after a start.
///
/// Guard: used inside accesses of the store, by one caller.
final class StagedAssets {
  private let staging: any AssetStaging
  private let cryptography: any Cryptography
  private var presence: [AssetID: ChunkSet] = [:]
  /// Of the known, those that lack nothing, with what rows share with them.
  private(set) var complete: Set<AssetID> = []
  /// Those that came from others since the start.
  private var fetched: Set<AssetID> = []
  /// Those that were looked up last: a name tells its manifest for good, and one is asked for with each chunk.
  private(set) var manifests: [AssetID: AssetManifest] = [:]
  /// Assets of one chunk that came from others stay in memory, for the moment until they are put in place.
  private var short: [AssetID: [UInt8]] = [:]
  private var shortBytes = 0

  /// Assets that are complete and that the disk had no room for in their rows: the reason, and until when they wait.
  var unplaceable: [AssetID: (reason: String, until: Int64)] = [:]
  /// What in the file has been compared with an asset that is wanted: all that the two have in common is taken.
  private var compared: [AssetID: Set<Source>] = [:]

  /// What the one row that waits for an asset has of it already, each chunk in its place: only the others are written into it.
  private(set) var shared: [AssetID: Shared] = [:]

  struct Shared {
    let source: Source
    /// Of the asset that the row shows, proven to be there.
    let chunks: ChunkSet
    /// `PRAGMA data_version` when they were: until it changes no other connection has written.
    var version: Int
  }

  /// A cell, and the asset that it shows.
  struct Source: Hashable {
    let ref: RecordRef
    /// In the table's columns.
    let index: Int
    let content: AssetID
  }

  /// Bytes of short assets in memory; beyond it they are staged as the others.
  private static let shortLimit = 8 << 20

  /// Manifests in memory: 122 KB each at most.
  private static let manifestsKept = 16

  /// How many bytes of overwritten BLOBs are kept.
  var budget = Choices.keptBlobs
  /// Bytes of them since the budget was looked at.
  var keptSinceTrim = 0

  /// What rows were found to have.
  let proven = ProvenChunks()

  func note(_ manifest: AssetManifest, of asset: AssetID) {
    if manifests.count >= Self.manifestsKept { manifests = [:] }
    manifests[asset] = manifest
  }

  init(_ staging: any AssetStaging, _ cryptography: any Cryptography) {
    self.staging = staging
    self.cryptography = cryptography
  }

  /// Which chunks are there.
  func chunks(_ asset: Asset, _ manifest: AssetManifest) throws -> ChunkSet {
    if let known = presence[asset.id] { return known }
    var found = ChunkSet(count: asset.chunkCount)
    for index in 0..<found.count {
      let range = asset.range(ofChunk: index)
      // A file that ends before a chunk has none of those behind it either.
      guard let bytes = try staging.read(range.count, at: range.lowerBound, of: asset.id) else { break }
      if manifest.isChunk(bytes, index, cryptography) { found.insert(index) }
    }
    // Found after a start, perhaps in pages that no disk has yet.
    if found.present > 0 { try staging.sync(asset.id) }
    note(found, asset.id)
    return found
  }

  private func note(_ chunks: ChunkSet, _ asset: AssetID) {
    presence[asset] = chunks
    if union(chunks, asset).isComplete { complete.insert(asset) }
  }

  /// Which chunks need not come: they are there, or in the row that waits for them.
  func here(_ asset: Asset, _ manifest: AssetManifest) throws -> ChunkSet {
    union(try chunks(asset, manifest), asset.id)
  }

  private func union(_ chunks: ChunkSet, _ asset: AssetID) -> ChunkSet {
    guard let shared = shared[asset] else { return chunks }
    var union = chunks
    union.formUnion(shared.chunks)
    return union
  }

  /// Chunks that are known to be here.
  func present(_ asset: AssetID) -> Int { presence[asset].map { union($0, asset).present } ?? 0 }

  /// It is complete, and would survive a power cut.
  func isKept(_ asset: AssetID) -> Bool { isWhole(asset) && isLasting(asset) }

  /// It is complete without any row.
  private func isWhole(_ asset: AssetID) -> Bool { complete.contains(asset) && shared[asset] == nil }

  // MARK: Shared with a row

  func share(_ found: Shared, _ asset: Asset, _ manifest: AssetManifest) throws {
    shared[asset.id] = found
    note(try chunks(asset, manifest), asset.id)
  }

  func confirmShared(_ asset: AssetID, version: Int) { shared[asset]?.version = version }

  /// The row has changed, or has all of it now: what it shared is to be found anew.
  func unshare(_ asset: AssetID) {
    guard shared.removeValue(forKey: asset) != nil else { return }
    compared[asset] = nil
    if presence[asset]?.isComplete != true { complete.remove(asset) }
  }

  /// From now on an asset that is complete survives a power cut, though it came from others.
  func settle(_ asset: AssetID) throws {
    guard isWhole(asset), !isLasting(asset) else { return }
    if let bytes = short.removeValue(forKey: asset) {
      shortBytes -= bytes.count
      try staging.write(bytes, at: 0, of: asset)
    }
    try staging.sync(asset)
    fetched.remove(asset)
  }

  /// It may be the only copy that there is.
  func isLasting(_ asset: AssetID) -> Bool { !fetched.contains(asset) }

  func isComplete(_ asset: Asset, _ manifest: AssetManifest) throws -> Bool {
    try chunks(asset, manifest).isComplete
  }

  /// Nil where the chunk is not there.
  func read(_ index: Int, _ asset: Asset, _ manifest: AssetManifest) throws -> [UInt8]? {
    if let bytes = short[asset.id] { return bytes }
    guard try chunks(asset, manifest).contains(index) else { return nil }
    let range = asset.range(ofChunk: index)
    if let bytes = try staging.read(range.count, at: range.lowerBound, of: asset.id) { return bytes }
    forget(index, asset.id)
    return nil
  }

  /// The chunk was there and is not any more, so it is to be fetched again.
  func forget(_ index: Int, _ asset: AssetID) {
    presence[asset]?.remove(index)
    complete.remove(asset)
    compared[asset] = nil
    shared[asset] = nil
  }

  func isCompared(_ asset: AssetID, with source: Source) -> Bool { compared[asset]?.contains(source) ?? false }
  func noteCompared(_ asset: AssetID, with source: Source) { compared[asset, default: []].insert(source) }

  /// Keeps a chunk that was proven.
  ///
  /// - Parameter isLasting: It may be the only copy that there is.
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
    note(chunks, asset.id)
  }

  /// So many bytes more leave enough of the disk free.
  func hasRoom(_ bytes: Int) -> Bool { staging.shortage(bytes) == nil }

  func sync(_ asset: Asset) throws { try staging.sync(asset.id) }

  func remove(_ asset: AssetID) throws {
    if let bytes = short.removeValue(forKey: asset) { shortBytes -= bytes.count }
    presence[asset] = nil
    complete.remove(asset)
    fetched.remove(asset)
    compared[asset] = nil
    shared[asset] = nil
    try staging.remove(asset)
  }

  /// Its bytes stay, and nothing looks at them until they are asked for.
  func rest(_ asset: AssetID) {
    presence[asset] = nil
    complete.remove(asset)
  }

  func assets() throws -> [AssetID] { try staging.assets() + short.keys.sorted() }

  /// Those that were looked at since the start.
  var known: [AssetID] { presence.keys.sorted() }
}
