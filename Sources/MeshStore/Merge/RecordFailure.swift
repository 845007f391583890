import MeshCore

/// The failure of a transaction because of one record. It is rolled back, and started again when the cause is dealt
/// with.
struct RecordFailure: Error {
  enum Cause {
    /// An app's trigger rolled back the whole transaction, with this message. The next one leaves out the row.
    case rolledBack(String)
    /// The row of the zone's record differs from the merged values, and nothing in the log explains it. A program wrote
    /// it in a way that fires no trigger. The write has to be noted first. Otherwise it would be taken for the merged
    /// value, and the digest would match no other device's.
    case unnoticedWrite(ZoneID)
  }

  let ref: RecordRef
  let cause: Cause
}

extension StorePart {
  /// Runs `body` in one transaction. Starts it again for each record because of which an app's trigger rolls it back.
  /// Passes these records to `body`, with the trigger's messages. Also starts it again for each row that a program wrote
  /// unnoticed, after its differences are noted.
  ///
  /// - Parameters:
  ///   - time: The wall time of such notes, in milliseconds.
  ///   - reader: Returns a reader for a zone, or nil if there is none.
  func writeRefusing<T>(
    isDurable: Bool = true, notingAt time: Int64, _ reader: (ZoneID) throws -> ChangeSetReader? = { _ in nil },
    _ body: (Transaction, _ refused: [RecordRef: String]) throws -> T
  ) throws -> T {
    var refused: [RecordRef: String] = [:]
    while true {
      do {
        return try write(isDurable: isDurable) { try body($0, refused) }
      } catch let failure as RecordFailure {
        switch failure.cause {
        case .rolledBack(let message):
          guard refused[failure.ref] == nil else { throw failure }
          reached(.transactionRolledBack)
          refused[failure.ref] = message
        case .unnoticedWrite(let zone):
          // Until the triggers are up to date, the row's values can't be told from the merged ones.
          if try !note(failure, reader(zone), now: time) { access.believe(failure.ref) }
        }
      }
    }
  }

  /// Notes the differences of a row that a program wrote unnoticed, as a comparison of the whole table would. If there
  /// is anything to flush, a flush comes next.
  ///
  /// - Parameter reader: A reader for the record's zone. Without it, all columns of the row count as changed.
  /// - Returns: False if the schema has changed, and nothing can be noted before the triggers are up to date.
  @discardableResult
  func note(_ unnoticed: RecordFailure, _ reader: ChangeSetReader? = nil, now: Int64) throws -> Bool {
    try write { transaction in
      guard try transaction.isCurrent(), let table = transaction.catalog.table(unnoticed.ref.table) else {
        return false
      }
      let slice = try TableSlice(
        transaction, table, record: unnoticed.ref.key, reader.map { reader in { _ in reader } })
      if slice.isEmpty { access.believe(unnoticed.ref) } else { transaction.reached(.writeUnnoticed) }
      try slice.insertNotes(transaction.pending, now: now)
      return true
    }
  }
}
