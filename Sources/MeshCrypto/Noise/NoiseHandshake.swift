package import MeshCore

/// One side of a handshake Noise_XX_25519_ChaChaPoly_BLAKE2b (Noise specification, revision 34) with empty payloads.
///
/// | message | from | tokens | bytes |
/// |---|---|---|---|
/// | 1 | dialler | e | 32 |
/// | 2 | listener | e, ee, s, es | 96 |
/// | 3 | dialler | s, se | 64 |
///
/// After the third message, both sides call `split()`. A message that fails ends the handshake, and every later step is
/// refused.
package struct NoiseHandshake: Sendable {
  package enum Role: Sendable, Equatable {
    /// The initiator.
    case dialler
    /// The responder.
    case listener
  }

  /// The text on which both sides must agree before the handshake begins.
  package static let prologue = Array("mesh/1".utf8)
  /// The size of each message in bytes, in order. Nothing else is ever sent or accepted.
  package static let messageSizes = [32, 96, 64]

  package let role: Role
  private let ownStatic: X25519
  private let ownEphemeral: X25519
  private var remoteEphemeral: [UInt8] = []
  private var remoteStatic: [UInt8] = []
  private var symmetric: SymmetricState
  private var state = State.expecting(message: 0)

  private enum State: Equatable {
    case expecting(message: Int)
    case failed
  }

  /// Creates one side of a handshake.
  ///
  /// - Parameters:
  ///   - keys: The device's keys. This side shows their session key.
  ///   - randomness: The source of this side's ephemeral key. 32 bytes are read here.
  package init(
    role: Role, keys: DeviceKeys, prologue: [UInt8] = Self.prologue, randomness: any Randomness
  ) {
    self.role = role
    ownStatic = keys.noiseStatic
    ownEphemeral = X25519(randomness: randomness)
    symmetric = SymmetricState(protocolName: "Noise_XX_25519_ChaChaPoly_BLAKE2b")
    symmetric.mixHash(prologue)
  }

  /// The size of the next message in bytes if it is the peer's turn, or nil if it is this side's turn or no message is
  /// left.
  package var expectedSize: Int? {
    guard case .expecting(let message) = state, message < Self.messageSizes.count, !isOwnTurn(message) else {
      return nil
    }
    return Self.messageSizes[message]
  }

  /// True if only `split()` is left to call.
  package var isComplete: Bool { state == .expecting(message: Self.messageSizes.count) }

  /// Returns the next message of this side. Throws `.outOfTurn` if it is the peer's turn, and `.lowOrderKey` if an
  /// agreement is all zero.
  package mutating func writeMessage() throws(CryptoError) -> [UInt8] {
    let message = try begin(ownTurn: true)
    let bytes: [UInt8] =
      switch message {
      case 0: writeEphemeral()
      case 1: writeEphemeral() + (try writeAgreements())
      default: try writeStatic()
      }
    let written = bytes + (try symmetric.encryptAndHash([]))
    state = .expecting(message: message + 1)
    return written
  }

  /// Reads the peer's next message. Throws `.outOfTurn`, `.messageSize`, `.authentication` or `.lowOrderKey`.
  package mutating func readMessage(_ bytes: [UInt8]) throws(CryptoError) {
    let message = try begin(ownTurn: false)
    guard bytes.count == Self.messageSizes[message] else {
      throw CryptoError(
        .messageSize,
        "handshake message \(message + 1) has \(Self.messageSizes[message]) bytes, this one has \(bytes.count)")
    }
    var rest = bytes[...]
    if message < 2 { readEphemeral(&rest) }
    if message == 1 { try mixKey(ownEphemeral, remoteEphemeral) }
    if message > 0 { try readStatic(&rest) }
    _ = try symmetric.decryptAndHash(Array(rest))
    state = .expecting(message: message + 1)
  }

  /// Returns the session after the third message. Throws `.outOfTurn` before it.
  package func split() throws(CryptoError) -> NoiseSession {
    guard isComplete else { throw CryptoError(.outOfTurn, "the handshake is not complete") }
    let (dialler, listener) = symmetric.split()
    return NoiseSession(
      handshakeHash: symmetric.hash, remoteStatic: remoteStatic,
      sending: role == .dialler ? dialler : listener, receiving: role == .dialler ? listener : dialler)
  }
}

extension NoiseHandshake {
  /// Returns whether this side writes a message. The dialler writes the even messages.
  private func isOwnTurn(_ message: Int) -> Bool { message.isMultiple(of: 2) == (role == .dialler) }

  /// Returns the next message. From here on, the handshake counts as failed until the message is done.
  private mutating func begin(ownTurn: Bool) throws(CryptoError) -> Int {
    guard case .expecting(let message) = state, message < Self.messageSizes.count else {
      throw CryptoError(.outOfTurn, "the handshake has ended; start another one")
    }
    guard isOwnTurn(message) == ownTurn else {
      throw CryptoError(.outOfTurn, "handshake message \(message + 1) is \(ownTurn ? "the peer's" : "this side's")")
    }
    state = .failed
    return message
  }

  // Writes token e.
  private mutating func writeEphemeral() -> [UInt8] {
    symmetric.mixHash(ownEphemeral.publicKey)
    return ownEphemeral.publicKey
  }

  private mutating func readEphemeral(_ rest: inout ArraySlice<UInt8>) {
    remoteEphemeral = Array(rest.prefix(X25519.size))
    rest = rest.dropFirst(X25519.size)
    symmetric.mixHash(remoteEphemeral)
  }

  // Writes tokens ee, s, es of the second message, whose sender is the listener.
  private mutating func writeAgreements() throws(CryptoError) -> [UInt8] {
    try mixKey(ownEphemeral, remoteEphemeral)
    return try writeStatic()
  }

  // Writes tokens s and es (listener) or s and se (dialler), which combine the sender's static key with the other's
  // ephemeral key.
  private mutating func writeStatic() throws(CryptoError) -> [UInt8] {
    let encrypted = try symmetric.encryptAndHash(ownStatic.publicKey)
    try mixKey(ownStatic, remoteEphemeral)
    return encrypted
  }

  private mutating func readStatic(_ rest: inout ArraySlice<UInt8>) throws(CryptoError) {
    let size = X25519.size + CipherState.tagSize
    remoteStatic = try symmetric.decryptAndHash(Array(rest.prefix(size)))
    rest = rest.dropFirst(size)
    try mixKey(ownEphemeral, remoteStatic)
  }

  private mutating func mixKey(_ own: X25519, _ peer: [UInt8]) throws(CryptoError) {
    guard let shared = own.agree(with: peer) else {
      throw CryptoError(.lowOrderKey, "a key of the peer leads to an all-zero agreement")
    }
    symmetric.mixKey(shared)
  }
}
