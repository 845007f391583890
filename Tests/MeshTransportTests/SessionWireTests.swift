import MeshCore
import MeshCrypto
import NIOCore
import Testing

@testable import MeshTransport

struct SessionWireTests {
  private var sender: SessionWire
  private var receiver: SessionWire
  /// The sender's session, for frames that its wire would not create.
  private var forger: NoiseSession

  init() throws {
    let (dialler, listener) = try sessions()
    (sender, receiver, forger) = (SessionWire(session: dialler), SessionWire(session: listener), dialler)
  }

  @Test(
    "a message of any allowed size arrives as it was, in full pieces",
    arguments: [1, 2, 65_517, 65_518, 65_519, 65_520, 131_036, 131_037, 1 << 20, Limits.message])
  mutating func aMessageOfAnyAllowedSizeArrivesAsItWasInFullPieces(size: Int) throws {
    let frames = try sender.frames(of: counting(size))
    let pieces = (size + 65_517) / 65_518
    #expect(frames.readableBytes == size + pieces * 19)
    receiver.receive(frames)
    #expect(try receiver.next() == counting(size))
    #expect(try receiver.next() == nil)
  }

  @Test("Bytes may come one by one or all at once") mutating func bytesMayComeOneByOneOrAllAtOnce() throws {
    let messages = [counting(5), counting(70_000), counting(1)]
    var stream = ByteBuffer()
    for message in messages { stream.writeImmutableBuffer(try sender.frames(of: message)) }
    var (trickle, received) = (receiver, [[UInt8]]())
    for byte in stream.readableBytesView {
      trickle.receive(ByteBuffer(bytes: [byte]))
      while let message = try trickle.next() { received.append(message) }
    }
    #expect(received == messages)
    receiver.receive(stream)
    for message in messages { #expect(try receiver.next() == message) }
  }

  @Test("an empty or too long message is not sent", arguments: [0, Limits.message + 1])
  mutating func anEmptyOrTooLongMessageIsNotSent(size: Int) async {
    await #expect(code { _ = try sender.frames(of: counting(size)) } == .messageSize)
  }

  @Test("a length without room for a piece is refused before the frame has come", arguments: [0, 1, 17])
  mutating func aLengthWithoutRoomForAPieceIsRefusedBeforeTheFrameHasCome(length: UInt8) async {
    receiver.receive(ByteBuffer(bytes: [0, length]))
    await #expect(code { _ = try receiver.next() } == .framing)
  }

  @Test("an altered frame is refused, whichever bit it is") mutating func anAlteredFrameIsRefusedWhicheverBitItIs()
    async throws
  {
    let frames = Array(try sender.frames(of: counting(30)).readableBytesView)
    for bit in 16..<frames.count * 8 {
      var (copy, altered) = (receiver, frames)
      altered[bit / 8] ^= 1 << (bit % 8)
      copy.receive(ByteBuffer(bytes: altered))
      await #expect(code { _ = try copy.next() } == .framing)
    }
  }

  @Test("a repeated or skipped frame is refused") mutating func aRepeatedOrSkippedFrameIsRefused() async throws {
    let (first, second) = (try sender.frames(of: [1]), try sender.frames(of: [2]))
    var copy = receiver
    copy.receive(second)
    await #expect(code { _ = try copy.next() } == .framing)
    receiver.receive(first)
    #expect(try receiver.next() == [1])
    receiver.receive(first)
    await #expect(code { _ = try receiver.next() } == .framing)
  }

  @Test(
    "a plaintext that breaks a rule is refused",
    arguments: [
      ("an empty piece", [0] as [UInt8]), ("an empty last piece", [1]), ("an unknown flag", [2, 7]),
      ("a piece that is not full", [0, 7]), ("nothing", []),
    ])
  mutating func aPlaintextThatBreaksARuleIsRefused(what: String, plaintext: [UInt8]) async throws {
    receiver.receive(ByteBuffer(bytes: frame(try forger.encrypt(plaintext))))
    await #expect(code { _ = try receiver.next() } == .framing, "\(what)")
  }

  @Test("Pieces are counted against the limit of a message before its end has come")
  mutating func piecesAreCountedAgainstTheLimitOfAMessageBeforeItsEndHasCome() async throws {
    for _ in 0..<Limits.message / 65_518 {
      receiver.receive(ByteBuffer(bytes: frame(try forger.encrypt([0] + counting(65_518)))))
      #expect(try receiver.next() == nil)
    }
    receiver.receive(ByteBuffer(bytes: frame(try forger.encrypt([0] + counting(65_518)))))
    await #expect(code { _ = try receiver.next() } == .framing)
  }
}
