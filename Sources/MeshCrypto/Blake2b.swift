import CSodium

/// BLAKE2b (RFC 7693), and the HMAC and HKDF that the Noise specification builds on it.
enum Blake2b {
  /// The fixed sizes of the algorithm, in bytes.
  static let longest = 64
  static let block = 128

  /// Returns the BLAKE2b hash of a message.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - count: The size of the hash, 16 to 64 bytes.
  ///   - key: No key, or a key of 16 to 64 bytes.
  static func hash(_ message: [UInt8], count: Int = longest, key: [UInt8] = []) -> [UInt8] {
    [UInt8](count: count) {
      let status = crypto_generichash($0, count, message, UInt64(message.count), key.isEmpty ? nil : key, key.count)
      precondition(status == 0, "BLAKE2b gives 16 to 64 bytes and takes a key of none, or 16 to 64")
    }
  }

  /// Returns a 16-byte hash, without a key and without an array, for the hot path of record hashes.
  static func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
    var halves: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &halves) { output in
      let (digest, bytes) = (output.bindMemory(to: UInt8.self), message.bindMemory(to: UInt8.self))
      guard let start = digest.baseAddress else { return }
      _ = crypto_generichash(start, digest.count, bytes.baseAddress, UInt64(bytes.count), nil, 0)
    }
    return (UInt64(littleEndian: halves.0), UInt64(littleEndian: halves.1))
  }

  /// Returns the HMAC (RFC 2104) over BLAKE2b-512. A keyed BLAKE2b is a different function.
  static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var padded = key.count > block ? hash(key) : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    let inner = hash(padded.map { $0 ^ 0x36 } + message)
    return hash(padded.map { $0 ^ 0x5c } + inner)
  }

  /// Returns two HKDF outputs of 64 bytes each, according to section 4.3 of the Noise specification.
  static func hkdf(chainingKey: [UInt8], input: [UInt8]) -> ([UInt8], [UInt8]) {
    let temporary = hmac(input, key: chainingKey)
    let first = hmac([1], key: temporary)
    return (first, hmac(first + [2], key: temporary))
  }
}
