/// The proof of an asset's chunks: their hashes. Each chunk except the last has `Limits.chunk` bytes.
///
/// The key is the one of the zone in which the content was first written. It is part of the manifest, so that a record
/// can move to another zone with its assets unread. Without the manifest, nobody can tell whether a known file is among
/// a zone's assets.
package struct AssetManifest: Hashable, Sendable {
  /// Bytes of the key.
  package static let keySize = 32
  /// Bytes of a chunk's hash.
  package static let hashSize = 32

  /// A BLAKE2b key of 32 bytes.
  package let key: [UInt8]
  /// The size of the asset in bytes.
  package let size: Int
  /// The hashes, one after the other, 32 bytes each.
  package let hashes: [UInt8]

  /// Creates a manifest. Returns nil if the size is not an asset's size, the number of hashes doesn't fit the size, or
  /// the key has the wrong length.
  package init?(key: [UInt8], size: Int, hashes: [UInt8]) {
    guard key.count == Self.keySize, Asset.isAsset(size: size), size <= Limits.asset,
      hashes.count == Asset.chunkCount(size: size) * Self.hashSize
    else { return nil }
    self.key = key
    self.size = size
    self.hashes = hashes
  }

  /// Returns the asset that this manifest describes. Its id is the keyed BLAKE2b-256 hash of `mesh/1/asset` ‖ u64 size
  /// ‖ hashes.
  package func asset(_ cryptography: any Cryptography) throws(FormatError) -> Asset {
    var writer = ByteWriter(capacity: hashes.count + 20)
    writer.raw(Array("mesh/1/asset".utf8))
    writer.uint64(UInt64(size))
    writer.raw(hashes)
    guard let id = AssetID(cryptography.hash(writer.bytes, count: AssetID.size, key: key)) else {
      throw .invalid("a hash of 32 bytes")
    }
    return Asset(id: id, size: size)
  }

  /// The number of chunks.
  package var chunkCount: Int { hashes.count / Self.hashSize }

  package func hash(ofChunk index: Int) -> ArraySlice<UInt8> {
    hashes[index * Self.hashSize..<(index + 1) * Self.hashSize]
  }

  /// Returns whether these bytes are the chunk `index`.
  package func isChunk(_ bytes: [UInt8], _ index: Int, _ cryptography: any Cryptography) -> Bool {
    guard (0..<chunkCount).contains(index), bytes.count == Asset.range(ofChunk: index, size: size).count else {
      return false
    }
    return hash(ofChunk: index).elementsEqual(Self.hash(chunk: bytes, key: key, cryptography))
  }

  /// Returns the key for content that is first written in a zone: BLAKE2b-256 of `mesh/1/asset` ‖ zone.
  package static func key(of zone: ZoneID, _ cryptography: any Cryptography) -> [UInt8] {
    cryptography.hash(Array("mesh/1/asset".utf8) + zone.bytes)
  }

  /// Returns the keyed BLAKE2b-256 hash of a chunk's bytes. It doesn't depend on the chunk's position in the BLOB.
  package static func hash(chunk: [UInt8], key: [UInt8], _ cryptography: any Cryptography) -> [UInt8] {
    cryptography.hash(chunk, count: hashSize, key: key)
  }
}

// MARK: - Making one, chunk by chunk

extension AssetManifest {
  /// Builds a manifest from an asset's chunks in order, without keeping them all in memory.
  package struct Builder {
    private let key: [UInt8]
    private let cryptography: any Cryptography
    private var size = 0
    private var hashes: [UInt8] = []

    /// Creates a builder of a manifest with this BLAKE2b key of 32 bytes.
    package init(key: [UInt8], _ cryptography: any Cryptography) {
      self.key = key
      self.cryptography = cryptography
    }

    /// Adds the next chunks. All chunks of the asset except the last have `Limits.chunk` bytes.
    package mutating func add(_ chunks: [[UInt8]]) {
      size += chunks.reduce(0) { $0 + $1.count }
      hashes += cryptography.hashes(chunks, count: AssetManifest.hashSize, key: key).joined()
    }

    /// Adds the next chunk.
    package mutating func add(_ chunk: [UInt8]) { add([chunk]) }

    /// The manifest, or nil if the size is not an asset's size.
    package var manifest: AssetManifest? { AssetManifest(key: key, size: size, hashes: hashes) }
  }
}

// MARK: - On the wire

extension AssetManifest {
  /// Returns the greatest number of bytes that the encoding takes.
  package static func encodedBound(size: Int) -> Int { keySize + 6 + Asset.chunkCount(size: size) * hashSize }

  /// Writes key · size · hashes. The size tells the number of hashes.
  package func write(to writer: inout ByteWriter) {
    writer.raw(key)
    writer.varint(size)
    writer.raw(hashes)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    key = try reader.raw(Self.keySize)
    size = try reader.count(Limits.asset, "asset")
    guard Asset.isAsset(size: size) else { throw .invalid("an asset is longer than a blob in a change set") }
    hashes = try reader.raw(Asset.chunkCount(size: size) * Self.hashSize)
  }

  /// The wire form (see `write`).
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: Self.encodedBound(size: size))
    write(to: &writer)
    return writer.bytes
  }
}
