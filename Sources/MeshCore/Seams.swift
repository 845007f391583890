/// The wall clock, as a parameter. The simulator supplies its own.
package protocol Clock: Sendable {
  /// Returns the milliseconds since 1970-01-01T00:00:00Z. The value may jump in either direction.
  func milliseconds() -> Int64
}

/// The source of all randomness, as a parameter. The simulator supplies a seeded one.
package protocol Randomness: Sendable {
  /// Returns `count` fresh bytes. For keys and nonces, the source is the operating system's generator.
  func bytes(_ count: Int) -> [UInt8]
}

/// The cryptographic functions that need no private key of a device, such as hashing, verification and authenticated
/// encryption.
package protocol Cryptography: Sendable {
  /// Returns the BLAKE2b hash of `message`, with `count` bytes (16, 24, 32 or 64). The hash is keyed if `key` is not
  /// empty (16 to 64 bytes).
  func hash(_ message: [UInt8], count: Int, key: [UInt8]) -> [UInt8]
  /// Returns the hashes of several messages. The chunks of a long BLOB are hashed in parallel if there are enough
  /// cores.
  func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]]
  /// Returns the BLAKE2b-128 hash without a key, for hot paths. The result is the two halves, little-endian.
  func hash128(_ message: UnsafeRawBufferPointer) -> (UInt64, UInt64)
  /// Verifies an Ed25519 signature with libsodium's strictness. `signature` has 64 bytes and `key` has 32. Returns
  /// false for any other length.
  func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool
  /// Verifies several signatures, in parallel if there are enough cores. Returns a result for each.
  func verify(_ messages: [SignedMessage]) -> [Bool]
  /// Encrypts with XChaCha20-Poly1305 (IETF), a 32-byte key and a 24-byte nonce. Returns ciphertext ‖ 16-byte tag.
  func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]
  /// Returns the plaintext, or nil if the tag doesn't match.
  func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]?
  /// Seals a 32-byte secret to a device's X25519 sealing key. The `context` is zone ‖ epoch ‖ recipient. Returns
  /// ephemeral public key ‖ ciphertext ‖ tag (80 bytes), or nil if the recipient's key has low order.
  func seal(_ secret: [UInt8], to recipient: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]?
  /// Returns an Ed25519 signature by the key pair of a 32-byte seed. Invites and recovery keys are such seeds.
  func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8]
  /// Returns the Ed25519 public key of a 32-byte seed.
  func publicKey(seed: [UInt8]) -> [UInt8]
}

/// The operations that need a device's private keys. The keys never leave the implementation.
package protocol DeviceSecrets: Sendable {
  /// The device's Ed25519 public key, 32 bytes. It is the device's id.
  var signingKey: [UInt8] { get }
  /// The device's X25519 public key for sealing, 32 bytes.
  var sealingKey: [UInt8] { get }
  /// The device's X25519 public key for sessions (Noise static), 32 bytes.
  var sessionKey: [UInt8] { get }
  /// Returns an Ed25519 signature, 64 bytes.
  func sign(_ message: [UInt8]) -> [UInt8]
  /// Opens a secret that `Cryptography.seal` sealed to this device. Returns nil if it was sealed to another key or was
  /// altered.
  func open(_ sealed: [UInt8], epoch: [UInt8], context: [UInt8]) -> [UInt8]?
}

extension Cryptography {
  package func hash(_ message: [UInt8]) -> [UInt8] { hash(message, count: 32, key: []) }

  package func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    messages.map { hash($0, count: count, key: key) }
  }

  package func verify(_ messages: [SignedMessage]) -> [Bool] {
    messages.map { verify($0.signature, of: $0.message, by: $0.key) }
  }
}

/// A message with the Ed25519 signature that it claims to have.
package struct SignedMessage: Sendable {
  package let signature: [UInt8]
  package let message: [UInt8]
  /// The public key of the signer.
  package let key: [UInt8]

  package init(_ message: [UInt8], signature: [UInt8], key: [UInt8]) {
    (self.message, self.signature, self.key) = (message, signature, key)
  }
}

/// Returns `length ‖ context ‖ bytes`, the input of every Ed25519 signature in the mesh. The length is one byte and
/// counts the bytes of the context.
package func signedBytes(_ context: SignatureContext, _ bytes: [UInt8]) -> [UInt8] {
  let name = Array(context.rawValue.utf8)
  return [UInt8(name.count)] + name + bytes
}

/// The kinds of signed objects. Each has its own context, so that a signature on one kind is never valid for another.
package enum SignatureContext: String, Sendable, CaseIterable {
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
