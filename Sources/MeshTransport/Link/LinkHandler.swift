import MeshCore
import MeshCrypto
import NIOCore

/// Drives the two wires of a link on its event loop: the handshake with its timeout, then messages in both directions.
///
/// It calls `established` once, with the link or the reason that there is none.
final class LinkHandler: ChannelInboundHandler, ChannelOutboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = Never
  typealias OutboundOut = ByteBuffer

  private let role: NoiseHandshake.Role
  private let limits: TransportLimits
  private let met: @Sendable () -> Void
  private let established: (Result<Link, TransportError>) -> Void
  private var handshake: HandshakeWire?
  private var session: SessionWire?
  private var link: Link?
  private var timer: Scheduled<Void>?
  private var isReadPending = false
  private var isClosing = false
  private var hasEnded = false

  init(
    role: NoiseHandshake.Role, keys: DeviceKeys, randomness: any Randomness, limits: TransportLimits,
    met: @escaping @Sendable () -> Void = {}, established: @escaping (Result<Link, TransportError>) -> Void
  ) {
    self.role = role
    self.limits = limits
    self.met = met
    self.established = established
    handshake = HandshakeWire(role: role, keys: keys, randomness: randomness)
  }

  func channelActive(context: ChannelHandlerContext) {
    let seconds = limits.handshakeTime
    end(
      context, after: limits.handshakeTime,
      because: TransportError(.timedOut, "the peer did not complete the handshake in \(seconds)"))
    advance(context)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    if session != nil { session?.receive(bytes) } else { handshake?.receive(bytes) }
    advance(context)
  }

  func read(context: ChannelHandlerContext) {
    if link?.pauseReadingIfBehind() ?? false { isReadPending = true } else { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) { drain(context) }

  func channelInactive(context: ChannelHandlerContext) {
    end(context, because: TransportError(.peerClosed, "the peer ended the connection"))
    context.fireChannelInactive()
  }

  /// Ends a channel that never became active, because it reports nothing else.
  func handlerRemoved(context: ChannelHandlerContext) {
    end(context, because: TransportError(.peerClosed, "the connection did not come about"))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(context, because: TransportError(.peerClosed, "the connection was lost: \(error)"))
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard let event = event as? LinkEvent else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    switch event {
    case .drain: drain(context)
    case .resumeReading: resumeReading(context)
    case .close: close(context)
    case .abort: end(context)
    }
    promise?.succeed()
  }
}

extension LinkHandler {
  /// Processes all bytes that have arrived so far.
  private func advance(_ context: ChannelHandlerContext) {
    do throws(TransportError) {
      while !hasEnded, let step = try handshake?.next() {
        switch step {
        case .write(let bytes): context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        case .established(let wire): establish(wire, context)
        }
      }
      while !hasEnded, let message = try session?.next() { link?.deliver(message) }
    } catch {
      end(context, because: error)
    }
  }

  private func establish(_ wire: SessionWire, _ context: ChannelHandlerContext) {
    timer?.cancel()
    handshake = nil
    session = wire
    let link = Link(
      role: role, handshakeHash: wire.handshakeHash, remoteStatic: wire.remoteStatic,
      carrier: ChannelCarrier(channel: context.channel), limits: limits, met: met)
    self.link = link
    // Until here, a read took at most the few bytes of a handshake. From here on, it may take several frames.
    _ = context.channel.setOption(.recvAllocator, value: ReadSizes.session)
    established(.success(link))
  }

  /// Encrypts queued messages while the socket accepts them, so that all waiting messages are in the counted queue.
  private func drain(_ context: ChannelHandlerContext) {
    guard !hasEnded, let link else { return }
    do throws(TransportError) {
      while context.channel.isWritable, let message = link.nextOutbound() {
        guard let frames = try session?.frames(of: message) else { return }
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.write(wrapOutboundOut(frames)).whenComplete { _ in
          link.wrote(message.count)
          let (handler, context) = loopBound.value
          handler.endIfDrained(context)
        }
      }
      context.flush()
    } catch {
      end(context, because: error)
    }
  }

  private func resumeReading(_ context: ChannelHandlerContext) {
    guard isReadPending else { return }
    isReadPending = false
    context.read()
  }

  private func close(_ context: ChannelHandlerContext) {
    guard !hasEnded else { return }
    isClosing = true
    end(context, after: limits.lingerTime, because: nil)
    drain(context)
    endIfDrained(context)
  }

  private func endIfDrained(_ context: ChannelHandlerContext) {
    if isClosing, !hasEnded, link?.isDrained ?? true { end(context) }
  }

  private func end(_ context: ChannelHandlerContext, after time: Duration, because reason: TransportError?) {
    let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: TimeAmount(time)) {
      let (handler, context) = loopBound.value
      handler.end(context, because: reason)
    }
  }

  /// Ends the link.
  ///
  /// - Parameter reason: The reason, or nil if the link already knows it.
  private func end(_ context: ChannelHandlerContext, because reason: TransportError? = nil) {
    guard !hasEnded else { return }
    hasEnded = true
    timer?.cancel()
    let reason = reason ?? TransportError(.closed, "this side closed the link")
    if let link { link.ended(reason) } else { established(.failure(reason)) }
    (handshake, session, link) = (nil, nil, nil)
    context.close(promise: nil)
  }
}

/// The number of bytes that one read of the socket takes.
enum ReadSizes {
  static let handshake = FixedSizeRecvByteBufferAllocator(capacity: Framing.handshakeRead)
  /// The buffer for a session. It grows to four frames of the longest kind, because larger reads are not faster.
  static let session = AdaptiveRecvByteBufferAllocator(minimum: 1 << 10, initial: 64 << 10, maximum: 256 << 10)
}

private struct ChannelCarrier: LinkCarrier {
  let channel: any Channel

  var remoteAddress: String { channel.remoteAddress.map(\.hostAndPort) ?? "an unknown address" }

  func tell(_ event: LinkEvent) { channel.triggerUserOutboundEvent(event, promise: nil) }

  func waitUntilClosed() async {
    // The future never fails, because a channel closes once.
    _ = try? await channel.closeFuture.get()
  }
}
