import MeshCrypto
import NIOCore
import NIOEmbedded
import Testing

@testable import MeshTransport

/// Tests the handler on an event loop whose time the test controls.
struct TimeoutTests {
  private let channel = EmbeddedChannel()
  private let outcome = Outcome()

  /// The handler's reports about its handshake.
  private final class Outcome {
    var results: [Result<Link, TransportError>] = []
    var codes: [TransportError.Code?] {
      results.map { if case .failure(let error) = $0 { error.code } else { nil } }
    }
  }

  private func start(_ role: NoiseHandshake.Role) throws {
    let handler = LinkHandler(
      role: role, keys: keys(role == .dialler ? 1 : 2), randomness: SystemRandomness(), limits: TransportLimits()
    ) { [outcome] in outcome.results.append($0) }
    try channel.pipeline.syncOperations.addHandler(handler)
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 7)).wait()
  }

  @Test("a peer that sends only part of its first message has ten seconds", arguments: [0, 1, 33])
  func aPeerThatSendsOnlyPartOfItsFirstMessageHasTenSeconds(count: Int) throws {
    try start(.listener)
    try channel.writeInbound(ByteBuffer(bytes: frame(counting(32)).prefix(count)))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(9_999))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
    #expect(try channel.readOutbound(as: ByteBuffer.self) == nil)
    #expect(outcome.codes == [.timedOut])
  }

  @Test("a peer that drips does not gain time") func aPeerThatDripsDoesNotGainTime() throws {
    try start(.listener)
    for byte in frame(counting(32)).prefix(10) {
      #expect(channel.isActive)
      try channel.writeInbound(ByteBuffer(bytes: [byte]))
      channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    }
    #expect(outcome.codes == [.timedOut])
  }

  @Test("a dialler without an answer gives up as well") func aDiallerWithoutAnAnswerGivesUpAsWell() throws {
    try start(.dialler)
    #expect(try channel.readOutbound(as: ByteBuffer.self)?.readableBytes == 34)
    channel.embeddedEventLoop.advanceTime(by: .seconds(10))
    #expect(outcome.codes == [.timedOut])
  }

  @Test("a session outlives the time of its handshake, and closing waits no longer than the linger time")
  func aSessionOutlivesTheTimeOfItsHandshakeAndClosingWaitsNoLongerThanTheLingerTime() throws {
    try start(.dialler)
    var listener = HandshakeWire(role: .listener, keys: keys(2), randomness: SystemRandomness())
    listener.receive(try #require(try channel.readOutbound(as: ByteBuffer.self)))
    try channel.writeInbound(try #require(try listener.next()?.written))
    let link = try #require(try outcome.results.first?.get())
    channel.embeddedEventLoop.advanceTime(by: .hours(1))
    #expect(channel.isActive)

    channel.isWritable = false
    link.send([1, 2, 3])
    link.close()
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1_999))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(!channel.isActive)
    #expect(link.queuedBytes == 0)
    #expect(outcome.results.count == 1)
  }
}
