/// The reason that listening, dialling or a link failed or ended. It names the address or the rule, and the remedy if
/// there is one. It never contains data from a peer.
package struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// Another process listens there. The operator chooses another address.
    case addressInUse
    /// The address doesn't belong to this machine, or is not an address. The operator corrects it.
    case addressUnavailable
    /// No process answers there. The caller tries again later.
    case unreachable
    /// Connecting or the handshake took too long. The caller tries again later.
    case timedOut
    /// There are too many connections, from one address or in total. The dialler tries again later.
    case tooMany
    /// The peer doesn't speak this protocol, or its keys are unusable. The caller doesn't try again soon.
    case handshake
    /// The peer broke a rule of the framing, or its bytes were altered in transit. The caller counts it against the
    /// peer.
    case framing
    /// The peer doesn't read the messages that it is sent. The caller connects again and catches up.
    case overloaded
    /// A message to send is empty or too long, which is a defect of the caller.
    case messageSize
    /// The peer or the network ended the connection. The caller connects again.
    case peerClosed
    /// This side ended the link, or the task was cancelled.
    case closed
  }

  package let code: Code
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "\(message) [\(code.rawValue)]" }
}
