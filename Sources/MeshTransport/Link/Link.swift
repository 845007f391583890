public import MeshCrypto
import NIOConcurrencyHelpers
import NIOCore

/// An encrypted session with one peer, whose static key is proved and whose name is not yet known.
///
/// Whole messages of 1 byte to 1 MiB + 64 KiB go in and come out in order, or the link ends. Both queues are bounded:
/// a peer that does not read ends the link (`.overloaded`); messages that are not consumed stop the reading.
///
/// ```swift
/// link.send(hello)
/// for await message in link.messages { … }
/// print(link.closeReason?.message ?? "")
/// ```
public final class Link: Sendable {
  /// Which side of the handshake this one was.
  public let role: NoiseHandshake.Role
  /// 64 bytes that name this session, the same on both sides.
  public let handshakeHash: [UInt8]
  /// The peer's static X25519 key, 32 bytes.
  public let remoteStatic: [UInt8]
  /// The peer's `host:port` as the socket knows it.
  public let remoteAddress: String

  private let carrier: any LinkCarrier
  private let limits: TransportLimits
  private let inbound: AsyncStream<[UInt8]>
  private let inboundContinuation: AsyncStream<[UInt8]>.Continuation
  // Written by any thread: every access goes through the box's lock.
  private let state = NIOLockedValueBox(State())

  private struct State {
    var outbound = CircularBuffer<[UInt8]>()
    var queuedBytes = 0
    var isDraining = false
    var unconsumedBytes = 0
    var isReadingPaused = false
    var closing: TransportError?
    var hasEnded = false
  }

  init(
    role: NoiseHandshake.Role, handshakeHash: [UInt8], remoteStatic: [UInt8], carrier: any LinkCarrier,
    limits: TransportLimits, met: @escaping @Sendable () -> Void
  ) {
    self.met = met
    self.role = role
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    remoteAddress = carrier.remoteAddress
    self.carrier = carrier
    self.limits = limits
    (inbound, inboundContinuation) = AsyncStream.makeStream()
  }

  /// Queues a message; returns at once, from any thread. Messages arrive in the order of the calls.
  ///
  /// An empty or too long message ends the link with `.messageSize`, a full queue with `.overloaded`. On a link that
  /// has ended it does nothing.
  public func send(_ message: [UInt8]) {
    let cost = message.count + TransportLimits.messageOverhead
    let event: LinkEvent? = state.withLockedValue { state in
      guard state.closing == nil else { return nil }
      if let refusal = refusal(of: message.count, queued: state.queuedBytes + cost) {
        state.closing = refusal
        return .abort
      }
      state.outbound.append(message)
      state.queuedBytes += cost
      defer { state.isDraining = true }
      return state.isDraining ? nil : .drain
    }
    if let event { carrier.tell(event) }
  }

  /// Bytes that wait to be written to the socket, with 64 for each message.
  public var queuedBytes: Int { state.withLockedValue(\.queuedBytes) }

  /// Why the link ended or is about to; nil while it lives.
  public var closeReason: TransportError? { state.withLockedValue(\.closing) }

  /// To be called when the peer has proven who it is. Before that, an accepted link gives way to newer connections when there are too
  /// many of strangers.
  public let met: @Sendable () -> Void

  /// Ends the link after what is queued has been sent, within `TransportLimits.lingerTime`. The first reason stands.
  public func close(_ reason: TransportError = TransportError(.closed, "this side closed the link")) {
    let isFirst = state.withLockedValue { state in
      defer { state.closing = state.closing ?? reason }
      return state.closing == nil
    }
    if isFirst { carrier.tell(.close) }
  }

  /// Returns when the socket is closed.
  public func waitUntilClosed() async { await carrier.waitUntilClosed() }

  private func refusal(of count: Int, queued: Int) -> TransportError? {
    do throws(TransportError) {
      try SessionWire.checkSize(count)
    } catch {
      return error
    }
    guard queued > limits.outboundBytes else { return nil }
    return TransportError(
      .overloaded, "\(remoteAddress) does not read: over \(limits.outboundBytes) bytes wait to be sent to it")
  }
}

extension Link {
  /// The peer's messages in order, until the link ends; to be iterated once.
  public var messages: Messages { Messages(base: inbound, link: self) }

  public struct Messages: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = Never

    fileprivate let base: AsyncStream<[UInt8]>
    fileprivate let link: Link

    public func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), link: link) }

    public struct Iterator: AsyncIteratorProtocol {
      fileprivate var base: AsyncStream<[UInt8]>.Iterator
      fileprivate let link: Link

      public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> [UInt8]? {
        guard let message = await base.next(isolation: actor) else { return nil }
        link.consumed(message.count)
        return message
      }
    }
  }

  private func consumed(_ count: Int) {
    let resumes = state.withLockedValue { state in
      state.unconsumedBytes -= count + TransportLimits.messageOverhead
      guard state.isReadingPaused, state.unconsumedBytes <= limits.inboundBytes / 2 else { return false }
      state.isReadingPaused = false
      return true
    }
    if resumes { carrier.tell(.resumeReading) }
  }
}

/// What brings the messages of a link to its peer: a socket's channel, or another link of this process.
protocol LinkCarrier: Sendable {
  /// The peer's `host:port`.
  var remoteAddress: String { get }
  func tell(_ event: LinkEvent)
  func waitUntilClosed() async
}

/// What a link's carrier is told, from any thread.
enum LinkEvent: Sendable {
  /// Messages wait to be sent.
  case drain
  /// The consumer has caught up.
  case resumeReading
  /// End when everything is sent.
  case close
  /// End now.
  case abort
}

/// The handler's side, on the event loop.
extension Link {
  /// The next message to encrypt; nil where none waits, and then the next `send` will say so.
  func nextOutbound() -> [UInt8]? {
    state.withLockedValue { state in
      if let message = state.outbound.popFirst() { return message }
      state.isDraining = false
      return nil
    }
  }

  /// A message of `count` bytes is with the kernel.
  func wrote(_ count: Int) {
    state.withLockedValue { $0.queuedBytes -= count + TransportLimits.messageOverhead }
  }

  /// Bytes received and not yet consumed, with 64 for each message.
  var unconsumedBytes: Int { state.withLockedValue(\.unconsumedBytes) }

  var isDrained: Bool { state.withLockedValue { $0.queuedBytes == 0 } }

  func deliver(_ message: [UInt8]) {
    state.withLockedValue { $0.unconsumedBytes += message.count + TransportLimits.messageOverhead }
    inboundContinuation.yield(message)
  }

  /// False where the consumer is too far behind; it will then be told to resume.
  func mayRead() -> Bool {
    state.withLockedValue { state in
      state.isReadingPaused = state.unconsumedBytes > limits.inboundBytes
      return !state.isReadingPaused
    }
  }

  /// No message comes or goes any more. The reason stands where this side has not given one.
  func ended(_ reason: TransportError) {
    state.withLockedValue { state in
      state.closing = state.closing ?? reason
      // What is on its way to the kernel is counted off when its write fails.
      state.queuedBytes -= state.outbound.reduce(0) { $0 + $1.count + TransportLimits.messageOverhead }
      state.outbound.removeAll()
    }
    inboundContinuation.finish()
  }
}
