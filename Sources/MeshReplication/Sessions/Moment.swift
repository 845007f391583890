package import MeshCore

/// The time at which an input arrives. Both values come from outside, because this module never reads a clock.
package struct Moment: Sendable, Hashable {
  /// Milliseconds since 1970 on the wall clock, which may jump.
  package let wall: Int64
  /// Milliseconds on a clock that only advances, for timeouts.
  package let steady: Int64

  package init(wall: Int64, steady: Int64) {
    self.wall = wall
    self.steady = steady
  }
}

/// The driver's name for one link: an encrypted connection to a peer. The session with the peer runs on it and has the same
/// name. It is never reused after the link closed.
package struct LinkID: Hashable, Comparable, Sendable {
  package let value: UInt64
  package init(_ value: UInt64) { self.value = value }
  package static func < (left: LinkID, right: LinkID) -> Bool { left.value < right.value }
}

/// The facts about a link after its handshake.
package struct LinkInfo: Sendable, Hashable {
  package let role: SessionBinding.Role
  package let handshakeHash: [UInt8]
  /// The peer's X25519 session key, proven by the handshake.
  package let remoteStatic: [UInt8]
  /// The peer's address for people: `HOST:PORT`.
  package let address: String

  package init(role: SessionBinding.Role, handshakeHash: [UInt8], remoteStatic: [UInt8], address: String) {
    self.role = role
    self.handshakeHash = handshakeHash
    self.remoteStatic = remoteStatic
    self.address = address
  }
}
