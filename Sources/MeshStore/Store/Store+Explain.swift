public import MeshCore

/// Why a record is what it is, in one zone.
public struct RecordExplanation: Hashable, Sendable {
  public var zone: ZoneID
  public var table: String
  public var key: Value
  public var generation: UInt64
  public var isAlive: Bool
  /// Why the record is not in its table; nil where it is, or is deleted.
  public var held: HeldRecord?
  /// Of the birth or the delete.
  public var life: Stamp?
  /// Who signed the change set that brought it here: a record that moves from another zone keeps its stamps, and whoever moves it may
  /// name any author in them.
  public var lifeSigner: Author?
  /// By name.
  public var columns: [Column]
  /// Of a record that is deleted here: the zone in which it lives on. That has values with stamps that this zone's log gave them.
  public var movedTo: ZoneID?

  public struct Column: Hashable, Sendable {
    public var name: String
    public var value: Value
    public var stamp: Stamp
    /// Who signed the change set that brought the value here; nil if none in the log has it.
    public var signer: Author?
    /// The greatest stamp below it that the log has for the column in this generation, and its value.
    public var beaten: Write?
    /// Of a reference whose parent is not here: what the table shows in its place.
    public var withheld: Withheld?
  }

  /// `ON DELETE SET NULL` and `SET DEFAULT` follow from the parent's delete, and are nobody's edit.
  public struct Withheld: Hashable, Sendable {
    public var shown: Value
    public var parent: HeldRecord.Awaited
    /// It was here and is deleted; else it has not come yet.
    public var isParentDeleted: Bool
  }

  public struct Write: Hashable, Sendable {
    public var value: Value
    public var stamp: Stamp
    /// Who signed the change set that brought the value here.
    public var signer: Author?
    /// Whoever overwrote it had merged it: an edit, and no conflict.
    public var wasSeen: Bool
  }
}

extension Store {
  /// What every zone has of a record; the one whose row is shown comes first. Reads the zones' whole logs.
  ///
  /// - Parameter key: As it is spelled in the row, or canonical.
  public func explain(
    table name: String, key: Value, _ reader: (ZoneID) throws -> ChangeSetReader
  ) throws -> [RecordExplanation] {
    try read { session in
      guard let number = session.catalog.knownTable(name) else {
        throw StoreError.unknownTable(name)
      }
      let canonical = session.catalog.table(number)?.form.canonical(key) ?? key
      let ref = RecordRef(table: number, key: canonical)
      let zones = try session.sql.all(
        """
        SELECT zone, held IS NULL AND generation & 1 FROM mesh_record WHERE tbl = ?1 AND key = ?2
        UNION SELECT zone, 0 FROM mesh_held WHERE tbl = ?1 AND key = ?2 AND reason = \(HeldReason.valueTooLong.rawValue)
          AND (tbl, key, zone) NOT IN (SELECT tbl, key, zone FROM mesh_record WHERE tbl = ?1 AND key = ?2)
        """, [.integer(number), canonical]
      ) { ($0.integer(0), $0.integer(1) == 1) }
      let found = try zones.sorted { $0.1 && !$1.1 }.compactMap { id, _ -> (RecordExplanation, Set<Stamp>)? in
        guard let zone = try ZoneRow.read(id: id, session.sql) else { return nil }
        let log = LogReader(session: session, zone: id, reader: try reader(zone.zone))
        return try Explainer(records: ZoneRecords(session, zone: zone), log: log, ref: ref).explain()
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
  private var session: Session { records.session }

  init(records: ZoneRecords, log: LogReader, ref: RecordRef) {
    self.records = records
    self.log = log
    self.ref = ref
  }

  /// With all stamps that the zone's log gives the record.
  func explain() throws -> (RecordExplanation, given: Set<Stamp>)? {
    guard let record = try records.load(ref) else { return try unsent() }
    let state = try records.state(ref, record)
    let (beaten, given, signers) = try history(state)
    let withheld = try withheld(record)
    let columns = try state.cells.map { column, cell in
      RecordExplanation.Column(
        name: try session.catalog.column(column).name, value: cell.value, stamp: cell.stamp,
        signer: signers[Signed(column: column, stamp: cell.stamp)], beaten: beaten[column], withheld: withheld[column])
    }
    let explanation = RecordExplanation(
      zone: records.zone.zone, table: try session.catalog.tableName(ref.table), key: ref.key,
      generation: state.generation, isAlive: state.isAlive, held: try session.held(ref, record, records.zone),
      life: state.life,
      lifeSigner: state.life.flatMap { signers[Signed(column: ZoneRecords.wholeRecord, stamp: $0)] },
      columns: columns.sorted { $0.name < $1.name })
    return (explanation, given)
  }

  /// By column. What is shown in the place of other values that are kept aside is on its way, or in no table here.
  private func withheld(_ record: StoredRecord) throws -> [Int64: RecordExplanation.Withheld] {
    guard record.isShown, !record.extra.isEmpty, let table = session.catalog.table(ref.table),
      let row = try records.row(table, ref.key)
    else { return [:] }
    var found: [Int64: RecordExplanation.Withheld] = [:]
    for reference in table.references where reference.isReset {
      let column = table.columns[reference.column].id
      guard let value = record.extra[column], value != row[reference.column],
        let parent = session.catalog.table(reference.parent)
      else { continue }
      let awaited = RecordRef(table: parent.id, key: parent.parentKey(value))
      found[column] = RecordExplanation.Withheld(
        shown: row[reference.column], parent: try session.awaited(awaited, besides: records.zone),
        isParentDeleted: try records.load(awaited)?.isAlive == false)
    }
    return found
  }

  /// A row that is too long to be sent is no record yet.
  private func unsent() throws -> (RecordExplanation, given: Set<Stamp>)? {
    guard let held = try session.held(ref, nil, records.zone) else { return nil }
    let explanation = RecordExplanation(
      zone: held.zone, table: held.table, key: held.key, generation: 0, isAlive: true, held: held, columns: [])
    return (explanation, [])
  }

  /// A stamp of a column in the log.
  private struct Signed: Hashable {
    let column: Int64
    let stamp: Stamp
  }

  /// For each column the write that its value overwrote, and for each stamp whose change set brought it: its own author's, if that has
  /// one here.
  private func history(
    _ state: ZoneRecords.State
  ) throws -> (beaten: [Int64: RecordExplanation.Write], given: Set<Stamp>, signers: [Signed: Author]) {
    var signers: [Signed: Author] = [:]
    var given: Set<Stamp> = []
    var writes: [Int64: [(stamp: Stamp, value: Value)]] = [:]
    var seen: [Stamp: CausalContext] = [:]
    for head in try session.catalog.heads.all(records.zone.id) where head.merged > 0 {
      var context = CausalContext()
      let signer = try session.catalog.author(head.author)
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
      // What came with its record from another zone has the stamp of somebody who may never have written here, and was seen.
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
