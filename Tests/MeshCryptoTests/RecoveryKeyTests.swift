import MeshCore
import Testing

@testable import MeshCrypto

/// The expected text comes from Python: `base64.b32encode(seed + hashlib.blake2b(b"mesh/1/recovery-key" + seed,
/// digest_size=32).digest()[:3])`.
struct RecoveryKeyTests {
  static let text = "mesh-recovery-aaaqeaye-audaocaj-bifqydio-b4ibceqt-cqkrmfyy-denbwha5-dypylzig"
  struct Counting: Randomness {
    func bytes(_ count: Int) -> [UInt8] { counting(count) }
  }

  @Test("a recovery key is shown in groups of base32") func aRecoveryKeyIsShownInGroupsOfBase32() {
    #expect(RecoveryKey(randomness: Counting()).text == Self.text)
  }

  @Test(
    "it is read whatever the case and the spacing",
    arguments: [
      text, text.uppercased(), "  \(text)\n", text.replacing("-aaaq", with: "-  aaaq"),
      "mesh-recovery-" + text.dropFirst(14).replacing("-", with: ""),
    ])
  func itIsReadWhateverTheCaseAndTheSpacing(text: String) throws {
    let key = try RecoveryKey(text: text)
    #expect(key.publicKey == Ed25519(seed: counting(32)).publicKey)
    #expect(try Sodium().verify(key.sign([1]), of: [1], by: key.publicKey))
  }

  @Test(
    "a wrong text is refused with what is wrong",
    arguments: [
      ("", "a recovery key begins with “mesh-recovery-”"),
      ("mesh-share-aaaq", "a recovery key begins with “mesh-recovery-”"),
      ("mesh-recovery-aaaq", "a recovery key has 56 characters after “mesh-recovery-”, not 4"),
      (text + "a", "a recovery key has 56 characters after “mesh-recovery-”, not 57"),
      (
        text.replacing("aaaqeaye", with: "aa1qeaye"), "character 17 of the recovery key is not one of a to z, 2 to 7"
      ),
      (
        text.replacing("aaaqeaye", with: "aaäqeaye"), "character 17 of the recovery key is not one of a to z, 2 to 7"
      ),
      (
        text.replacing("aaaqeaye", with: "aabqeaye"),
        "the recovery key's checksum does not match: a character is mistyped"
      ),
    ])
  func aWrongTextIsRefusedWithWhatIsWrong(text: String, message: String) {
    let error = #expect(throws: CryptoError.self) { try RecoveryKey(text: text) }
    #expect(error == CryptoError(.recoveryText, message))
  }

  @Test("every single mistyped character is noticed") func everySingleMistypedCharacterIsNoticed() {
    let start = "mesh-recovery-".count
    for index in Array(Self.text).indices.dropFirst(start) where Array(Self.text)[index] != "-" {
      var characters = Array(Self.text)
      characters[index] = characters[index] == "a" ? "b" : "a"
      #expect(CryptoError.code { _ = try RecoveryKey(text: String(characters)) } == .recoveryText)
    }
  }
}
