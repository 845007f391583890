public import MeshCore

/// The time at which an input arrives. Both values come from outside, because this module never reads a clock.
public struct Moment: Sendable, Hashable {
  /// Milliseconds since 1970 on the wall clock, which may jump.
  public let wall: Int64
  /// Milliseconds on a clock that only advances, for timeouts.
  public let steady: Int64

  public init(wall: Int64, steady: Int64) {
    self.wall = wall
    self.steady = steady
  }
}

/// The driver's name for one session with a peer. It is never reused after the session closed.
public struct LinkID: Hashable, Comparable, Sendable {
  public let value: UInt64
  public init(_ value: UInt64) { self.value = value }
  public static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// The facts about a session after its handshake.
public struct LinkInfo: Sendable, Hashable {
  public let role: SessionBinding.Role
  public let handshakeHash: [UInt8]
  /// The peer's X25519 session key, proven by the handshake.
  public let remoteStatic: [UInt8]
  /// The peer's address for people: `HOST:PORT`.
  public let address: String

  public init(role: SessionBinding.Role, handshakeHash: [UInt8], remoteStatic: [UInt8], address: String) {
    self.role = role
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    self.address = address
  }
}
