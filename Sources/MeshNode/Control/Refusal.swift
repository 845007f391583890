/// What a verb's process returns to the shell.
public enum ExitStatus: Int32, Codable, Sendable, CaseIterable {
  /// Done; the answer is yes.
  case done = 0
  /// The question was understood and the answer is no: unequal, or not in time.
  case no = 1
  /// The arguments make no sense.
  case usage = 2
  /// A running daemon is needed, and none accepts.
  case daemonNeeded = 3
  /// No other member of the mesh is connected, or none of a link's addresses can be reached.
  case noMember = 4
  /// Refused; the message has the reason and the way out.
  case refused = 5
}

/// Why something was not done, in words for a person and a code for a program. It crosses the control socket unchanged.
public struct Refusal: Error, Codable, Hashable, Sendable, CustomStringConvertible {
  /// Stable, `subject.reason`: `home.permissions`, `device.unknown`.
  public let code: String
  /// Names the thing, the rule and the way out. Several lines where several things are wrong. No secrets and no values
  /// of rows.
  public let message: String
  public let exit: ExitStatus
  /// Each thing that is wrong by itself, where there may be several; else empty.
  public let reasons: [String]

  public init(code: String, message: String, exit: ExitStatus = .refused, reasons: [String] = []) {
    self.code = code
    self.message = message
    self.exit = exit
    self.reasons = reasons
  }

  public var description: String { message }

  /// For `verify` and `wait` where there is nobody to compare with or to wait for.
  public static let noMember = Refusal(
    code: "peers.none",
    message:
      "No other device of this mesh is connected. See mesh peers; add an address with mesh serve --peer HOST:PORT.",
    exit: .noMember)
}

/// An error that can say itself as a `Refusal`. The errors of each module that reach a verb conform to it.
public protocol Refusing: Error, Sendable {
  var refusal: Refusal { get }
}

extension Refusal: Refusing {
  public var refusal: Refusal { self }
}
