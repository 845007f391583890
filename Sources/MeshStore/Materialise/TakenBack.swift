import MeshCore

/// The error that an app's trigger rolled back the whole transaction because of one record. The transaction is started
/// again without that record's row.
struct TakenBack: Error {
  let ref: RecordRef
  let message: String
}

extension StorePart {
  /// Runs `body` in one transaction. Starts it again for each record because of which an app's trigger rolls it back.
  /// Passes these records to `body`, with the trigger's messages.
  func writeRefusing<T>(isDurable: Bool = true, _ body: (Transaction, _ refused: [RecordRef: String]) throws -> T)
    throws
    -> T
  {
    var refused: [RecordRef: String] = [:]
    while true {
      do {
        return try write(isDurable: isDurable) { try body($0, refused) }
      } catch let taken as TakenBack where refused[taken.ref] == nil {
        reached(.transactionRolledBack)
        refused[taken.ref] = taken.message
      }
    }
  }
}
