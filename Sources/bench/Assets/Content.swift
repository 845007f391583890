/// Bytes that can't be compressed and that no other content has. They are generated again wherever they are read.
struct Content {
  let seed: UInt64
  /// The size in bytes, a multiple of 8.
  let size: Int
  /// The position of one byte that differs from the seed's bytes.
  var changedByte: Int?

  /// The number of bytes that are generated at one time.
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

  /// Calls a closure with a piece.
  ///
  /// - Parameter start: The first byte, a multiple of `piece`.
  func withPiece(from start: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(Self.piece, size - start), alignment: 8)
    defer { buffer.deallocate() }
    fill(buffer, from: start, buffer.count)
    body(UnsafeRawBufferPointer(buffer))
  }

  private func fill(_ buffer: UnsafeMutableRawBufferPointer, from start: Int, _ count: Int) {
    for place in stride(from: 0, to: count, by: 8) {
      // This is SplitMix64.
      var word = seed &+ UInt64((start + place) / 8 + 1) &* 0x9E37_79B9_7F4A_7C15
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      buffer.storeBytes(of: word ^ word >> 31, toByteOffset: place, as: UInt64.self)
    }
    if let changed = changedByte, (start..<start + count).contains(changed) { buffer[changed - start] ^= 1 }
  }
}
