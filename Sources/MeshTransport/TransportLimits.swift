/// What this side allows itself and its peers. The rules of the wire are in `Framing` and are not a matter of choice.
public struct TransportLimits: Sendable {
  /// From connection to session. A round trip takes well under a second anywhere; a peer that stalls holds a place of
  /// `strangers` for no longer.
  public var handshakeTime: Duration = .seconds(10)
  /// For name resolution and connecting, before the handshake.
  public var dialTime: Duration = .seconds(10)
  /// Accepted connections whose peers have not proven who they are, all addresses together. Each costs a socket and a few
  /// kilobytes.
  public var strangers = 128
  /// The same for one address (an IPv6 network of 64 bits). Beyond either, the oldest connection gives way.
  public var strangersPerAddress = 16
  /// Links of peers that have proven a key, at one time. Replication ends sessions beyond 448, so that another finds room.
  public var acceptedLinks = 512
  /// Connections one address may open at once before `connectionsPerSecond` counts.
  public var connectionBurst = 64
  /// Connections per second from one address in the long run. A handshake costs about 0.3 ms of a core.
  public var connectionsPerSecond = 4
  /// Bytes that may wait to be sent on one link: twice the credit window, so only a peer that does not read meets it.
  public var outboundBytes = 16 << 20
  /// Bytes received and not yet consumed on one link, before reading from the socket stops.
  public var inboundBytes = 4 << 20
  /// How long a link that this side closes may take to send what is queued.
  public var lingerTime: Duration = .seconds(2)

  public init() {}

  /// What a queued message costs beside its bytes, so that many tiny messages are bounded too.
  static let messageOverhead = 64
}
