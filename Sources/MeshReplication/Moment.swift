public import MeshCore

/// The time at which an input arrives. Both come from outside: nothing here reads a clock.
public struct Moment: Sendable, Hashable {
  /// Milliseconds since 1970; may jump.
  public let wall: Int64
  /// Milliseconds that only go forward; for time-outs.
  public let steady: Int64

  public init(wall: Int64, steady: Int64) {
    self.wall = wall
    self.steady = steady
  }
}

/// One session with a peer, as its driver names it; never used again after it closed.
public struct LinkID: Hashable, Comparable, Sendable {
  public let value: UInt64
  public init(_ value: UInt64) { self.value = value }
  public static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// What a session is known by once its handshake is over.
public struct LinkInfo: Sendable, Hashable {
  public let role: SessionBinding.Role
  public let handshakeHash: [UInt8]
  /// The peer's X25519 session key, proven by the handshake.
  public let remoteStatic: [UInt8]
  /// For people: `HOST:PORT`.
  public let address: String

  public init(role: SessionBinding.Role, handshakeHash: [UInt8], remoteStatic: [UInt8], address: String) {
    self.role = role
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    self.address = address
  }
}
