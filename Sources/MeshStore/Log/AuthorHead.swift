import MeshCore

/// The numbers up to which an author's change sets are stored and merged.
struct AuthorHead {
  let author: Int64
  var stored: UInt64 = 0
  var storedID: ChangeSetID?
  var storedTime = HybridTime.zero
  /// The part index that the next change set must have.
  var storedPart: UInt64 = 0
  /// The bytes that are stored and not merged.
  var waiting: Int64 = 0
  /// The last merged number, which is always the end of a unit.
  var merged: UInt64 = 0
  var mergedID: ChangeSetID?
  var mergedTime = HybridTime.zero
  /// The last applied number. It is beyond `merged` inside a unit that is merged slice by slice.
  var applied: UInt64 = 0
  /// The number of applied rows of the change set after `applied`.
  var appliedRows: Int64 = 0
  /// The number above which the author's change sets are being reverted, until all of them are.
  var revertsAbove: UInt64?
  var malformed: String?
  /// The citation of the first change set, even if that change set is gone.
  var citation: ControlID?

  init(author: Int64) { self.author = author }

  /// Whether a unit is partly merged.
  var isInsideUnit: Bool { applied > merged || appliedRows > 0 }

  /// Makes the last part of a unit the merged tip.
  mutating func finish(_ last: BatchPart) {
    (applied, appliedRows) = (last.header.number, 0)
    (merged, mergedID, mergedTime) = (last.header.number, last.id, last.header.time)
  }

  var mergedHead: ChangeSetTip? {
    mergedID.map { ChangeSetTip(number: merged, id: $0, time: mergedTime) }
  }
}
