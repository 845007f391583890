/// The reason that a cryptographic operation was refused. It names the object and the rule, never a key or a plaintext.
package struct CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// libsodium could not start. The process must not continue.
    case unavailable
    /// The bytes of a key file are not such a key. The caller names the file, and restores it from a copy.
    case keyFile
    /// The text is not a recovery key. The caller asks for it again.
    case recoveryText
    /// A message has a size that the protocol doesn't allow. The caller ends the session.
    case messageSize
    /// A public key of the peer leads to an all-zero agreement. The caller ends the session.
    case lowOrderKey
    /// A tag doesn't match: the bytes were altered, replayed or meant for another key. The caller ends the session.
    case authentication
    /// A handshake was asked for a step that is not next, or it has already failed. This is a defect of the caller.
    case outOfTurn
    /// A session has used up its nonces. The caller ends it and starts another.
    case nonceExhausted
  }

  package let code: Code
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "\(message) [\(code.rawValue)]" }
}
