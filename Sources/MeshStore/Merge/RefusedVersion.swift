import GRDB
import MeshCore

/// Handles a merged version that the table refuses, because it breaks a constraint of its own row. The row stays the
/// last version that the table accepted. A record must not disappear from one person's app because of another person's
/// write.
struct RefusedVersion: InTransaction {
  let records: ZoneRecords
  let rows: RowWriter
  var transaction: Transaction { records.transaction }

  /// The result for the row.
  enum Outcome {
    /// There is no row that the table accepted, or a cutoff reverted a value of it that nothing replaces.
    case absent
    /// The row stays as it is, or as far as the table accepts the new version.
    case stays
    /// A row that was not in the table has the version that the table last accepted.
    case appears
  }

  /// Writes the values that the table may still accept: the merged values, except those that it refused before.
  ///
  /// - Parameter written: The merged values that can be written, as `place` tried to.
  /// - Returns: `absent` also if the record was born again since.
  func retry(
    _ old: StoredRecord?, _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value],
    changed: Set<Int64>?, _ written: [Int64: Value], _ assets: RowAssets, _ message: String
  ) throws -> Outcome {
    guard let old, old.generation == record.generation else { return .absent }
    let hidden = Set(old.extra.keys.filter(old.hides))
    do {
      if old.isShown {
        let rest = (changed ?? Set(values.keys)).union(old.extra.keys).subtracting(hidden)
        guard old.isRefused, !rest.isEmpty else {
          return try goOnShowing(old, ref, table, record, values, message)
        }
        try rows.wholly(table) {
          try rows.update(table, ref.key, written, rest)
          for (column, asset) in assets.patched where rest.contains(column) {
            try rows.patch(ref.key, column, asset, table)
          }
        }
        return try goOnShowing(old, ref, table, record, values, message, written: rest)
      }
      guard !old.accepted.isEmpty else { return .absent }
      try rows.wholly(table) { try rows.insert(table, ref.key, written.merging(old.accepted) { $1 }) }
      let outcome = try goOnShowing(old, ref, table, record, values, message, written: Set(written.keys))
      return outcome == .stays ? .appears : outcome
    } catch let error as DatabaseError where error.refusesRow {
      guard sql.isInTransaction else { throw RecordFailure(ref: ref, cause: .rolledBack(error.reason)) }
      return try goOnShowing(old, ref, table, record, values, message)
    }
  }

  /// Leaves the row as it is, and keeps the merged values beside it.
  ///
  /// - Parameter written: The columns in which the row has long BLOBs that are merged.
  func goOnShowing(
    _ old: StoredRecord?, _ ref: RecordRef, _ table: TableForm, _ record: StoredRecord, _ values: [Int64: Value],
    _ message: String, written: Set<Int64> = []
  ) throws -> Outcome {
    guard let old, old.generation == record.generation, old.isShown || !written.isEmpty,
      let row = try records.row(table, ref.key),
      try records.columns(old.stamps).allSatisfy({ values[$0.column] != nil })
    else { return .absent }
    var kept = record
    for (column, value) in values {
      guard let index = table.indexes[column] else {
        kept.extra[column] = value
        continue
      }
      let isMerged = written.contains(column)
      let shown = row[index].isUnread ? isMerged ? value : old.shown[column] ?? .null : row[index]
      if shown == value {
        if value.asset != nil { kept.shown[column] = value }
        continue
      }
      kept.extra[column] = value
      // A reference that is shown as NULL or default because its parent is gone is not refused. Neither is a value that
      // the column's type converts.
      let isConverted = isMerged && !table.columns[index].schema.affinity.keeps(value)
      if isConverted || old.extra[column] == value && !old.hides(column) { continue }
      kept.shown[column] = shown
    }
    kept.heldSince = try old.heldSince ?? records.time.get()
    try records.save(ref, kept, replacing: old)
    if kept.isRefused { try transaction.held.note(ref, in: records.zone.id, .editRefused, message) }
    return .stays
  }

  /// Notes the values of a row with chosen values that are not merged yet. The next flush makes edits of them.
  func hide(
    _ values: [Int64: Value], behind chosen: [Int64: Value], _ ref: RecordRef, _ table: TableForm,
    _ record: inout StoredRecord, _ old: StoredRecord?
  ) throws {
    guard let row = try records.row(table, ref.key) else { return }
    for column in chosen.keys {
      guard let index = table.indexes[column] else { continue }
      record.extra[column] = values[column] ?? table.defaultValue(index)
      record.shown[column] = row[index]
    }
    record.heldSince = try old?.heldSince ?? records.time.get()
  }
}
