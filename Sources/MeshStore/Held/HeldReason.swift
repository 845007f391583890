/// The reason why a live record is not in its table, or why its row differs from the merged values. The numbers are
/// stored in the file.
package enum HeldReason: Int64, Sendable, Hashable, CaseIterable {
  /// A record that it refers to is not here yet.
  case missingParent = 1
  /// A record that it refers to is deleted.
  case parentDeleted = 2
  /// This file has no such table, or the table is not synchronized here.
  case unknownTable = 3
  /// SQLite refuses the row because of a missing value, a type, a `CHECK` or an app's trigger. SQLite's message is
  /// kept.
  case constraint = 4
  /// A record of another zone has the row.
  case slotTaken = 5
  /// A local row has a value that is too long to be sent.
  case valueTooLong = 6
  /// The record that it belongs to is in another zone.
  case parentElsewhere = 7
  /// It arrived with a share, but is neither the share's root nor belongs to the root.
  case outsideShare = 8
  /// A BLOB that its table requires is not complete here.
  case assetIncomplete = 9
  /// SQLite refuses the merged values, and the row is the last version that it accepted. Used only in `mesh_held`: the
  /// record is shown.
  case editRefused = 10
  /// A program on this machine wrote the row while the row that it refers to was not here, or gave that row another
  /// key. The row is shown here, as it would be without mesh, and is held on other devices. Used only in `mesh_held`.
  case shownHereOnly = 11
  /// Like `unknownTable`, but the row was in the table when the table stopped being synchronized or was renamed. The
  /// values that the row showed then are kept beside those merged since. Displays show `unknownTable`.
  case untracked = 12
  /// The key of a local row is no valid text in a file in UTF-16, so that no other machine would read the same key.
  case keyUnreadable = 13

  /// Whether the record has a row in its table nevertheless.
  package var isShown: Bool { isUnsent || self == .editRefused || self == .shownHereOnly }

  /// Whether a local row is not sent. It may have no record.
  package var isUnsent: Bool { self == .valueTooLong || self == .keyUnreadable }

  /// Whether the record waits for a record that it refers to.
  var concernsParent: Bool { self == .missingParent || self == .parentDeleted || self == .parentElsewhere }

  /// The word in displays and in `--json`.
  package var name: String {
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
    case .keyUnreadable: "key-unreadable"
    }
  }
}
