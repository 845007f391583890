import MeshCore
import Testing

@testable import MeshCrypto

struct NoiseTests {
  /// The Python package noiseprotocol 0.3.1 created the messages, the hash and the first transport messages. The static
  /// and ephemeral secrets are 32 times 1 and 2 (dialler), and 3 and 4 (listener). The plaintexts are “mesh”.
  @Test("a handshake with fixed keys gives the bytes of an independent implementation")
  func aHandshakeWithFixedKeysGivesTheBytesOfAnIndependentImplementation() throws {
    var (dialler, listener) = (side(.dialler, 1, ephemeral: 2), side(.listener, 3, ephemeral: 4))
    let messages = try exchange(&dialler, &listener)
    #expect(
      messages.map(hex) == [
        "ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59",
        "ac01b2209e86354fb853237b5de0f4fab13c7fcbf433a61c019369617fecf10b"
          + "8001b4ce4bb2746a6bd693c4d0a900d849389237f160d22856081e810110e359"
          + "948aaf3a1a96d11ab060a69019afc0829dd03bf713e7939d4dd278b7ff0a23e5",
        "ef85c6b0379016c6845ae99f75be21275605d8f34ef8dbd5a2653aa4ef7b87c5"
          + "c83f2912799f438a542d28301043cf4b35a9da31aca49d7b09b9ffb524ae10d6",
      ])
    var (one, two) = (try dialler.split(), try listener.split())
    #expect(
      hex(one.handshakeHash)
        == "e6c12aa6b6f3ddfef00c9af90e18ad796153d6b78334b98b7a95df418412ca41"
        + "9842907f5a1cde25103d232eeb9a13f8a3434874314604ad2c75d281e042d68f")
    #expect(hex(try one.encrypt(Array("mesh".utf8))) == "072b218b50a239711e07fe41e27071fa5e2258ac")
    #expect(hex(try one.encrypt(Array("mesh".utf8))) == "f54da9e45120b6a61517a89fac104589f0d7fff8")
    #expect(hex(try two.encrypt(Array("mesh".utf8))) == "770ea483085cb58a5031545fc29894011a73ff66")
  }

  @Test("both sides know the same session and each other's key") func bothSidesKnowTheSameSessionAndEachOthersKey()
    throws
  {
    let (one, two) = try sessions()
    #expect(one.handshakeHash == two.handshakeHash)
    #expect(one.remoteStatic == keys(3).sessionKey)
    #expect(two.remoteStatic == keys(1).sessionKey)
    let (other, _) = try sessions()
    #expect(other.handshakeHash != one.handshakeHash)
  }

  @Test(
    "every flipped bit of a handshake message is refused, at the latest by the next message", arguments: [0, 1, 2],
    [true, false])
  func everyFlippedBitOfAHandshakeMessageIsRefusedAtTheLatestByTheNextMessage(
    message: Int, firstHalf: Bool
  ) throws {
    let bits = NoiseHandshake.messageSizes[message] * 8
    for bit in stride(from: firstHalf ? 0 : bits / 2, to: firstHalf ? bits / 2 : bits, by: 5) {
      var (dialler, listener) = (side(.dialler, 1), side(.listener, 3))
      let code = CryptoError.code {
        try exchange(&dialler, &listener) { index, bytes in
          if index == message { bytes[bit / 8] ^= 1 << (bit % 8) }
        }
      }
      // The agreement ignores the top bit of an X25519 key, but the hash includes it.
      #expect(code == .authentication, "bit \(bit)")
    }
  }

  @Test("a handshake message of another size is refused", arguments: [0, 1, 2], [-96, -1, 1, 100])
  func aHandshakeMessageOfAnotherSizeIsRefused(message: Int, difference: Int) {
    var (dialler, listener) = (side(.dialler, 1), side(.listener, 3))
    let code = CryptoError.code {
      try exchange(&dialler, &listener) { index, bytes in
        guard index == message else { return }
        bytes = difference < 0 ? Array(bytes.dropLast(-difference)) : bytes + repeated(0, difference)
      }
    }
    #expect(code == .messageSize)
  }

  @Test("another prologue is refused") func anotherPrologueIsRefused() {
    var dialler = NoiseHandshake(
      role: .dialler, keys: keys(1), prologue: Array("mesh/2".utf8), randomness: SystemRandomness())
    var listener = side(.listener, 3)
    #expect(CryptoError.code { try exchange(&dialler, &listener) } == .authentication)
  }

  @Test("two sides of one role never finish") func twoSidesOfOneRoleNeverFinish() throws {
    var (one, two) = (side(.dialler, 1), side(.dialler, 3))
    let first = try one.writeMessage()
    #expect(CryptoError.code { try two.readMessage(first) } == .outOfTurn)
    var (three, four) = (side(.listener, 1), side(.listener, 3))
    #expect(CryptoError.code { _ = try three.writeMessage() } == .outOfTurn)
    try four.readMessage(first)
    let second = try four.writeMessage()
    #expect(CryptoError.code { try three.readMessage(second) } == .messageSize)
  }

  @Test("a handshake that failed stays failed") func aHandshakeThatFailedStaysFailed() throws {
    var listener = side(.listener, 3)
    #expect(CryptoError.code { try listener.readMessage([]) } == .messageSize)
    let first = try side(.dialler, 1).firstMessage()
    #expect(CryptoError.code { try listener.readMessage(first) } == .outOfTurn)
    #expect(listener.expectedSize == nil)
  }

  @Test("a session is split only from a complete handshake") func aSessionIsSplitOnlyFromACompleteHandshake() throws {
    var (dialler, listener) = (side(.dialler, 1), side(.listener, 3))
    #expect(CryptoError.code { _ = try dialler.split() } == .outOfTurn)
    try exchange(&dialler, &listener)
    #expect(dialler.isComplete && listener.isComplete)
    #expect(CryptoError.code { _ = try dialler.writeMessage() } == .outOfTurn)
  }

  @Test("the size of the next message is known when it is the peer's")
  func theSizeOfTheNextMessageIsKnownWhenItIsThePeers() throws {
    var (dialler, listener) = (side(.dialler, 1), side(.listener, 3))
    #expect((dialler.expectedSize, listener.expectedSize) == (nil, 32))
    try listener.readMessage(try dialler.writeMessage())
    #expect((dialler.expectedSize, listener.expectedSize) == (96, nil))
    try dialler.readMessage(try listener.writeMessage())
    #expect((dialler.expectedSize, listener.expectedSize) == (nil, 64))
    try listener.readMessage(try dialler.writeMessage())
    #expect((dialler.expectedSize, listener.expectedSize) == (nil, nil))
  }

  @Test("an ephemeral key of small order is refused by both roles", arguments: lowOrderKeys)
  func anEphemeralKeyOfSmallOrderIsRefusedByBothRoles(key: [UInt8]) throws {
    var listener = side(.listener, 3)
    try listener.readMessage(key)
    #expect(CryptoError.code { _ = try listener.writeMessage() } == .lowOrderKey)
    var dialler = side(.dialler, 1)
    _ = try dialler.writeMessage()
    #expect(CryptoError.code { try dialler.readMessage(key + repeated(0, 64)) } == .lowOrderKey)
  }

  private func sessions() throws -> (NoiseSession, NoiseSession) {
    var (dialler, listener) = (side(.dialler, 1), side(.listener, 3))
    try exchange(&dialler, &listener)
    return (try dialler.split(), try listener.split())
  }
}

/// Returns device keys whose three seeds are 32 times `value`.
func keys(_ value: UInt8) -> DeviceKeys { DeviceKeys(randomness: FixedRandomness(value)) }

func side(_ role: NoiseHandshake.Role, _ key: UInt8, ephemeral: UInt8? = nil) -> NoiseHandshake {
  let randomness: any Randomness = ephemeral.map { FixedRandomness($0) } ?? SystemRandomness()
  return NoiseHandshake(role: role, keys: keys(key), randomness: randomness)
}

/// Runs a handshake to its end. `alter` may change each message in transit. Returns the messages that arrived.
@discardableResult
func exchange(
  _ dialler: inout NoiseHandshake, _ listener: inout NoiseHandshake, alter: (Int, inout [UInt8]) -> Void = { _, _ in }
) throws -> [[UInt8]] {
  var messages: [[UInt8]] = []
  for index in 0..<3 {
    var message = try index == 1 ? listener.writeMessage() : dialler.writeMessage()
    alter(index, &message)
    if index == 1 { try dialler.readMessage(message) } else { try listener.readMessage(message) }
    messages.append(message)
  }
  return messages
}

extension NoiseHandshake {
  fileprivate func firstMessage() throws -> [UInt8] {
    var copy = self
    return try copy.writeMessage()
  }
}
