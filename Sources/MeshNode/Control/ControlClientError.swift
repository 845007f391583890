/// Why the daemon gave no answer. A refusal is an answer: it is thrown as the `Refusal` that the daemon sent.
public struct ControlClientError: Refusing, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// No socket, or one that nobody listens at: no daemon runs on this home.
    case noDaemon
    /// The daemon is there and has not answered in time.
    case notAnswering
    /// The daemon ended the connection before it had answered.
    case closed
    /// The answer is not what this version of `mesh` understands.
    case garbled
  }

  public let code: Code
  public let message: String

  public var description: String { message }

  public var refusal: Refusal {
    Refusal(code: "daemon.\(code.rawValue)", message: message, exit: code == .garbled ? .refused : .daemonNeeded)
  }

  static func noDaemon(_ socket: String) -> Self {
    Self(code: .noDaemon, message: "No daemon runs on this home (\(socket) does not answer). Start it with mesh serve.")
  }

  static func notAnswering(_ socket: String, _ limit: Duration) -> Self {
    Self(
      code: .notAnswering,
      message:
        "The daemon at \(socket) has not answered within \(Int(limit.inSeconds)) seconds. Look at its log, or restart it."
    )
  }

  static let closed = Self(
    code: .closed,
    message:
      "The daemon went away before it had answered: it was stopped, or it ended (its log says why). Start it with mesh serve, and "
      + "run this command again; what was done before may be done already.")

  static func garbled(_ what: String) -> Self {
    Self(
      code: .garbled, message: "The daemon's answer to \(what) is not understood. Does it run another version of mesh?")
  }
}
