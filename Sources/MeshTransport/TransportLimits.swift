/// The limits of this side for itself and its peers. The rules of the wire are in `Framing` and can't be chosen.
package struct TransportLimits: Sendable {
  /// The time from the connection to the session. A round trip takes well under a second anywhere. A stalling peer
  /// holds a place of `strangers` no longer than this.
  package var handshakeTime: Duration = .seconds(10)
  /// The time for name resolution and connecting, before the handshake.
  package var dialTime: Duration = .seconds(10)
  /// The number of accepted connections whose peers have not proven their identity, from all addresses together. Each
  /// uses a socket and a few kilobytes.
  package var strangers = 128
  /// The same number for one address (an IPv6 network of 64 bits). Beyond either limit, the oldest connection is
  /// closed.
  package var strangersPerAddress = 16
  /// The number of simultaneous links whose peers have proven a key. Replication ends sessions beyond 448, so that
  /// another finds room.
  package var acceptedLinks = 512
  /// The number of connections that one address may open at once before `connectionsPerSecond` counts.
  package var connectionBurst = 64
  /// The long-term number of connections per second from one address. A handshake costs about 0.3 ms of a core.
  package var connectionsPerSecond = 4
  /// The bytes that may wait to be sent on one link. This is twice the credit window, so only a peer that doesn't read
  /// reaches it.
  package var outboundBytes = 16 << 20
  /// The bytes received and not yet consumed on one link, above which reading from the socket stops.
  package var inboundBytes = 4 << 20
  /// The time in which a link that this side closes may send its queued messages.
  package var lingerTime: Duration = .seconds(2)

  package init() {}

  /// The bytes that a queued message counts in addition to its own, so that many tiny messages are bounded too.
  static let messageOverhead = 64
}
