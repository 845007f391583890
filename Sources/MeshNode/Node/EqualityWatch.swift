import Logging
import MeshCore
import MeshReplication
import MeshStore

/// Checks regularly whether this node and its members are equal.
final class EqualityWatch {
  struct Alarm: Hashable {
    let zone: ZoneID
    let device: DeviceID
  }

  /// The time between two checks, which need two short messages for each member and zone.
  static let interval = Duration.seconds(60)

  /// The time at which each device was last found to have merged everything that this node has, in milliseconds since
  /// 1970.
  private(set) var converged: [ZoneID: [DeviceID: Int64]] = [:]
  /// The pairs with equal vectors and unequal digests that were confirmed.
  private(set) var alarms: Set<Alarm> = []
  /// The pairs with equal vectors and unequal digests of the last check.
  private var suspected: Set<Alarm> = []
  private let database: NodeDatabase
  private let time: SystemTime
  private let logger: Logger

  init(_ database: NodeDatabase, _ time: SystemTime, _ logger: Logger) {
    (self.database, self.time, self.logger) = (database, time, logger)
  }

  /// Forgets what was found, because the database is another.
  func forget() { (converged, alarms, suspected) = ([:], [], []) }

  /// Compares the digests that arrived since the last check. One unequal answer may have arrived during a flush, but two
  /// in a row at equal vectors did not.
  func compare() throws {
    var unequal: Set<Alarm> = []
    var equal: Set<Alarm> = []
    defer { conclude(equal: equal, unequal: unequal) }
    for peer in database.replica.peerViews {
      for zone in peer.zones {
        guard let view = try database.replica.zoneView(zone) else { continue }
        let pair = Alarm(zone: zone, device: peer.device)
        if peer.merged[zone] == view.merged { converged[zone, default: [:]][peer.device] = time.milliseconds() }
        guard let theirs = peer.digests[zone], theirs.vector == view.merged, theirs.unsent != .pending,
          try database.store.unsent(zone) != .pending
        else { continue }
        if theirs.digest == view.digest { equal.insert(pair) } else { unequal.insert(pair) }
      }
    }
  }

  private func conclude(equal: Set<Alarm>, unequal: Set<Alarm>) {
    let confirmed = unequal.intersection(suspected)
    for pair in confirmed.subtracting(alarms) {
      logger.error("equal vectors and unequal digests with \(pair.device) in \(pair.zone): see mesh doctor")
    }
    alarms = alarms.union(confirmed).subtracting(equal)
    suspected = unequal
  }
}
