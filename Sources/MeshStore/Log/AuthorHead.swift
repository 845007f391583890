import MeshCore

/// One row of `mesh_head`: how far an author's change sets are here, and merged.
struct AuthorHead {
  let author: Int64
  var stored: UInt64 = 0
  var storedID: ChangeSetID?
  var storedTime = HybridTime.zero
  /// Part index that the next one must have.
  var storedPart: UInt64 = 0
  /// Bytes stored and not merged.
  var waiting: Int64 = 0
  /// Always the end of a unit.
  var merged: UInt64 = 0
  var mergedID: ChangeSetID?
  var mergedTime = HybridTime.zero
  /// Beyond `merged` inside a unit that is merged slice by slice.
  var applied: UInt64 = 0
  /// Of the change set after `applied`.
  var appliedRows: Int64 = 0
  /// Where a cut that is begun and not done ends the author.
  var cut: UInt64?
  var malformed: String?
  /// What the first change set cites, whatever became of it since.
  var citation: ControlID?

  init(author: Int64) { self.author = author }

  /// A unit is merged in part.
  var isInsideUnit: Bool { applied > merged || appliedRows > 0 }

  var mergedHead: ChangeSetHead? {
    mergedID.map { ChangeSetHead(number: merged, id: $0, time: mergedTime) }
  }
}
