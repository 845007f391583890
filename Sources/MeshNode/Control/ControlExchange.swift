import NIOCore
import NIOHTTP1
import NIOPosix

/// One request and its answer over a Unix socket, in HTTP/1.1.
struct ControlExchange {
  enum Method { case get, post }

  let method: Method
  let path: String
  let body: [UInt8]
  /// From connecting to the whole answer.
  let limit: Duration

  /// Bytes of an answer: thousands of conflicts with their values.
  static let answerLimit = 64 << 20

  private typealias Connection = NIOAsyncChannel<NIOHTTPClientResponseFull, HTTPClientRequestPart>

  /// The body of the answer, and whether its status is one of success.
  func run(on socket: String) async throws -> (isSuccess: Bool, body: [UInt8]) {
    try await withThrowingTaskGroup(of: (Bool, [UInt8]).self) { group in
      group.addTask { try await talk(on: socket) }
      group.addTask {
        try await Task.sleep(for: limit)
        throw ControlClientError.notAnswering(socket, limit)
      }
      defer { group.cancelAll() }
      guard let answer = try await group.next() else { throw ControlClientError.closed }
      return answer
    }
  }

  private func talk(on socket: String) async throws -> (Bool, [UInt8]) {
    let connection = try await connect(to: socket)
    do {
      return try await connection.executeThenClose { inbound, outbound in
        try await send(on: outbound)
        for try await answer in inbound {
          let bytes = answer.body.map { Array($0.readableBytesView) } ?? []
          return ((200..<300).contains(answer.head.status.code), bytes)
        }
        try Task.checkCancellation()
        throw ControlClientError.closed
      }
    } catch let error as any Refusing {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch is IOError, is ChannelError, is NIOAsyncWriterError, HTTPParserError.invalidEOFState {
      throw ControlClientError.closed
    } catch {
      throw ControlClientError.garbled(path)
    }
  }

  private func connect(to socket: String) async throws -> Connection {
    do {
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(unixDomainSocketPath: socket) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(
              NIOHTTPClientResponseAggregator(maxContentLength: Self.answerLimit))
            return try Connection(wrappingChannelSynchronously: channel)
          }
        }
    } catch is IOError {
      throw ControlClientError.noDaemon(socket)
    }
  }

  private func send(on outbound: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>) async throws {
    var headers: HTTPHeaders = ["host": "mesh", "connection": "close"]
    if method == .post {
      headers.add(name: "content-type", value: "application/json")
      headers.add(name: "content-length", value: "\(body.count)")
    }
    let head = HTTPRequestHead(version: .http1_1, method: method == .get ? .GET : .POST, uri: path, headers: headers)
    // At once: what has no body is complete with its head, and may be answered, and the connection closed, before a second write.
    var parts = [HTTPClientRequestPart.head(head)]
    if !body.isEmpty { parts.append(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
    try await outbound.write(contentsOf: parts + [.end(nil)])
  }
}
