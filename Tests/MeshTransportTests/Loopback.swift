import MeshTransport
import NIOCore
import NIOPosix

/// Runs a listener with key 2 while `body` runs. It has one event loop, so connections are admitted and links accepted in
/// the order in which they were opened.
func withListener(
  limits: TransportLimits = TransportLimits(), clock: ManualClock = ManualClock(),
  _ body: @Sendable (Listener, inout AsyncStream<Link>.Iterator) async throws -> Void
) async throws {
  let loop = MultiThreadedEventLoopGroup.singleton.next()
  let listener = try await transport(2, limits: limits, clock: clock, group: loop).listen(host: "127.0.0.1", port: 0)
  let (accepted, continuation) = AsyncStream<Link>.makeStream()
  try await withThrowingTaskGroup { group in
    group.addTask {
      // It ends by cancellation.
      try? await listener.run { link in
        continuation.yield(link)
        await untilCancelled()
      }
    }
    var links = accepted.makeAsyncIterator()
    let result: Result<Void, any Error>
    do { result = .success(try await body(listener, &links)) } catch { result = .failure(error) }
    group.cancelAll()
    try await group.waitForAll()
    try result.get()
  }
}

/// Runs `body` with both ends of one link. The dialler has key 1, and the listener has key 2.
func withLinks(
  dialler: TransportLimits = TransportLimits(), listener: TransportLimits = TransportLimits(),
  _ body: @Sendable (_ dialled: Link, _ accepted: Link) async throws -> Void
) async throws {
  try await withListener(limits: listener) { listener, links in
    let dialled = try await transport(1, limits: dialler).dial(host: listener.host, port: listener.port)
    guard let accepted = await links.next() else { return }
    try await body(dialled, accepted)
    dialled.close()
  }
}

func untilCancelled() async {
  for await _ in AsyncStream<Never>.makeStream().stream {}
}

/// A connection without the protocol of links.
enum RawConnection {
  static func open<T>(port: Int, _ body: (inout Stream) async throws -> T) async throws -> T {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      var stream = Stream(inbound: inbound.makeAsyncIterator(), outbound: outbound)
      return try await body(&stream)
    }
  }

  struct Stream {
    fileprivate var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    fileprivate let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var buffered: [UInt8] = []

    fileprivate init(
      inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
      outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
      self.inbound = inbound
      self.outbound = outbound
    }

    func write(_ bytes: [UInt8]) async throws { try await outbound.write(ByteBuffer(bytes: bytes)) }

    mutating func read(_ count: Int) async throws -> [UInt8] {
      while buffered.count < count, let more = try await inbound.next() { buffered += more.readableBytesView }
      defer { buffered.removeFirst(min(count, buffered.count)) }
      return Array(buffered.prefix(count))
    }

    /// Returns all bytes until the other side closes, with or without an error.
    mutating func readUntilClosed() async -> [UInt8] {
      do {
        while let more = try await inbound.next() { buffered += more.readableBytesView }
      } catch {
        // A reset also counts as the end.
      }
      return buffered
    }
  }
}
