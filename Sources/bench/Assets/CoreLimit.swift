import CSodium

/// The time in which one core encrypts bytes as sessions do and hashes them as assets are. No program that does both
/// once, one after the other, is faster.
enum CoreLimit {
  private static let frame = 64 << 10
  private static let chunk = 256 << 10
  /// The number of bytes that are measured as a sample, because more would only take longer.
  private static let sample = 128 << 20

  /// Returns the seconds for a number of bytes.
  static func seconds(bytes: Int) throws -> Double {
    guard sodium_init() >= 0 else { throw Trouble("libsodium does not begin") }
    var chunk = [UInt8](repeating: 7, count: Self.chunk + Int(crypto_aead_chacha20poly1305_ietf_ABYTES))
    var hash = [UInt8](repeating: 0, count: 32)
    let (key, nonce) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 12))
    let time = Machine.time {
      for _ in 0..<sample / Self.chunk {
        chunk.withUnsafeMutableBufferPointer { buffer in
          guard let start = buffer.baseAddress else { return }
          crypto_generichash(&hash, hash.count, start, UInt64(Self.chunk), key, key.count)
          for place in stride(from: 0, to: Self.chunk, by: frame) {
            crypto_aead_chacha20poly1305_ietf_encrypt(
              start + place, nil, start + place, UInt64(frame), nil, 0, nil, nonce, key)
          }
        }
      }
    }
    return time * Double(bytes) / Double(sample)
  }
}
