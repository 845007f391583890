public import MeshCore

/// Where the bytes of assets are until they are in their rows: those that come chunk by chunk, and those whose row has to go though
/// the record lives. Beside the database, because a second copy inside it would stay as free pages.
///
/// Whatever is read is proven by its hash: nothing here needs to be believed after an unclean end. Calls come from one caller.
public protocol AssetStaging: AnyObject, Sendable {
  func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) throws
  /// Nil where so many bytes are not there.
  func read(_ count: Int, at offset: Int, of asset: AssetID) throws -> [UInt8]?
  /// What was written of the asset survives a power cut from now on.
  func sync(_ asset: AssetID) throws
  func remove(_ asset: AssetID) throws
  /// Why so many bytes more that can be asked for again are not to be kept; nil where there is room. What may be the only copy is written in
  /// any case.
  func shortage(_ bytes: Int) -> String?
  /// Of which there is something.
  func assets() throws -> [AssetID]
}

/// Staging in memory: for tests, and for a store that fetches nothing.
///
/// `@unchecked`: used by one caller at a time, as the store is.
public final class MemoryStaging: AssetStaging, @unchecked Sendable {
  private var contents: [AssetID: [UInt8]] = [:]

  /// Bytes that there is room for; nil: any number.
  public var capacity: Int?

  public init() {}

  public func shortage(_ bytes: Int) -> String? {
    guard let capacity, size + bytes > capacity else { return nil }
    return "the staging in memory is full"
  }

  /// Bytes that it holds.
  public var size: Int { contents.values.reduce(0) { $0 + $1.count } }

  public func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) {
    var content = contents[asset] ?? []
    contents[asset] = nil
    let end = offset + bytes.count
    if content.count < end { content.append(contentsOf: repeatElement(0, count: end - content.count)) }
    content.replaceSubrange(offset..<end, with: bytes)
    contents[asset] = content
  }

  public func read(_ count: Int, at offset: Int, of asset: AssetID) -> [UInt8]? {
    guard let content = contents[asset], content.count >= offset + count else { return nil }
    return Array(content[offset..<offset + count])
  }

  public func sync(_ asset: AssetID) {}
  public func remove(_ asset: AssetID) { contents[asset] = nil }
  public func assets() -> [AssetID] { contents.keys.sorted() }
}
