import MeshCore
import MeshStore

/// The values of this machine's own copy that lost against other devices, as the log has reported them.
struct ImportNotice {
  /// The newest conflict at the time of the last count.
  private var newest: Int64 = 0
  private var reported = 0

  /// Counts how much of an older copy of the tables the other devices have changed, after a device joined with it.
  ///
  /// - Returns: The number of values, or nil if it has been reported.
  mutating func next(_ store: Store, _ device: DeviceID) throws -> Int? {
    let newest = try store.conflicts.newest()
    guard newest > self.newest else { return nil }
    self.newest = newest
    let count = try store.conflicts.lostImports(of: device)
    guard count > reported else { return nil }
    reported = count
    return count
  }
}
