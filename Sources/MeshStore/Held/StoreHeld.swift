package import MeshCore

/// A held record: one that is alive but not in its table, or whose row differs from the merged values. Also a row that
/// is too long to be sent.
package struct HeldEntry: Hashable, Sendable {
  package var zone: ZoneID
  package var table: String
  package var key: Value
  package var reason: HeldReason
  /// SQLite's message, or one from mesh.
  package var message: String?
  /// The time since which the record is not in its table, in milliseconds since 1970. Nil if no time was noted.
  package var since: Int64?
  /// The records that have to arrive, or to disappear, before the record can be shown.
  package var waitsFor: [Awaited]
  /// Whether the record's parent is here and alive, in the same zone, and another record has the parent's row.
  package var isParentCovered = false
  /// The columns that the table refuses, by name. They are the columns in which the row differs from the merged values,
  /// or all columns if there is no row.
  package var refused: [Refused] = []
  /// The columns that decide: those that SQLite's message names, or those of the `CHECK` that it names.
  package var deciding: [String] = []
  /// Whether the key doesn't fit the table here. No value of another column helps.
  package var isKeyUnfit: Bool { message.map { $0.hasSuffix(Materialiser.otherKey) || $0 == Self.noInteger } ?? false }
  /// SQLite's message about an `INTEGER PRIMARY KEY` that is no integer.
  private static let noInteger = "datatype mismatch"

  /// A column of a version that SQLite refuses.
  package struct Refused: Hashable, Sendable {
    package var column: String
    package var merged: Value
    /// The value in the row. Nil if there is no row.
    package var shown: Value?
  }

  package struct Awaited: Hashable, Sendable {
    package var table: String
    package var key: Value
    /// The zone of that record, if it is in another zone.
    package var zone: ZoneID?
  }
}

/// The held records: listing them, and what a person decides about them.
package struct StoreHeld: StorePart {
  let access: StoreAccess

  /// Returns at most `limit` held records. Those that have a row come last.
  package func list(limit: Int) throws -> [HeldEntry] {
    try listed { try $0.list(limit: limit) }
  }

  /// Returns the records whose rows are older than the merged values, because their tables refuse those values.
  package func refused(limit: Int) throws -> [HeldEntry] {
    try listed { try $0.list(.editRefused, limit: limit) }
  }

  private func listed(_ places: (HeldTable) throws -> [HeldTable.Place]) throws -> [HeldEntry] {
    try read { transaction in
      let found = try places(transaction.held)
      var zones: [Int64: ZoneRecords] = [:]
      return try found.compactMap { zone, ref in
        guard let row = try zones[zone]?.zone ?? transaction.counters.read(id: zone) else { return nil }
        let records = zones[zone] ?? ZoneRecords(transaction, zone: row)
        zones[zone] = records
        return try HeldRecords(transaction: transaction).record(ref, try records.load(ref), records.zone)
      }
    }
  }

  /// Returns the number of records in each table that was synchronized here until a person stopped it.
  package func untracked() throws -> [String: Int] {
    try read { transaction in
      let counts = try transaction.recordRows.untrackedCounts()
      return Dictionary(
        try counts.map { (try transaction.catalog.tableName($0.table), $0.count) }, uniquingKeysWith: +)
    }
  }

  /// Returns the tables that held records need, and that no device has described.
  package func undescribed() throws -> [String] {
    try read { transaction in
      let described = Set(
        try ForeignSchemas(transaction: transaction).list(trusts: { _ in false }).map(\.table.name.folded))
      return try transaction.recordRows.tables(held: .unknownTable).map(transaction.catalog.tableName)
        .filter { !described.contains($0.folded) }.sorted()
    }
  }

  /// Makes the next calls of `apply` check every held record again.
  package func retry() throws { try write { try $0.work.requestShow() } }
}

/// Tells why records are held.
struct HeldRecords: InTransaction {
  let transaction: Transaction

  /// Returns the number of held records by reason.
  ///
  /// For a record that lacks a parent, the function looks up whether the parent was deleted, was never here, or is in
  /// another zone. The parent may have come and gone while its child waited. If there are too many such records for
  /// anybody to read, the reason from the time when they were withdrawn counts.
  func counts() throws -> [HeldReason: Int] {
    let reasons: [HeldReason] = [.missingParent, .parentDeleted, .parentElsewhere]
    let found = try recordRows.heldCounts()
    var counts = found
    if let untracked = counts.removeValue(forKey: .untracked) { counts[.unknownTable, default: 0] += untracked }
    counts.merge(try held.countsOfShown()) { $1 }
    let orphans = reasons.reduce(0) { $0 + (found[$1] ?? 0) }
    guard orphans > 0, orphans <= Self.orphansLookedAt else { return counts }
    for reason in reasons { counts[reason] = nil }
    for (zone, ref) in try recordRows.held(for: reasons) {
      guard let row = try counters.read(id: zone) else { continue }
      let held = try record(ref, ZoneRecords(transaction, zone: row).load(ref), row)
      if let reason = held?.reason { counts[reason, default: 0] += 1 }
    }
    return counts
  }

  /// The number of records that `mesh held` lists.
  private static let orphansLookedAt = 1_000

  /// Returns the held record, or nil if nothing holds the record and its row is sent.
  func record(_ ref: RecordRef, _ record: StoredRecord?, _ zone: ZoneCounters) throws -> HeldEntry? {
    if try tableList.isUntracked(ref.table) { return nil }
    let noted = try held.note(of: ref, in: zone.id)
    guard var reason = record?.held ?? noted?.reason,
      record?.held != nil || reason.isUnsent || reason.isShown && record?.isShown == true
    else { return nil }
    if reason == .untracked { reason = .unknownTable }
    var held = HeldEntry(
      zone: zone.zone, table: try catalog.tableName(ref.table), key: ref.key, reason: reason,
      message: noted?.reason == reason ? noted?.message : nil,
      since: record?.held == nil && reason != .editRefused ? noted?.since : record?.heldSince, waitsFor: [])
    if reason == .constraint || reason == .editRefused, let record {
      held.refused = try refused(ref, record)
      if let message = held.message { held.deciding = try deciding(ref, message) }
    }
    switch reason {
    case .slotTaken: held.waitsFor = [try awaited(ref, besides: zone)]
    case .missingParent, .parentDeleted, .parentElsewhere: try nameParents(of: ref, record, zone, &held)
    case .shownHereOnly:
      held.waitsFor = try self.held.awaited(by: ref, in: zone.id).map { try awaited($0, besides: zone) }
    case .unknownTable, .untracked, .constraint, .valueTooLong, .keyUnreadable, .outsideShare, .assetIncomplete,
      .editRefused:
      break
    }
    return held
  }

  /// Returns the columns that SQLite's message names. For the name of a `CHECK`, it returns the columns of the `CHECK`.
  private func deciding(_ ref: RecordRef, _ message: String) throws -> [String] {
    guard let schema = catalog.table(ref.table)?.schema else { return [] }
    let intro = message.hasPrefix("cannot store ") ? " column " : "constraint failed: "
    guard let end = message.firstRange(of: intro)?.upperBound else { return [] }
    var text = String(message[end...])
    if text.hasPrefix("\(schema.name).") { text.removeFirst(schema.name.count + 1) }
    let check = schema.travelling.flatMap { schema.rules(for: $0).checks.first { $0.name?.folded == text.folded } }
    let words = (try? SQLTokens.all(text))?.compactMap { $0.name?.folded } ?? []
    let names = check?.expression.columns ?? Set(words)
    return schema.columns.filter { !$0.isKey && names.contains($0.name.folded) }.map(\.name)
  }

  private func refused(_ ref: RecordRef, _ record: StoredRecord) throws -> [HeldEntry.Refused] {
    guard let table = catalog.table(ref.table) else { return [] }
    return try table.columns.compactMap { column in
      guard let merged = record.extra[column.id], record.held != nil || record.hides(column.id) else { return nil }
      return HeldEntry.Refused(
        column: try catalog.column(column.id).name, merged: merged,
        shown: record.held == nil ? record.shown[column.id] ?? .null : nil)
    }
  }

  /// Names the missing parents as of now. A parent that was here when the record was withdrawn because of another one
  /// may have disappeared since.
  private func nameParents(
    of ref: RecordRef, _ record: StoredRecord?, _ zone: ZoneCounters, _ held: inout HeldEntry
  ) throws {
    guard let table = catalog.table(ref.table), let record else { return }
    var missing: [RecordRef] = []
    for reference in table.references where !reference.isReset {
      let value = record.extra[table.columns[reference.column].id] ?? table.defaultValue(reference.column)
      guard value != .null, let parent = catalog.table(reference.parent) else { continue }
      if try !parent.hasParent(value, sql) {
        missing.append(RecordRef(table: parent.id, key: parent.parentKey(value)))
      }
    }
    let waited = try self.held.awaited(by: ref, in: zone.id)
    if missing.isEmpty { missing = waited }
    let elsewhere = try Set(waited + missing).filter { try transaction.isElsewhere($0, besides: zone) }
    if !elsewhere.isEmpty { missing = elsewhere.sorted { ($0.table, $0.key) < ($1.table, $1.key) } }
    held.waitsFor = try missing.map { try awaited($0, besides: zone) }
    guard elsewhere.isEmpty else {
      held.reason = .parentElsewhere
      let records = ZoneRecords(transaction, zone: zone)
      held.isParentCovered = try elsewhere.allSatisfy { try records.load($0)?.held == .slotTaken }
      return
    }
    let first = try missing.first.flatMap { try ZoneRecords(transaction, zone: zone).load($0) }
    held.reason = first?.isAlive == false ? .parentDeleted : .missingParent
  }

  func awaited(_ ref: RecordRef, besides zone: ZoneCounters) throws -> HeldEntry.Awaited {
    let other = try transaction.occupant(ref, besides: zone.id).flatMap { try counters.read(id: $0) }
    return HeldEntry.Awaited(table: try catalog.tableName(ref.table), key: ref.key, zone: other?.zone)
  }
}
