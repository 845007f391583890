import MeshCore
import MeshReplication
import MeshStore

// What others have and this machine lacks, or the other way round.

extension Node {
  /// Devices that are not connected while changes wait for them. Those that are connected get them now.
  func memberChecks() throws -> [HealthCheck] {
    guard listening != nil else { return [] }
    let waiting = try peerReports().filter { !$0.connected && $0.device != nil && $0.behind.there > 0 }
    guard !waiting.isEmpty else {
      return [HealthCheck("members", .ok, "No device lacks changes of this machine while it is not connected.")]
    }
    return waiting.map { peer in
      HealthCheck(
        "members", .warning,
        "\(peer.name.flatMap { $0.isEmpty ? nil : $0 } ?? peer.device ?? "") is not connected, and "
          + "\(peer.behind.there.counted("change set waits", "change sets wait")) for it."
          + (peer.lastError.map { " The last try failed: \($0)." } ?? ""),
        wayOut:
          "Start its daemon, or give this machine its address: mesh serve --peer HOST:PORT. If it is gone for good, "
          + "take it out: mesh device revoke, or mesh share remove for another account.",
        figures: ["changeSets": peer.behind.there])
    }
  }

  /// Tables and columns that other devices have and this file lacks, or does not synchronize.
  func schemaChecks() throws -> [HealthCheck] {
    let missing = try store.missingSchema()
    guard !missing.isEmpty else {
      return [HealthCheck("schema", .ok, "This file has every table and column that other devices synchronize.")]
    }
    return missing.map { one in
      let what =
        !one.exists
        ? "Other devices have the table \(one.table), and this file lacks it."
        : one.columns.isEmpty
          ? "Other devices synchronize the table \(one.table), and this one does not."
          : "Other devices have columns of \(one.table) that this file lacks: \(one.columns.joined(separator: ", "))."
      let kept = " What they write there is kept here, and not shown."
      return HealthCheck(
        "schema", .warning, what + kept,
        wayOut: one.refusal.map {
          "It can't be taken over: \(printable($0)). Make it by hand, and mesh track \(one.table)."
        }
          ?? (one.exists && one.columns.isEmpty
            ? "mesh track \(one.table)" : "mesh schema --apply makes it, and mesh schema shows how."))
    }
  }

  /// Shares that ended for this account, and since when: a warning if that was since the start.
  func endedShareChecks() -> [HealthCheck] {
    endedShares.map { share in
      HealthCheck(
        "share", endedBefore.contains(share.zone) ? .ok : .warning,
        "\(share.reason.prefix(1).uppercased())\(share.reason.dropFirst()), and its rows are not here any more, unless you kept a copy.",
        wayOut: "mesh share show \(share.zone) has the facts. Ask its owner for an invite to come back.")
    }
  }

  /// Those of other accounts, and why each is over.
  var endedShares: [(zone: ZoneID, reason: String)] {
    replica.zoneIDs.compactMap { zone in replica.reasonOutside(zone).map { (zone, printable($0)) } }
  }
}
