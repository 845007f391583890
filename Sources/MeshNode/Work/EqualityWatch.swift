import MeshCore
import MeshReplication
import MeshStore

/// Checks regularly whether this node and its members are equal.
struct EqualityWatch {
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

  /// Compares the digests that arrived since the last check. One unequal answer may have arrived during a flush, but two
  /// in a row at equal vectors did not.
  ///
  /// - Returns: The alarms that are new.
  mutating func compare(_ database: NodeDatabase, now: Int64) throws -> Set<Alarm> {
    let (equal, unequal) = try Self.pairs(database)
    for peer in database.replica.peerViews.all {
      for zone in peer.zones where try peer.merged[zone] == database.replica.zoneViews.view(zone)?.merged {
        converged[zone, default: [:]][peer.device] = now
      }
    }
    let confirmed = unequal.intersection(suspected)
    defer { (alarms, suspected) = (alarms.union(confirmed).subtracting(equal), unequal) }
    return confirmed.subtracting(alarms)
  }

  /// Returns the pairs with equal vectors, by their last digests.
  static func pairs(_ database: NodeDatabase) throws -> (equal: Set<Alarm>, unequal: Set<Alarm>) {
    var (equal, unequal): (Set<Alarm>, Set<Alarm>) = ([], [])
    for peer in database.replica.peerViews.all {
      for zone in peer.zones {
        guard let view = try database.replica.zoneViews.view(zone), let theirs = peer.digests[zone],
          theirs.vector == view.merged, theirs.unsent != .pending, try database.store.capture.unsent(zone) != .pending
        else { continue }
        let pair = Alarm(zone: zone, device: peer.device)
        if theirs.digest == view.digest { equal.insert(pair) } else { unequal.insert(pair) }
      }
    }
    return (equal, unequal)
  }
}
