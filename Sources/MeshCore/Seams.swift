/// Wall time, as a parameter: the simulator supplies its own.
public protocol Clock: Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z; may jump either way.
  func milliseconds() -> Int64
}

/// The source of all randomness, as a parameter: the simulator supplies a seeded one.
public protocol Randomness: Sendable {
  /// `count` fresh bytes. For keys and nonces the source is the operating system's generator.
  func bytes(_ count: Int) -> [UInt8]
}

/// The public primitives: hashing, verification, authenticated encryption.
public protocol Cryptography: Sendable {
  /// BLAKE2b of `message`, `count` bytes (16, 24, 32 or 64) long, keyed where `key` is not empty (16 to 64 bytes).
  func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8]
  /// The same of several messages: a long BLOB's chunks are hashed side by side where there are cores for it.
  func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]]
  /// BLAKE2b-128 without a key, for hot paths: the two halves, little-endian.
  func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64)
  /// Ed25519 verification with libsodium's strictness. `signature` is 64 bytes, `key` 32; any other length is false.
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool
  /// XChaCha20-Poly1305 (IETF): 32-byte key, 24-byte nonce; returns ciphertext ‖ 16-byte tag.
  func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]
  /// The plaintext, or nil where the tag does not match.
  func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]?
  /// Seals a 32-byte secret to a device's X25519 sealing key; `context` is zone ‖ epoch ‖ recipient.
  /// Returns ephemeral public key ‖ ciphertext ‖ tag (80 bytes), or nil for a low-order recipient key.
  func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]?
  /// An Ed25519 signature by the key pair that a 32-byte seed opens to (links and recovery keys).
  func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8]
  /// The Ed25519 public key of a 32-byte seed.
  func publicKey(seed: [UInt8]) -> [UInt8]
}

/// What a device can do with its private keys, which never leave the implementation.
public protocol DeviceSecrets: Sendable {
  /// Ed25519 public key, 32 bytes; it is the device's id.
  var signingKey: [UInt8] { get }
  /// X25519 public key of sealing, 32 bytes.
  var sealingKey: [UInt8] { get }
  /// X25519 public key of sessions (Noise static), 32 bytes.
  var sessionKey: [UInt8] { get }
  /// Ed25519 signature, 64 bytes.
  func sign(_ message: [UInt8]) -> [UInt8]
  /// Opens what `Cryptography.seal` made for this device; nil where it was not, or was altered.
  func open(_ sealed: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]?
}

extension Cryptography {
  public func hash(_ message: [UInt8]) -> [UInt8] { hash(message, count: 32, key: []) }

  public func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    messages.map { hash($0, count: count, key: key) }
  }
}

/// `length ‖ context ‖ bytes`: what every Ed25519 signature of the mesh covers. The length is that of the context, one byte.
public func signedBytes(_ context: SignatureContext, _ bytes: [UInt8]) -> [UInt8] {
  let name = Array(context.rawValue.utf8)
  return [UInt8(name.count)] + name + bytes
}

/// One context per kind of signed object, so that a signature on one can never stand for another.
public enum SignatureContext: String, Sendable, CaseIterable {
  case certificate = "mesh/1/certificate"
  case request = "mesh/1/request"
  case revocation = "mesh/1/revocation"
  case successor = "mesh/1/successor"
  case promotion = "mesh/1/promotion"
  case demotion = "mesh/1/demotion"
  case changeSet = "mesh/1/changeset"
  case control = "mesh/1/control"
  case hello = "mesh/1/hello"
  case invite = "mesh/1/invite"
  case claim = "mesh/1/claim"
  case acknowledgement = "mesh/1/acknowledgement"
  case address = "mesh/1/address"
  case checkpoint = "mesh/1/checkpoint"
  case cut = "mesh/1/cut"
}
