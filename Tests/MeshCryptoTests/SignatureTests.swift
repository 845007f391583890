import MeshCore
import Testing

@testable import MeshCrypto

struct SignatureTests {
  let sodium: Sodium
  init() throws { sodium = try Sodium() }

  /// The seed, public key, message and signature of tests 1 to 3 in RFC 8032, section 7.1.
  static let vectors: [(String, String, String, String)] = [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        + "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    ),
    (
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  @Test("signatures are those of RFC 8032", arguments: vectors)
  func signaturesAreThoseOfRFC8032(seed: String, key: String, message: String, signature: String) {
    #expect(hex(sodium.publicKey(seed: bytes(seed))) == key)
    #expect(hex(sodium.sign(bytes(message), seed: bytes(seed))) == signature)
    #expect(sodium.verify(bytes(signature), of: bytes(message), by: bytes(key)))
  }

  @Test("a signature with any bit flipped is refused") func aSignatureWithAnyBitFlippedIsRefused() {
    let (key, message) = (sodium.publicKey(seed: repeated(1)), Array("mesh".utf8))
    let signature = sodium.sign(message, seed: repeated(1))
    for bit in 0..<signature.count * 8 {
      var altered = signature
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(!sodium.verify(altered, of: message, by: key))
    }
  }

  @Test("a signature on another message, by another key, or of another length is refused")
  func aSignatureOnAnotherMessageByAnotherKeyOrOfAnotherLengthIsRefused() {
    let (key, message) = (sodium.publicKey(seed: repeated(1)), Array("mesh".utf8))
    let signature = sodium.sign(message, seed: repeated(1))
    #expect(!sodium.verify(signature, of: message + [0], by: key))
    #expect(!sodium.verify(signature, of: message, by: sodium.publicKey(seed: repeated(2))))
    #expect(!sodium.verify(Array(signature.dropLast()), of: message, by: key))
    #expect(!sodium.verify(signature + [0], of: message, by: key))
    #expect(!sodium.verify(signature, of: message, by: key + [0]))
    #expect(!sodium.verify([], of: message, by: []))
  }

  @Test("a signature by a key of small order is refused") func aSignatureByAKeyOfSmallOrderIsRefused() {
    let identity: [UInt8] = [1] + repeated(0, 31)
    #expect(!sodium.verify(identity + repeated(0), of: Array("mesh".utf8), by: identity))
  }

  @Test("several signatures are verified at once, each for itself")
  func together() {
    let seeds = (UInt8(1)...70).map { [UInt8](repeating: $0, count: 32) }
    let messages = seeds.enumerated().map { index, seed in
      // Some are signed by another key, and some are cut off.
      let signer = index % 7 == 3 ? seeds[0] : seed
      let signature = sodium.sign([UInt8(index)], seed: signer)
      return SignedMessage(
        [UInt8(index)], signature: index % 11 == 5 ? Array(signature.dropLast()) : signature,
        key: sodium.publicKey(seed: seed))
    }
    #expect(sodium.verify(messages) == messages.indices.map { $0 % 7 != 3 && $0 % 11 != 5 })
    #expect(sodium.verify([]) == [])
  }
}
