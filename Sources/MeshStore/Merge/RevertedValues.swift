import MeshCore

/// The values that a cutoff reverts in one record.
struct RevertedValues {
  typealias State = ZoneRecords.State

  let ref: RecordRef
  private let before: State
  private let after: State
  /// The cells that were merged and no longer are.
  private let cells: [Int64: State.Cell]

  init(_ ref: RecordRef, from before: State, to after: State) {
    self.ref = ref
    self.before = before
    self.after = after
    cells = before.cells.filter { column, cell in
      before.generation != after.generation || after.cells[column]?.stamp != cell.stamp
    }
  }

  /// Notes the values to write again, or keeps them with the conflicts, as the aftermath of their authors says.
  ///
  /// - Parameters:
  ///   - mover: The author who brought the record from another zone, if that change set is reverted.
  ///   - source: The change set of which receipts are made.
  func keep(
    _ records: ZoneRecords, _ aftermath: [Author: Aftermath], mover: Author?, from source: ReceiptTable.Source? = nil,
    now: Int64
  ) throws {
    func fate(_ stamp: Stamp) -> Aftermath? { aftermath[stamp.author] ?? mover.flatMap { aftermath[$0] } }
    let again = cells.filter { fate($0.value.stamp) == .writtenAgain }
    let isLife = before.life.map { fate($0) == .writtenAgain && after.life != $0 } ?? false
    if !again.isEmpty || isLife {
      let rewrite = Rewrite(
        ref: ref, generation: before.generation, life: isLife ? before.life?.time : nil,
        cells: again.mapValues { Rewrite.Cell(time: $0.stamp.time, value: $0.value) })
      try records.transaction.work.save(rewrite, zone: records.zone.id)
    }
    let receipt = cells.filter { fate($0.value.stamp) == .receipt }
    let isDelete = !before.isAlive && after.isAlive && before.life.map { fate($0) == .receipt } ?? false
    if !receipt.isEmpty || isDelete {
      var values: [Int64: Value] = [:]
      for (column, cell) in receipt { values[column] = try value(column, cell.value, records.transaction) }
      try records.transaction.noteReceipt(
        ref, isDelete ? nil : values, zone: records.zone.id, .cut, from: source, now: now)
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

  /// Returns the value that a receipt keeps. For a counter's part, this is what the reverted writes added.
  private func value(_ column: Int64, _ value: Value, _ transaction: Transaction) throws -> Value {
    if case .integer(let count) = value, try transaction.catalog.part(column)?.policy == .counter {
      guard before.generation == after.generation, case .integer(let left) = after.cells[column]?.value else {
        return value
      }
      return .integer(Int64(clamping: Int128(count) - Int128(left)))
    }
    return try value.asset.flatMap { try transaction.contents.bytes(of: $0, nil) }.map(Value.blob) ?? value
  }

  /// Notes a lost row that has only a key. The key stands for the lost value.
  private func noteLostRow(_ life: Stamp, _ records: ZoneRecords, now: Int64) throws {
    guard let table = records.transaction.catalog.table(ref.table) else { return }
    let column = try records.transaction.catalog.columnNumber(table.keyName, of: ref.table)
    try records.noteConflict(
      ref,
      State.Loss(column: column, loser: State.Cell(stamp: life, value: ref.key), winner: after.life, wasLocal: true),
      now: now)
  }
}
