package import MeshCore

/// A held record that was marked as deleted.
package struct DiscardedRecord: Hashable, Sendable {
  package var zone: ZoneID
  package var table: String
  package var key: Value
}

/// The reason why no record was discarded.
package enum DiscardError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknownRecord(table: String)
  /// The record is in its table, or is deleted.
  case notHeld(table: String)
  /// The record is in its table, in the version that the table accepted last.
  case shown(table: String)
  /// Several zones hold a record with this key.
  case several([ZoneID])
  /// The share is read-only here or has ended.
  case notPermitted
  /// The record is the root of a share.
  case root
  /// A row with the key was written and is not merged yet.
  case written

  package var description: String {
    switch self {
    case .unknownRecord(let table): "The table \(table) has no record with that key, and had none."
    case .notHeld(let table):
      "That record of \(table) is not held: mesh held lists those that are. One that is in its table is deleted there."
    case .shown(let table):
      "The row of that record is in \(table), as the table accepted it last: delete it there, or settle the record with "
        + "mesh held resolve."
    case .several(let zones):
      "Several zones hold a record with that key: name one with --zone: "
        + zones.map(\.description).joined(separator: ", ")
    case .notPermitted: "The record belongs to a share that is read-only here: only who may write it can delete it."
    case .root:
      "A share was made of the record: mesh share stop ends one's own, mesh share leave takes this account out of another's."
    case .written: "A row with that key was written meanwhile: look at it, and say it again."
    }
  }
}

extension StoreHeld {
  /// Deletes held records on all devices. The next flush sends the deletes, as edits made now. Deletes all of the
  /// records or none.
  ///
  /// - Parameters:
  ///   - keys: For each record, the possible spellings of its key. The first one that is held counts.
  ///   - zone: The zone of the records. Required if several zones hold a record with one key.
  /// - Throws: `DiscardError`.
  package func discard(table name: String, keys: [[Value]], zone: ZoneID? = nil, now: Int64) throws -> [DiscardedRecord]
  {
    try write { transaction in
      guard let table = transaction.catalog.knownTable(name) else { throw StoreError.unknownTable(name) }
      let discarding = Discarding(transaction: transaction)
      let found = try keys.map { try discarding.held(table, $0, zone) }
      return try found.map { place, reason in
        try discarding.require(place.ref, place.zone, reason)
        try discarding.note(place.ref, place.zone, reason, now)
        return DiscardedRecord(
          zone: place.zone.zone, table: try transaction.catalog.tableName(table), key: place.ref.key)
      }
    }
  }
}

/// Marks held records as deleted.
private struct Discarding: Step {
  let transaction: Transaction

  typealias Place = (ref: RecordRef, zone: ZoneRow)

  func held(_ table: Int64, _ keys: [Value], _ zone: ZoneID?) throws -> (place: Place, reason: HeldReason) {
    let name = try catalog.tableName(table)
    var (isKnown, isRefused) = (false, false)
    for key in keys {
      let ref = RecordRef(table: table, key: catalog.table(table)?.form.canonical(key) ?? key)
      let zones = try recordRows.zones(of: ref)
      isKnown = isKnown || !zones.isEmpty
      let found = try (tableList.isUntracked(table) ? [] : zones).compactMap { id -> (Place, HeldReason)? in
        guard let row = try zoneRows.read(id: id), zone == nil || zone == row.zone,
          let record = try ZoneRecords(transaction, zone: row).load(ref), record.isAlive
        else { return nil }
        isRefused = isRefused || record.isRefused
        return record.held.map { ((ref, row), $0) }
      }
      guard found.count < 2 else { throw DiscardError.several(found.map(\.0.zone.zone).sorted()) }
      if let only = found.first { return only }
    }
    guard isKnown else { throw DiscardError.unknownRecord(table: name) }
    throw isRefused ? DiscardError.shown(table: name) : DiscardError.notHeld(table: name)
  }

  func require(_ ref: RecordRef, _ zone: ZoneRow, _ reason: HeldReason) throws {
    let zones = try catalog.zones()
    guard zones.mayWrite(zone.id) else { throw DiscardError.notPermitted }
    let name = try catalog.tableName(ref.table).folded
    if let root = zones.entries[zone.id]?.root, root.key == ref.key, root.table.folded == name {
      throw DiscardError.root
    }
    guard reason != .slotTaken, let table = catalog.table(ref.table) else { return }
    if try sql.exists(table.selectKey, [ref.key]) { throw DiscardError.written }
  }

  /// Notes the delete as a trigger would. If another zone's record has the row, only this zone loses its record, as
  /// when a record has moved.
  func note(_ ref: RecordRef, _ zone: ZoneRow, _ reason: HeldReason, _ now: Int64) throws {
    let op = reason == .slotTaken ? PendingSlice.Op.depart : PendingSlice.Op.delete
    try pending.note(ref, op, wall: now, zone: zone.id)
  }
}
