package import MeshCore

/// The offline key of an account, which can name a successor of its signing key. A person keeps it as text.
///
/// The text is `mesh-recovery-` and 56 characters of base32 in groups of eight. They encode the 32-byte seed and three
/// bytes of BLAKE2b-256 over `mesh/1/recovery-key` ‖ seed. Case, blanks and hyphens between groups don't matter when
/// the text is read.
package struct RecoveryKey: Sendable {
  private let seed: Secret
  private let pair: Ed25519

  /// Creates a new key. Outside of simulations, `randomness` is the operating system's generator.
  package init(randomness: any Randomness) {
    self.init(seed: randomness.bytes(Ed25519.seedSize))
  }

  /// Reads a key from its text. Throws `.recoveryText` with the fault, but never with the contents.
  package init(text: String) throws(CryptoError) {
    let digits = try Self.digits(in: text)
    guard digits.count == Self.digitCount, let bytes = Base32.decode(digits) else {
      throw CryptoError(
        .recoveryText, "a recovery key has \(Self.digitCount) characters after “\(Self.prefix)”, not \(digits.count)")
    }
    let seed = Array(bytes.prefix(Ed25519.seedSize))
    guard Self.checksum(seed) == Array(bytes.suffix(Self.checksumSize)) else {
      throw CryptoError(.recoveryText, "the recovery key's checksum does not match: a character is mistyped")
    }
    self.init(seed: seed)
  }

  /// The whole key as text, which is shown once and kept offline.
  package var text: String {
    let digits = Array(Base32.encode(seed.bytes + Self.checksum(seed.bytes)))
    let groups = stride(from: 0, to: digits.count, by: Self.group).map {
      String(digits[$0..<min($0 + Self.group, digits.count)])
    }
    return Self.prefix + groups.joined(separator: "-")
  }

  /// The Ed25519 public key, 32 bytes.
  package var publicKey: [UInt8] { pair.publicKey }

  /// Returns the Ed25519 signature of a message, 64 bytes.
  package func sign(_ message: [UInt8]) -> [UInt8] { pair.sign(message) }

  private init(seed: [UInt8]) {
    self.seed = Secret(seed)
    pair = Ed25519(seed: seed)
  }
}

extension RecoveryKey {
  private static let prefix = "mesh-recovery-"
  /// The size of the checksum in bytes. 35 bytes make 56 characters without a remainder. With 24 bits, one mistyped key
  /// in 16 million is accepted.
  private static let checksumSize = 3
  private static let digitCount = 56
  private static let group = 8

  private static func checksum(_ seed: [UInt8]) -> [UInt8] {
    Array(Blake2b.hash(Array("mesh/1/recovery-key".utf8) + seed, count: 32).prefix(checksumSize))
  }

  /// Returns the base32 of a text, in lower case, without the separators of its groups.
  private static func digits(in text: String) throws(CryptoError) -> String {
    let text = text.lowercased().drop { $0.isWhitespace }
    guard text.hasPrefix(prefix) else {
      throw CryptoError(.recoveryText, "a recovery key begins with “\(prefix)”")
    }
    var digits = ""
    for (offset, character) in text.enumerated().dropFirst(prefix.count) where !isSeparator(character) {
      guard ("a"..."z").contains(character) || ("2"..."7").contains(character) else {
        throw CryptoError(.recoveryText, "character \(offset + 1) of the recovery key is not one of a to z, 2 to 7")
      }
      digits.append(character)
    }
    return digits
  }

  private static func isSeparator(_ character: Character) -> Bool { character == "-" || character.isWhitespace }
}
