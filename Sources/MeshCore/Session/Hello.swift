/// The first message inside an encrypted session, in which a node identifies itself. The node that dialed sends it
/// first.
package struct Hello: Hashable, Sendable {
  /// The versions of the session protocol that the sender speaks, ascending, at most 16.
  package var versions: [UInt8]
  /// The sender's certificate. Nil only for a device that is joining by an invite.
  package var certificate: Certificate?
  /// The 32-byte hash of the sender's state of its account. The peer notices a difference by it.
  package var accountHead: [UInt8]
  /// The proof that the sender holds an invite's secret.
  package var proof: InviteProof?
  /// The signature by the certificate's device over `signedBytes(.hello, binding ‖ unsigned)`. Empty without a
  /// certificate.
  package var signature: [UInt8]

  /// The version of the session protocol that this program speaks.
  package static let version: UInt8 = 3

  /// Creates an unsigned hello that offers this program's version.
  package init(certificate: Certificate?, accountHead: [UInt8], proof: InviteProof? = nil) {
    versions = [Self.version]
    self.certificate = certificate
    self.accountHead = accountHead
    self.proof = proof
    signature = []
  }

  /// Signs the hello as the certificate's device, for one direction of one session.
  package mutating func sign(_ secrets: any DeviceSecrets, _ binding: SessionBinding) {
    signature = secrets.sign(signedBytes(.hello, binding.bytes + unsigned))
  }

  /// Returns whether the certificate's device signed the hello for this session. A hello without a certificate must
  /// have no signature.
  package func isSigned(_ binding: SessionBinding, _ cryptography: any Cryptography) -> Bool {
    guard let certificate else { return signature.isEmpty }
    return cryptography.verify(
      signature, of: signedBytes(.hello, binding.bytes + unsigned), by: certificate.device.bytes)
  }

  private var unsigned: [UInt8] {
    var writer = ByteWriter()
    writer.sized(versions)
    writer.byte(certificate == nil ? 0 : 1)
    certificate?.write(to: &writer)
    writer.raw(accountHead)
    writer.byte(proof == nil ? 0 : 1)
    proof?.write(to: &writer)
    return writer.bytes
  }

  /// Writes the content, then the signature with its length (0 or 64 bytes).
  package func write(to writer: inout ByteWriter) {
    writer.raw(unsigned)
    writer.sized(signature)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    versions = try reader.sized(Limits.versions, "versions")
    guard zip(versions, versions.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw .invalid("versions in ascending order")
    }
    certificate = try reader.flag() ? try Certificate(from: &reader) : nil
    accountHead = try reader.raw(32)
    proof = try reader.flag() ? try InviteProof(from: &reader) : nil
    signature = try reader.sized(64, "signature")
    guard signature.count == (certificate == nil ? 0 : 64) else {
      throw .invalid("a hello is signed where it has a certificate")
    }
  }
}

/// Data that ties a signature to one session and one direction of it.
package struct SessionBinding: Hashable, Sendable {
  /// The side of a session that signs. The numbers are those on the wire.
  package enum Role: UInt8, Sendable {
    /// The node that opened the TCP connection.
    case dialler = 0
    /// The node that accepted the TCP connection.
    case listener = 1
    /// The side of the peer.
    package var other: Role { self == .dialler ? .listener : .dialler }
  }

  /// The signer's role ‖ handshake hash ‖ static key of the signer's peer.
  package let bytes: [UInt8]

  /// Creates the binding of a hello.
  ///
  /// - Parameters:
  ///   - handshakeHash: The hash of the Noise handshake, which both sides compute.
  ///   - peerStatic: The X25519 session key of the signer's peer, 32 bytes.
  package init(signer: Role, handshakeHash: [UInt8], peerStatic: [UInt8]) {
    bytes = [signer.rawValue] + handshakeHash + peerStatic
  }
}

/// The proof that a device holds an invite's secret: the public half, and its signature over the handshake hash.
package struct InviteProof: Hashable, Sendable {
  /// The Ed25519 public key of the invite, 32 bytes. The issuer knows its invites by it.
  package let publicHalf: [UInt8]
  /// The Ed25519 signature over the handshake hash, 64 bytes.
  package let signature: [UInt8]

  /// Signs the handshake hash with an invite's secret, so that the proof is valid in this session only.
  package init(seed: [UInt8], handshakeHash: [UInt8], _ cryptography: any Cryptography) {
    publicHalf = cryptography.publicKey(seed: seed)
    signature = cryptography.sign(signedBytes(.invite, handshakeHash), seed: seed)
  }

  /// Returns whether the holder of the secret signed this handshake hash.
  package func isValid(handshakeHash: [UInt8], _ cryptography: any Cryptography) -> Bool {
    cryptography.verify(signature, of: signedBytes(.invite, handshakeHash), by: publicHalf)
  }

  func write(to writer: inout ByteWriter) {
    writer.raw(publicHalf)
    writer.raw(signature)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    publicHalf = try reader.raw(32)
    signature = try reader.raw(64)
  }
}

extension ByteReader {
  /// Reads one byte that is 0 or 1.
  mutating func flag() throws(FormatError) -> Bool {
    switch try byte() {
    case 0: false
    case 1: true
    default: throw .unknown("flag")
    }
  }
}
