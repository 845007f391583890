import MeshCore

/// The assets that a model store has met, in memory. Their chunks stay permanently. A row has its BLOB, or the value
/// that it had before.
struct ModelAssets {
  /// An asset whose manifest is known.
  struct Known {
    let manifest: AssetManifest
    var chunks: [Int: [UInt8]] = [:]

    var content: [UInt8]? {
      guard chunks.count == manifest.chunkCount else { return nil }
      return (0..<manifest.chunkCount).reduce(into: []) { $0 += chunks[$1] ?? [] }
    }

    var present: ChunkSet {
      chunks.keys.reduce(into: ChunkSet(count: manifest.chunkCount)) { $0.insert($1) }
    }
  }

  private var known: [AssetID: Known] = [:]
  /// The assets that became complete and are to be shown.
  private var completed: Set<AssetID> = []
  private let cryptography: any Cryptography

  init(_ cryptography: any Cryptography) { self.cryptography = cryptography }

  subscript(asset: AssetID) -> Known? { known[asset] }

  /// The assets of which chunks are missing, by id.
  var missing: [AssetID: Known] { known.filter { $0.value.content == nil } }
  /// Those, and those that are complete and that no row shows yet.
  var wanted: [AssetID: Known] { known.filter { $0.value.content == nil || completed.contains($0.key) } }

  /// Returns the row that a record shows.
  ///
  /// - Parameter before: The row that it showed before.
  func row(_ state: RecordState<String>, before: [String: Value]?) -> [String: Value]? {
    guard state.isAlive else { return nil }
    var row: [String: Value] = [:]
    for (column, cell) in state.cells {
      guard case .asset(let asset) = cell.value else {
        row[column] = cell.value
        continue
      }
      row[column] = known[asset.id]?.content.map(Value.blob) ?? before?[column] ?? .null
    }
    return row
  }

  /// Returns the field to send for a value. For a long BLOB, it is a manifest, and the bytes are kept.
  mutating func field(_ value: Value, zone: ZoneID) throws -> FieldValue {
    if case .asset(let asset) = value, let known = known[asset.id] { return .asset(known.manifest) }
    guard case .blob(let bytes) = value, Asset.isAsset(size: bytes.count) else { return .value(value) }
    var builder = AssetManifest.Builder(key: AssetManifest.key(of: zone, cryptography), cryptography)
    var chunks: [Int: [UInt8]] = [:]
    for index in 0..<Asset.chunkCount(size: bytes.count) {
      let chunk = Array(bytes[Asset.range(ofChunk: index, size: bytes.count)])
      chunks[index] = chunk
      builder.add(chunk)
    }
    guard let manifest = builder.manifest else { return .value(.null) }
    known[try manifest.asset(cryptography).id] = Known(manifest: manifest, chunks: chunks)
    return .asset(manifest)
  }

  /// Returns the tables with the names of assets in place of their manifests.
  mutating func naming(_ tables: [TableChanges]) throws -> [TableChanges] {
    var tables = tables
    for table in tables.indices {
      for row in tables[table].rows.indices {
        for field in tables[table].rows[row].fields.indices {
          guard case .asset(let manifest) = tables[table].rows[row].fields[field].value else { continue }
          let asset = try manifest.asset(cryptography)
          if known[asset.id] == nil { known[asset.id] = Known(manifest: manifest) }
          tables[table].rows[row].fields[field].value = .value(.asset(asset))
        }
      }
    }
    return tables
  }

  mutating func meet(_ manifests: [AssetID: AssetManifest]) {
    for (id, manifest) in manifests where known[id] == nil { known[id] = Known(manifest: manifest) }
  }

  mutating func stage(_ bytes: [UInt8], chunk index: Int, of asset: AssetID) -> ChunkOutcome {
    guard let before = known[asset], before.chunks[index] == nil else { return .notNeeded }
    guard before.manifest.isChunk(bytes, index, cryptography) else { return .wrong }
    known[asset]?.chunks[index] = bytes
    let isComplete = known[asset]?.content != nil
    if isComplete { completed.insert(asset) }
    return .staged(isComplete: isComplete)
  }

  /// Returns an asset that has become complete and has not been returned yet.
  mutating func nextCompleted() -> AssetID? { completed.popFirst() }
}

extension Value {
  /// The asset that the value names, or nil if it names none.
  var asset: Asset? { if case .asset(let asset) = self { asset } else { nil } }
}
