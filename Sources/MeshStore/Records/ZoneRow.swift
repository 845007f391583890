import MeshCore

/// The counters of a zone, as a row of `mesh_zone` has them. A transaction changes them in `ZoneCounters`.
struct ZoneRow: Equatable {
  let id: Int64
  let zone: ZoneID
  /// The instance that local writes get.
  var instance: InstanceID?
  var clock: HybridClock
  var digestLow: UInt64
  var digestHigh: UInt64
  var live: Int64
  var nextPosition: Int64
  var flushPart: UInt64
  var flushSynced: UInt64
  var flushPlanned: UInt64
  var flushValues: UInt64
  var flushClock: HybridTime
  var runLast: Int64
  var runRows: Int64
  var ahead: Int64
}
