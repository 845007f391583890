import MeshCore

/// An app's trigger took the whole transaction back because of one record: it is started again without that record's row.
struct TakenBack: Error {
  let ref: RecordRef
  let message: String
}

extension Store {
  /// One transaction, begun again for each record because of which an app's trigger takes it back; `body` gets those, with the
  /// trigger's words.
  func writeRefusing<T>(isDurable: Bool = true, _ body: (Session, _ refused: [RecordRef: String]) throws -> T) throws
    -> T
  {
    var refused: [RecordRef: String] = [:]
    while true {
      do {
        return try write(isDurable: isDurable) { try body($0, refused) }
      } catch let taken as TakenBack where refused[taken.ref] == nil {
        refused[taken.ref] = taken.message
      }
    }
  }
}
