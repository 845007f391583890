import MeshCore

/// A cache of the chunks in this file's rows whose bytes were checked. It stores a quick sum of each, so that they are
/// not hashed again each time a peer reads them.
///
/// The sum detects accidents, such as a program's write to the BLOB that is not flushed yet. It is no proof against an
/// attack, and doesn't have to be: the receiver of a chunk always hashes it.
final class ProvenChunks {
  private var sums: [AssetID: [ChunkSum?]] = [:]
  private var count = 0

  /// The chunks that were looked for in vain in rows that show their asset, because a program has written to the rows
  /// since they were flushed. That comes to light only when a peer asks for them.
  private var lost: [AssetID: Set<Int>] = [:]

  /// The number of assets whose lost chunks are remembered.
  private static let mostLost = 1_024
  /// The number of chunks that are remembered: half a megabyte, for 16 GiB.
  private static let most = 65_536

  /// Notes all chunks of an asset that was just hashed.
  func note(_ all: [ChunkSum], of asset: AssetID) {
    makeRoom(asset, all.count)
    sums[asset] = all
    lost[asset] = nil
  }

  func note(_ sum: ChunkSum, _ index: Int, of asset: Asset) {
    if sums[asset.id] == nil {
      makeRoom(asset.id, asset.chunkCount)
      sums[asset.id] = Array(repeating: nil, count: asset.chunkCount)
    }
    sums[asset.id]?[index] = sum
  }

  func contains(_ sum: ChunkSum, _ index: Int, of asset: Asset) -> Bool {
    guard let known = sums[asset.id], index < known.count else { return false }
    return known[index] == sum
  }

  func noteLost(_ index: Int, of asset: AssetID) {
    if lost[asset] == nil, lost.count >= Self.mostLost { lost = [:] }
    lost[asset, default: []].insert(index)
  }

  /// Notes that a chunk is here.
  func noteFound(_ index: Int, of asset: AssetID) {
    guard lost[asset]?.remove(index) != nil, lost[asset]?.isEmpty == true else { return }
    lost[asset] = nil
  }

  /// Returns the chunks that a row shows according to its record, without those that were lost.
  func shown(_ asset: Asset) -> ChunkSet {
    var chunks = ChunkSet.all(asset.chunkCount)
    for index in lost[asset.id] ?? [] { chunks.remove(index) }
    return chunks
  }

  private func makeRoom(_ asset: AssetID, _ chunks: Int) {
    if let old = sums.removeValue(forKey: asset) { count -= old.count }
    if count + chunks > Self.most { (sums, count) = ([:], 0) }
    count += chunks
  }
}

/// A 64-bit sum of a chunk. It takes a tenth of the time of a hash.
struct ChunkSum: Hashable {
  private let sum: UInt64

  init(_ bytes: [UInt8]) {
    // Four sums run side by side, so that the processor can work on them at once. The factor is odd, so the
    // multiplication loses nothing.
    var lanes = SIMD4<UInt64>(
      0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89)
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
    bytes.withUnsafeBytes { buffer in
      let whole = buffer.count / 32 * 32
      for place in stride(from: 0, to: whole, by: 32) {
        for lane in 0..<4 {
          let word = buffer.loadUnaligned(fromByteOffset: place + 8 * lane, as: UInt64.self)
          let mixed = (lanes[lane] ^ word) &* factor
          lanes[lane] = mixed ^ mixed >> 32
        }
      }
      for place in whole..<buffer.count { lanes[place % 4] = (lanes[place % 4] ^ UInt64(buffer[place])) &* factor }
    }
    var sum = UInt64(bytes.count)
    for lane in 0..<4 {
      let mixed = (sum ^ lanes[lane]) &* factor
      sum = mixed ^ mixed >> 29
    }
    self.sum = sum
  }
}
