package import MeshCore

/// The goodbye that ended a session.
package struct SessionEnd: Sendable {
  package let code: Message.Goodbye
  package let text: String
  package let isFromPeer: Bool

  /// The end as a person reads it, with the side that ended the session.
  package var reason: String { "\(isFromPeer ? "the other device" : "this node") ended the session: \(text)" }
}
