import MeshCore

/// The error that an app's trigger rolled back the whole transaction because of one record. The transaction is started
/// again without that record's row.
struct TakenBack: Error {
  let ref: RecordRef
  let message: String
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
      } catch let taken as TakenBack where refused[taken.ref] == nil {
        reached(.transactionRolledBack)
        refused[taken.ref] = taken.message
      } catch let unnoticed as Unnoticed {
        // Until the triggers are up to date, the row's values can't be told from the merged ones.
        guard try note(unnoticed, reader(unnoticed.zone), now: time) else {
          access.believe(unnoticed.ref)
          continue
        }
      }
    }
  }
}
