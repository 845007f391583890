/// The two ciphers of a completed handshake. Messages of one direction are numbered: each can be decrypted once, in
/// order, and a failure ends the session.
public struct NoiseSession: Sendable {
  /// The longest message, tag included, in bytes: the limit of the Noise specification.
  public static let maximumMessage = 65_535
  /// What encryption adds to a plaintext, in bytes.
  public static let tagSize = CipherState.tagSize
  /// The longest plaintext of one message, in bytes.
  public static let maximumPlaintext = maximumMessage - tagSize

  /// Names this session: 64 bytes, the same on both sides, different for every session.
  public let handshakeHash: [UInt8]
  /// The peer's static X25519 key, 32 bytes, which the peer has proved to hold.
  public let remoteStatic: [UInt8]
  private var sending: CipherState
  private var receiving: CipherState

  init(handshakeHash: [UInt8], remoteStatic: [UInt8], sending: CipherState, receiving: CipherState) {
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    self.sending = sending
    self.receiving = receiving
  }

  /// The ciphertext and its tag. Throws `.messageSize` above `maximumPlaintext` bytes, `.nonceExhausted`.
  public mutating func encrypt(_ plaintext: [UInt8]) throws(CryptoError) -> [UInt8] {
    try checkSize(plaintext.count + Self.tagSize)
    return try sending.encrypt(plaintext, associated: [])
  }

  /// The plaintext of the peer's next message. Throws `.messageSize`, `.authentication`, `.nonceExhausted`.
  public mutating func decrypt(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
    try checkSize(message.count)
    return try receiving.decrypt(message, associated: [])
  }

  /// Encrypts without a copy: `message` is the plaintext and `tagSize` bytes of room behind it.
  public mutating func encrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) {
    try checkSize(message.count)
    try sending.encrypt(inPlace: message)
  }

  /// Decrypts without a copy; returns how many bytes of plaintext `message` now begins with.
  public mutating func decrypt(inPlace message: UnsafeMutableRawBufferPointer) throws(CryptoError) -> Int {
    try checkSize(message.count)
    return try receiving.decrypt(inPlace: message)
  }

  private func checkSize(_ count: Int) throws(CryptoError) {
    guard count <= Self.maximumMessage else {
      throw CryptoError(.messageSize, "a message has at most \(Self.maximumMessage) bytes, this one has \(count)")
    }
  }
}
