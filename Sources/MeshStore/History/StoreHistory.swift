package import MeshCore

/// The values of a record in one zone, and the writes that they come from.
package struct RecordExplanation: Hashable, Sendable {
  package var zone: ZoneID
  package var table: String
  package var key: Value
  package var generation: UInt64
  package var isAlive: Bool
  /// The reason why the record is not in its table. Nil if it is in the table or deleted.
  package var held: HeldEntry?
  /// The stamp of the birth or the delete.
  package var life: Stamp?
  /// The author who signed the change set that brought the record here. It may differ from the stamp's author, because
  /// a record that moves between zones keeps its stamps. The device that moves it could write any author into them.
  package var lifeSigner: Author?
  /// The columns, by name.
  package var columns: [Column]
  /// The zone in which a record that is deleted here lives on. Its values there have stamps from this zone's log.
  package var movedTo: ZoneID?

  package struct Column: Hashable, Sendable {
    package var name: String
    package var value: Value
    package var stamp: Stamp
    /// The author who signed the change set that brought the value here. Nil if no change set in the log has it.
    package var signer: Author?
    /// The write with the greatest lower stamp that the log has for the column in this generation.
    package var beaten: Write?
    /// For a reference whose parent is not here, the value that the table shows instead.
    package var withheld: Withheld?
  }

  /// A reference that the table doesn't show. `ON DELETE SET NULL` and `SET DEFAULT` follow from the parent's delete,
  /// and are nobody's edit.
  package struct Withheld: Hashable, Sendable {
    package var shown: Value
    package var parent: HeldEntry.Awaited
    /// True if the parent was here and is deleted. False if it has not arrived yet.
    package var isParentDeleted: Bool
  }

  package struct Write: Hashable, Sendable {
    package var value: Value
    package var stamp: Stamp
    /// The author who signed the change set that brought the value here.
    package var signer: Author?
    /// True if the author who overwrote the value had merged it. It is then an edit and no conflict.
    package var wasSeen: Bool
  }
}

/// The history of records. It reads whole logs, to explain a record and to restore values.
package struct StoreHistory: StorePart {
  let access: StoreAccess

  /// Returns an explanation of a record for every zone that has it. The zone whose row is shown comes first. Reads the
  /// zones' whole logs.
  ///
  /// - Parameter key: The key as it is spelled in the row, or in canonical form.
  package func explain(
    table name: String, key: Value, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> [RecordExplanation] {
    try read { transaction in
      guard let number = transaction.catalog.knownTable(name) else {
        throw StoreError.unknownTable(name)
      }
      let canonical = transaction.catalog.table(number)?.form.canonical(key) ?? key
      let ref = RecordRef(table: number, key: canonical)
      let zones = try transaction.recordRows.zonesToExplain(ref)
      let found = try zones.sorted { $0.1 && !$1.1 }.compactMap { id, _ -> (RecordExplanation, Set<Stamp>)? in
        guard let zone = try transaction.counters.read(id: id) else { return nil }
        let log = LogReader(transaction: transaction, zone: id, reader: try reader(zone.zone))
        return try Explainer(records: ZoneRecords(transaction, zone: zone), log: log, ref: ref).explain()
      }
      return found.map { record, given in
        var record = record
        guard !record.isAlive else { return record }
        record.movedTo = found.first { other, _ in other.isAlive && !given.isDisjoint(with: other.stamps) }?.0.zone
        return record
      }
    }
  }
}

extension RecordExplanation {
  fileprivate var stamps: Set<Stamp> { Set(columns.map(\.stamp) + [life].compactMap(\.self)) }
}

private struct Explainer {
  let records: ZoneRecords
  let log: LogReader
  let ref: RecordRef
  private var transaction: Transaction { records.transaction }

  init(records: ZoneRecords, log: LogReader, ref: RecordRef) {
    self.records = records
    self.log = log
    self.ref = ref
  }

  /// Returns the explanation, with all stamps that the zone's log gives the record.
  func explain() throws -> (RecordExplanation, given: Set<Stamp>)? {
    guard let record = try records.load(ref) else { return try unsent() }
    let state = try records.state(ref, record)
    let (beaten, given, signers) = try history(state)
    let withheld = try withheld(record)
    let columns = try state.cells.map { column, cell in
      RecordExplanation.Column(
        name: try name(column, state), value: cell.value, stamp: cell.stamp,
        signer: signers[Signed(column: column, stamp: cell.stamp)], beaten: beaten[column], withheld: withheld[column])
    }
    let explanation = RecordExplanation(
      zone: records.zone.zone, table: try transaction.catalog.tableName(ref.table), key: ref.key,
      generation: state.generation, isAlive: state.isAlive,
      held: try HeldRecords(transaction: transaction).record(ref, record, records.zone),
      life: state.life,
      lifeSigner: state.life.flatMap { signers[Signed(column: ZoneRecords.wholeRecord, stamp: $0)] },
      columns: columns.sorted { ($0.name, $1.stamp) < ($1.name, $0.stamp) })
    return (explanation, given)
  }

  /// Returns a column's name. For a part, and for the column's own value beside parts, it says so.
  private func name(_ column: Int64, _ state: ZoneRecords.State) throws -> String {
    let name = try transaction.catalog.displayedName(column)
    let hasParts = try state.cells.keys.contains { try transaction.catalog.part($0)?.column.folded == name.folded }
    return hasParts ? "\(name) (assigned)" : name
  }

  /// Returns the withheld references by column. Other values that are not shown are still downloading, or have no
  /// column here.
  private func withheld(_ record: StoredRecord) throws -> [Int64: RecordExplanation.Withheld] {
    guard record.isShown, !record.extra.isEmpty, let table = transaction.catalog.table(ref.table),
      let row = try records.row(table, ref.key)
    else { return [:] }
    var found: [Int64: RecordExplanation.Withheld] = [:]
    for reference in table.references where reference.isReset {
      let column = table.columns[reference.column].id
      guard let value = record.extra[column], value != row[reference.column],
        let parent = transaction.catalog.table(reference.parent)
      else { continue }
      let awaited = RecordRef(table: parent.id, key: parent.parentKey(value))
      found[column] = RecordExplanation.Withheld(
        shown: row[reference.column],
        parent: try HeldRecords(transaction: transaction).awaited(awaited, besides: records.zone),
        isParentDeleted: try records.load(awaited)?.isAlive == false)
    }
    return found
  }

  /// Returns an explanation of a row that is too long to be sent. It has no record yet.
  private func unsent() throws -> (RecordExplanation, given: Set<Stamp>)? {
    guard let held = try HeldRecords(transaction: transaction).record(ref, nil, records.zone) else { return nil }
    let explanation = RecordExplanation(
      zone: held.zone, table: held.table, key: held.key, generation: 0, isAlive: true, held: held, columns: [])
    return (explanation, [])
  }

  /// A column and a stamp in the log.
  private struct Signed: Hashable {
    let column: Int64
    let stamp: Stamp
  }

  /// Reads the log. Returns, for each column, the write that its value overwrote. Also returns the signer of the change
  /// set that brought each stamp. If the stamp's own author signed one of them here, it is that author.
  private func history(
    _ state: ZoneRecords.State
  ) throws -> (beaten: [Int64: RecordExplanation.Write], given: Set<Stamp>, signers: [Signed: Author]) {
    var signers: [Signed: Author] = [:]
    var given: Set<Stamp> = []
    var writes: [Int64: [(stamp: Stamp, value: Value)]] = [:]
    var seen: [Stamp: CausalContext] = [:]
    for head in try transaction.catalog.heads.all(records.zone.id) where head.merged > 0 {
      var context = CausalContext()
      let signer = try transaction.catalog.author(head.author)
      func sign(_ column: Int64, _ stamp: Stamp) {
        let signed = Signed(column: column, stamp: stamp)
        if signers[signed] == nil || stamp.author == signer { signers[signed] = signer }
      }
      for number in 1...head.merged {
        if let difference = try log.body(head.author, number)?.context { try context.advance(by: difference) }
        let long = try log.longValues(head.author, number)
        try log.forEachRow(head.author, number) { other, change, columns, _ in
          guard other == ref else { return }
          if change.generation.isAlive { given.formUnion([change.stamp] + change.fields.compactMap(\.stamp)) }
          guard change.generation == state.generation else { return }
          if change.isLife { sign(ZoneRecords.wholeRecord, change.stamp) }
          for field in change.fields {
            let stamp = field.stamp ?? change.stamp
            sign(columns[field.column], stamp)
            writes[columns[field.column], default: []].append((stamp, try long.value(of: field.value)))
            seen[stamp] = context
          }
        }
      }
    }
    var beaten: [Int64: RecordExplanation.Write] = [:]
    for (column, cell) in state.cells {
      let earlier = (writes[column] ?? []).filter { $0.stamp < cell.stamp }
      guard let last = earlier.max(by: { $0.stamp < $1.stamp }) else { continue }
      // A value that came with its record from another zone has the stamp of an author who may never have written here.
      // Such a value counts as seen.
      let wasSeen =
        try last.stamp.author == cell.stamp.author || seen[cell.stamp]?.hasSeen(last.stamp) ?? false
        || !records.hasWritten(last.stamp.author)
      beaten[column] = RecordExplanation.Write(
        value: last.value, stamp: last.stamp, signer: signers[Signed(column: column, stamp: last.stamp)],
        wasSeen: wasSeen)
    }
    return (beaten, given, signers)
  }
}
