import Foundation
import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Checks of pending, held and waiting changes, and of whether zones are equal to those of their members.
struct ZoneChecks: NodePart {
  let context: NodeContext

  /// The milliseconds after which a captured row that isn't flushed is reported. A flush takes milliseconds to seconds.
  private static let pendingTooLong: Int64 = 60_000

  func pendingCheck() throws -> HealthCheck {
    let count = try store.localWrites.pendingCount()
    let rows = count.counted("row is", "rows are")
    guard count > 0, isRunning, let oldest = try store.figures.oldestPending() else {
      return HealthCheck("pending", .ok, "\(rows) captured and not flushed.", figures: ["rows": count])
    }
    let age = time.milliseconds() - oldest
    guard age > Self.pendingTooLong else {
      return HealthCheck("pending", .ok, "\(rows) being flushed.", figures: ["rows": count])
    }
    return HealthCheck(
      "pending", .alarm, "\(rows) captured and not flushed, the oldest since \(age / 1_000) s.",
      wayOut: "The other checks say what keeps them: work, zone, clock.",
      figures: ["rows": count, "seconds": Int(clamping: age / 1_000)])
  }

  func zoneChecks() throws -> [HealthCheck] {
    try replica.zoneIDs.flatMap { id -> [HealthCheck] in
      guard replica.reasonOutside(id) == nil, let view = try replica.zoneViews.view(id) else { return [] }
      var checks = waitingChecks(view)
      // A key that can't be stored is missing for that reason, and the check of the node's work names it.
      if let reason = view.cannotWrite, !replica.isExcluded, !(view.lacksKey && driver.fault != nil) {
        checks.append(
          HealthCheck(
            "zone", .alarm,
            view.refusesWrites
              ? "SQLite refuses what programs write to \(zoneName(view)) here, as if it were read-only: \(reason)."
              : "Local writes to \(zoneName(view)) stay pending, and what others write waits behind them: \(reason)."))
      }
      let instances = view.stored.authors.count { $0.device == replica.device }
      if instances + Self.instancesLeft >= Limits.instances {
        checks.append(
          HealthCheck(
            "instances", .warning,
            "This device has begun \(instances) instances in \(zoneName(view)), and it gets only \(Limits.instances).",
            wayOut:
              "Each restored or copied file uses one, and so does each change of the account's permission, or leaving and "
              + "joining again, with writes between. Avoid them. \(replica.zoneViews.adviceForNewInstances).",
            figures: ["instances": instances]))
      }
      if checks.isEmpty { checks.append(HealthCheck("zone", .ok, convergence(view))) }
      return checks
    }
  }

  /// The number of remaining instances at which there is a warning.
  private static let instancesLeft = 2

  private func zoneName(_ view: ZoneView) -> String { "zone \(printable(view.title)) (\(view.id))" }

  private func convergence(_ view: ZoneView) -> String {
    var times = driver.equality.converged[view.id] ?? [:]
    // The results that `mesh verify` found since the last check.
    for peer in replica.peerViews.all {
      guard let theirs = peer.digests[view.id], theirs.vector == view.merged, theirs.digest == view.digest,
        theirs.unsent == .nothing
      else { continue }
      times[peer.device] = time.milliseconds()
    }
    guard !times.isEmpty else {
      return "\(zoneName(view)): not compared with another device \(!isRunning ? "while no daemon runs" : "yet")."
    }
    let each = times.sorted { $0.value > $1.value }.map { device, time in
      "\(devices.name(of: device) ?? device.description) at \(ControlJSON.text(Date(milliseconds: time)))"
    }
    return "\(zoneName(view)): had the same as \(each.joined(separator: ", "))."
  }

  /// Returns the checks of change sets that are stored and not merged. Most of them wait for data that is still
  /// arriving.
  private func waitingChecks(_ view: ZoneView) -> [HealthCheck] {
    view.waiting.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { reason, count in
      let what =
        "Of \(zoneName(view)) \(count.counted("change set is", "change sets are")) stored and not merged"
      switch reason {
      case .futureTime:
        // The clock's check names the devices that signed them.
        return nil
      case .malformed:
        return HealthCheck(
          "malformed", .alarm, "\(what): they break a rule of the format.\(malformedAuthors)",
          wayOut:
            "Update mesh here and on the device that wrote them. If they stay, that device can write on with a new home: "
            + "mesh init --home DIR --database PATH --link -",
          figures: ["changeSets": count])
      case .epochKey:
        return HealthCheck(
          "waiting", .warning, "\(what): the key of their epoch is not here.",
          wayOut: "Connect to a device that has it: mesh peers.", figures: ["changeSets": count])
      case .causalPast, .unfinishedUnit:
        return HealthCheck(
          "waiting", .warning, "\(what): \(reason.rawValue).",
          wayOut: "They wait for changes of another device. Connect a device that has them: mesh peers.",
          figures: ["changeSets": count])
      }
    }
  }

  /// The authors of change sets that break a rule, with the rule.
  private var malformedAuthors: String {
    let found = (try? store.figures.status().malformed) ?? [:]
    return found.sorted { $0.key < $1.key }.prefix(Self.heldNamed).map { author, reason in
      " \(devices.name(of: author.device) ?? "A device") (\(author.device)): \(printable(reason))."
    }.joined()
  }

  func heldChecks() throws -> [HealthCheck] {
    let counts = try store.figures.status().held
    guard !counts.isEmpty else { return [HealthCheck("held", .ok, "Every live record is in its table.")] }
    let records = Dictionary(grouping: try store.held.list(limit: Self.heldLooked), by: \.reason)
    let ways = try WaysOut(store, trusts: devices.isTrusted)
    return counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { reason, count in
      let named = (records[reason] ?? []).prefix(Self.heldNamed).map { "\($0.table) \(ReportedValue($0.key))" }
      let what =
        switch reason {
        case .valueTooLong, .keyUnreadable: "here and not sent"
        case .shownHereOnly: "shown here and held elsewhere"
        case .editRefused: "shown as the table accepted them last"
        default: "kept and not shown"
        }
      return HealthCheck(
        "held", .warning,
        "\(count.counted("record is", "records are")) \(what): \(reason.name) (\(named.joined(separator: ", "))\(count > named.count ? ", …" : "")).",
        wayOut: ways.text(records[reason] ?? []) + " mesh held lists them.",
        figures: [reason.name: count])
    }
  }

  /// Returns the checks of BLOBs that this node downloads and that can't be stored, or that no connected device has.
  func assetChecks() throws -> [HealthCheck] {
    let fetching = try AssetAnswers(context: context).fetching()
    let checks = fetching.stuck.map { stuck in
      let isAbsent = stuck.state == .absent
      return HealthCheck(
        "assets", isAbsent && replica.peerViews.all.isEmpty ? .ok : .warning,
        "\(stuck.assets.counted("BLOB is", "BLOBs are")) waited for and \(isAbsent ? "not available" : "can't be kept"): \(stuck.reason).",
        wayOut: isAbsent
          ? "Connect a device that has it: mesh asset list says who wrote it, had some of it, or gave nothing."
          : "Fix what the message names. The node tries again by itself. mesh asset list names the rows.",
        figures: [stuck.state.rawValue: stuck.assets, "bytes": stuck.size])
    }
    return checks.or(
      "assets",
      fetching.assets == 0
        ? "Every BLOB that is fetched is in its row."
        : "\(fetching.assets.counted("BLOB is", "BLOBs are")) downloading: mesh asset list shows them.",
      figures: ["coming": fetching.assets])
  }

  /// Returns the writes made here that are not in their shares. They stay until somebody restores or discards them.
  func receiptChecks() throws -> [HealthCheck] {
    try store.zones.receiptCounts().sorted { $0.key < $1.key }.compactMap { zone, count in
      guard let state = replica.shareState(zone) else { return nil }
      let share = zone.description
      let mayWrite = state.permission(replica.account.id) == .readWrite
      return HealthCheck(
        "receipt", .warning, "Writes made here that are not in the share \(printable(share)): \(count).",
        wayOut: "mesh share receipt \(share) shows them, and --discard forgets them. --restore writes them again"
          + (mayWrite ? "." : ", once this account may write to the share."),
        figures: ["writes": count])
    }
  }

  /// Returns the number of conflicts that the file no longer keeps. They can't be restored by their numbers any more.
  func conflictChecks() throws -> [HealthCheck] {
    let dropped = try store.conflicts.dropped()
    guard dropped > 0 else { return [] }
    return [
      HealthCheck(
        "conflicts", .ok,
        "This file no longer keeps \(dropped.counted("conflict", "conflicts")) that were found here. It keeps the newest "
          + "\(StoreConflicts.bound) of each zone.",
        figures: ["dropped": dropped])
    ]
  }

  /// The number of held records that are named and examined for each reason.
  private static let heldNamed = 5
  private static let heldLooked = 1_000

  /// Returns the checks of equal vectors with unequal digests, found twice in a row with one member, or by the digests that
  /// `mesh verify` asked for.
  func digestChecks() throws -> [HealthCheck] {
    let alarms = try driver.equality.alarms.union(EqualityWatch.pairs(database).unequal)
    let checks = alarms.sorted { $0.zone < $1.zone }.map { alarm in
      HealthCheck(
        "digest", .alarm,
        "This node and \(devices.name(of: alarm.device) ?? alarm.device.description) have merged the same change sets of zone "
          + "\(alarm.zone) and don't have the same records.",
        wayOut: "Run mesh verify on both. Then compare the tables, and write the right values again on one of them.")
    }
    return checks.or("digest", "No member was found to have other rows at the same vector.")
  }
}
