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
  func keep(_ records: ZoneRecords, _ aftermath: [Author: Aftermath], now: Int64) throws {
    let again = cells.filter { aftermath[$0.value.stamp.author] == .writtenAgain }
    let isLife = before.life.map { aftermath[$0.author] == .writtenAgain && after.life != $0 } ?? false
    if !again.isEmpty || isLife {
      let rewrite = Rewrite(
        ref: ref, generation: before.generation, life: isLife ? before.life?.time : nil,
        cells: again.mapValues { Rewrite.Cell(time: $0.stamp.time, value: $0.value) })
      try rewrite.save(records.session.sql, zone: records.zone.id)
    }
    let receipt = cells.filter { aftermath[$0.value.stamp.author] == .receipt }
    let isDelete = !before.isAlive && after.isAlive && before.life.map { aftermath[$0.author] == .receipt } ?? false
    if !receipt.isEmpty || isDelete {
      try records.session.noteReceipt(
        ref, isDelete ? nil : receipt.mapValues(\.value), zone: records.zone.id, .cut, now: now)
    }
    if let life = before.life, !before.isAlive, after.isAlive, aftermath[life.author] == .kept {
      let delete = State.Cell(stamp: life, value: .null)
      try records.noteConflict(
        ref, State.Loss(column: ZoneRecords.wholeRecord, loser: delete, winner: after.life, wasLocal: true), now: now)
    }
    for (column, cell) in cells.sorted(by: { $0.key < $1.key })
    where aftermath[cell.stamp.author] == .kept && after.cells[column]?.value != cell.value {
      let winner = after.cells[column]?.stamp ?? after.life
      try records.noteConflict(
        ref, State.Loss(column: column, loser: cell, winner: winner, wasLocal: true), now: now)
    }
  }
}
