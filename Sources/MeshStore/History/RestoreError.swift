package import MeshCore

/// The reason why nothing was restored.
package enum RestoreError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknownRecord(table: String, key: Value)
  /// The table was synchronized here until a person stopped it.
  ///
  /// - Parameter heir: The name that it has now, or nil if it was not renamed.
  case untracked(table: String, heir: String? = nil)
  /// This file has no such table that is synchronized.
  case noTable(String)
  case unknownConflict(Int64)
  case unknownColumn(table: String, column: String)
  /// The record is alive, and no column was named.
  case lives(table: String, key: Value)
  /// The record is alive, and no record that referred to it was deleted with it.
  case noDescendants(table: String, key: Value)
  /// The record is deleted, and the key is that of another record, of this zone, which is in its table or held.
  case taken(table: String, key: Value, by: ZoneID)
  /// The values to restore are in columns that the table lacks.
  case lacking(table: String, key: Value, columns: [String])
  /// No write overwrote another one in the column.
  case nothingBeaten(column: String)
  /// The lost part of a column continues in the zone to which the record has moved.
  case continues(column: String)
  /// The record was created again after a device had counted. Its row may contain the lost count.
  case counted(column: String, in: String)
  /// The column shows a value that its policy prefers to the lost one.
  case outdone(column: String, policy: ColumnPolicy)
  case held(HeldReason)
  /// The record's last state is not in the log.
  case noHistory(table: String)
  /// A program wrote to the record meanwhile.
  case changed
  /// The only value to restore is a long BLOB whose bytes are no longer here.
  case assetGone(column: String)
  /// The row still shows the former BLOB, because the newer one is not here.
  case stillShown(column: String)
  /// SQLite refused the write, with this message.
  ///
  /// - Parameter values: The values to restore, by column.
  case refused(String, values: [String: Value])
  /// The record belongs to a share that this account may not write to.
  ///
  /// - Parameter values: The values to restore, by column.
  case readOnly(values: [String: Value])

  package var description: String {
    switch self {
    case .unknownRecord(let table, let key):
      "the table \(table) has no record with the key \(key.named), and mesh has never read one."
    case .untracked(let table, let heir?): "the table \(table) was renamed to \(heir): name that one."
    case .untracked(let table, nil):
      "the table \(table) is not synchronized here any more. mesh track \(table) takes it up again."
    case .noTable(let table):
      "this machine has no synchronized table \(table) to restore anything in: mesh schema says how to make it. Or run the "
        + "command on a machine that has it."
    case .unknownConflict(let id): "there is no conflict \(id), or it is too old to be kept: mesh conflicts lists them."
    case .unknownColumn(let table, let column):
      "the table \(table) has no column \(column) here: name one of its columns."
    case .lives(let table, let key):
      "the record \(key.named) of \(table) is not deleted. To put back a former value (mesh explain record shows them): "
        + "mesh restore \(table) \(key.named) --column COLUMN"
    case .noDescendants(let table, let key):
      "the record \(key.named) of \(table) is not deleted, and no record that referred to it was deleted with it. "
        + Self.otherZone
    case .taken(let table, let key, let zone):
      "the key \(key.named) of \(table) is that of a record of \(zone) here. Delete that one (mesh held discard, if it is "
        + "held), or give it another key, and run the command again. A machine that doesn't have that record can run it now."
    case .lacking(let table, _, let columns):
      "the values to restore are in columns that \(table) lacks here: \(columns.joined(separator: ", ")). Run mesh schema "
        + "--apply and this command again, or mesh restore with --column on a machine that has them."
    case .nothingBeaten(let column):
      "no value of \(column) was overwritten in the row that is shown: there is none to put back. mesh explain record shows "
        + "all values, and mesh held those that a table refuses."
    case .continues(let column):
      "nothing is lost of \(column): the record has moved, and the value continues where it is now, as soon as a device that "
        + "may write there has met it."
    case .counted(let column, let whole):
      "the row was created again since the value of \(column) was lost, and may contain it already. mesh conflicts shows the "
        + "value. If the row lacks it, add it with an UPDATE of \(whole)."
    case .outdone(let column, let policy):
      "the row shows a value of \(column) that beats the lost one, and the policy of the column keeps the \(policy.name) one."
    case .held(.constraint):
      "the table refuses what is merged of the record: mesh held shows the values, and mesh held resolve TABLE KEY sets others."
    case .held(let reason):
      "the record is kept and not shown (\(reason.name)), so its values can't be written: mesh held says what would free it."
    case .noHistory(let table):
      "the log does not have the values that the record of \(table) had before it was deleted."
    case .assetGone(let column):
      "this machine does not have the bytes of the former BLOB of \(column). On a machine that had it, run mesh "
        + "restore TABLE KEY --column \(column): each keeps what others overwrote, up to keep-blobs in its config.toml."
    case .stillShown(let column):
      "the row still shows the former BLOB in \(column), because the newer one is not on this machine. Run mesh asset fetch "
        + "TABLE KEY first: then this machine keeps the former BLOB, and this command restores it. If no device has the newer one "
        + "any more (mesh asset show TABLE KEY), read the former one out of the row, set the column to NULL, and write it again."
    case .changed: "the record was written to meanwhile: look at the row, and run the command again."
    case .refused(let text, let values):
      "the table refuses what was to be restored: \(text). Write the row yourself, with values that fit. Refused were: "
        + "\(Self.listed(values))."
    case .readOnly(let values):
      "the share of the record is read-only here, so nothing can be put back into it. Copy what you need elsewhere: "
        + "\(Self.listed(values))."
    }
  }

  private static let otherZone =
    "If a deleted record of another zone is to come back, delete this one or give it another key first, and then name "
    + "that zone with --zone."

  private static func listed(_ values: [String: Value]) -> String {
    values.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.named)" }.joined(separator: ", ")
  }
}

extension Value {
  /// The value as an SQL literal for a message. A long one is shortened.
  var named: String {
    let text = literal
    return text.count > 60 ? "\(text.prefix(60))…" : text
  }
}
