import MeshCore

/// What the log has of records as they were before.
extension LogReader {
  typealias State = ZoneRecords.State

  /// What the records had when they lived last, before these generations.
  func lastLives(before generations: [RecordRef: UInt64]) throws -> [RecordRef: State] {
    var lives: [RecordRef: State] = [:]
    try forEachState { ref, state in
      guard let bound = generations[ref] else { return }
      let state = try state()
      // Of several generations the greatest is left.
      if state.isAlive, state.generation < bound { lives[ref, default: State()].merge(state) }
    }
    return lives
  }

  /// The value that each column had before.
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

  /// The state is made only where it is asked for.
  private func forEachState(_ visit: (RecordRef, () throws -> State) throws -> Void) throws {
    for head in try session.catalog.heads.all(zone) where head.merged > 0 {
      for number in 1...head.merged {
        let long = try longValues(head.author, number)
        try forEachRow(head.author, number) { ref, change, columns, _ in
          try visit(ref) { try State(change, columns: columns, long) }
        }
      }
    }
  }
}
