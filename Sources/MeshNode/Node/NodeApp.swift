import MeshCore

/// The app in whose process a node runs. `mesh serve` and the commands have none.
package struct NodeApp: Sendable {
  /// Decides for each share that others end for this account, by its id, whether its rows stay. Nil means no.
  package var keepsRows: (@Sendable (String) -> Bool)?
  /// Gives a connection, an `sqlite3 *`, the functions that the app's schema calls.
  package var prepareConnection: (@Sendable (OpaquePointer) -> Void)?
  /// Called if the app is to leave its node to the process with this id.
  package var onYield: @Sendable (Int) -> Void

  /// Creates the app's part in its node.
  package init(
    keepsRows: (@Sendable (String) -> Bool)?, prepareConnection: (@Sendable (OpaquePointer) -> Void)?,
    onYield: @escaping @Sendable (Int) -> Void
  ) {
    (self.keepsRows, self.prepareConnection, self.onYield) = (keepsRows, prepareConnection, onYield)
  }
}

extension NodeApp {
  var keepsRowsOfZone: (@Sendable (ZoneID) -> Bool)? {
    guard let keepsRows else { return nil }
    return { keepsRows($0.description) }
  }
}
