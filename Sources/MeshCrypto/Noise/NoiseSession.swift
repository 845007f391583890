/// The two ciphers of a completed handshake. The messages of one direction are numbered. Each can be decrypted once, in
/// order, and a failure ends the session.
package struct NoiseSession: Sendable {
  /// The size of the longest message in bytes, including the tag. It is the limit of the Noise specification.
  package static let maximumMessage = 65_535
  /// The bytes that encryption adds to a plaintext.
  package static let tagSize = CipherState.tagSize

  /// The 64 bytes that identify this session. They are the same on both sides, and different for every session.
  package let handshakeHash: [UInt8]
  /// The peer's static X25519 key, 32 bytes. The peer has proven that it holds the key.
  package let remoteStatic: [UInt8]
  private var sending: CipherState
  private var receiving: CipherState

  init(handshakeHash: [UInt8], remoteStatic: [UInt8], sending: CipherState, receiving: CipherState) {
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    self.sending = sending
    self.receiving = receiving
  }

  /// Returns the ciphertext and its tag. Throws `.messageSize` if they are longer than `maximumMessage`, or `.nonceExhausted`.
  package mutating func encrypt(_ plaintext: [UInt8]) throws(CryptoError) -> [UInt8] {
    try checkSize(plaintext.count + Self.tagSize)
    return try sending.encrypt(plaintext, associated: [])
  }

  /// Returns the plaintext of the peer's next message. Throws `.messageSize`, `.authentication` or `.nonceExhausted`.
  package mutating func decrypt(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
    try checkSize(message.count)
    return try receiving.decrypt(message, associated: [])
  }

  /// Encrypts without a copy. `message` is the plaintext followed by `tagSize` bytes of room.
  package mutating func encrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) {
    try checkSize(message.count)
    try sending.encrypt(inPlace: message)
  }

  /// Decrypts without a copy. Returns the number of bytes of plaintext that `message` now begins with.
  package mutating func decrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) -> Int {
    try checkSize(message.count)
    return try receiving.decrypt(inPlace: message)
  }

  private func checkSize(_ count: Int) throws(CryptoError) {
    guard count <= Self.maximumMessage else {
      throw CryptoError(.messageSize, "a message has at most \(Self.maximumMessage) bytes, this one has \(count)")
    }
  }
}
