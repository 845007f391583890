import MeshCore
import Testing

@testable import MeshCrypto

/// The expected values come from Python 3.11: `hashlib.blake2b(message, digest_size=…, key=…)` and `hmac.new(key,
/// message, hashlib.blake2b)`. The value of "abc" comes from RFC 7693, appendix A.
struct HashTests {
  let sodium: Sodium
  init() throws { sodium = try Sodium() }

  @Test("BLAKE2b gives the digests of RFC 7693 at each length") func bLAKE2bGivesTheDigestsOfRFC7693AtEachLength() {
    let message = Array("mesh".utf8)
    #expect(hex(sodium.hash(message, count: 16, key: [])) == "f66ed13e64d922837fa20b6c63706775")
    #expect(hex(sodium.hash(message, count: 24, key: [])) == "fd54b54d0569f1797e97705133bed2ed7c9882092113caac")
    #expect(
      hex(sodium.hash(Array("abc".utf8), count: 64, key: []))
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
  }

  @Test("a key changes the digest") func aKeyChangesTheDigest() {
    #expect(
      hex(sodium.hash(Array("mesh".utf8), count: 32, key: counting(32)))
        == "7f1c2931899be7522e3f4d651f6455656ec73b1071d37480b0068d541e2b5199")
  }

  @Test("several messages have the digests that each has alone", arguments: [0, 1, 2, 9])
  func severalMessagesHaveTheDigestsThatEachHasAlone(count: Int) {
    let messages = (0..<count).map { [UInt8](repeating: UInt8($0), count: 1_000 * $0) }
    let key = counting(32)
    #expect(
      sodium.hashes(messages, count: 32, key: key) == messages.map { sodium.hash($0, count: 32, key: key) })
  }

  @Test("the hash of the hot path is the 16-byte digest in two little-endian halves")
  func theHashOfTheHotPathIsThe16ByteDigestInTwoLittleEndianHalves() {
    let halves = Array("mesh".utf8).withUnsafeBytes { sodium.hash128($0) }
    #expect(halves == (0x8322_d964_3ed1_6ef6, 0x7567_7063_6c0b_a27f))
    let empty = sodium.hash128(UnsafeRawBufferPointer(start: nil, count: 0))
    let digest = sodium.hash([], count: 16, key: [])
    #expect(withUnsafeBytes(of: empty) { Array($0) } == digest)
  }

  @Test(
    "HMAC pads, or hashes, its key to the block of 128 bytes",
    arguments: [
      (
        0, "",
        "198cd2006f66ff83fbbd913f78aca2251caf4f19fe9475aade8cf2091b99a684"
          + "66775177424f58286886cbae8229644cec747237d4b721735485e17372fdf59c"
      ),
      (
        64, "mesh/1",
        "54b595b8640e223ed50c432d58e796ad970826353a46cee0a14bd5e6166303d2"
          + "8cfc22f4bf2e50d26899b9f8648d07a7f4b1c1438774ac0fc7d91aac811b4ed7"
      ),
      (
        128, "mesh/1",
        "e2bafd170853c033928571037617504c15d9997b91306060b2932953598351c9"
          + "e5b473ae10cc0c7aba4fecc036bd94b73b524dd25a15929f5db35839d1dc414e"
      ),
      (
        200, "mesh/1",
        "b0822b306f81683ed2818df17b771224885d37a089ea743784706b8e15626a0c"
          + "5f81696898fc7ca72ae68346493321d6f15a3ad188db6ca53f959580523a2162"
      ),
    ])
  func hmacPadsOrHashesItsKeyToTheBlockOf128Bytes(keySize: Int, message: String, expected: String) {
    #expect(hex(Blake2b.hmac(Array(message.utf8), key: counting(keySize))) == expected)
  }

  @Test("HKDF gives the two outputs of the Noise specification") func hkdfGivesTheTwoOutputsOfTheNoiseSpecification() {
    let (first, second) = Blake2b.hkdf(chainingKey: counting(64), input: Array("input".utf8))
    #expect(
      hex(first)
        == "854ff4e7e6074bfe92f1a96cf706260641f9ba6fca788196587193a2664aed71"
        + "dba5f8f8c078f3eedf196c3af46e417d0a8c8c43f79ead81c8714d03e501eded")
    #expect(
      hex(second)
        == "ce5595eb115a20218998812f1f84dad889b56b766edaad0fd39d8268762d3e9f"
        + "56b6507ac77dc73ca13b4c2f0e4b704ef3c3c40d98920e63df5c70239610d8ab")
  }
}
