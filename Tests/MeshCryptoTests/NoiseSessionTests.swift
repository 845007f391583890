import MeshCore
import Testing

@testable import MeshCrypto

struct NoiseSessionTests {
  private var dialler: NoiseSession
  private var listener: NoiseSession

  init() throws {
    var (one, two) = (side(.dialler, 1), side(.listener, 3))
    try exchange(&one, &two)
    (dialler, listener) = (try one.split(), try two.split())
  }

  @Test("messages of every allowed size arrive, both ways", arguments: [0, 1, 16, 65_518, 65_519])
  mutating func messagesOfEveryAllowedSizeArriveBothWays(size: Int) throws {
    for _ in 0..<3 {
      #expect(try listener.decrypt(try dialler.encrypt(counting(size))) == counting(size))
      #expect(try dialler.decrypt(try listener.encrypt(counting(size))) == counting(size))
    }
  }

  @Test("a message over the limit is refused on both sides") mutating func aMessageOverTheLimitIsRefusedOnBothSides() {
    #expect(CryptoError.code { _ = try dialler.encrypt(counting(65_520)) } == .messageSize)
    #expect(CryptoError.code { _ = try listener.decrypt(counting(65_536)) } == .messageSize)
  }

  @Test("a message shorter than its tag is refused") mutating func aMessageShorterThanItsTagIsRefused() {
    for size in 0..<16 {
      #expect(CryptoError.code { _ = try listener.decrypt(counting(size)) } == .messageSize)
    }
  }

  @Test("every flipped bit and every truncation is refused, and the message itself still arrives")
  mutating func everyFlippedBitAndEveryTruncationIsRefusedAndTheMessageItselfStillArrives() throws {
    let message = try dialler.encrypt(Array("mesh".utf8))
    for bit in 0..<message.count * 8 {
      var altered = message
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(CryptoError.code { _ = try listener.decrypt(altered) } == .authentication)
    }
    #expect(CryptoError.code { _ = try listener.decrypt(Array(message.dropLast())) } == .authentication)
    #expect(try listener.decrypt(message) == Array("mesh".utf8))
  }

  @Test("a replayed, skipped or reflected message is refused")
  mutating func aReplayedSkippedOrReflectedMessageIsRefused() throws {
    let (first, second) = (try dialler.encrypt([1]), try dialler.encrypt([2]))
    #expect(CryptoError.code { _ = try listener.decrypt(second) } == .authentication)
    #expect(try listener.decrypt(first) == [1])
    #expect(CryptoError.code { _ = try listener.decrypt(first) } == .authentication)
    #expect(CryptoError.code { _ = try dialler.decrypt(second) } == .authentication)
    #expect(try listener.decrypt(second) == [2])
  }

  @Test("encrypting in place gives the same bytes as with a copy")
  mutating func encryptingInPlaceGivesTheSameBytesAsWithACopy() throws {
    var copy = dialler
    let plaintext = counting(1_000)
    var buffer = plaintext + repeated(0, NoiseSession.tagSize)
    try buffer.withUnsafeMutableBytes { try dialler.encrypt(inPlace: $0) }
    #expect(buffer == (try copy.encrypt(plaintext)))
    let count = try buffer.withUnsafeMutableBytes { try listener.decrypt(inPlace: $0) }
    #expect(Array(buffer.prefix(count)) == plaintext)
  }
}
