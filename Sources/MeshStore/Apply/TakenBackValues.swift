import MeshCore

/// What a cut takes from one record.
struct TakenBackValues {
  typealias State = ZoneRecords.State

  let ref: RecordRef
  private let before: State
  private let after: State
  /// Cells that were merged and are not any more.
  private let cells: [Int64: State.Cell]

  init(_ ref: RecordRef, from before: State, to after: State) {
    self.ref = ref
    self.before = before
    self.after = after
    cells = before.cells.filter { column, cell in
      before.generation != after.generation || after.cells[column]?.stamp != cell.stamp
    }
  }

  /// Notes the values to be written again, or beside the conflicts, by their authors' aftermath.
  ///
  /// - Parameter mover: Who brought the record from another zone, and is cut before that.
  func keep(_ records: ZoneRecords, _ aftermath: [Author: Aftermath], mover: Author?, now: Int64) throws {
    func fate(_ stamp: Stamp) -> Aftermath? { aftermath[stamp.author] ?? mover.flatMap { aftermath[$0] } }
    let again = cells.filter { fate($0.value.stamp) == .writtenAgain }
    let isLife = before.life.map { fate($0) == .writtenAgain && after.life != $0 } ?? false
    if !again.isEmpty || isLife {
      let rewrite = Rewrite(
        ref: ref, generation: before.generation, life: isLife ? before.life?.time : nil,
        cells: again.mapValues { Rewrite.Cell(time: $0.stamp.time, value: $0.value) })
      try rewrite.save(records.session.sql, zone: records.zone.id)
    }
    let receipt = cells.filter { fate($0.value.stamp) == .receipt }
    let isDelete = !before.isAlive && after.isAlive && before.life.map { fate($0) == .receipt } ?? false
    if !receipt.isEmpty || isDelete {
      let values = try receipt.mapValues { cell in
        try cell.value.asset.flatMap { try records.session.bytes(of: $0, nil) }.map(Value.blob) ?? cell.value
      }
      try records.session.noteReceipt(
        ref, isDelete ? nil : values, zone: records.zone.id, .cut, now: now)
    }
    if let life = before.life, !before.isAlive, after.isAlive, fate(life) == .kept {
      let delete = State.Cell(stamp: life, value: .null)
      try records.noteConflict(
        ref, State.Loss(column: ZoneRecords.wholeRecord, loser: delete, winner: after.life, wasLocal: true), now: now)
    }
    let kept = cells.filter { column, cell in
      fate(cell.stamp) == .kept && after.cells[column]?.value != cell.value
    }
    if kept.isEmpty, let life = before.life, before.isAlive, !after.isAlive, fate(life) == .kept {
      try noteLostRow(life, records, now: now)
    }
    for (column, cell) in kept.sorted(by: { $0.key < $1.key }) {
      let winner = after.cells[column]?.stamp ?? after.life
      try records.noteConflict(
        ref, State.Loss(column: column, loser: cell, winner: winner, wasLocal: true), now: now)
    }
  }

  /// A row that is nothing but its key: the key stands for what was lost.
  private func noteLostRow(_ life: Stamp, _ records: ZoneRecords, now: Int64) throws {
    guard let table = records.session.catalog.table(ref.table) else { return }
    let column = try records.session.catalog.columnNumber(table.keyName, of: ref.table)
    try records.noteConflict(
      ref,
      State.Loss(column: column, loser: State.Cell(stamp: life, value: ref.key), winner: after.life, wasLocal: true),
      now: now)
  }
}
