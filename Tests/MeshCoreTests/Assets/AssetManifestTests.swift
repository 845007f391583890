import MeshCore
import MeshCrypto
import Testing

/// What proves an asset, and what is none.
@Suite struct AssetManifestTests {
  private let cryptography: Sodium
  private static let key = [UInt8](repeating: 5, count: 32)

  init() throws { cryptography = try Sodium() }

  private func manifest(_ content: [UInt8], key: [UInt8] = key) -> AssetManifest? {
    var builder = AssetManifest.Builder(key: key, cryptography)
    for index in 0..<Asset.chunkCount(size: content.count) {
      builder.add(Array(content[Asset.range(ofChunk: index, size: content.count)]))
    }
    return builder.manifest
  }

  private func encoded(key: [UInt8] = key, size: Int, chunks: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(key)
    writer.varint(size)
    writer.raw([UInt8](repeating: 9, count: chunks * 32))
    return writer.bytes
  }

  private func decode(_ bytes: [UInt8]) throws(FormatError) -> AssetManifest {
    var reader = ByteReader(bytes)
    let manifest = try AssetManifest(from: &reader)
    try reader.end()
    return manifest
  }

  @Test("a manifest proves each chunk by its bytes and its index") func chunksAreProvenOneByOne() throws {
    let content = (0..<Limits.chunk + 9).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let made = manifest(content)
    let manifest = try #require(made)
    #expect(manifest.chunkCount == 2 && manifest.size == content.count)
    let (first, last) = (Array(content[..<Limits.chunk]), Array(content[Limits.chunk...]))
    #expect(manifest.isChunk(first, 0, cryptography) && manifest.isChunk(last, 1, cryptography))
    #expect(!manifest.isChunk(last, 0, cryptography) && !manifest.isChunk(first, 1, cryptography))
    #expect(!manifest.isChunk(last, 2, cryptography) && !manifest.isChunk(last, -1, cryptography))
    #expect(!manifest.isChunk(last + [0], 1, cryptography))
  }

  @Test("an asset's name changes with the content and the key, and tells the size")
  func theNameTellsContentSizeAndKey() throws {
    let content = [UInt8](repeating: 1, count: 20_000)
    let made = manifest(content)
    let asset = try #require(made).asset(cryptography)
    #expect(try manifest(content)?.asset(cryptography) == asset)
    #expect(try manifest(content + [1])?.asset(cryptography) != asset)
    #expect(try manifest(content, key: [UInt8](repeating: 6, count: 32))?.asset(cryptography) != asset)
    #expect(asset.size == 20_000 && asset.chunkCount == 1)
  }

  @Test("a manifest decodes to what was encoded, and no proper prefix decodes")
  func whatIsReadIsWhatWasWritten() throws {
    let made = manifest([UInt8](repeating: 1, count: 600_000))
    let manifest = try #require(made)
    #expect(try decode(manifest.encoded) == manifest)
    #expect(manifest.encoded.count <= AssetManifest.encodedBound(size: manifest.size))
    for count in 0..<manifest.encoded.count {
      #expect(throws: FormatError.truncated) { try decode(Array(manifest.encoded[..<count])) }
    }
  }

  @Test("a manifest is rejected if its size exceeds a limit or contradicts its chunks")
  func aSizeFitsItsChunksAndItsLimits() {
    #expect(throws: FormatError.self) { try decode(encoded(size: Limits.inlineBlob, chunks: 1)) }
    #expect(throws: Never.self) { try decode(encoded(size: Limits.inlineBlob + 1, chunks: 1)) }
    #expect(throws: FormatError.trailing) { try decode(encoded(size: Limits.chunk, chunks: 2)) }
    #expect(throws: FormatError.truncated) { try decode(encoded(size: Limits.chunk + 1, chunks: 1)) }
    #expect(throws: Never.self) { try decode(encoded(size: Limits.asset, chunks: 3_815)) }
    #expect(throws: FormatError.limit("asset")) { try decode(encoded(size: Limits.asset + 1, chunks: 3_815)) }
    #expect(AssetManifest(key: [1], size: 20_000, hashes: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(AssetManifest(key: Self.key, size: 9, hashes: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(AssetManifest(key: Self.key, size: 20_000, hashes: []) == nil)
  }

  /// The longest there can be fits into a change set with others.
  @Test("the largest manifest takes less than an eighth of a change set") func manifestsOfARowFitIntoAPart() {
    #expect(AssetManifest.encodedBound(size: Limits.asset) < Limits.changeSet / 8)
  }
}

/// Which chunks are somewhere.
@Suite struct ChunkSetTests {
  private func decode(_ bytes: [UInt8]) throws(FormatError) -> ChunkSet {
    var reader = ByteReader(bytes)
    let set = try ChunkSet(from: &reader)
    try reader.end()
    return set
  }

  private func encoded(_ set: ChunkSet) -> [UInt8] {
    var writer = ByteWriter()
    set.write(to: &writer)
    return writer.bytes
  }

  @Test(
    "a chunk set contains exactly the inserted chunks, also after it is decoded",
    arguments: [0, 1, 7, 8, 63, 64, 65, 130, 3_815])
  func whatIsInsertedIsThere(count: Int) throws {
    var set = ChunkSet(count: count)
    #expect(set.isComplete == (count == 0) && set.firstMissing() == (count == 0 ? nil : 0))
    for index in stride(from: 0, to: count, by: 3) { set.insert(index) }
    for index in -1...count { #expect(set.contains(index) == (index >= 0 && index < count && index % 3 == 0)) }
    #expect(set.present == (count + 2) / 3)
    #expect(try decode(encoded(set)) == set)
    for index in 0..<count { set.insert(index) }
    #expect(set.isComplete && set.firstMissing() == nil && set == .all(count))
    #expect(try decode(encoded(set)) == set)
    guard count > 1 else { return }
    set.remove(count - 1)
    #expect(set.firstMissing() == count - 1 && set.firstMissing(from: count) == nil)
  }

  @Test("a chunk set with bits beyond its last chunk is rejected") func bitsBeyondTheLastChunkAreRefused() {
    #expect(throws: FormatError.self) { try decode([3, 0b1000]) }
    #expect(throws: FormatError.truncated) { try decode([9, 0]) }
    #expect(throws: FormatError.self) { try decode([0xff, 0xff, 0x7f]) }
  }

  @Test("a change set with an inline BLOB above the limit is rejected")
  func anInlineBLOBOverTheLimitIsMalformed() throws {
    func decode(_ count: Int) throws -> ChangeSetBody {
      let device = try #require(DeviceID([UInt8](repeating: 1, count: 32)))
      let author = Author(device: device, instance: InstanceID(1))
      let stamp = Stamp(time: HybridTime(5), author: author)
      let field = RowChange.Field(column: 0, value: .value(.blob([UInt8](repeating: 7, count: count))))
      let row = RowChange(key: .integer(1), generation: 1, isLife: true, stamp: stamp, fields: [field])
      let body = ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "t", columns: ["v"], rows: [row])]))
      return try ChangeSetBody(body.encoded(author: author), author: author)
    }
    #expect(throws: Never.self) { try decode(Limits.inlineBlob) }
    #expect(throws: FormatError.limit("blob in a change set")) { try decode(Limits.inlineBlob + 1) }
  }
}
