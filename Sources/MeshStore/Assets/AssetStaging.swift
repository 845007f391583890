package import MeshCore

/// The storage for the bytes of assets until they are in their rows. It holds assets that arrive chunk by chunk, and
/// those whose row is removed although the record is alive. It is beside the database, because a second copy inside
/// would stay as free pages.
///
/// Readers check everything by its hash, so nothing here has to be trusted after an unclean end. One caller at a time
/// uses it.
package protocol AssetStaging: AnyObject, Sendable {
  func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) throws
  /// Returns the bytes, or nil if there are fewer.
  func read(_ count: Int, at offset: Int, of asset: AssetID) throws -> [UInt8]?
  /// Makes the asset's written bytes survive a power cut from now on.
  func sync(_ asset: AssetID) throws
  func remove(_ asset: AssetID) throws
  /// Returns why this many more bytes are not stored, or nil if there is room. It is asked only for bytes that can be
  /// requested from other devices again. Bytes that may be the only copy are written in any case.
  func shortage(_ bytes: Int) -> String?
  /// Returns the assets that have bytes here.
  func assets() throws -> [AssetID]
}

/// A staging in memory, for tests and for a store that downloads nothing.
///
/// It is `@unchecked` because one caller at a time uses it, as it does the store.
package final class MemoryStaging: AssetStaging, @unchecked Sendable {
  private var contents: [AssetID: [UInt8]] = [:]

  /// The number of bytes that there is room for, or nil for any number.
  package var capacity: Int?

  package init() {}

  package func shortage(_ bytes: Int) -> String? {
    guard let capacity, size + bytes > capacity else { return nil }
    return "the staging in memory is full"
  }

  /// The number of bytes that it holds.
  package var size: Int { contents.values.reduce(0) { $0 + $1.count } }

  package func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) {
    var content = contents[asset] ?? []
    contents[asset] = nil
    let end = offset + bytes.count
    if content.count < end { content.append(contentsOf: repeatElement(0, count: end - content.count)) }
    content.replaceSubrange(offset..<end, with: bytes)
    contents[asset] = content
  }

  package func read(_ count: Int, at offset: Int, of asset: AssetID) -> [UInt8]? {
    guard let content = contents[asset], content.count >= offset + count else { return nil }
    return Array(content[offset..<offset + count])
  }

  package func sync(_ asset: AssetID) {}
  package func remove(_ asset: AssetID) { contents[asset] = nil }
  package func assets() -> [AssetID] { contents.keys.sorted() }
}
