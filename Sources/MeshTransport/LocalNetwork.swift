import MeshCore
import MeshCrypto
import NIOConcurrencyHelpers
import NIOCore

/// A network inside this process, without sockets and without encryption, for the nodes of a test or a preview.
///
/// Its addresses are `in-process:1024`, `in-process:1025` and so on. Both ends of a link know each other's static key,
/// as after a handshake.
package final class LocalNetwork: Sendable {
  /// The first port that is assigned. Lower ones are for nodes that name their port.
  private static let firstPort = 1_024

  /// The network of all nodes in this process that don't ask for their own.
  package static let ofProcess = LocalNetwork()

  /// The host in every address of such a network.
  package static let host = "in-process"

  private struct State {
    var listeners: [Int: (keys: DeviceKeys, links: AsyncStream<Link>.Continuation)] = [:]
    /// The ports by a node's static key. A node that starts again has the same port, as a machine keeps its address.
    var ports: [[UInt8]: Int] = [:]
  }

  // Every access goes through the box's lock.
  private let state = NIOLockedValueBox(State())

  /// The wall clock of its nodes in milliseconds since 1970, or nil for that of the machine.
  package let wallClock: (@Sendable () -> Int64)?

  /// Creates a network without nodes.
  ///
  /// - Parameter wallClock: The wall clock of its nodes in milliseconds since 1970, or nil for that of the machine.
  package init(wallClock: (@Sendable () -> Int64)? = nil) { self.wallClock = wallClock }

  /// Listens on a port. Port 0 stands for the node's own port, which no other node gets.
  func listen(_ wanted: Int, _ keys: DeviceKeys) throws(TransportError) -> Listener {
    let (links, continuation) = AsyncStream<Link>.makeStream()
    let taken: Int? = state.withLockedValue { state in
      let port = wanted == 0 ? state.ports[keys.sessionKey] ?? Self.firstPort + state.ports.count : wanted
      guard state.listeners[port] == nil, port <= UInt16.max else { return nil }
      if wanted == 0 { state.ports[keys.sessionKey] = port }
      state.listeners[port] = (keys, continuation)
      return port
    }
    guard let port = taken else {
      throw TransportError(.addressInUse, "another node listens at \(Self.host):\(wanted) in this process")
    }
    return Listener(
      host: Self.host, port: port, links: links, beginAccepting: {},
      free: { [self] in
        state.withLockedValue { _ = $0.listeners.removeValue(forKey: port) }
        continuation.finish()
      })
  }

  func dial(
    _ host: String, _ port: Int, _ keys: DeviceKeys, _ randomness: any Randomness, _ limits: TransportLimits
  ) throws(TransportError) -> Link {
    let address = SocketAddress.hostAndPort(host, port)
    guard host == Self.host, let there = state.withLockedValue({ $0.listeners[port] }) else {
      throw TransportError(.unreachable, "no node listens at \(address) in this process")
    }
    // A handshake would have agreed on this hash.
    let hash = randomness.bytes(64)
    let (near, far) = (LocalCarrier(remoteAddress: address), LocalCarrier(remoteAddress: "\(Self.host):0"))
    let dialled = Link(
      role: .dialler, handshakeHash: hash, remoteStatic: there.keys.sessionKey, carrier: near, limits: limits, met: {})
    let accepted = Link(
      role: .listener, handshakeHash: hash, remoteStatic: keys.sessionKey, carrier: far, limits: limits, met: {})
    near.join(dialled, to: accepted, over: far)
    far.join(accepted, to: dialled, over: near)
    guard case .enqueued = there.links.yield(accepted) else {
      dialled.close()
      throw TransportError(.unreachable, "no node listens at \(address) in this process")
    }
    return dialled
  }
}

/// Hands the messages from one end of a link to the other end.
///
/// It never stops the reading of the other end, because the credit window of a session bounds the waiting messages.
private final class LocalCarrier: LinkCarrier {
  let remoteAddress: String
  /// The lock that is held while messages are handed over, so that they keep their order.
  private let handover = NIOLock()
  private let state = NIOLockedValueBox(State())

  private struct Ends {
    let own: Link
    let other: Link
    let far: LocalCarrier
  }

  private struct State {
    /// The two ends, which hold each other until the link is closed.
    var ends: Ends?
    var isClosed = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  init(remoteAddress: String) { self.remoteAddress = remoteAddress }

  func join(_ own: Link, to other: Link, over far: LocalCarrier) {
    state.withLockedValue { $0.ends = Ends(own: own, other: other, far: far) }
  }

  func tell(_ event: LinkEvent) {
    guard let ends = state.withLockedValue(\.ends) else { return }
    switch event {
    case .resumeReading: return
    case .drain: handOver(ends)
    case .close, .abort:
      handOver(ends)
      ends.own.ended(TransportError(.closed, "this side closed the link"))
      ends.other.ended(TransportError(.peerClosed, "the peer ended the connection"))
      close()
      ends.far.close()
    }
  }

  private func handOver(_ ends: Ends) {
    handover.withLock {
      while let message = ends.own.nextOutbound() {
        ends.other.deliver(message)
        ends.own.wrote(message.count)
      }
    }
  }

  private func close() {
    let waiting = state.withLockedValue { state in
      state.ends = nil
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func waitUntilClosed() async {
    await withCheckedContinuation { continuation in
      let isClosed = state.withLockedValue { state in
        if !state.isClosed { state.waiting.append(continuation) }
        return state.isClosed
      }
      if isClosed { continuation.resume() }
    }
  }
}
