package import Logging
package import MeshCore
package import MeshCrypto
package import NIOCore
import NIOPosix

/// Listens and dials with the keys of one device. It uses encrypted links over TCP, or a network inside this process.
package struct Transport: Sendable {
  private let keys: DeviceKeys
  private let randomness: any Randomness
  private let clock: any TimeSource
  private let limits: TransportLimits
  private let group: any EventLoopGroup
  private let network: LocalNetwork?
  private let logger: Logger

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - randomness: The source of ephemeral keys.
  ///   - clock: The clock that measures the rate per address.
  ///   - network: The network to use instead of sockets, or nil for TCP.
  ///   - logger: The logger for refused connections and failed handshakes, at the level debug.
  package init(
    keys: DeviceKeys, randomness: any Randomness, clock: any TimeSource,
    limits: TransportLimits = TransportLimits(),
    group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, network: LocalNetwork? = nil,
    logger: Logger = Logger(label: "mesh.transport")
  ) {
    self.keys = keys
    self.randomness = randomness
    self.clock = clock
    self.limits = limits
    self.group = group
    self.network = network
    self.logger = logger
  }

  /// Binds an address. Port 0 takes a free one. Throws `.addressInUse` or `.addressUnavailable`.
  package func listen(host: String, port: Int) async throws(TransportError) -> Listener {
    if let network { return try network.listen(port, keys) }
    let door = Door(limits: limits, logger: logger)
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: Int32(limits.strangers))
      // A restarted node takes its address immediately. Two listeners on one address are still refused.
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.autoRead, value: false)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.recvAllocator, value: ReadSizes.handshake)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let place = try door.admit(channel, now: clock.milliseconds())
          try channel.pipeline.syncOperations.addHandler(
            handler(.listener, met: { door.met(place) }, established: { door.finished(place, channel, $0) }))
        }
      }
    do {
      let channel = try await bootstrap.bind(host: host, port: port).get()
      channel.closeFuture.whenComplete { _ in door.close() }
      let local = channel.localAddress
      return Listener(
        host: local?.ipAddress ?? host, port: local?.port ?? port, links: door.links,
        beginAccepting: { channel.setOption(.autoRead, value: true).whenComplete { _ in } },
        free: {
          door.close()
          // This fails only if it is already closed.
          try? await channel.close()
        })
    } catch {
      throw Self.listenError(error, host, port)
    }
  }

  /// Connects and completes the handshake. Throws `.unreachable`, `.timedOut`, `.handshake`, `.peerClosed`, or
  /// `.closed` if the task is cancelled.
  package func dial(host: String, port: Int) async throws(TransportError) -> Link {
    if let network { return try network.dial(host, port, keys, randomness, limits) }
    let attempt = DialAttempt()
    let address = SocketAddress.hostAndPort(host, port)
    let result: Result<Link, any Error> = await withTaskCancellationHandler {
      do {
        return .success(try await connect(host, port, attempt))
      } catch {
        return .failure(error)
      }
    } onCancel: {
      attempt.cancel()
    }
    switch result {
    case .success(let link): return link
    case .failure where Task.isCancelled: throw TransportError(.closed, "dialling \(address) was cancelled")
    case .failure(let error): throw Self.dialError(error, address)
    }
  }

  private func connect(_ host: String, _ port: Int, _ attempt: DialAttempt) async throws -> Link {
    let bootstrap = ClientBootstrap(group: group)
      .connectTimeout(TimeAmount(limits.dialTime))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.recvAllocator, value: ReadSizes.handshake)
    let established = try await bootstrap.connect(host: host, port: port) { channel in
      channel.eventLoop.makeCompletedFuture {
        try attempt.began(channel)
        let promise = channel.eventLoop.makePromise(of: Link.self)
        try channel.pipeline.syncOperations.addHandler(handler(.dialler) { promise.completeWith($0.mapError { $0 }) })
        return promise.futureResult
      }
    }
    return try await established.get()
  }

  private func handler(
    _ role: NoiseHandshake.Role, met: @escaping @Sendable () -> Void = {},
    established: @escaping (Result<Link, TransportError>) -> Void
  ) -> LinkHandler {
    LinkHandler(role: role, keys: keys, randomness: randomness, limits: limits, met: met, established: established)
  }
}
