/// Why listening, dialling or a link failed or ended. It names the address or the rule, and the way out where there is
/// one; it never contains what a peer sent.
public struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable, CaseIterable {
    /// Another process listens there. The operator chooses another address.
    case addressInUse
    /// The address is not one of this machine, or not an address. The operator corrects it.
    case addressUnavailable
    /// Nobody answers there. The caller tries again later.
    case unreachable
    /// Connecting or the handshake took too long. The caller tries again later.
    case timedOut
    /// Too many connections, from one address or altogether. The dialler tries again later.
    case tooMany
    /// The peer does not speak this protocol, or its keys are unusable. The caller does not try again soon.
    case handshake
    /// The peer broke a rule of the framing, or its bytes were altered on the way. The caller counts it against it.
    case framing
    /// The peer does not read what it is sent. The caller connects again and catches up.
    case overloaded
    /// A message to send is empty or too long. A defect of the caller.
    case messageSize
    /// The peer, or the network, ended the connection. The caller connects again.
    case peerClosed
    /// This side ended the link, or the task was cancelled.
    case closed
  }

  public let code: Code
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) [\(code.rawValue)]" }
}
