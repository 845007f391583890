import GRDB
package import MeshCore

// MARK: - Local writes that their zone did not take

extension StoreZones {
  /// Returns the number of receipts of each zone that has some.
  package func receiptCounts() throws -> [ZoneID: Int] {
    try read { try $0.receipts.counts() }
  }

  package func receipts(_ zone: ZoneID) throws -> [Receipt] {
    try read { transaction in
      guard let row = try transaction.counters.read(zone) else { return [] }
      return try transaction.receipts.list(row.id).reversed().map { receipt in
        let named = try receipt.values.map { values in
          Dictionary(
            try values.map { (try transaction.catalog.displayedName($0.key), $0.value) }, uniquingKeysWith: { $1 })
        }
        return Receipt(
          zone: zone,
          record: RecordName(table: try transaction.catalog.tableName(receipt.ref.table), key: receipt.ref.key),
          values: named, reason: receipt.reason, noted: receipt.noted)
      }
    }
  }

  /// Writes the changes in a zone's receipts to the tables again, oldest first, as a program would do it now.
  ///
  /// Receipts that are written are deleted. A receipt stays if its table refuses the write or is missing, if the write
  /// would change another zone's record, or if it has only some values of a record that is gone. The names of BLOBs
  /// that were too long to keep stay, too.
  ///
  /// - Returns: The number of written receipts, and the records that block others.
  package func restoreReceipts(_ zone: ZoneID) throws -> (written: Int, inTheWay: Set<RecordName>) {
    var (restored, inTheWay) = (0, Set<RecordName>())
    var last: Int64? = 0
    // Receipts with long BLOBs would keep the lock for long in one transaction.
    while let after = last {
      let slice = try write { try ReceiptWriter(transaction: $0).restore(zone, after: after) }
      restored += slice.written
      inTheWay.formUnion(slice.inTheWay)
      last = slice.last
    }
    return (restored, inTheWay)
  }

  /// Deletes a zone's receipts and their change sets. Returns the number of receipts.
  package func discardReceipts(_ zone: ZoneID) throws -> Int {
    try write { transaction in
      guard let row = try transaction.counters.read(zone) else { return 0 }
      try transaction.log.removeReverted(in: row.id)
      return try transaction.receipts.removeAll(of: row.id)
    }
  }
}

extension Transaction {
  /// Keeps values that a zone did not take, except those that the record's receipts end with. A write can be lost in
  /// several ways at once, such as when a program deletes the root of a share. Parts are not compared: two equal
  /// increments are two.
  ///
  /// - Parameters:
  ///   - values: The values by column, or nil for a delete.
  ///   - source: The change set that has them, if it is one.
  func noteReceipt(
    _ ref: RecordRef, _ values: [Int64: Value]?, zone: Int64, _ reason: Receipt.Reason,
    from source: ReceiptTable.Source? = nil, now: Int64
  ) throws {
    if let source, try receipts.has(source, ref, in: zone) { return }
    // Each change set has its own receipt, also if it repeats a value.
    let known = try source == nil ? receipts.latest(of: ref, in: zone) : [:]
    let new = try values?.filter { column, value in try known[column] != value || catalog.part(column) != nil }
    // A row that consists of its key has no values.
    guard values?.isEmpty != false || new?.isEmpty != true else { return }
    reached(.receiptKept)
    try receipts.insert(ref, new, zone: zone, reason, from: source, now: now)
  }
}

/// Writes what receipts keep to the tables again, as a program would.
struct ReceiptWriter: InTransaction {
  let transaction: Transaction

  /// Writes some megabytes of a zone's receipts to the tables again.
  ///
  /// - Parameter id: The id of the last receipt of the slice before.
  /// - Returns: The id of the last receipt of this slice, or nil if none follows.
  func restore(
    _ zone: ZoneID, after id: Int64
  ) throws -> (written: Int, inTheWay: Set<RecordName>, last: Int64?) {
    guard let row = try counters.read(zone) else { return (0, [], nil) }
    var (written, inTheWay, last, bytes) = (0, Set<RecordName>(), id, 0)
    while bytes < StoreLimits.assetInMemory / 4 {
      guard let receipt = try receipts.next(row.id, after: last) else { return (written, inTheWay, nil) }
      last = receipt.id
      bytes += receipt.values?.values.reduce(0) { $0 + $1.encodedBound } ?? 0
      if let other = try occupant(of: receipt.ref, receipt.values, besides: row) {
        inTheWay.insert(RecordName(table: try catalog.tableName(other.table), key: other.key))
        continue
      }
      // A BLOB that was too long to keep has only a name.
      let names = receipt.values?.filter { $0.value.asset != nil } ?? [:]
      guard names.isEmpty || names.count != receipt.values?.count,
        try !isFragment(receipt.ref, receipt.values, of: row), try !lacksParent(receipt.ref, receipt.values),
        try writeAgain(receipt.ref, receipt.values)
      else { continue }
      // Otherwise this node could send them as well.
      if let source = receipt.source { try log.removeReverted(of: source.author, in: row.id) }
      if names.isEmpty {
        try receipts.remove(receipt.id)
        written += 1
      } else {
        try receipts.replace(receipt.id, names)
      }
    }
    return (written, inTheWay, last)
  }

  /// Returns the record that keeps a zone's write from reaching its own record, or nil if there is none. It is another
  /// zone's record that shows the row, or the topmost record that the row belongs to. Such a record may be a copy that
  /// was kept, and the write would change that copy. A record that the write itself moves into the zone is not in the
  /// way.
  func occupant(of ref: RecordRef, _ values: [Int64: Value]?, besides zone: ZoneCounters) throws -> RecordRef? {
    let shown = try transaction.place(of: ref)
    guard shown != zone.id else { return nil }
    var found = shown == nil ? nil : ref
    var room = 0
    // If the record is held, it contains the reference, so the receipt doesn't have to.
    let held = try ZoneRecords(transaction, zone: zone).load(ref)?.extra ?? [:]
    var fields = try (transaction.row(ref, &room) ?? held).merging(values ?? [:]) { $1 }
    if let values, let table = catalog.table(ref.table), let reference = table.parent,
      values[table.columns[reference.column].id] != nil, let above = parent(of: ref, fields),
      try transaction.place(of: above) == zone.id
    {
      return nil
    }
    var (next, seen) = (ref, Set([ref]))
    while let above = parent(of: next, fields), let place = try transaction.place(of: above), place != zone.id,
      seen.insert(above).inserted
    {
      (found, next, fields) = (above, above, try transaction.row(above, &room) ?? [:])
    }
    return found
  }

  /// Returns whether a receipt has only some values of a record that is gone. It then lacks the reference that would put
  /// a row into the zone. The row would be a private one instead, and the rows that refer to it would follow.
  func isFragment(_ ref: RecordRef, _ values: [Int64: Value]?, of zone: ZoneCounters) throws -> Bool {
    guard let values, let table = catalog.table(ref.table), try !table.hasRow(ref.key, sql) else {
      return false
    }
    let record = try ZoneRecords(transaction, zone: zone).load(ref)
    guard record?.isAlive != true else { return false }
    return table.parent.map { values[table.columns[$0.column].id] ?? .null == .null } ?? (record != nil)
  }

  /// Returns whether the row to which a receipt refers is not here. An account that was let in again may not have
  /// received it yet. The receipt's row would belong to the private zone, and be held there.
  private func lacksParent(_ ref: RecordRef, _ values: [Int64: Value]?) throws -> Bool {
    guard let values, let above = parent(of: ref, values), above != ref, let table = catalog.table(above.table) else {
      return false
    }
    return try !table.hasParent(above.key, sql)
  }

  /// Returns the parent by the table's only foreign key.
  private func parent(of ref: RecordRef, _ fields: [Int64: Value]) -> RecordRef? {
    guard let table = catalog.table(ref.table), let reference = table.parent,
      let parent = catalog.table(reference.parent),
      let value = fields[table.columns[reference.column].id], value != .null
    else { return nil }
    return RecordRef(table: parent.id, key: parent.parentKey(value))
  }

  /// Writes a row with capture turned on. Returns false if the table refuses it.
  ///
  /// - Parameter values: The values by column, or nil to delete the row.
  func writeAgain(_ ref: RecordRef, _ values: [Int64: Value]?) throws -> Bool {
    guard let table = catalog.table(ref.table) else { return false }
    do {
      if let values {
        guard let folded = try folded(values, ref, table) else { return false }
        try writeAgain(ref, folded, table)
      } else {
        try writeAgain(ref, nil, table)
      }
      return true
    } catch let error as DatabaseError where error.refusesRow && sql.isInTransaction {
      return false
    }
  }

  /// Adds the values that columns get from their parts. Returns nil if there is no number to which a counter's part can
  /// be added.
  private func folded(_ values: [Int64: Value], _ ref: RecordRef, _ table: TableForm) throws -> [Int64: Value]? {
    var folded = values
    var room = 0
    let row = try transaction.row(ref, &room)
    for (column, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let (part, whole) = try catalog.part(column, in: table), let index = table.indexes[whole] else { continue }
      let shown = folded[whole] ?? row?[whole] ?? table.defaultValue(index)
      switch part.policy {
      case .counter:
        guard case .integer(let base) = shown, case .integer(let count) = value else { return nil }
        folded[whole] = .integer(Int64(clamping: Int128(base) + Int128(count)))
      case .greatest, .least: if part.policy.beats(value, shown) { folded[whole] = value }
      case .keepBoth, .last: if values[whole] == nil { folded[whole] = value }
      }
    }
    return folded
  }

  /// Writes a row with capture turned on. Throws SQLite's errors.
  func writeAgain(_ ref: RecordRef, _ values: [Int64: Value]?, _ table: TableForm) throws {
    guard let values else { return try sql.run(table.delete, [ref.key]) }
    // For a BLOB that was too long to keep, only its name is known.
    let chosen = table.columns.indices.filter {
      values[table.columns[$0].id].map { $0.asset == nil } ?? false && $0 != table.keyColumn
    }
    let fields = chosen.map { values[table.columns[$0].id] ?? .null }
    if try table.hasRow(ref.key, sql) {
      if !chosen.isEmpty { try sql.run(table.update(chosen), fields + [ref.key]) }
    } else {
      let key = table.keyColumn.flatMap { values[table.columns[$0].id] } ?? ref.key
      let last = try pending.last()
      try sql.run(table.upsert(chosen), [key] + fields)
      try pending.markRestored(table.id, after: last)
    }
  }
}
