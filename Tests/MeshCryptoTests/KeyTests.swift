import MeshCore
import Testing

@testable import MeshCrypto

struct KeyTests {
  @Test("device keys come back from their bytes") func deviceKeysComeBackFromTheirBytes() throws {
    let keys = DeviceKeys(randomness: SystemRandomness())
    let again = try DeviceKeys(encoded: keys.encoded)
    #expect(again.signingKey == keys.signingKey)
    #expect(again.sealingKey == keys.sealingKey)
    #expect(again.sessionKey == keys.sessionKey)
    #expect(again.encoded == keys.encoded)
    #expect(try Sodium().verify(again.sign([1]), of: [1], by: keys.signingKey))
  }

  @Test("new device keys differ from all others and among themselves")
  func newDeviceKeysDifferFromAllOthersAndAmongThemselves() {
    let (one, two) = (DeviceKeys(randomness: SystemRandomness()), DeviceKeys(randomness: SystemRandomness()))
    #expect(Set([one, two].flatMap { [$0.signingKey, $0.sealingKey, $0.sessionKey] }).count == 6)
  }

  @Test("device keys are those of their seeds") func deviceKeysAreThoseOfTheirSeeds() {
    // The order of the seeds is signing, session, sealing. The values come from PyNaCl.
    let keys = DeviceKeys(randomness: FixedRandomness(blocks: [0x11, 0x11, 0x22]))
    #expect(hex(keys.sessionKey) == "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13")
    #expect(hex(keys.sealingKey) == "0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f20")
    #expect(keys.signingKey == Ed25519(seed: repeated(0x11)).publicKey)
  }

  @Test("a damaged key file is refused wherever the damage is") func aDamagedKeyFileIsRefusedWhereverTheDamageIs() {
    let encoded = DeviceKeys(randomness: FixedRandomness(blocks: [1, 2, 3])).encoded
    for index in encoded.indices {
      var damaged = encoded
      damaged[index] ^= 1
      #expect(CryptoError.code { _ = try DeviceKeys(encoded: damaged) } == .keyFile)
      #expect(CryptoError.code { _ = try DeviceKeys(encoded: Array(encoded.prefix(index))) } == .keyFile)
    }
    #expect(CryptoError.code { _ = try DeviceKeys(encoded: encoded + [0]) } == .keyFile)
  }

  @Test("an account key comes back from its bytes, and is not a device's")
  func anAccountKeyComesBackFromItsBytesAndIsNotADevices() throws {
    let key = AccountKey(randomness: SystemRandomness())
    let again = try AccountKey(encoded: key.encoded)
    #expect(again.publicKey == key.publicKey)
    #expect(try Sodium().verify(again.sign([1]), of: [1], by: key.publicKey))
    #expect(CryptoError.code { _ = try DeviceKeys(encoded: key.encoded) } == .keyFile)
    #expect(CryptoError.code { _ = try AccountKey(encoded: []) } == .keyFile)
  }

  @Test("printing keys prints no secret") func printingKeysPrintsNoSecret() {
    let keys = DeviceKeys(randomness: FixedRandomness(0xd7))
    var dumped = ""
    dump(keys, to: &dumped)
    dump(AccountKey(randomness: FixedRandomness(0xd7)), to: &dumped)
    dump(RecoveryKey(randomness: FixedRandomness(0xd7)), to: &dumped)
    // 0xd7 is 215. The seed consists only of this byte, so three of them in a row would be the seed.
    #expect(!"\(keys) \(dumped)".filter { !$0.isWhitespace && $0 != "-" }.contains("215,215,215"))
    #expect(!dumped.contains("- 215\n"))
    #expect(dumped.contains("(secret)"))
  }
}
