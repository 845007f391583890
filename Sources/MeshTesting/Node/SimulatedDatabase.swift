import MeshCore

/// A node's database: what replication uses, what the app writes, and how it dies. Made once per node; it outlives crashes.
protocol SimulatedDatabase: AnyObject {
  /// Opens it, at the first start and after each crash.
  func open() throws -> any ReplicaStore
  /// Runs a transaction of the app. False where it was rolled back or a constraint refused it.
  func run(_ transaction: AppTransaction) throws -> Bool
  /// The app's tables.
  func contents() throws -> Contents
  /// Records that live but are not shown, and why.
  func held() throws -> [RecordName: String]
  /// Ends as a killed process does: nothing is closed, and what was committed is on the disk.
  func crash() throws
  /// The end of the simulation.
  func close() throws
}
