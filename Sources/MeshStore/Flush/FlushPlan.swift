import MeshCore

/// What one slice of the pending log, or of a run, means: the changes to send, and the rows of ours that say so.
///
/// Made from one snapshot, before the write lock is taken. It is carried out only if under the lock the pending log and
/// the schema are still those of the snapshot, so every value in it is the committed one; else it is made again.
///
/// Where the slice is not the whole log, a row may already show an edit that is noted elsewhere in the log. That edit is sent
/// when its own rows are reached; until then the record's hash is computed with a value that is ahead of its stamp,
/// which `mesh_zone.ahead` remembers: a record noted up to it is never thought unchanged because its hash matches.
struct FlushPlan {
  /// What happens to one record.
  struct Change {
    let ref: RecordRef
    let table: TableForm
    let record: StoredRecord
    let old: StoredRecord?
    let kind: Kind
    /// Whoever wrote it had seen nothing of the record, which was held here.
    var isBlind = false
    enum Kind {
      case birth, edit, delete
      /// Of a record that another zone has by now: the row may stay.
      case departure
    }

    /// A merged value is kept beside the row though the table has its column, and not for want of a parent.
    var hidesColumns: Bool {
      kind == .edit && record.held == nil
        && record.extra.keys.contains { column in
          table.indexes[column].map { index in !table.references.contains { $0.isReset && $0.column == index } }
            ?? false
        }
    }
  }

  /// A value that goes before the part, in pieces.
  struct LongValue {
    let ordinal: UInt64
    let value: Value
  }

  /// Children's rows that go with a deleted parent, though the writer had foreign keys off.
  struct Cascade {
    let reference: Reference
    let parent: Value
  }

  /// A record that moves here from another zone.
  struct Arrival {
    let ref: RecordRef
    let table: TableForm
    let state: ZoneRecords.State
    /// `mesh_zone.id` of the other.
    let zone: Int64
    /// `mesh_zone.id` of this one.
    let to: Int64
  }

  /// A record whose merged state is another now, with stamps that may be others'.
  struct Placed {
    let ref: RecordRef
    let table: TableForm
    let state: ZoneRecords.State
    let old: StoredRecord?
  }

  /// A value, or a delete, that is not sent since something else is merged.
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
  var tables: [TableChanges] = []
  var longValues: [LongValue] = []
  /// Not empty: these rows are deleted first, with capture on, and nothing else of the plan is done.
  var cascades: [Cascade] = []
  /// Records whose row got another key: what refers to the old key stays.
  var rekeyed: Set<RecordRef> = []
  /// Records that mesh inserted for somebody who wanted a former version back.
  var restored: Set<RecordRef> = []
  /// Records whose row has to be made what is merged again.
  var reshown: [RecordRef] = []
  /// Records that turned out to be as merged, whose references may have gone meanwhile.
  var rechecked: [RecordRef] = []
  /// Rows that came and went, and that nobody knew.
  var gone: [RecordRef] = []
  /// Records with a value that is too long to be sent, and what to do about it.
  var tooLong: [(ref: RecordRef, message: String)] = []
  /// Of the assets that are sent.
  var manifests: [AssetManifest] = []
  /// Where its rows were read.
  var source = PendingSlice.Source.log
  /// Rows of the source that this deals with.
  var consumed = 0
  /// Nothing is left of the source after it.
  var isWhole = true
  /// The greatest id in the log when it was made.
  var lastID: Int64 = 0
  var schemaVersion: Int64?
  var clock = HybridClock()

  /// The records that a program wrote, and that are there.
  var written: Set<RecordRef> {
    Set(changes.lazy.filter { $0.kind == .birth || $0.kind == .edit }.map(\.ref)).subtracting(restored)
  }

  /// The records whose rows in the log it deals with, but for those that came and went.
  var refs: [RecordRef] {
    changes.map(\.ref) + placed.map(\.ref) + vacated.map(\.ref) + arrivals.map(\.ref) + reshown + rechecked
  }
}
