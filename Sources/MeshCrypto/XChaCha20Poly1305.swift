import CSodium

/// The authenticated encryption of change sets and sealed secrets.
enum XChaCha20Poly1305 {
  static let keySize = 32
  static let nonceSize = 24
  static let tagSize = 16

  static func encrypt(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
    precondition(key.count == keySize && nonce.count == nonceSize, "XChaCha20 takes a 32-byte key, a 24-byte nonce")
    return [UInt8](count: plaintext.count + tagSize) {
      _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
        $0, nil, plaintext, UInt64(plaintext.count), associated, UInt64(associated.count), nil, nonce, key)
    }
  }

  static func decrypt(_ ciphertext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8]? {
    guard key.count == keySize, nonce.count == nonceSize, ciphertext.count >= tagSize else { return nil }
    var plaintext = [UInt8](repeating: 0, count: ciphertext.count - tagSize)
    let isGenuine =
      crypto_aead_xchacha20poly1305_ietf_decrypt(
        &plaintext, nil, nil, ciphertext, UInt64(ciphertext.count), associated, UInt64(associated.count), nonce, key)
      == 0
    return isGenuine ? plaintext : nil
  }
}
