import CSodium

/// A ChaCha20-Poly1305 key (RFC 8439) and the number of its next message, as in section 5.1 of the Noise specification.
struct CipherState: Sendable {
  static let keySize = 32
  static let tagSize = 16

  private let key: Secret
  private var number: UInt64

  init(key: [UInt8], number: UInt64 = 0) {
    precondition(key.count == Self.keySize, "ChaCha20-Poly1305 takes a 32-byte key")
    self.key = Secret(key)
    self.number = number
  }

  mutating func encrypt(_ plaintext: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
    let nonce = try nonce()
    var message = plaintext + [UInt8](repeating: 0, count: Self.tagSize)
    message.withUnsafeMutableBytes { seal($0, associated: associated, nonce: nonce) }
    number += 1
    return message
  }

  mutating func decrypt(_ ciphertext: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
    let nonce = try nonce()
    try checkSize(ciphertext.count)
    var message = ciphertext
    let isGenuine = message.withUnsafeMutableBytes { open($0, associated: associated, nonce: nonce) }
    try advance(isGenuine)
    return Array(message.dropLast(Self.tagSize))
  }

  /// Encrypts in place. `message` is the plaintext followed by 16 bytes of room for the tag.
  mutating func encrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) {
    precondition(message.count >= Self.tagSize, "the tag needs 16 bytes of room")
    seal(message, associated: [], nonce: try nonce())
    number += 1
  }

  /// Decrypts in place. Returns the number of bytes of plaintext that `message` now begins with. A refused message uses
  /// no number.
  mutating func decrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) -> Int {
    try checkSize(message.count)
    try advance(open(message, associated: [], nonce: try nonce()))
    return message.count - Self.tagSize
  }

  /// Returns the nonce: four zero bytes, then the number, little-endian. The specification reserves the greatest
  /// number.
  private func nonce() throws(CryptoError) -> [UInt8] {
    guard number < UInt64.max else {
      throw CryptoError(.nonceExhausted, "the session has used all its nonces; it must end")
    }
    return [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private func checkSize(_ count: Int) throws(CryptoError) {
    guard count >= Self.tagSize else {
      throw CryptoError(.messageSize, "an encrypted message has at least \(Self.tagSize) bytes, not \(count)")
    }
  }

  private mutating func advance(_ isGenuine: Bool) throws(CryptoError) {
    guard isGenuine else {
      throw CryptoError(.authentication, "message \(number) of the session was altered or is not for this session")
    }
    number += 1
  }

  private func seal(_ message: UnsafeMutableRawBufferPointer, associated: [UInt8], nonce: [UInt8]) {
    let bytes = message.bindMemory(to: UInt8.self)
    guard let start = bytes.baseAddress else { return }
    _ = crypto_aead_chacha20poly1305_ietf_encrypt(
      start, nil, start, UInt64(bytes.count - Self.tagSize), associated, UInt64(associated.count), nil, nonce,
      key.bytes)
  }

  private func open(_ message: UnsafeMutableRawBufferPointer, associated: [UInt8], nonce: [UInt8]) -> Bool {
    let bytes = message.bindMemory(to: UInt8.self)
    guard let start = bytes.baseAddress else { return false }
    return crypto_aead_chacha20poly1305_ietf_decrypt(
      start, nil, nil, start, UInt64(bytes.count), associated, UInt64(associated.count), nonce, key.bytes) == 0
  }
}
