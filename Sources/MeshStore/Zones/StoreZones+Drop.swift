package import MeshCore

// MARK: - Zones that this device has no part in any more

extension StoreZones {
  package func keepCopy(of zone: ZoneID) throws {
    try write { transaction in
      let row = try transaction.counters.obtain(zone)
      try transaction.zoneRows.keepCopy(row.id)
      transaction.catalog.forgetZones()
    }
  }

  package func keepsCopy(of zone: ZoneID) throws -> Bool {
    try read { try $0.zoneRows.keepsCopy(zone) }
  }

  package func dropZone(
    _ zone: ZoneID, keepingCopy: Bool, unsent: [Author: UInt64], now: Int64
  ) throws -> Bool {
    try writeRefusing(notingAt: now) { transaction, refused in
      guard let row = try transaction.counters.read(zone) else { return false }
      let keepingCopy = try keepingCopy || transaction.zoneRows.keepsCopy(zone)
      let removal = ZoneRemoval(transaction: transaction)
      try removal.dropPending(row.id, keepingCopy: keepingCopy)
      return try transaction.applying { try removal.dropRecords(row, keepingCopy: keepingCopy, refused, now: now) }
        || removal.dropLog(row, keeping: unsent, now: now)
    }
  }
}

/// Removes a zone from the file.
private struct ZoneRemoval: InTransaction {
  let transaction: Transaction

  /// Deletes the pending rows of the zone. If the zone is kept as a copy, they become part of the copy.
  func dropPending(_ zone: Int64, keepingCopy: Bool) throws {
    if try pending.removeAll(of: zone, keepingCopy: keepingCopy) { try transaction.run.endAll(counters) }
  }

  /// Removes a slice of the zone's records. Returns false if there are none.
  func dropRecords(
    _ row: ZoneCounters, keepingCopy: Bool, _ refused: [RecordRef: String], now: Int64
  ) throws -> Bool {
    let refs = try recordRows.list(row.id, limit: Choices.slice)
    guard !refs.isEmpty else { return false }
    let records = ZoneRecords(transaction, zone: row)
    let materialiser = try Materialiser(records, transaction.progress(), refused: refused)
    // The records now belong to the private zone, although the records that they refer to are not removed yet.
    let own = try catalog.zones().privateZone
    var kept = 0
    // A slice with many BLOBs would keep the lock for too long.
    for ref in refs where kept < StoreLimits.assetInMemory / 4 {
      guard let old = try records.load(ref) else { continue }
      let isUnnoticed = try old.isShown && materialiser.notes.isUnnoticed(ref, old, records.state(ref, old))
      // The marks go with the record.
      let undelivered = try transaction.assets.undeliveredColumns(of: ref, in: row.id)
      if !old.isShown { kept += try receiptForHeld(ref, old, undelivered.keys.sorted(), materialiser, now: now) }
      try materialiser.stopWaiting(ref)
      try records.remove(ref, old)
      guard old.isShown, let table = catalog.table(ref.table) else { continue }
      if keepingCopy {
        reached(.copyKept)
        try pending.note(ref, PendingSlice.Op.insert, wall: now, zone: own)
      } else {
        // A BLOB whose bytes are not here is not in its row. A device that has them keeps it.
        kept += try receiptForUnsent(
          ref, table, old, Set(undelivered.filter(\.value).keys), materialiser, isUnnoticed: isUnnoticed, now: now)
        try materialiser.vacate(ref, table)
        try materialiser.leave(ref, table)
      }
    }
    try materialiser.settle()
    return true
  }

  /// Keeps the values of a row that nobody else has. A receipt outlives its zone.
  ///
  /// - Parameters:
  ///   - undelivered: The columns in which the row shows BLOBs that this account wrote and others may not have.
  ///   - isUnnoticed: Whether a program wrote the row unnoticed. Nobody can tell which of its values are new.
  /// - Returns: The bytes that were read for the receipt.
  private func receiptForUnsent(
    _ ref: RecordRef, _ table: TableForm, _ old: StoredRecord, _ undelivered: Set<Int64>, _ materialiser: Materialiser,
    isUnnoticed: Bool, now: Int64
  ) throws -> Int {
    let zone = materialiser.records.zone.id
    let isRootGone = try catalog.zones().entries[zone]?.isRootGone ?? false
    let own = try undelivered.union(materialiser.local.of(ref, table, old).keys)
    guard isUnnoticed || !own.isEmpty else { return 0 }
    // When a program deleted the root, the writes that were noted became receipts at once.
    let isUnnoticed = try isUnnoticed && !(isRootGone && !receipts.latest(of: ref, in: zone).isEmpty)
    var room = StoreLimits.assetInMemory
    let row = try transaction.row(ref, &room)
    // Rows that a program deleted with the share's root are not deleted for the others.
    if row == nil, isRootGone || !isUnnoticed { return 0 }
    let values = row?.filter { isUnnoticed || own.contains($0.key) }
    guard values?.isEmpty != true else { return 0 }
    try transaction.noteReceipt(ref, values, zone: zone, .cut, now: now)
    return StoreLimits.assetInMemory - room
  }

  /// Keeps the values of a record without a row that nobody else has. The record may be held since its parent was
  /// removed with an earlier slice.
  ///
  /// - Returns: The bytes of long BLOBs in the receipt.
  private func receiptForHeld(
    _ ref: RecordRef, _ old: StoredRecord, _ undelivered: [Int64], _ materialiser: Materialiser, now: Int64
  ) throws -> Int {
    guard old.isAlive, let table = catalog.table(ref.table) else { return 0 }
    var (room, values) = (StoreLimits.assetInMemory, try materialiser.local.of(ref, table, old))
    for column in undelivered {
      guard let asset = old.extra[column]?.asset,
        let bytes = try transaction.contents.bytes(of: asset, nil, limit: room)
      else { continue }
      values[column] = .blob(bytes)
      room -= bytes.count
    }
    if !values.isEmpty {
      try transaction.noteReceipt(ref, values, zone: materialiser.records.zone.id, .cut, now: now)
    }
    return StoreLimits.assetInMemory - room
  }

  /// Keeps the values that were local until a merge overwrote them. They were never sent, so nobody else lists them.
  private func receiptsForLostLocal(_ zone: Int64, now: Int64) throws {
    for lost in try conflicts.localValues(of: zone) {
      try transaction.noteReceipt(lost.ref, [lost.column: lost.value], zone: zone, .cut, now: now)
    }
  }

  /// Removes a slice of the change log, and then the remaining data. The control log stays. Returns false when all is
  /// removed.
  ///
  /// - Parameter unsent: The numbers above which the authors' change sets stay apart.
  func dropLog(_ row: ZoneCounters, keeping unsent: [Author: UInt64], now: Int64) throws -> Bool {
    for (author, number) in unsent {
      try log.truncate(above: number, of: catalog.authorNumber(author), in: row.id, areKept: true)
    }
    if try log.removeSlice(of: row.id) { return true }
    try names.removeNamed(in: row.id)
    try receiptsForLostLocal(row.id, now: now)
    try conflicts.removeAll(of: row.id)
    try held.removeAll(of: row.id)
    try work.removeAll(of: row.id)
    try control.removeAcknowledgements(of: row.id)
    try catalog.heads.remove(row.id)
    try transaction.kept.forget(of: row.zone)
    // A device that is let in again starts from nothing, and writes as a new instance.
    (row.instance, row.clock, row.nextPosition) = (nil, HybridClock(), 1)
    (row.flushPart, row.flushSynced, row.flushValues, row.runLast, row.runRows, row.ahead) = (0, 0, 0, 0, 0, 0)
    try zoneRows.endLeaving(row.id)
    catalog.forgetZones()
    catalog.forgetNamed()
    try transaction.forgetUnusedTables()
    return false
  }
}
