import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Checks of the other devices, and of changes and tables that they have and this machine doesn't, or the other way
/// round.
struct MemberChecks: NodePart {
  let context: NodeContext

  func peerChecks() throws -> [HealthCheck] {
    // A revoked device is admitted nowhere, and its own check says so.
    guard isRunning, !replica.isExcluded else { return [] }
    let failing = addresses.dials.filter { address, dial in
      addresses.wanted.contains(address) && dial.device == nil && addresses.mayAnswer(address, replica)
    }
    let checks = failing.sorted { $0.key.description < $1.key.description }.compactMap { address, dial in
      dial.lastError.map { error in
        HealthCheck(
          "peer", .warning,
          dial.hasAnswered
            ? "\(address) answers, and no session came about since the start: \(printable(error))"
            : "\(address) was never reached since the start: \(printable(error))",
          wayOut:
            "Check that a daemon runs there and that the network lets this machine through; or remove the address "
            + "from \(configuration.peers.contains(address) ? "peers in config.toml" : home.path(of: .peers)) and restart it."
        )
      }
    }
    let connected = replica.peerViews.all.count
    return checks.or(
      "peer", "\(connected.counted("device is", "devices are")) connected.", figures: ["connected": connected])
  }

  /// Returns the checks of devices that are not connected while changes wait for them. Connected devices get these
  /// changes now.
  func memberChecks() throws -> [HealthCheck] {
    guard isRunning, !replica.isExcluded else { return [] }
    let waiting = try PeerAnswers(context: context).peers().filter {
      !$0.connected && $0.device != nil && $0.behind.there > 0
    }
    let own = replica.account.id.description
    let checks = waiting.map { peer in
      let name = peer.name ?? ""
      let who = name.isEmpty ? peer.device ?? "" : name
      let count = peer.behind.there
      var what = "\(who) is not connected, and \(count.counted("change set waits", "change sets wait")) for it."
      if let error = peer.lastError { what += " The last error: \(error)." }
      return HealthCheck(
        "members", .warning, what,
        wayOut:
          "Start its daemon, or give this machine its address: mesh serve --peer HOST:PORT. If it is gone for good, "
          + "remove it: "
          + (peer.account == own
            ? "mesh device revoke \(peer.device ?? "")" : "mesh share remove SHARE \(peer.account ?? "ACCOUNT")"),
        figures: ["changeSets": count])
    }
    return checks.or("members", "No absent device lacks changes of this machine.")
  }

  /// Returns the checks of tables and columns that other devices have and that this file doesn't have, doesn't
  /// synchronize, or has in another form.
  func schemaChecks() throws -> [HealthCheck] {
    try (missingChecks() + rulesChecks()).or(
      "schema", "This file has every table and column that other devices synchronize.")
  }

  private func missingChecks() throws -> [HealthCheck] {
    try store.schema.missing(trusts: devices.isTrusted).map { one in
      let isUntracked = one.exists && one.columns.isEmpty
      let what: String
      if isUntracked {
        what = "Other devices synchronize the table \(one.table), and this one does not."
      } else if let former = one.former {
        what = "Other devices renamed the table \(former) to \(one.table)."
      } else if !one.renamed.isEmpty {
        let names = one.renamed.sorted { $0.key < $1.key }.map { "\($0.key) is \($0.value) there" }
        what = "Other devices renamed columns of \(one.table): \(names.joined(separator: ", "))."
      } else if one.exists {
        what =
          "Other devices have columns of \(one.table) that this file lacks: \(one.columns.joined(separator: ", "))."
      } else {
        what = "Other devices have the table \(one.table), and this file lacks it."
      }
      var way = isUntracked ? "mesh track \(one.table)" : "mesh schema --apply creates it, and mesh schema shows how."
      if let refusal = one.refusal {
        way = "mesh schema --apply leaves \(one.table) out: \(printable(refusal))."
      }
      return HealthCheck(
        "schema", .warning, "\(what) What is written there is kept here, and not shown.", wayOut: way)
    }
  }

  /// Returns a check for each table of which devices of this account have other defaults, `CHECK`s or references. They
  /// are not merged, because nothing tells which of them is newer.
  private func rulesChecks() throws -> [HealthCheck] {
    let own = try TableAnswers(context: context).foreignSchemas().filter {
      !$0.isKey && replica.certificate(of: $0.device)?.account == replica.account.id
    }
    return Dictionary(grouping: own, by: \.table).sorted { $0.key < $1.key }.map { table, differences in
      let names = Set(differences.map { devices.name(of: $0.device) ?? $0.device.description }).sorted()
      return HealthCheck(
        "schema", .warning,
        "\(printable(table)) has other defaults, CHECKs, indexes, references or types on \(names.joined(separator: ", ")): "
          + "one machine can refuse what another accepts.",
        wayOut: "mesh schema shows both forms. Give the table the same form on every machine.")
    }
  }

  /// Returns the parts of other devices' tables that mesh doesn't carry over.
  func leftOutChecks() throws -> [HealthCheck] {
    try store.schema.leftOut(trusts: devices.isTrusted).map { HealthCheck("schema", .ok, "Not carried over: \($0).") }
  }

  /// Returns the shares that have ended for this account, with the reason. A share that ended while this node ran is a
  /// warning.
  func endedShareChecks() -> [HealthCheck] {
    ShareAnswers(context: context).ended.map { share in
      HealthCheck(
        "share", context.endedBefore.contains(share.zone) ? .ok : .warning,
        "A share is over: \(share.reason). Its rows are not here any more, unless you kept a copy.",
        wayOut:
          "mesh share show \(share.zone) has the facts. To come back, ask its owner for an invite: to this share, or if the "
          + "owner stopped it, to a new one.")
    }
  }
}
