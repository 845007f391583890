/// Why a record is not in its table though it lives, or why its row is not what is merged. The numbers are kept in the file.
public enum HeldReason: Int64, Sendable, Hashable, CaseIterable {
  /// A record that it refers to is not here yet.
  case missingParent = 1
  /// A record that it refers to is deleted.
  case parentDeleted = 2
  /// This file has no such table, or it is not synchronized here.
  case unknownTable = 3
  /// SQLite refuses the row: a missing value, a type, a `CHECK`, an app's trigger. Its words are kept.
  case constraint = 4
  /// A record of another zone has the row.
  case slotTaken = 5
  /// A local row whose value is longer than any that is sent.
  case valueTooLong = 6
  /// The record that it belongs to is in another zone.
  case parentElsewhere = 7
  /// It came with a share, and is neither its root nor what belongs to it.
  case outsideShare = 8
  /// A BLOB that its table asks for is not complete here.
  case assetIncomplete = 9
  /// SQLite refuses what is merged by now, and the row is the last version that it accepted. In `mesh_held` only: the record is shown.
  case editRefused = 10
  /// A program of this machine wrote the row while what it refers to was not here, or gave that another key: the row is shown here, as
  /// without a mesh, and held elsewhere. In `mesh_held` only.
  case shownHereOnly = 11
  /// As `unknownTable`, and its row was in the table when that stopped being synchronized, or got another name. What the row showed
  /// then is kept beside what was merged since. People are told `unknownTable`.
  case untracked = 12

  /// The record has a row in its table all the same.
  public var isShown: Bool { self == .valueTooLong || self == .editRefused || self == .shownHereOnly }

  /// The word in displays and in `--json`.
  public var name: String {
    switch self {
    case .missingParent: "missing-parent"
    case .parentDeleted: "parent-deleted"
    case .unknownTable, .untracked: "unknown-table"
    case .constraint: "constraint"
    case .slotTaken: "slot-taken"
    case .valueTooLong: "value-too-long"
    case .parentElsewhere: "parent-in-other-zone"
    case .outsideShare: "outside-share"
    case .assetIncomplete: "asset-incomplete"
    case .editRefused: "edit-refused"
    case .shownHereOnly: "shown-here-only"
    }
  }
}
