import MeshCore

/// Reads earlier states of records from the log.
extension LogReader {
  typealias State = ZoneRecords.State

  /// Returns the last states in which the records were alive, before these generations.
  func lastLives(before generations: [RecordRef: UInt64]) throws -> [RecordRef: State] {
    var lives: [RecordRef: State] = [:]
    try forEachState { ref, state in
      guard let bound = generations[ref] else { return }
      let state = try state()
      // If there are several generations, the greatest one is left.
      if state.isAlive, state.generation < bound { lives[ref, default: State()].merge(state) }
    }
    return lives
  }

  /// Returns the time of the last delete of a record, or nil if the log has none.
  func lastDelete(of ref: RecordRef) throws -> HybridTime? {
    var last: HybridTime?
    try forEachState { other, state in
      guard other == ref else { return }
      let state = try state()
      if !state.isAlive, let time = state.life?.time { last = max(last ?? time, time) }
    }
    return last
  }

  /// Returns the previous value of each column.
  func beaten(_ ref: RecordRef, _ state: State) throws -> [Int64: Value] {
    var cells: [Int64: State.Cell] = [:]
    try forEachState { other, earlier in
      guard other == ref else { return }
      let earlier = try earlier()
      guard earlier.generation == state.generation else { return }
      for (column, cell) in earlier.cells where cell.stamp < state.cells[column]?.stamp ?? cell.stamp {
        if cells[column].map({ $0.stamp < cell.stamp }) ?? true { cells[column] = cell }
      }
    }
    return cells.mapValues(\.value)
  }

  /// Visits all states. A state is only created when it is requested.
  private func forEachState(_ visit: (RecordRef, () throws -> State) throws -> Void) throws {
    for head in try transaction.catalog.heads.all(zone) where head.merged > 0 {
      for number in 1...head.merged {
        let long = try longValues(head.author, number)
        try forEachRow(head.author, number) { ref, change, columns, _ in
          try visit(ref) { try State(change, columns: columns, long) }
        }
      }
    }
  }
}
