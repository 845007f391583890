import Logging
import MeshCore
import MeshReplication
import MeshStore

/// Checks regularly whether this node and its members are equal.
extension Node {
  struct DigestAlarm: Hashable {
    let zone: ZoneID
    let device: DeviceID
  }

  /// The time between two checks, which need two short messages for each member and zone.
  static let equalityInterval = Duration.seconds(60)

  /// Compares the digests that arrived since the last check, and requests them again. One unequal answer may have
  /// arrived during a flush, but two in a row at equal vectors did not.
  func lookAtEquality() {
    guard suspension == nil else { return }
    var unequal: Set<DigestAlarm> = []
    var equal: Set<DigestAlarm> = []
    do {
      for peer in replica.peerViews {
        for zone in peer.zones {
          guard let view = try replica.zoneView(zone) else { continue }
          let pair = DigestAlarm(zone: zone, device: peer.device)
          if peer.merged[zone] == view.merged { converged[zone, default: [:]][peer.device] = time.milliseconds() }
          guard let theirs = peer.digests[zone], theirs.vector == view.merged, theirs.unsent != .pending,
            try store.unsent(zone) != .pending
          else { continue }
          if theirs.digest == view.digest { equal.insert(pair) } else { unequal.insert(pair) }
        }
      }
    } catch {
      report(error)
    }
    for pair in unequal.intersection(suspected).subtracting(digestAlarms) {
      logger.error("equal vectors and unequal digests with \(pair.device) in \(pair.zone): see mesh doctor")
    }
    digestAlarms = digestAlarms.union(unequal.intersection(suspected)).subtracting(equal)
    suspected = unequal
    replica.requestDigests()
    performActions()
  }
}
