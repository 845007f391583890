/// Why the daemon gave no answer. A refusal is an answer: ``ControlClient`` throws it as the ``Refusal`` that the daemon
/// sent.
public struct ControlClientError: Error, Refusing, Equatable, CustomStringConvertible {
  /// The kinds of these errors.
  public enum Code: String, Sendable {
    /// No daemon runs on this home: there is no socket, or no process listens there.
    case noDaemon
    /// The daemon is there and did not answer in time.
    case notAnswering
    /// The daemon ended the connection before it answered.
    case closed
    /// This version of mesh doesn't understand the answer, or it is too long.
    case garbled
  }

  /// The kind of the error, for programs.
  public let code: Code
  /// A text for people: the reason, and a command that helps.
  public let message: String

  /// The message.
  public var description: String { message }

  package var refusal: Refusal {
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

  static func tooLong(_ what: String, _ bytes: Int) -> Self {
    Self(
      code: .garbled,
      message:
        "The daemon's answer to \(what) has \(bytes) bytes, and a client takes \(ControlExchange.answerLimit) at most: ask for less."
    )
  }

  static func garbled(_ what: String) -> Self {
    Self(
      code: .garbled, message: "The daemon's answer to \(what) is not understood. Does it run another version of mesh?")
  }
}
