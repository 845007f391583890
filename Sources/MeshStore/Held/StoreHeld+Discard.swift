package import MeshCore

/// A held record that was marked as deleted.
package struct DiscardedRecord: Hashable, Sendable {
  package var zone: ZoneID
  package var table: String
  package var key: Value
  /// The reason why it was held.
  package var reason: HeldReason
}

/// The reason why no record was discarded.
package enum DiscardError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknownRecord(table: String, key: Value)
  /// The table was synchronized here until a person stopped it.
  ///
  /// - Parameter heir: The name that it has now, or nil if it was not renamed.
  case untracked(table: String, heir: String? = nil)
  /// The record is in its table, or is deleted.
  case notHeld(table: String, key: Value)
  /// The record is in its table, in the version that the table accepted last.
  case shown(table: String, key: Value)
  /// Several zones hold a record with this key.
  case several(key: Value, [ZoneID])
  /// The share is read-only here or has ended.
  case notPermitted
  /// The record is the root of a share.
  case root
  /// The table was renamed, and its new one has the record.
  case renamed(table: String, key: Value, to: String)
  /// A row with the key was written and is not merged yet.
  case written(table: String, key: Value)

  package var description: String {
    switch self {
    case .unknownRecord(let table, let key):
      "the table \(table) has no record with the key \(key.named), and mesh has never read one."
    case .untracked(let table, let heir?): "the table \(table) was renamed to \(heir): name that one."
    case .untracked(let table, nil):
      "the table \(table) is not synchronized here any more. mesh track \(table) takes it up again."
    case .notHeld(let table, let key):
      "the record \(key.named) of \(table) is not held: mesh held lists those that are. One that is in its table is "
        + "deleted there."
    case .shown(let table, let key):
      "the row \(key.named) is in \(table), as the table accepted it last: delete it there, or settle the record with "
        + "mesh held resolve."
    case .several(let key, let zones):
      "several zones hold a record with the key \(key.named): name one with --zone: "
        + zones.map(\.description).joined(separator: ", ")
    case .notPermitted:
      "the record belongs to a share that is read-only here: only an account that may write to it can delete the record."
    case .root:
      "the record is the root of a share. If the share is yours, end it: mesh share stop SHARE. Otherwise leave it: "
        + "mesh share leave SHARE"
    case .renamed(let table, let key, let new):
      "\(table) was renamed to \(new), and the row \(key.named) of \(new) is this record: discarding it would delete that "
        + "row on all devices. To do so, delete the row."
    case .written(let table, let key):
      "a row with the key \(key.named) was written to \(table) meanwhile: look at the row, and run the command again."
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
  package func discard(table: String, keys: [[Value]], zone: ZoneID? = nil, now: Int64) throws -> [DiscardedRecord] {
    try write { transaction in
      let discarding = Discarding(transaction: transaction)
      return try discarding.found(table, keys, zone).map { place, reason in
        try discarding.note(place.ref, place.zone, reason, now)
        return try discarding.record(place, reason)
      }
    }
  }

  /// Returns the records that `discard` would delete, and changes nothing.
  package func discardable(table: String, keys: [[Value]], zone: ZoneID? = nil) throws -> [DiscardedRecord] {
    try read { transaction in
      let discarding = Discarding(transaction: transaction)
      return try discarding.found(table, keys, zone).map(discarding.record)
    }
  }
}

/// Marks held records as deleted.
private struct Discarding: InTransaction {
  let transaction: Transaction

  typealias Place = (ref: RecordRef, zone: ZoneCounters)

  /// Returns the held records with the keys.
  ///
  /// - Throws: `DiscardError` if one of them can't be discarded.
  func found(_ name: String, _ keys: [[Value]], _ zone: ZoneID?) throws -> [(place: Place, reason: HeldReason)] {
    guard let table = catalog.knownTable(name) else { throw StoreError.unknownTable(name) }
    if try tableList.isUntracked(table) {
      throw DiscardError.untracked(table: try catalog.tableName(table), heir: catalog.heir(of: table)?.schema.name)
    }
    let found = try keys.map { try held(table, $0, zone) }
    for (place, reason) in found { try require(place.ref, place.zone, reason) }
    return found
  }

  func record(_ place: Place, _ reason: HeldReason) throws -> DiscardedRecord {
    DiscardedRecord(
      zone: place.zone.zone, table: try catalog.tableName(place.ref.table), key: place.ref.key, reason: reason)
  }

  private func held(_ table: Int64, _ keys: [Value], _ zone: ZoneID?) throws -> (place: Place, reason: HeldReason) {
    let name = try catalog.tableName(table)
    var (isKnown, isRefused) = (false, false)
    for key in keys {
      let ref = RecordRef(table: table, key: catalog.table(table)?.form.canonical(key) ?? key)
      let zones = try recordRows.zones(of: ref)
      isKnown = isKnown || !zones.isEmpty
      let found = try zones.compactMap { id -> (Place, HeldReason)? in
        guard let row = try counters.read(id: id), zone == nil || zone == row.zone,
          let record = try ZoneRecords(transaction, zone: row).load(ref), record.isAlive
        else { return nil }
        isRefused = isRefused || record.isRefused
        return record.held.map { ((ref, row), $0) }
      }
      guard found.count < 2 else { throw DiscardError.several(key: key, found.map(\.0.zone.zone).sorted()) }
      if let only = found.first { return only }
    }
    let key = keys.first ?? .null
    guard isKnown else { throw DiscardError.unknownRecord(table: name, key: key) }
    throw isRefused ? DiscardError.shown(table: name, key: key) : DiscardError.notHeld(table: name, key: key)
  }

  private func require(_ ref: RecordRef, _ zone: ZoneCounters, _ reason: HeldReason) throws {
    let zones = try catalog.zones()
    guard zones.mayWrite(zone.id) else { throw DiscardError.notPermitted }
    let name = try catalog.tableName(ref.table)
    if let root = zones.entries[zone.id]?.root, root.key == ref.key, root.table.folded == name.folded {
      throw DiscardError.root
    }
    if let new = try successor(of: ref, zone) { throw DiscardError.renamed(table: name, key: ref.key, to: new) }
    guard reason != .slotTaken, let table = catalog.table(ref.table) else { return }
    if try table.hasRow(ref.key, sql) { throw DiscardError.written(table: name, key: ref.key) }
  }

  /// Returns the table that has the record under a later name, or nil if none has. A device that renames a table writes
  /// its records again with the same lives. Devices that have the former name take a delete of one for the other.
  private func successor(of ref: RecordRef, _ zone: ZoneCounters) throws -> String? {
    guard catalog.table(ref.table) == nil else { return nil }
    let records = ZoneRecords(transaction, zone: zone)
    guard let life = try records.load(ref).flatMap({ try records.state(ref, $0).life }) else { return nil }
    return try catalog.allTables.first { table in
      let other = RecordRef(table: table.id, key: ref.key)
      guard let record = try records.load(other), record.isAlive else { return false }
      return try records.state(other, record).life == life
    }?.schema.name
  }

  /// Notes the delete as a trigger would. If another zone's record has the row, only this zone loses its record, as
  /// when a record has moved.
  func note(_ ref: RecordRef, _ zone: ZoneCounters, _ reason: HeldReason, _ now: Int64) throws {
    let op = reason == .slotTaken ? PendingSlice.Op.depart : PendingSlice.Op.delete
    try pending.note(ref, op, wall: now, zone: zone.id)
  }
}
