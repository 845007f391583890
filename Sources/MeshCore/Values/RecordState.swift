/// The merged state of one record, as a lattice value. The caller chooses how columns are named: by text on the wire,
/// by number in the store.
///
/// Generation 0 is a record that was never created. Odd generations are alive, and even ones above 0 are deleted. The
/// greater generation wins as a whole, with its columns. Within one generation, each column's greater stamp wins.
package struct RecordState<Column: Hashable & Sendable>: Hashable, Sendable {
  /// A column's value, with the stamp of the write that gave it.
  package struct Cell: Hashable, Sendable {
    /// The stamp of the last write to the column.
    package var stamp: Stamp
    /// The value that this write gave.
    package var value: Value
    package init(stamp: Stamp, value: Value) {
      self.stamp = stamp
      self.value = value
    }
  }

  /// The number of births and deletes: odd is alive, even is deleted.
  package private(set) var generation: UInt64
  /// The stamp of the generation's birth or delete. Nil in an edit, which knows only its columns.
  package private(set) var life: Stamp?
  /// The values of columns. Empty in a deleted generation. A column that is not listed has its default.
  package private(set) var cells: [Column: Cell]

  /// Creates a state. Cells of a deleted generation are left out.
  package init(generation: UInt64 = 0, life: Stamp? = nil, cells: [Column: Cell] = [:]) {
    self.generation = generation
    self.life = life
    self.cells = generation.isAlive ? cells : [:]
  }

  /// Whether the record exists in this generation.
  package var isAlive: Bool { generation.isAlive }

  /// A cell that lost against another one.
  package struct Loss: Hashable, Sendable {
    /// The column of both cells.
    package var column: Column
    /// The cell that lost.
    package var loser: Cell
    /// The winning stamp: that of the winning cell, or that of the generation's birth or delete.
    package var winner: Stamp?
    /// True if the losing value was here and the winner arrived. False if the losing value arrived.
    package var wasLocal: Bool

    package init(column: Column, loser: Cell, winner: Stamp?, wasLocal: Bool) {
      self.column = column
      self.loser = loser
      self.winner = winner
      self.wasLocal = wasLocal
    }
  }

  /// Merges another state into this one, which becomes the least state that includes both. The operation is
  /// associative, commutative and idempotent.
  ///
  /// - Returns: The cells that lost.
  @discardableResult
  package mutating func merge(_ other: RecordState) -> [Loss] {
    if other.generation > generation {
      let losses = cells.map { Loss(column: $0.key, loser: $0.value, winner: other.life, wasLocal: true) }
      self = other
      return losses
    }
    if other.generation < generation {
      return other.cells.map { Loss(column: $0.key, loser: $0.value, winner: life, wasLocal: false) }
    }
    if let theirs = other.life { life = life.map { max($0, theirs) } ?? theirs }
    var losses: [Loss] = []
    for (column, theirs) in other.cells {
      guard let ours = cells[column] else {
        cells[column] = theirs
        continue
      }
      if theirs.stamp > ours.stamp {
        cells[column] = theirs
        losses.append(Loss(column: column, loser: ours, winner: theirs.stamp, wasLocal: true))
      } else if theirs.stamp < ours.stamp {
        losses.append(Loss(column: column, loser: theirs, winner: ours.stamp, wasLocal: false))
      }
    }
    return losses
  }
}

extension UInt64 {
  /// Whether a generation is alive: it is odd.
  package var isAlive: Bool { self & 1 == 1 }

  /// The next generation, which deletes a living record or revives a deleted one.
  package var nextGeneration: UInt64 { saturatingAdding(1) }

  /// The first generation after this one in which the record is alive.
  package var nextLife: UInt64 { saturatingAdding(isAlive ? 2 : 1) }
}
