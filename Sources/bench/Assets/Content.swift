/// Bytes that no compression shortens and no other content has, made again wherever they are looked at.
struct Content {
  let seed: UInt64
  /// In bytes, a multiple of 8.
  let size: Int
  /// One byte that is not as the seed says.
  var changedByte: Int?

  /// Bytes that are made at one time.
  static let piece = 1 << 20

  init(size: Int, seed: UInt64 = .random(in: 0 ... .max)) {
    self.size = size
    self.seed = seed
  }

  func forEachPiece(_ body: (Int, UnsafeRawBufferPointer) throws -> Void) rethrows {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 8)
    defer { buffer.deallocate() }
    for start in stride(from: 0, to: size, by: Self.piece) {
      let count = min(Self.piece, size - start)
      fill(buffer, from: start, count)
      try body(start, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// - Parameter start: A multiple of `piece`.
  func withPiece(from start: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(Self.piece, size - start), alignment: 8)
    defer { buffer.deallocate() }
    fill(buffer, from: start, buffer.count)
    body(UnsafeRawBufferPointer(buffer))
  }

  private func fill(_ buffer: UnsafeMutableRawBufferPointer, from start: Int, _ count: Int) {
    for place in stride(from: 0, to: count, by: 8) {
      // SplitMix64.
      var word = seed &+ UInt64((start + place) / 8 + 1) &* 0x9E37_79B9_7F4A_7C15
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      buffer.storeBytes(of: word ^ word >> 31, toByteOffset: place, as: UInt64.self)
    }
    if let changed = changedByte, (start..<start + count).contains(changed) { buffer[changed - start] ^= 1 }
  }
}
