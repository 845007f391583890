/// The exit code that a command of mesh returns to the shell.
public enum ExitStatus: Int32, Codable, Sendable, CaseIterable {
  /// The command is done, or the answer is yes.
  case done = 0
  /// The answer is no: unequal, or not in time.
  case no = 1
  /// The arguments make no sense.
  case usage = 2
  /// The command needs a running daemon, and none accepts.
  case daemonNeeded = 3
  /// No other member of the mesh is connected, or no address of an invite can be reached.
  case noMember = 4
  /// The node refuses. The message has the reason, and what to do.
  case refused = 5
}

/// Why a node didn't do something, in words for people and with a code for programs.
public struct Refusal: Error, Codable, Hashable, Sendable, CustomStringConvertible {
  /// A stable code, `subject.reason`: `home.permissions`, `device.unknown`.
  public let code: String
  /// A text for people: the reason, and what to do. It has several lines if several things are wrong, and never a secret
  /// or a value of a row.
  public let message: String
  /// The exit code of the command line.
  public let exit: ExitStatus
  /// Each thing that is wrong, if there may be several. Otherwise it is empty.
  public let reasons: [String]

  /// Creates a refusal.
  ///
  /// - Parameter code: A stable code for programs, such as `record.unknown`.
  package init(code: String, message: String, exit: ExitStatus = .refused, reasons: [String] = []) {
    (self.code, self.message, self.exit, self.reasons) = (code, message, exit, reasons)
  }

  /// The message.
  public var description: String { message }

  /// The code of the refusal if a node doesn't know a request.
  package static let noRoute = "control.route"
  /// The code of the refusal if a node stops before a request is done.
  package static let stopping = "control.stopping"

  /// The refusal of ``VerifyRequest`` and ``WaitRequest`` if no other device is connected, and none connected in time.
  ///
  /// - Parameters:
  ///   - tried: Each address that is dialled, since when, and what came of it.
  ///   - knowsOthers: Whether the account has another device, or shares with another account.
  package static func noMember(tried: [String], knowsOthers: Bool) -> Refusal {
    var message = "no other device of this mesh is connected"
    if !tried.isEmpty {
      message +=
        ":\n  " + tried.joined(separator: "\n  ") + "\nCheck that a daemon runs there (mesh serve). A device that has "
        + "another address now is reached with mesh serve --peer HOST:PORT"
    } else if knowsOthers {
      message +=
        ", and this node has no address to dial. Start the daemon of a device that dials this one (mesh peers lists "
        + "devices), or give this node an address: mesh serve --peer HOST:PORT"
    } else {
      message += ": the account has one device, and shares nothing. Invite another one: mesh device invite"
    }
    return Refusal(code: "peers.none", message: message, exit: .noMember)
  }
}

/// An error that can be expressed as a `Refusal`. Each module's errors that reach a command conform to it.
package protocol Refusing: Error, Sendable {
  /// The refusal that a command or a client gets instead of the error.
  var refusal: Refusal { get }
}

extension Refusal: Refusing {
  package var refusal: Refusal { self }
}
