import MeshCore
import MeshStore

/// The staging beside a simulated database. Bytes that were not synced are lost in a power cut.
///
/// It is `@unchecked` because one caller at a time uses it, as it does the store.
final class VirtualStaging: AssetStaging, @unchecked Sendable {
  private let files = MemoryStaging()
  /// The bytes that remain after a power cut.
  private var synced: [AssetID: [UInt8]] = [:]
  private var lengths: [AssetID: Int] = [:]

  func losePower() {
    for asset in files.assets() { files.remove(asset) }
    lengths = synced.mapValues(\.count)
    for (asset, bytes) in synced { files.write(bytes, at: 0, of: asset) }
  }

  func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) {
    files.write(bytes, at: offset, of: asset)
    lengths[asset] = max(lengths[asset] ?? 0, offset + bytes.count)
  }

  func read(_ count: Int, at offset: Int, of asset: AssetID) -> [UInt8]? { files.read(count, at: offset, of: asset) }

  func sync(_ asset: AssetID) {
    guard let length = lengths[asset] else { return }
    synced[asset] = files.read(length, at: 0, of: asset)
  }

  func remove(_ asset: AssetID) {
    files.remove(asset)
    (synced[asset], lengths[asset]) = (nil, nil)
  }

  func shortage(_ bytes: Int) -> String? { nil }
  func assets() -> [AssetID] { files.assets() }
}
