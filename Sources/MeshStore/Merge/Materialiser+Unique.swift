import GRDB
import MeshCore

/// Handles a `UNIQUE` constraint besides the key that was added after tracking. If several records can't be shown
/// together, the one with the lowest key is shown. If they belong to several zones, the one of the first zone is shown.
/// The first record to arrive gets the row and may lose it again. The result doesn't depend on the order.
extension Materialiser {
  /// Removes the rows that block the record from the table, if all of them come after it. Returns false if one stays,
  /// or if nobody can tell which they are. The record is then held, and waits for them to change.
  func makeWay(_ ref: RecordRef, _ table: TableForm, _ values: [Int64: Value], _ message: String) throws -> Bool {
    let unique = UniqueRivals(records: records)
    let rivals = try unique.of(ref, table, values)
    let places = try rivals.map { rival in try transaction.occupant(rival).flatMap { try materialiser(ofZone: $0) } }
    guard !rivals.isEmpty, try zip(rivals, places).allSatisfy({ try comes(ref, before: $0, of: $1) }),
      try !unique.refers(ref, values, to: rivals)
    else {
      for rival in rivals { try wait(ref, for: rival) }
      return false
    }
    for (rival, place) in zip(rivals, places) {
      try place?.holdShown(rival, table, message)
      try place?.wait(rival, for: ref)
    }
    return true
  }

  /// Returns whether the record comes before a rival. A row without a record is not flushed yet, so it must not be
  /// removed.
  private func comes(_ ref: RecordRef, before rival: RecordRef, of place: Materialiser?) throws -> Bool {
    guard let place else { return false }
    let (own, other) = (records.zone.id, place.records.zone.id)
    return own == other ? ref.key < rival.key : try transaction.catalog.zones().precedes(own, other)
  }

  /// Tries records that the row blocked, because the row has changed.
  func release(_ ref: RecordRef, _ table: TableForm) throws {
    if !table.schema.uniqueIndexes.isEmpty { try appear(ref, isFree: true) }
  }
}

/// Finds the rows that keep a record from its table, because they have a value that must be unique.
private struct UniqueRivals {
  let records: ZoneRecords
  private var transaction: Transaction { records.transaction }

  /// Returns the records whose rows have a unique value of the record, in the order of their keys.
  func of(_ ref: RecordRef, _ table: TableForm, _ values: [Int64: Value]) throws -> [RecordRef] {
    var found: Set<RecordRef> = []
    for index in table.schema.uniqueIndexes where !index.isPartial {
      let places = index.columns.map { name in name.flatMap(table.index(named:)) }
      let wanted = places.map { place in place.map { values[table.columns[$0].id] ?? table.defaultValue($0) } ?? .null }
      // The value of an expression is not known here, and NULL is equal to nothing.
      guard !wanted.contains(.null) else { continue }
      let terms = zip(index.columns, index.collations).map { "\(($0 ?? "").quotedName) = ? COLLATE \($1.quotedName)" }
      let keys = try transaction.sql.all(
        "SELECT \(table.keyName.quotedName) FROM main.\(table.schema.name.quotedName) WHERE "
          + terms.joined(separator: " AND "), wanted
      ) { RecordRef(table: table.id, key: table.form.canonical($0.value(0))) }
      found.formUnion(keys)
    }
    found.remove(ref)
    return found.sorted { $0.key < $1.key }
  }

  /// Returns whether the record refers to a rival, directly or through others. It can't be shown instead of a record
  /// that it needs.
  func refers(_ ref: RecordRef, _ values: [Int64: Value], to rivals: [RecordRef]) throws -> Bool {
    var (seen, next): (Set<RecordRef>, [RecordRef]) = ([], parents(ref, values))
    while let parent = next.popLast() {
      if rivals.contains(parent) { return true }
      guard seen.insert(parent).inserted, let record = try records.load(parent), record.isAlive else { continue }
      next += parents(parent, try records.values(parent, record))
    }
    return false
  }

  /// Returns the parents without which the record is not shown.
  private func parents(_ ref: RecordRef, _ values: [Int64: Value]) -> [RecordRef] {
    guard let table = transaction.catalog.table(ref.table) else { return [] }
    return table.references.compactMap { reference in
      let value = values[table.columns[reference.column].id] ?? table.defaultValue(reference.column)
      guard !reference.isReset, value != .null, let parent = transaction.catalog.table(reference.parent) else {
        return nil
      }
      return RecordRef(table: parent.id, key: parent.parentKey(value))
    }
  }
}
