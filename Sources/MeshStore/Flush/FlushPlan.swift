import MeshCore

/// The result of planning one slice of the pending log or of a run: the changes to send, and the rows of mesh tables to
/// write.
///
/// It is made from one snapshot, before the write lock is taken. It is carried out only if the pending log and the
/// schema under the lock are still those of the snapshot. Then every value in it is the committed one. Otherwise the
/// plan is made again.
///
/// If the slice is not the whole log, a row may already show an edit that another part of the log notes. That edit is
/// sent when its own notes are reached. Until then, the record's hash is computed with a value that is ahead of its
/// stamp. `mesh_zone.ahead` remembers this: a note up to that number is never considered unchanged because of a
/// matching hash.
struct FlushPlan {
  /// The change of one record.
  struct Change {
    let ref: RecordRef
    let table: TableForm
    let record: StoredRecord
    let old: StoredRecord?
    let kind: Kind
    /// True if the program that wrote the row had not seen the record, because it was held here.
    var isBlind = false
    enum Kind {
      case birth, edit, delete
      /// A delete of a record that now belongs to another zone. The row may stay.
      case departure
    }

    /// Whether a merged value is kept beside the row although the table has its column, and a missing parent is not the
    /// reason.
    var hidesColumns: Bool {
      kind == .edit && record.held == nil
        && record.extra.keys.contains { column in
          table.indexes[column].map { index in
            !isFolded(column) && !table.references.contains { $0.isReset && $0.column == index }
          } ?? false
        }
    }

    /// Whether the row shows what the column's parts make of it.
    private func isFolded(_ column: Int64) -> Bool {
      record.heldSince == nil && record.shown[column].map { $0.asset == nil } ?? false
    }
  }

  /// A value that is sent before the part, in pieces.
  struct LongValue {
    let ordinal: UInt64
    let value: Value
  }

  /// Rows of children that are deleted with their parent, although the writer had foreign keys turned off.
  struct Cascade {
    let reference: Reference
    let parent: Value
    /// The id of the note of the parent's delete.
    let note: Int64
  }

  /// A record that moves here from another zone.
  struct Arrival {
    let ref: RecordRef
    let table: TableForm
    let state: ZoneRecords.State
    /// The values in the other zone of columns whose first increments are sent now. The row has the increments already.
    let former: [Int64: Value]
    /// The `mesh_zone.id` of the other zone.
    let zone: Int64
    /// The `mesh_zone.id` of this zone.
    let to: Int64
  }

  /// A record whose merged state has changed, with stamps that may belong to other authors.
  struct Placed {
    let ref: RecordRef
    let table: TableForm
    let state: ZoneRecords.State
    let old: StoredRecord?
    /// The columns into which a program wrote the values of `state`. The row has them, and no other place has the bytes
    /// of long ones.
    var written: [Int64] = []
  }

  /// A value or a delete that is not sent, because another one is merged.
  struct Loss {
    let ref: RecordRef
    let loss: ZoneRecords.State.Loss
  }

  /// A row whose record is deleted.
  struct Vacated {
    let ref: RecordRef
    let table: TableForm
    let old: StoredRecord
  }

  var changes: [Change] = []
  var placed: [Placed] = []
  var losses: [Loss] = []
  var vacated: [Vacated] = []
  var arrivals: [Arrival] = []
  /// The conflicts that are over because the lost parts continue.
  var continued: [Int64] = []
  var tables: [TableChanges] = []
  var longValues: [LongValue] = []
  /// If not empty, these rows are deleted first, with capture turned on, and the rest of the plan is not carried out.
  var cascades: [Cascade] = []
  /// Children that a program goes on with after their parent's delete. Their rows stay.
  var staying: Set<RecordRef> = []
  /// Records whose row got another key. Rows that refer to the old key stay.
  var rekeyed: Set<RecordRef> = []
  /// Records that mesh inserted because a person wanted to restore them.
  var restored: Set<RecordRef> = []
  /// Records whose row has to be reset to the merged values.
  var reshown: [RecordRef] = []
  /// Records that match their merged values, but whose references may have disappeared meanwhile.
  var rechecked: [RecordRef] = []
  /// Rows that were inserted and deleted before any flush.
  var gone: [RecordRef] = []
  /// Rows that can't be sent, and the advice.
  var unsent: [(ref: RecordRef, reason: HeldReason, message: String)] = []
  /// The manifests of the assets that are sent.
  var manifests: [AssetManifest] = []
  /// The source of its rows.
  var source = PendingSlice.Source.log
  /// The number of rows of the source that the plan handles.
  var consumed = 0
  /// True if nothing is left of the source after it.
  var isWhole = true
  /// The greatest id in the log when the plan was made.
  var lastID: Int64 = 0
  var schemaVersion: Int64?
  var clock = HybridClock()

  /// The records that a program wrote and that exist.
  var written: Set<RecordRef> {
    Set(changes.lazy.filter { $0.kind == .birth || $0.kind == .edit }.map(\.ref)).subtracting(restored)
  }

  /// The records whose notes the plan handles, except those that were inserted and deleted, and those that leave the
  /// zone. Later writes to these are noted for another zone.
  var refs: [RecordRef] {
    changes.filter { $0.kind != .departure }.map(\.ref) + placed.map(\.ref) + vacated.map(\.ref)
      + arrivals.map(\.ref) + reshown + rechecked
  }
}
