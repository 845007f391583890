/// The wall clock, as a parameter. The simulator supplies its own.
package protocol TimeSource: Sendable {
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
  /// Returns the hash of a message, 32 bytes, without a key.
  package func hash(_ message: [UInt8]) -> [UInt8] { hash(message, count: 32, key: []) }

  /// Hashes one message after the other. An implementation with several cores replaces this.
  package func hashes(_ messages: [[UInt8]], count: Int, key: [UInt8]) -> [[UInt8]] {
    messages.map { hash($0, count: count, key: key) }
  }

  /// Verifies one message after the other. An implementation with several cores replaces this.
  package func verify(_ messages: [SignedMessage]) -> [Bool] {
    messages.map { verify($0.signature, of: $0.message, by: $0.key) }
  }
}

/// A message with the Ed25519 signature that it claims to have.
package struct SignedMessage: Sendable {
  /// 64 bytes. Any other length is not valid.
  package let signature: [UInt8]
  /// The bytes that were signed, as `signedBytes` returns them.
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
  /// A `Certificate`, by the account's key or an administrator's.
  case certificate = "mesh/1/certificate"
  /// A `CertificateRequest`, by the device that wants to be certified.
  case request = "mesh/1/request"
  /// A `Revocation`, by the account's key or an administrator's.
  case revocation = "mesh/1/revocation"
  /// A `Successor`, by the account's recovery key.
  case successor = "mesh/1/successor"
  /// A `Promotion`, by the account's key.
  case promotion = "mesh/1/promotion"
  /// A `Demotion`, by the account's key.
  case demotion = "mesh/1/demotion"
  /// The id of a `ChangeSet`, by the device that wrote it.
  case changeSet = "mesh/1/changeset"
  /// A `ControlRecord`, by the device that wrote it.
  case control = "mesh/1/control"
  /// A `Hello`, by the device that sends it.
  case hello = "mesh/1/hello"
  /// A handshake hash, by an invite's secret (see `InviteProof`).
  case invite = "mesh/1/invite"
  /// A `DeviceClaim` or a `ShareClaim`, by the invite's secret and by the device.
  case claim = "mesh/1/claim"
  /// An `Acknowledgement`, by the device that has merged the change sets.
  case acknowledgement = "mesh/1/acknowledgement"
  /// Reserved for addresses of devices. This version signs none.
  case address = "mesh/1/address"
  /// Reserved for checkpoints of logs. This version signs none.
  case checkpoint = "mesh/1/checkpoint"
  /// A `DeviceCut`, by the account's key or an administrator's.
  case cut = "mesh/1/cut"
}
