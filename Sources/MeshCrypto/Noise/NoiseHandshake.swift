public import MeshCore

/// One side of a handshake Noise_XX_25519_ChaChaPoly_BLAKE2b (Noise specification, revision 34) with empty payloads.
///
/// | message | from | tokens | bytes |
/// |---|---|---|---|
/// | 1 | dialler | e | 32 |
/// | 2 | listener | e, ee, s, es | 96 |
/// | 3 | dialler | s, se | 64 |
///
/// After the third, both sides `split()`. A message that fails ends the handshake: every later step is refused.
public struct NoiseHandshake: Sendable {
  public enum Role: Sendable, Equatable {
    /// The initiator.
    case dialler
    /// The responder.
    case listener
  }

  /// What both sides must have said before the handshake begins.
  public static let prologue = Array("mesh/1".utf8)
  /// The bytes of each message, in order. Nothing else is ever sent or accepted.
  public static let messageSizes = [32, 96, 64]

  public let role: Role
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

  /// - Parameters:
  ///   - keys: whose session key this side shows.
  ///   - randomness: where this side's ephemeral key comes from, 32 bytes, read here.
  public init(
    role: Role, keys: DeviceKeys, prologue: [UInt8] = Self.prologue, randomness: any Randomness
  ) {
    self.role = role
    ownStatic = keys.noiseStatic
    ownEphemeral = X25519(randomness: randomness)
    symmetric = SymmetricState(protocolName: "Noise_XX_25519_ChaChaPoly_BLAKE2b")
    symmetric.mixHash(prologue)
  }

  /// How many bytes the next message has, when it is the peer's turn; nil when it is this side's, or none is left.
  public var expectedSize: Int? {
    guard case .expecting(let message) = state, message < Self.messageSizes.count, !isOwnTurn(message) else {
      return nil
    }
    return Self.messageSizes[message]
  }

  /// True when only `split()` is left to do.
  public var isComplete: Bool { state == .expecting(message: Self.messageSizes.count) }

  /// The next message of this side. Throws `.outOfTurn` when it is the peer's turn, `.lowOrderKey` when an agreement is
  /// all zero.
  public mutating func writeMessage() throws(CryptoError) -> [UInt8] {
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

  /// Takes the peer's next message. Throws `.outOfTurn`, `.messageSize`, `.authentication` or `.lowOrderKey`.
  public mutating func readMessage(_ bytes: [UInt8]) throws(CryptoError) {
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

  /// The session after the third message. Throws `.outOfTurn` before it.
  public func split() throws(CryptoError) -> NoiseSession {
    guard isComplete else { throw CryptoError(.outOfTurn, "the handshake is not complete") }
    let (dialler, listener) = symmetric.split()
    return NoiseSession(
      handshakeHash: symmetric.hash, remoteStatic: remoteStatic,
      sending: role == .dialler ? dialler : listener, receiving: role == .dialler ? listener : dialler)
  }
}

extension NoiseHandshake {
  /// The dialler writes the even messages.
  private func isOwnTurn(_ message: Int) -> Bool { message.isMultiple(of: 2) == (role == .dialler) }

  /// The message that is next. The handshake counts as failed from here until the message is done.
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

  // Token e.
  private mutating func writeEphemeral() -> [UInt8] {
    symmetric.mixHash(ownEphemeral.publicKey)
    return ownEphemeral.publicKey
  }

  private mutating func readEphemeral(_ rest: inout ArraySlice<UInt8>) {
    remoteEphemeral = Array(rest.prefix(X25519.size))
    rest = rest.dropFirst(X25519.size)
    symmetric.mixHash(remoteEphemeral)
  }

  // Tokens ee, s, es of the second message, whose sender is the listener.
  private mutating func writeAgreements() throws(CryptoError) -> [UInt8] {
    try mixKey(ownEphemeral, remoteEphemeral)
    return try writeStatic()
  }

  // Tokens s and es (listener) or s and se (dialler): the static key of the sender meets the ephemeral of the other.
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
