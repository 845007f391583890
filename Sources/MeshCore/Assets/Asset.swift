/// The kind of `AssetID`.
package enum AssetKind: IdentifierKind { package static var prefix: String { "asset" } }

/// The keyed BLAKE2b-256 hash of an asset's size and of the hashes of its chunks.
package typealias AssetID = Identifier<AssetKind>

/// A long BLOB as the merge sees it: its id and its size. Its bytes travel separately from the change sets, chunk by
/// chunk.
package struct Asset: Hashable, Sendable {
  /// The hash of the asset's size and of its chunks' hashes.
  package let id: AssetID
  /// The size in bytes.
  package let size: Int

  package init(id: AssetID, size: Int) {
    self.id = id
    self.size = size
  }

  /// Returns whether a BLOB of this size is an asset. Shorter ones travel in change sets.
  package static func isAsset(size: Int) -> Bool { size > Limits.inlineBlob }

  /// Returns the number of chunks of a BLOB of this size.
  package static func chunkCount(size: Int) -> Int { (size + Limits.chunk - 1) / Limits.chunk }

  /// The number of the asset's chunks.
  package var chunkCount: Int { Self.chunkCount(size: size) }

  /// Returns the byte range of the chunk `index` in a BLOB of this size. All chunks except the last have the same
  /// length.
  package static func range(ofChunk index: Int, size: Int) -> Range<Int> {
    index * Limits.chunk..<min(size, (index + 1) * Limits.chunk)
  }

  /// Returns the byte range of the chunk `index`, from 0.
  package func range(ofChunk index: Int) -> Range<Int> { Self.range(ofChunk: index, size: size) }
}

extension Asset: Comparable {
  package static func < (left: Asset, right: Asset) -> Bool {
    left.size == right.size ? left.id < right.id : left.size < right.size
  }
}
