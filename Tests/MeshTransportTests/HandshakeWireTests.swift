import MeshCrypto
import NIOCore
import Testing

@testable import MeshTransport

struct HandshakeWireTests {
  private var dialler = HandshakeWire(role: .dialler, keys: keys(1), randomness: SystemRandomness())
  private var listener = HandshakeWire(role: .listener, keys: keys(2), randomness: SystemRandomness())

  @Test("a handshake ends with two wires of one session") mutating func aHandshakeEndsWithTwoWiresOfOneSession() throws
  {
    #expect(try listener.next().isNothing)
    let first = try #require(try dialler.next()?.written)
    #expect(first.readableBytes == 34)
    listener.receive(first)
    let second = try #require(try listener.next()?.written)
    #expect(second.readableBytes == 98)
    dialler.receive(second)
    let third = try #require(try dialler.next()?.written)
    #expect(third.readableBytes == 66)
    listener.receive(third)
    let (one, two) = (try #require(try dialler.next()?.session), try #require(try listener.next()?.session))
    #expect(one.handshakeHash == two.handshakeHash)
    #expect(one.remoteStatic == keys(2).sessionKey)
    #expect(two.remoteStatic == keys(1).sessionKey)
  }

  @Test("messages directly behind the last handshake frame are not lost")
  mutating func messagesDirectlyBehindTheLastHandshakeFrameAreNotLost() throws {
    listener.receive(try #require(try dialler.next()?.written))
    dialler.receive(try #require(try listener.next()?.written))
    var bytes = try #require(try dialler.next()?.written)
    var sending = try #require(try dialler.next()?.session)
    bytes.writeImmutableBuffer(try sending.frames(of: counting(100_000)))
    listener.receive(bytes)
    var receiving = try #require(try listener.next()?.session)
    #expect(try receiving.next() == counting(100_000))
  }

  @Test("a first frame of another length is refused at its length", arguments: [0, 31, 33, 96, 65_535])
  mutating func aFirstFrameOfAnotherLengthIsRefusedAtItsLength(length: Int) async {
    listener.receive(ByteBuffer(bytes: [UInt8(length >> 8), UInt8(length & 0xff)]))
    await #expect(code { _ = try listener.next() } == .handshake)
  }

  @Test("a first frame that comes in parts is waited for") mutating func aFirstFrameThatComesInPartsIsWaitedFor() throws
  {
    let first = try #require(try dialler.next()?.written)
    for byte in first.readableBytesView.dropLast() {
      listener.receive(ByteBuffer(bytes: [byte]))
      #expect(try listener.next().isNothing)
    }
    listener.receive(ByteBuffer(bytes: [first.readableBytesView.last ?? 0]))
    #expect(try listener.next()?.written != nil)
  }

  @Test("Bytes that are no third message are refused when they would be one")
  mutating func bytesThatAreNoThirdMessageAreRefusedWhenTheyWouldBeOne() async throws {
    listener.receive(try #require(try dialler.next()?.written))
    _ = try listener.next()
    listener.receive(ByteBuffer(bytes: [0, 64] + counting(63)))
    #expect(try listener.next().isNothing)
    listener.receive(ByteBuffer(bytes: [0]))
    await #expect(code { _ = try listener.next() } == .handshake)
  }

  @Test("a listener refuses a key of small order without an answer")
  mutating func aListenerRefusesAKeyOfSmallOrderWithoutAnAnswer() async {
    listener.receive(ByteBuffer(bytes: frame([UInt8](repeating: 0, count: 32))))
    await #expect(code { _ = try listener.next() } == .handshake)
  }
}
