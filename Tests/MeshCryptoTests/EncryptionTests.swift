import MeshCore
import Testing

@testable import MeshCrypto

struct EncryptionTests {
  let sodium: Sodium
  init() throws { sodium = try Sodium() }

  /// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
  @Test("XChaCha20-Poly1305 gives the ciphertext of its draft") func xChaCha20Poly1305GivesTheCiphertextOfItsDraft() {
    let plaintext = Array(
      ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
        + "sunscreen would be it.").utf8)
    let key = (0x80...0x9f).map { UInt8($0) }
    let nonce = (0x40...0x57).map { UInt8($0) }
    let associated = bytes("50515253c0c1c2c3c4c5c6c7")
    let expected =
      "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
      + "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
      + "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
      + "21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49"
    let ciphertext = sodium.encrypt(plaintext, key: key, nonce: nonce, associated: associated)
    #expect(hex(ciphertext) == expected)
    #expect(sodium.decrypt(ciphertext, key: key, nonce: nonce, associated: associated) == plaintext)
  }

  @Test("an altered, truncated or extended ciphertext does not open")
  func anAlteredTruncatedOrExtendedCiphertextDoesNotOpen() {
    let (key, nonce) = (repeated(1), repeated(2, 24))
    let ciphertext = sodium.encrypt(counting(40), key: key, nonce: nonce, associated: [3])
    for bit in 0..<ciphertext.count * 8 {
      var altered = ciphertext
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(sodium.decrypt(altered, key: key, nonce: nonce, associated: [3]) == nil)
    }
    for count in 0..<ciphertext.count {
      #expect(sodium.decrypt(Array(ciphertext.prefix(count)), key: key, nonce: nonce, associated: [3]) == nil)
    }
    #expect(sodium.decrypt(ciphertext + [0], key: key, nonce: nonce, associated: [3]) == nil)
  }

  @Test("a ciphertext opens only with its key, nonce and associated data")
  func aCiphertextOpensOnlyWithItsKeyNonceAndAssociatedData() {
    let ciphertext = sodium.encrypt([], key: repeated(1), nonce: repeated(2, 24), associated: [3])
    #expect(sodium.decrypt(ciphertext, key: repeated(1), nonce: repeated(2, 24), associated: [3]) == [])
    #expect(sodium.decrypt(ciphertext, key: repeated(9), nonce: repeated(2, 24), associated: [3]) == nil)
    #expect(sodium.decrypt(ciphertext, key: repeated(1), nonce: repeated(9, 24), associated: [3]) == nil)
    #expect(sodium.decrypt(ciphertext, key: repeated(1), nonce: repeated(2, 24), associated: []) == nil)
    #expect(sodium.decrypt(ciphertext, key: [], nonce: repeated(2, 24), associated: [3]) == nil)
  }

  /// The expected values come from the Python package cryptography, with the nonce of the Noise specification:
  /// `ChaCha20Poly1305(key).encrypt(bytes(4) + n.to_bytes(8, "little"), b"mesh", b"ad")`.
  @Test(
    "Noise ciphers number their messages little-endian",
    arguments: [
      (UInt64(0), "75dd31596e224a84d320db5829aead1c6da16566"),
      (UInt64(0x0102_0304_0506_0708), "9d2cde8c714df20533107a1f1641971e7a13f4e2"),
    ])
  func noiseCiphersNumberTheirMessagesLittleEndian(number: UInt64, expected: String) throws {
    var cipher = CipherState(key: counting(32), number: number)
    #expect(hex(try cipher.encrypt(Array("mesh".utf8), associated: Array("ad".utf8))) == expected)
  }

  @Test("the last number is never used") func theLastNumberIsNeverUsed() throws {
    var sending = CipherState(key: repeated(1), number: .max - 1)
    var receiving = sending
    #expect(try receiving.decrypt(try sending.encrypt([7], associated: []), associated: []) == [7])
    #expect(CryptoError.code { _ = try sending.encrypt([7], associated: []) } == .nonceExhausted)
    #expect(CryptoError.code { _ = try receiving.decrypt(repeated(0), associated: []) } == .nonceExhausted)
  }

  /// RFC 7748, section 5.2.
  @Test("X25519 agrees as RFC 7748 says") func x25519AgreesAsRFC7748Says() {
    let pair = X25519(secret: bytes("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"))
    #expect(
      pair.agree(with: bytes("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")).map(hex)
        == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")

    var (scalar, point) = ([9] + repeated(0, 31), [9] + repeated(0, 31))
    for _ in 0..<1_000 { (scalar, point) = (X25519(secret: scalar).agree(with: point) ?? [], scalar) }
    #expect(hex(scalar) == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
  }

  @Test("X25519 refuses a key of small order", arguments: lowOrderKeys)
  func x25519RefusesAKeyOfSmallOrder(key: [UInt8]) {
    #expect(X25519(secret: repeated(5)).agree(with: key) == nil)
  }
}
