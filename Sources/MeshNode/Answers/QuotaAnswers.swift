import MeshControl
import MeshCore
import MeshReplication
import MeshStore

/// Reports which accounts use the storage of others, and how to free it.
struct QuotaAnswers: NodePart {
  let context: NodeContext

  /// The use of a bound in percent from which it is reported.
  private static let told = 50

  /// Returns the bounds of which half or more is used, by account, the fullest first.
  func quotas() throws -> [QuotaReport] {
    var found: [QuotaReport] = []
    let stored = try store.figures.quotas()
    for zone in replica.zoneIDs where replica.reasonOutside(zone) == nil {
      for (account, use) in try replica.zoneViews.uses(of: zone) {
        func add(_ what: QuotaReport.What, _ used: Int, of limit: Int) {
          found.append(report(what, used, of: limit, account, zone))
        }
        // The zone belongs to its owner, whose authors have no bound of their own.
        let limit = replica.owner(of: zone) == account ? Limits.authors : Limits.authorsOfAccount
        add(.authors, use.isOverfull ? limit : use.authors, of: limit)
        add(.controlRecords, use.controlRecords, of: Choices.controlRecordsOfAccount)
        add(.controlBytes, use.controlBytes, of: Choices.controlBytesOfAccount)
      }
      for (author, names) in stored.names[zone] ?? [:] {
        guard let account = replica.certificate(of: author.device)?.account, account != replica.account.id else {
          continue
        }
        found.append(report(.names, names, of: StoreQuotas.namesLimit, account, zone))
      }
    }
    var waiting: [AccountID: Int64] = [:]
    for (device, bytes) in stored.waiting {
      guard let account = replica.certificate(of: device)?.account, account != replica.account.id else { continue }
      waiting[account, default: 0] += bytes
    }
    for (account, bytes) in waiting {
      found.append(report(.waitingBytes, Int(clamping: bytes), of: Int(StoreQuotas.waitingLimit), account, nil))
    }
    for (account, count) in stored.policies {
      let shares = shares(of: account.description)
      found.append(
        report(.policies, count, of: StoreQuotas.policiesLimit, account, shares.count == 1 ? shares.first : nil))
    }
    return found.filter { $0.percent >= Self.told }.sorted { ($1.percent, $0.account) < ($0.percent, $1.account) }
  }

  private func report(
    _ what: QuotaReport.What, _ used: Int, of limit: Int, _ account: AccountID, _ zone: ZoneID?
  ) -> QuotaReport {
    let state = replica.accountState(account)
    let name = try? store.control.accountNames()[account] ?? state?.liveDevices.first.flatMap(devices.name(of:))
    return QuotaReport(
      account: account.description, accountName: name, share: zone?.description, shareName: zone.map(replica.title),
      what: what,
      used: used, limit: limit)
  }

  /// Returns the shares of another account in which this account takes part.
  private func shares(of owner: String) -> [ZoneID] {
    replica.zoneIDs.filter { zone in
      replica.owner(of: zone)?.description == owner && replica.isMember(replica.account.id, of: zone)
    }
  }

  /// Returns the commands that free what an account fills.
  private func wayToFree(_ quota: QuotaReport) -> String {
    guard quota.what == .policies else {
      return "If it does that on purpose, the owner of the share frees all of it: mesh share remove --undo "
        + "\(quota.share ?? "SHARE") \(quota.account)"
    }
    let verbs = shares(of: quota.account).map { "mesh share leave \($0)" }
    return "If it does that on purpose, leave its shares, which frees all of it: \(verbs.joined(separator: "; "))"
  }

  func checks() throws -> [HealthCheck] {
    try quotas().map { quota in
      let name = quota.accountName.map { "\(printable($0)) (\(quota.account))" } ?? quota.account
      let share = quota.share.map { "share \(printable(quota.shareName ?? "")) (\($0))" } ?? "all shares"
      return HealthCheck(
        "quota", quota.percent >= 100 ? .alarm : .warning,
        "The account of \(name) has used \(quota.used) of \(quota.limit) \(quota.what.words) in \(share). Beyond the limit "
          + "\(quota.what == .policies ? "further ones don't count" : "its own writes are refused, and nobody else\'s").",
        wayOut: wayToFree(quota),
        figures: ["used": quota.used, "limit": quota.limit])
    }.or("quota", "No account fills half of what others keep for it.")
  }
}
