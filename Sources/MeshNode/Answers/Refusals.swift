package import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
import MeshTransport

extension Error {
  /// The message for the person who operates the node.
  var userMessage: String { (self as? any Refusing)?.refusal.message ?? "\(self)" }
}

extension Refusal {
  /// The refusal of a command that comes after the flush of rows that can't be signed.
  ///
  /// - Parameter obstacle: The reason that the command needs the flush.
  static func rowsPending(_ obstacle: String) -> Refusal {
    Refusal(
      code: "rows.pending",
      message:
        "rows are pending, and \(obstacle). If a program writes without a pause, pause it. If the rows can't be signed now, "
        + "mesh status has the reason.")
  }

  /// The refusal of a database whose home is another one.
  ///
  /// - Parameters:
  ///   - known: The accounts that the database knows. A file with shares knows their participants too.
  ///   - account: The home's account, or nil if it has none yet.
  static func foreignDatabase(_ path: String, of known: [AccountID], _ home: Home, _ account: AccountID?) -> Refusal {
    let owner = known.count == 1 ? known.first.map { "\($0)" } : nil
    let own =
      account.map { "the home \(home.path) is of the account \($0)" } ?? "the home \(home.path) has no account yet"
    return Refusal(
      code: "database.foreign",
      message:
        "\(path) belongs to \(owner.map { "the account \($0)" } ?? "another account"), and \(own). Give the home of the "
        + "account that it belongs to with --home, or another file with --database.")
  }
}

// The errors of the lower modules for the user of a command: a stable code, and the module's own message.

extension StoreError: Refusing {
  package var refusal: Refusal { Refusal(code: "database.\(code)", message: message, reasons: reasons) }
}

extension RestoreError: Refusing {
  package var refusal: Refusal {
    let code =
      switch self {
      case .unknownRecord: "record.unknown"
      case .unknownConflict: "conflict.unknown"
      case .unknownColumn, .lacking: "column.unknown"
      case .untracked, .noTable: "table.untracked"
      case .lives: "record.lives"
      case .taken: "record.taken"
      case .noDescendants, .nothingBeaten, .continues, .counted, .outdone, .noHistory, .assetGone, .stillShown:
        "restore.nothing"
      case .held: "record.held"
      case .changed: "record.changed"
      case .refused, .readOnly: "restore.refused"
      @unknown default: "restore.failed"
      }
    return Refusal(code: code, message: description)
  }
}

extension DiscardError: Refusing {
  package var refusal: Refusal {
    let code =
      switch self {
      case .unknownRecord: "record.unknown"
      case .untracked: "table.untracked"
      case .notHeld, .shown: "record.notHeld"
      case .several: "record.ambiguous"
      case .notPermitted: "record.notPermitted"
      case .root: "share.root"
      case .renamed: "table.renamed"
      case .written: "record.changed"
      @unknown default: "discard.failed"
      }
    return Refusal(code: code, message: description)
  }
}

extension ResolveError: Refusing {
  package var refusal: Refusal {
    let (code, exit): (String, ExitStatus) =
      switch self {
      case .unknownRecord: ("record.unknown", .refused)
      case .notRefused: ("record.notRefused", .refused)
      case .several: ("record.ambiguous", .refused)
      case .notPermitted: ("record.notPermitted", .refused)
      case .unknownColumn: ("column.unknown", .refused)
      case .nothingChosen: ("resolve.what", .usage)
      case .blob: ("resolve.blob", .refused)
      case .refused: ("resolve.refused", .refused)
      case .held: ("record.held", .refused)
      case .written: ("record.changed", .refused)
      @unknown default: ("resolve.failed", .refused)
      }
    return Refusal(code: code, message: description, exit: exit)
  }
}

extension EvictionError: Refusing {
  package var refusal: Refusal {
    let code =
      switch self {
      case .written: "rows.pending"
      case .changed: "record.changed"
      case .required, .refused: "asset.required"
      @unknown default: "asset.failed"
      }
    return Refusal(code: code, message: "\(description).")
  }
}

extension MissingKey: Refusing {
  package var refusal: Refusal { Refusal(code: "database.keyMissing", message: description) }
}

extension TransportError: Refusing {
  package var refusal: Refusal { Refusal(code: "network.\(code.rawValue)", message: message) }
}

extension CryptoError: Refusing {
  package var refusal: Refusal { Refusal(code: "key.\(code)", message: message) }
}

extension InviteFault: Refusing {
  package var refusal: Refusal { Refusal(code: "link.invalid", message: description) }
}

extension ShareError: Refusing {
  package var refusal: Refusal {
    let code =
      switch self {
      case .notShareable: "share.refused"
      case .unknownShare: "share.unknown"
      case .notOwner: "share.notOwner"
      case .isStopped: "share.stopped"
      case .ownerCannotLeave: "share.owner"
      case .unknownInvite: "invite.unknown"
      case .noParticipant: "account.unknown"
      }
    return Refusal(code: code, message: description)
  }
}

extension ReplicaError: Refusing {
  package var refusal: Refusal {
    let code =
      switch self {
      case .badDeviceKey: "key.damaged"
      case .foreignDatabase: "database.foreign"
      case .needsAccountKey: "account.keyElsewhere"
      case .unknownDevice: "device.unknown"
      case .notReady: "node.notReady"
      }
    return Refusal(code: code, message: description)
  }
}
