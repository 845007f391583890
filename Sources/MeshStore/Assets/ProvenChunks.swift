import MeshCore

/// Which bytes of our own rows were proven to be chunks, by a quick sum of them, so that they are not hashed again each time they are
/// read for somebody.
///
/// The sum finds accidents: a program has written to the BLOB and its flush is still to come. It is no proof against anybody, and
/// need not be: what comes from others is always hashed, by whoever gets it.
final class ProvenChunks {
  private var sums: [AssetID: [ChunkSum?]] = [:]
  private var count = 0

  /// Chunks that are remembered: half a megabyte, for 16 GiB.
  private static let most = 65_536

  /// All chunks of an asset, just hashed.
  func note(_ all: [ChunkSum], of asset: AssetID) {
    makeRoom(asset, all.count)
    sums[asset] = all
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

  private func makeRoom(_ asset: AssetID, _ chunks: Int) {
    if let old = sums.removeValue(forKey: asset) { count -= old.count }
    if count + chunks > Self.most { (sums, count) = ([:], 0) }
    count += chunks
  }
}

/// 64 bits of a chunk, in a tenth of the time that a hash takes.
struct ChunkSum: Hashable {
  private let sum: UInt64

  init(_ bytes: [UInt8]) {
    // Four sums side by side, for the processor to work on at once. The factor is odd, so nothing is lost by multiplying.
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
