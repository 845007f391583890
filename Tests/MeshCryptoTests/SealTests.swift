import MeshCore
import Testing

@testable import MeshCrypto

struct SealTests {
  let epoch = repeated(0x33)
  let context = repeated(0x44, 96)
  let secret = counting(32)
  let recipient = DeviceKeys(randomness: FixedRandomness(blocks: [1, 2, 0x22]))

  /// The expected value was computed in Python from `X25519PrivateKey.exchange` (cryptography), `hashlib.blake2b` and
  /// `crypto_aead_xchacha20poly1305_ietf_encrypt` (PyNaCl). The ephemeral secret is 32 times 0x11.
  @Test("a secret is sealed as specified") func aSecretIsSealedAsSpecified() throws {
    let sodium = try Sodium(randomness: FixedRandomness(0x11))
    let sealed = try #require(sodium.seal(secret, to: recipient.sealingKey, epoch: epoch, context: context))
    #expect(
      hex(sealed)
        == "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13"
        + "1cb038a3781c76c905912e3d7076aef19cc78f483f259b5537b03ed1408868c1"
        + "881b107c835e8687c2ef50af5fe4dd1f")
    #expect(recipient.open(sealed, epoch: epoch, context: context) == secret)
  }

  @Test("only the recipient opens it, for that epoch and context") func onlyTheRecipientOpensItForThatEpochAndContext()
    throws
  {
    let sealed = try #require(Sodium().seal(secret, to: recipient.sealingKey, epoch: epoch, context: context))
    #expect(recipient.open(sealed, epoch: epoch, context: context) == secret)
    #expect(recipient.open(sealed, epoch: repeated(0), context: context) == nil)
    #expect(recipient.open(sealed, epoch: epoch, context: []) == nil)
    #expect(DeviceKeys(randomness: FixedRandomness(7)).open(sealed, epoch: epoch, context: context) == nil)
  }

  @Test("an altered or cut seal does not open") func anAlteredOrCutSealDoesNotOpen() throws {
    let sealed = try #require(Sodium().seal(secret, to: recipient.sealingKey, epoch: epoch, context: context))
    for index in sealed.indices {
      var altered = sealed
      altered[index] ^= 1
      #expect(recipient.open(altered, epoch: epoch, context: context) == nil)
      #expect(recipient.open(Array(sealed.prefix(index)), epoch: epoch, context: context) == nil)
    }
    #expect(recipient.open(sealed + [0], epoch: epoch, context: context) == nil)
  }

  @Test("two seals of one secret share nothing") func twoSealsOfOneSecretShareNothing() throws {
    let sodium = try Sodium()
    let one = try #require(sodium.seal(secret, to: recipient.sealingKey, epoch: epoch, context: context))
    let two = try #require(sodium.seal(secret, to: recipient.sealingKey, epoch: epoch, context: context))
    #expect(one.prefix(32) != two.prefix(32))
    #expect(one.suffix(48) != two.suffix(48))
  }

  @Test("keys of small order are refused on both sides", arguments: lowOrderKeys)
  func keysOfSmallOrderAreRefusedOnBothSides(key: [UInt8]) throws {
    #expect(try Sodium().seal(secret, to: key, epoch: epoch, context: context) == nil)
    #expect(recipient.open(key + repeated(0, 48), epoch: epoch, context: context) == nil)
  }

  @Test("a recipient's key of another length is refused") func aRecipientsKeyOfAnotherLengthIsRefused() throws {
    #expect(try Sodium().seal(secret, to: repeated(9, 31), epoch: epoch, context: context) == nil)
  }
}
