public enum AssetKind: IdentifierKind { public static var prefix: String { "asset" } }

/// Keyed BLAKE2b-256 of an asset's size and of the hashes of its chunks.
public typealias AssetID = Identifier<AssetKind>

/// A long BLOB as the merge knows it: what it is, and how long. The bytes travel beside the change sets, chunk by chunk.
public struct Asset: Hashable, Sendable {
  public let id: AssetID
  /// In bytes.
  public let size: Int

  public init(id: AssetID, size: Int) {
    self.id = id
    self.size = size
  }

  /// BLOBs beyond it are assets, shorter ones travel in change sets.
  public static func isAsset(size: Int) -> Bool { size > Limits.inlineBlob }

  /// How many chunks a BLOB of this size has.
  public static func chunkCount(size: Int) -> Int { (size + Limits.chunk - 1) / Limits.chunk }

  public var chunkCount: Int { Self.chunkCount(size: size) }

  /// Which bytes of a BLOB of this size are the chunk `index`; all chunks but the last are equally long.
  public static func range(ofChunk index: Int, size: Int) -> Range<Int> {
    index * Limits.chunk..<min(size, (index + 1) * Limits.chunk)
  }

  public func range(ofChunk index: Int) -> Range<Int> { Self.range(ofChunk: index, size: size) }
}

extension Asset: Comparable {
  public static func < (left: Asset, right: Asset) -> Bool {
    left.size == right.size ? left.id < right.id : left.size < right.size
  }
}
