import Foundation
import MeshControl
import NIOCore
import NIOPosix
import Testing

/// The client's behavior with daemons that don't answer correctly.
@Suite struct ControlExchangeTests {
  @Test(
    "an answer that the client can't understand is said to be garbled",
    arguments: [
      "hello\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n{}", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n[]",
      "HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\n{}", String(repeating: "a", count: 100_000),
    ])
  func garbledAnswer(answer: String) async throws {
    try await withServer(Replies(answer: Array(answer.utf8))) { socket in
      let error = await #expect(throws: ControlClientError.self) {
        try await ControlClient(socket: socket).perform(StatusRequest())
      }
      #expect(error?.code == .garbled)
    }
  }

  @Test("an answer may come byte by byte, with headers in any case")
  func answerInPieces() async throws {
    let body = #"{"shown":2,"tried":3}"#
    let answer = "HTTP/1.1 200 OK\r\nX-Other: 1\r\nContent-Length:\(body.utf8.count)\r\n\r\n\(body)"
    try await withServer(Replies(answer: Array(answer.utf8), piece: 1)) { socket in
      let report = try await ControlClient(socket: socket).perform(RetryRequest())
      #expect(report == RetryReport(tried: 3, shown: 2))
    }
  }

  @Test(
    "if two versions don't understand each other, the error names both and which program to update",
    arguments: [
      ("HTTP/1.1 200 OK\r\nmesh-version: 99.0.0\r\ncontent-length: 2\r\n\r\n[]", "mesh 99.0.0", "Update this program"),
      (
        "HTTP/1.1 200 OK\r\nMesh-Version: 0.0.1\r\ncontent-length: 2\r\n\r\n[]", "mesh 0.0.1",
        "Update the program that"
      ),
      (
        "HTTP/1.1 404 Not Found\r\ncontent-length: 80\r\n\r\n"
          + #"{"error":{"code":"control.route","exit":2,"message":"There is no","reasons":[]}}"#,
        "an older version of mesh", "Update the program that"
      ),
    ])
  func otherVersion(answer: String, theirs: String, remedy: String) async throws {
    try await withServer(Replies(answer: Array(answer.utf8))) { socket in
      let error = await #expect(throws: ControlClientError.self) {
        try await ControlClient(socket: socket).perform(StatusRequest())
      }
      #expect(error?.code == .version)
      let message = error?.message ?? ""
      #expect(message.contains(theirs) && message.contains(remedy) && message.contains("mesh \(MeshVersion.current)"))
    }
  }

  @Test("an answer that breaks off is said to be incomplete")
  func brokenAnswer() async throws {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"
    try await withServer(Replies(answer: Array(answer.utf8), closes: true)) { socket in
      let error = await #expect(throws: ControlClientError.self) {
        try await ControlClient(socket: socket).perform(StatusRequest())
      }
      #expect(error?.code == .closed)
    }
  }

  @Test("a client whose task is cancelled stops waiting and closes its connection", .timeLimit(.minutes(1)))
  func cancelledClient() async throws {
    let (events, noted) = AsyncStream.makeStream(of: Replies.Event.self)
    try await withServer(Replies(answer: [], events: noted)) { socket in
      let waiting = Task { try await ControlClient(socket: socket).perform(WaitRequest(timeout: .seconds(3_600))) }
      var iterator = events.makeAsyncIterator()
      #expect(await iterator.next() == .asked)
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
      #expect(await iterator.next() == .closed)
    }
  }

  @Test("a path that is too long for a socket is told as no daemon")
  func longPath() async {
    let error = await #expect(throws: ControlClientError.self) {
      try await ControlClient(home: "/" + String(repeating: "a", count: 200)).perform(StatusRequest())
    }
    #expect(error?.code == .noDaemon)
  }

  /// Runs a server that treats every connection in the same way.
  private func withServer(_ replies: Replies, _ body: (String) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { $0.pipeline.addHandler(replies) }
        .bind(unixDomainSocketPath: "\(directory)/s").get()
      try await body("\(directory)/s")
      try await server.close()
    }
  }

  /// Sends the same bytes after any request.
  private final class Replies: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Event { case asked, closed }

    private let answer: [UInt8]
    private let piece: Int
    private let closes: Bool
    private let events: AsyncStream<Event>.Continuation?

    init(
      answer: [UInt8], piece: Int = .max, closes: Bool = false, events: AsyncStream<Event>.Continuation? = nil
    ) {
      (self.answer, self.piece, self.closes, self.events) = (answer, piece, closes, events)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      events?.yield(.asked)
      var rest = answer[...]
      while !rest.isEmpty {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: rest.prefix(piece))), promise: nil)
        rest = rest.dropFirst(piece)
      }
      if closes { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { events?.yield(.closed) }
  }
}
