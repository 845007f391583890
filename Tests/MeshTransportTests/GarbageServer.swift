import NIOCore
import NIOPosix

/// A server that sends the same bytes on every connection.
struct GarbageServer {
  private let channel: any Channel
  var port: Int { channel.localAddress?.port ?? 0 }

  static func start(saying bytes: [UInt8]) async throws -> GarbageServer {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Greeting(bytes: bytes))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    return GarbageServer(channel: channel)
  }

  func stop() async { try? await channel.close() }

  private final class Greeting: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }
  }
}
