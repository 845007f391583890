import GRDB
import MeshCore

/// The database and caches that one access to the file works with.
struct Transaction: TableAccess {
  let db: Database
  let sql: Connection
  let catalog: Catalog
  /// The counters of zones. They are saved when the transaction ends.
  let counters: TransactionCounters
  let cryptography: any Cryptography
  let run: PendingRun
  let staged: StagedAssets
  let server: BlobServer
  let pieces: PieceIndex
  let device: DeviceID?
  /// The records listed in `StoreAccess.believed`.
  let believed: Set<RecordRef>

  func reached(_ branch: RareBranch) { sql.probe?(branch) }

  func stamp(_ stamp: LocalStamp) throws -> Stamp {
    Stamp(time: stamp.time, author: try catalog.author(stamp.author))
  }

  /// Returns whether the pending log has rows.
  func hasPending() throws -> Bool { try !pending.isEmpty() }

  /// Returns the progress for rows that are shown outside of a flush.
  func progress() throws -> Materialiser.Phase { try hasPending() ? .besidePending : .clean }

  func hasRun() throws -> Bool { try !counters.withRun().isEmpty }

  /// Returns whether the zone has pending rows.
  ///
  /// - Parameter filter: A filter from `pendingFilter`.
  func hasPending(_ filter: Int64) throws -> Bool {
    try pending.has(filter)
  }

  /// Returns the filter for the zone's rows in the pending log. It is 0, which selects all rows, if there is no other
  /// zone. Then nothing looks up where rows belong, so the filter costs nothing.
  func pendingFilter(_ zone: Int64) throws -> Int64 { try catalog.zones().isRouted ? zone : 0 }

  /// Returns whether all rows in the pending log belong to the zone.
  func hasOnly(_ zone: Int64) throws -> Bool {
    let filter = try pendingFilter(zone)
    return try filter == 0 || !pending.hasOthers(than: filter)
  }

  /// Returns whether a device belongs to this account: only this account's devices write in the private zone.
  func isOfThisAccount(_ device: DeviceID) throws -> Bool {
    if device == self.device { return true }
    guard let zone = try catalog.zones().privateZone else { return false }
    return try catalog.heads.all(zone).contains { try catalog.author($0.author).device == device }
  }

  /// Runs `body` with capture turned off. No commit contains the mark that turns it off, and a rollback removes the
  /// mark.
  func applying<T>(_ body: () throws -> T) throws -> T {
    try endSilence()
    try state.setApplying(true)
    let watch = TriggerWatch(sql, catalog.allTables)
    sql.watch = watch
    watch?.begin()
    defer {
      watch?.end()
      sql.watch = nil
    }
    let result = try body()
    if let watch { sql.intruders.formUnion(watch.intruders) }
    try state.setApplying(false)
    return result
  }

  /// Removes a committed mark that turns capture off. The node never commits the mark, so another program did, and no
  /// writes have been captured since. A comparison of values has to find those writes.
  ///
  /// - Returns: True if the mark was set.
  @discardableResult
  func endSilence() throws -> Bool {
    guard try state.isSilent() else { return false }
    reached(.silenceEnded)
    try state.setApplying(false)
    for table in try TrackedTable.all(db) { try work.request(.compare, table.id) }
    return true
  }
}
