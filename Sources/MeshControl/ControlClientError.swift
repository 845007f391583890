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
    /// The daemon has another version of mesh, and one of the two doesn't understand the other.
    case version
  }

  /// The kind of the error, for programs.
  public let code: Code
  /// A text for people: the reason, and a command that helps.
  public let message: String

  /// The message.
  public var description: String { message }

  package var refusal: Refusal {
    let isThere = code == .garbled || code == .version
    return Refusal(code: "daemon.\(code.rawValue)", message: message, exit: isThere ? .refused : .daemonNeeded)
  }

  /// Returns the error for a home without a daemon.
  ///
  /// - Parameter socket: The path of the home's control socket.
  package static func noDaemon(_ socket: String) -> Self {
    Self(code: .noDaemon, message: "no daemon runs on this home (\(socket) does not answer). Start it with mesh serve.")
  }

  static func notAnswering(_ socket: String, _ limit: Duration) -> Self {
    Self(
      code: .notAnswering,
      message:
        "the daemon at \(socket) has not answered within \(Int(limit.inSeconds)) seconds. Look at its log, or restart it."
    )
  }

  static let closed = Self(
    code: .closed,
    message:
      "the daemon went away before it had answered: it was stopped, or it ended (its log says why). Start it with mesh serve, and "
      + "run this command again; what was done before may be done already.")

  static func tooLong(_ what: String, _ bytes: Int) -> Self {
    Self(
      code: .garbled,
      message:
        "the daemon's answer to \(what) has \(bytes) bytes, and a client takes \(ControlExchange.answerLimit) at most: ask for less."
    )
  }

  /// Returns the error for an answer or a request that the other side doesn't understand.
  ///
  /// - Parameter version: The version of the daemon, or nil if it is older than the first that says it.
  static func otherVersion(_ version: MeshVersion?, _ what: String) -> Self {
    let mine = MeshVersion.current
    let theirs = version.map { "mesh \($0)" } ?? "an older version of mesh"
    let remedy =
      version.map { $0 > mine } == true
      ? "Update this program."
      : "Update the program that runs the node (mesh serve, or an app), or stop it. Its rows stay captured in the database."
    return Self(
      code: .version,
      message:
        "the program that runs the node has \(theirs), and this one has mesh \(mine), so they don't understand each other in "
        + "\(what). \(remedy)")
  }

  static func garbled(_ what: String) -> Self {
    Self(
      code: .garbled, message: "the daemon's answer to \(what) is not understood. Does it run another version of mesh?")
  }
}
