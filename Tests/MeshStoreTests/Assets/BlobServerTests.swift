import CSQLite
import MeshCore
import Testing

@testable import MeshStore

/// Long BLOBs that stay open while peers ask for their chunks.
@Suite struct BlobServerTests {
  private static let size = 20 * Limits.chunk
  private static let schema = """
    CREATE TABLE photo (id INTEGER PRIMARY KEY NOT NULL, image BLOB); CREATE TABLE other (bytes BLOB)
    """
  private let a: Peer
  private let asset: AssetID

  init() throws {
    a = try Peer(1, schema: Self.schema, track: ["photo"])
    let b = try Peer(2, schema: Self.schema, track: ["photo"])
    try a.run("INSERT INTO photo VALUES (1, randomblob(\(Self.size)))")
    try a.flush()
    try b.receive(from: a)
    b.now = max(a.now, b.now)
    try b.apply()
    asset = try #require(try b.store.assets.wantedAssets(limit: 1).first).asset.id
  }

  private func chunk(_ index: Int) throws -> [UInt8]? { try a.store.assets.chunk(index, of: asset, zone: Peer.zone) }

  @Test("the write-ahead log is emptied while peers ask for chunks") func theLogIsEmptiedAllTheSame() throws {
    try a.store.file.startGuard(clock: FixedClock())
    for index in 0..<40 {
      #expect(try chunk(index % 20) != nil)
      try a.store.access.write { try $0.sql.run("INSERT INTO other VALUES (zeroblob(1000000))") }
      #expect(a.store.file.walStatus().bytes < WALKeeper.bound + 4 << 20)
    }
    #expect(a.store.file.walStatus().resets >= 2)
  }

  @Test("a truncating checkpoint succeeds once the open BLOBs have been idle")
  func whoWaitsForAllReadersIsLetThroughOnceNobodyAsks() throws {
    let other = try GuardConnection(path: a.path, vfs: nil)
    try other.run("INSERT INTO photo VALUES (2, NULL)")
    #expect(try chunk(3) != nil)
    a.store.restIdleBlobs()
    #expect(try !other.checkpoint(SQLITE_CHECKPOINT_TRUNCATE), "it was asked for just now")
    a.store.restIdleBlobs()
    #expect(try other.checkpoint(SQLITE_CHECKPOINT_TRUNCATE))
    #expect(try chunk(4) != nil)
  }

  @Test("a chunk that is overwritten after it was verified is not given")
  func aWriteIntoABLOBIsFoundThoughItsBytesWereProvenBefore() throws {
    for index in 0..<20 { #expect(try chunk(index) != nil) }
    let other = try GuardConnection(path: a.path, vfs: nil)
    var blob: OpaquePointer?
    #expect(sqlite3_blob_open(other.handle, "main", "photo", "image", 1, 1, &blob) == SQLITE_OK)
    let right = try #require(try chunk(7))
    #expect(sqlite3_blob_write(blob, [right[9] ^ 1], 1, Int32(7 * Limits.chunk + 9)) == SQLITE_OK)
    sqlite3_blob_close(blob)
    a.store.releaseMemory()
    #expect(try chunk(7) == nil)
    #expect(try chunk(6) != nil)
  }
}

@Suite struct ChunkSumTests {
  @Test("the sum of a chunk changes with each byte and with the length") func eachByteAndTheLengthCount() {
    let bytes = (0..<1_003).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var sums: Set = [ChunkSum(bytes), ChunkSum(bytes + [0]), ChunkSum(bytes.dropLast())]
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 1 << UInt8(index % 8)
      sums.insert(ChunkSum(other))
    }
    #expect(sums.count == bytes.count + 3)
    #expect(ChunkSum(bytes) == ChunkSum(([0] + bytes).dropFirst()))
  }

  @Test("the record of verified chunks forgets the oldest of 70,000") func theOldestAreForgottenBeforeTheyAreTooMany() {
    let proven = ProvenChunks()
    let sum = ChunkSum([1])
    for number in 0..<70_000 {
      let asset = Asset(id: id(number), size: 20_000)
      proven.note(sum, 0, of: asset)
      #expect(proven.contains(sum, 0, of: asset) && !proven.contains(sum, 1, of: asset))
    }
    #expect(!proven.contains(sum, 0, of: Asset(id: id(0), size: 20_000)))
  }

  private func id(_ number: Int) -> AssetID {
    AssetID((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8 % 32)) }) ?? .zero
  }
}

extension ChunkSum {
  fileprivate init(_ bytes: ArraySlice<UInt8>) { self.init(Array(bytes)) }
}
