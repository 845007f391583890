package import MeshCrypto
import NIOConcurrencyHelpers
import NIOCore

/// An encrypted connection to one peer, after the Noise handshake.
///
/// The handshake proves the peer's static key, but not whose key it is. The layer above exchanges certificates over the
/// link, and then has a session with a device.
///
/// Whole messages of 1 byte to 1 MiB + 64 KiB are sent and received in order, or the link ends. Both queues are
/// bounded. A peer that doesn't read ends the link (`.overloaded`). Messages that are not consumed stop the reading.
///
/// ```swift
/// link.send(hello)
/// for await message in link.messages { … }
/// print(link.closeReason?.message ?? "")
/// ```
package final class Link: Sendable {
  /// The role of this side in the handshake.
  package let role: NoiseHandshake.Role
  /// The 64 bytes that identify this link, the same on both sides.
  package let handshakeHash: [UInt8]
  /// The peer's static X25519 key, 32 bytes.
  package let remoteStatic: [UInt8]
  /// The peer's `host:port` according to the socket.
  package let remoteAddress: String

  private let carrier: any LinkCarrier
  private let limits: TransportLimits
  private let inbound: AsyncStream<[UInt8]>
  private let inboundContinuation: AsyncStream<[UInt8]>.Continuation
  // Any thread may write: every access goes through the box's lock.
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

  /// Queues a message and returns immediately, on any thread. Messages arrive in the order of the calls.
  ///
  /// An empty or too long message ends the link with `.messageSize`, and a full queue ends it with `.overloaded`. On a
  /// link that has ended, the call does nothing.
  package func send(_ message: [UInt8]) {
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

  /// The number of bytes that wait to be written to the socket, with 64 for each message.
  package var queuedBytes: Int { state.withLockedValue(\.queuedBytes) }

  /// The reason that the link ended or is about to end, or nil while it is open.
  package var closeReason: TransportError? { state.withLockedValue(\.closing) }

  /// Notes that the peer has proven its identity. Before this call, an accepted link is closed in favor of newer
  /// connections if there are too many strangers.
  package let met: @Sendable () -> Void

  /// Ends the link after the queued messages have been sent, within `TransportLimits.lingerTime`. The first reason
  /// counts.
  package func close(_ reason: TransportError = TransportError(.closed, "this side closed the link")) {
    let isFirst = state.withLockedValue { state in
      defer { state.closing = state.closing ?? reason }
      return state.closing == nil
    }
    if isFirst { carrier.tell(.close) }
  }

  /// Returns when the socket is closed.
  package func waitUntilClosed() async { await carrier.waitUntilClosed() }

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
  /// The peer's messages in order, until the link ends. Iterate over them only once.
  package var messages: Messages { Messages(base: inbound, link: self) }

  package struct Messages: AsyncSequence, Sendable {
    package typealias Element = [UInt8]
    package typealias Failure = Never

    fileprivate let base: AsyncStream<[UInt8]>
    fileprivate let link: Link

    package func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), link: link) }

    package struct Iterator: AsyncIteratorProtocol {
      fileprivate var base: AsyncStream<[UInt8]>.Iterator
      fileprivate let link: Link

      package mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> [UInt8]? {
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

/// The carrier of a link's messages to its peer: a socket's channel, or another link in this process.
protocol LinkCarrier: Sendable {
  /// The peer's `host:port`.
  var remoteAddress: String { get }
  func tell(_ event: LinkEvent)
  func waitUntilClosed() async
}

/// The events that a link's carrier is told, from any thread.
enum LinkEvent: Sendable {
  /// Messages wait to be sent.
  case drain
  /// The consumer has caught up.
  case resumeReading
  /// The link ends when everything is sent.
  case close
  /// The link ends immediately.
  case abort
}

/// The handler's side of a link, on the event loop.
extension Link {
  /// Returns the next message to encrypt, or nil if none waits. After nil, the next `send` tells the carrier.
  func nextOutbound() -> [UInt8]? {
    state.withLockedValue { state in
      if let message = state.outbound.popFirst() { return message }
      state.isDraining = false
      return nil
    }
  }

  /// Notes that a message of `count` bytes was handed to the kernel.
  func wrote(_ count: Int) {
    state.withLockedValue { $0.queuedBytes -= count + TransportLimits.messageOverhead }
  }

  /// The number of bytes received and not yet consumed, with 64 for each message.
  var unconsumedBytes: Int { state.withLockedValue(\.unconsumedBytes) }

  var isDrained: Bool { state.withLockedValue { $0.queuedBytes == 0 } }

  func deliver(_ message: [UInt8]) {
    state.withLockedValue { $0.unconsumedBytes += message.count + TransportLimits.messageOverhead }
    inboundContinuation.yield(message)
  }

  /// Pauses reading if the consumer is too far behind. The carrier is told later to resume.
  ///
  /// - Returns: True if reading is paused.
  func pauseReadingIfBehind() -> Bool {
    state.withLockedValue { state in
      state.isReadingPaused = state.unconsumedBytes > limits.inboundBytes
      return state.isReadingPaused
    }
  }

  /// Ends the link. No message is sent or received any more. The reason counts if this side has not given one.
  func ended(_ reason: TransportError) {
    state.withLockedValue { state in
      state.closing = state.closing ?? reason
      // Bytes that are being handed to the kernel are subtracted when their write fails.
      state.queuedBytes -= state.outbound.reduce(0) { $0 + $1.count + TransportLimits.messageOverhead }
      state.outbound.removeAll()
    }
    inboundContinuation.finish()
  }
}
