package import MeshCore

/// A person's decision about a record whose merged version the table refuses.
package struct Resolution: Hashable, Sendable {
  package var table: String
  /// The possible spellings of the key. The first one that has such a record counts.
  package var keys: [Value]
  /// The zone of the record. Required if several zones have such a record with the key.
  package var zone: ZoneID?
  /// The values that a person gave, by column name: `NULL`, a quoted SQL literal, or a text that the column's type
  /// converts.
  package var values: [String: String]
  /// True if columns that are not named keep the values that the row shows. Otherwise they get the merged values.
  package var keepsShown: Bool

  package init(table: String, keys: [Value], zone: ZoneID? = nil, values: [String: String], keepsShown: Bool = false) {
    self.table = table
    self.keys = keys
    self.zone = zone
    self.values = values
    self.keepsShown = keepsShown
  }
}

/// The row's values in the columns that a person settled. The next flush sends them as edits made now.
package struct ResolvedRecord: Hashable, Sendable {
  package var zone: ZoneID
  package var table: String
  package var key: Value
  package var values: [String: Value]
}

/// The reason why a record was not settled.
package enum ResolveError: Error, Hashable, Sendable, CustomStringConvertible {
  case unknownRecord(table: String, key: Value)
  /// The table refuses no value of the record.
  case notRefused(table: String, key: Value)
  case several(key: Value, [ZoneID])
  /// The share is read-only here or has ended.
  case notPermitted
  case unknownColumn(table: String, column: String)
  /// No value was named, and none is kept.
  case nothingChosen
  /// The value is a BLOB of more than 16 KiB.
  case blob(column: String)
  /// SQLite refused the write, with this message.
  case refused(String)
  /// The record is also held for another reason.
  case held(HeldReason)
  /// The row was written and is not merged yet.
  case written

  package var description: String {
    switch self {
    case .unknownRecord(let table, let key): "the table \(table) has no record with the key \(key.named)."
    case .notRefused(let table, let key):
      "the table \(table) refuses no value of the record \(key.named): mesh held lists the records that are refused."
    case .several(let key, let zones):
      "several zones have a refused record with the key \(key.named): name one with --zone: "
        + zones.map(\.description).joined(separator: ", ")
    case .notPermitted: "the record belongs to a share that is read-only here: ask its owner to settle it."
    case .unknownColumn(let table, let column): "the table \(table) has no column \(column) that can be written."
    case .nothingChosen: "say which values the record gets: --column and --value, or --keep shown."
    case .blob(let column): "the column \(column) has a long BLOB: write it by SQL, which settles the record."
    case .refused(let text): "the table refuses these values as well: \(text). Choose others; nothing was changed."
    case .held(let reason):
      "the record is held for another reason as well (\(reason.name)): mesh held says what frees it."
    case .written: "the row was written to meanwhile: look at the row, and run the command again."
    }
  }
}

extension StoreHeld {
  /// Writes values that the table accepts to the row of a refused record, as an edit made now.
  ///
  /// - Throws: `ResolveError`. Nothing is changed then.
  package func resolve(_ resolution: Resolution, now: Int64) throws -> ResolvedRecord {
    try writeRefusing(notingAt: now) { transaction, refused in
      guard try transaction.isInStep() else { throw ResolveError.written }
      var resolver = try Resolver(transaction, resolution)
      return try transaction.applying { try resolver.run(refused, now: now) }
    }
  }
}

private struct Resolver {
  let transaction: Transaction
  let table: TableForm
  let ref: RecordRef
  let records: ZoneRecords
  let record: StoredRecord
  /// The chosen values by column.
  var chosen: [Int64: Value]

  init(_ transaction: Transaction, _ resolution: Resolution) throws {
    guard let number = transaction.catalog.knownTable(resolution.table), let table = transaction.catalog.table(number)
    else {
      throw StoreError.unknownTable(resolution.table)
    }
    self.transaction = transaction
    self.table = table
    var found: [(RecordRef, ZoneRecords, StoredRecord)] = []
    var isKnown = false
    for key in resolution.keys where found.isEmpty {
      let ref = RecordRef(table: table.id, key: table.form.canonical(key))
      for id in try transaction.recordRows.zones(of: ref) {
        guard let zone = try transaction.counters.read(id: id) else { continue }
        let records = ZoneRecords(transaction, zone: zone)
        guard resolution.zone == nil || resolution.zone == zone.zone, let record = try records.load(ref) else {
          continue
        }
        isKnown = true
        if record.held == .constraint || record.isRefused { found.append((ref, records, record)) }
      }
    }
    guard found.count < 2 else { throw ResolveError.several(key: found[0].0.key, found.map(\.1.zone.zone).sorted()) }
    guard let (ref, records, record) = found.first else {
      let (name, key) = (resolution.table, resolution.keys.first ?? .null)
      throw isKnown ? ResolveError.notRefused(table: name, key: key) : .unknownRecord(table: name, key: key)
    }
    guard try transaction.catalog.zones().mayWrite(records.zone.id) else { throw ResolveError.notPermitted }
    (self.ref, self.records, self.record) = (ref, records, record)
    chosen = resolution.keepsShown ? record.accepted : [:]
    if resolution.keepsShown, let blob = record.extra.keys.first(where: { record.hides($0) && chosen[$0] == nil }) {
      throw ResolveError.blob(column: try transaction.catalog.column(blob).name)
    }
    for (name, text) in resolution.values {
      guard let index = table.index(named: name), index != table.keyColumn, table.columns[index].schema.isKey == false
      else { throw ResolveError.unknownColumn(table: resolution.table, column: name) }
      let affinity = table.columns[index].schema.affinity
      chosen[table.columns[index].id] =
        text.uppercased() == "NULL" ? .null : KeyText.values(text, affinity: affinity).first ?? .null
    }
    guard !chosen.isEmpty else { throw ResolveError.nothingChosen }
  }

  mutating func run(_ refused: [RecordRef: String], now: Int64) throws -> ResolvedRecord {
    guard try !transaction.pending.has(ref) else { throw ResolveError.written }
    let materialiser = try Materialiser(records, transaction.progress(), refused: refused)
    let state = try records.state(ref, record)
    try materialiser.notes.requireNoticed(ref, record, state)
    try materialiser.place(ref, state, replacing: record, changed: [], choosing: chosen)
    try materialiser.settle()
    guard let settled = try records.load(ref), settled.isShown else {
      throw ResolveError.held(try records.load(ref)?.held ?? .constraint)
    }
    try noteEdits(now)
    var values: [String: Value] = [:]
    for column in chosen.keys { values[try transaction.catalog.column(column).name] = settled.shown[column] }
    return ResolvedRecord(
      zone: records.zone.zone, table: try transaction.catalog.tableName(ref.table), key: ref.key, values: values)
  }

  /// Notes the edits as a trigger would note an update.
  private func noteEdits(_ now: Int64) throws {
    guard let layout = try TrackedTable.read(transaction.db, id: table.id)?.layout else { return }
    let places = try transaction.catalog.layout(layout).enumerated().filter { chosen[$0.element] != nil }.map(\.offset)
    for (word, places) in Dictionary(grouping: places, by: { $0 / Layout.wordSize }) {
      let mask = places.reduce(Int64(0)) { $0 | 1 << Int64($1 % Layout.wordSize) }
      try transaction.pending.note(
        ref, PendingSlice.Op.update, layout: layout, word: Int64(word), mask: mask, wall: now)
    }
  }
}
