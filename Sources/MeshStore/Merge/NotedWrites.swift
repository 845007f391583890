import MeshCore

/// The notes of programs' writes in the pending log, as far as they explain differences between records and tables.
final class NotedWrites {
  private let records: ZoneRecords
  private let progress: Materialiser.Phase
  /// The current flush. It handles all notes of its records in the log.
  private let flushing: FlushPlan?
  /// Computed on first use, because most flushes don't need it.
  private lazy var flushed = Set(flushing?.refs ?? [])
  /// True if some work was left for the flush of a record that has notes in the log.
  private(set) var hasPostponed = false
  private var transaction: Transaction { records.transaction }

  init(_ records: ZoneRecords, _ progress: Materialiser.Phase, flushing: FlushPlan?) {
    (self.records, self.progress, self.flushing) = (records, progress, flushing)
  }

  /// Whether notes in the log explain differences between records and tables.
  var isPartial: Bool { progress == .flushedPart || progress == .besidePending }

  /// Returns whether notes in the log explain a difference between a record and its row.
  func isExplained(_ ref: RecordRef) throws -> Bool {
    try flushed.contains(ref) || isPartial && pending.get().contains(ref)
  }

  /// Leaves a record to a later flush if it has notes that the current one doesn't handle. Returns whether it has.
  func postponeIfPending(_ ref: RecordRef) throws -> Bool {
    guard try !flushed.contains(ref) && pending.get().contains(ref) else { return false }
    hasPostponed = true
    return true
  }

  /// Leaves a record to a later flush if a program wrote it after the notes that are flushed now. Returns whether it did.
  func postponeIfUnrouted(_ ref: RecordRef) throws -> Bool {
    guard try transaction.catalog.zones().isRouted && unrouted.get().contains(ref) else { return false }
    hasPostponed = true
    return true
  }

  /// The records with notes whose zone is unknown. Computed on first use.
  private lazy var unrouted = Result { try canonical(transaction.pending.unrouted()) }

  /// The records with pending notes by programs, which may be moving to another zone. Computed on first use.
  private lazy var pending = Result { try canonical(transaction.pending.written(besidesLooks: records.zone.id)) }

  private func canonical(_ refs: [RecordRef]) -> Set<RecordRef> {
    Set(
      refs.compactMap { ref in
        transaction.catalog.table(ref.table).map { RecordRef(table: $0.id, key: $0.form.canonical(ref.key)) }
      })
  }

  // MARK: Writes without notes

  /// Checks a record before its values are taken from its row, to merge something into it or to keep them beside it.
  ///
  /// - Parameter state: The merged state, as its row shows it.
  func requireNoticed(
    _ ref: RecordRef, _ record: StoredRecord, _ state: @autoclosure () throws -> ZoneRecords.State
  ) throws {
    guard record.isShown, try !isExplained(ref) else { return }
    guard try !isUnnoticed(ref, record, state()) else {
      throw RecordFailure(ref: ref, cause: .unnoticedWrite(records.zone.zone))
    }
  }

  /// Returns whether the row of a shown record differs from the merged values.
  func isUnnoticed(_ ref: RecordRef, _ record: StoredRecord, _ state: ZoneRecords.State) throws -> Bool {
    guard !transaction.believed.contains(ref), let table = transaction.catalog.table(ref.table) else { return false }
    let mayBeGone = state.cells.values.allSatisfy { $0.value == .null }
    if try mayBeGone && !records.hasRow(table, ref.key) { return true }
    return try records.hash(ref, state) != record.hash
  }
}
