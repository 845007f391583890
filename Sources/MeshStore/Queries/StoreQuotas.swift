public import MeshCore

/// The data that others make this file keep, as far as it has a bound.
public struct StoreQuotas: Sendable {
  /// The number of table and column names that an author uses, by zone.
  public var names: [ZoneID: [Author: Int]] = [:]
  /// The bytes of change sets that wait to be merged, by device.
  public var waiting: [DeviceID: Int64] = [:]
  /// The number of policies of columns that an owner of shares has set.
  public var policies: [AccountID: Int] = [:]

  public static let namesLimit = Limits.names
  public static let waitingLimit = StoreLimits.waitingBytes
  public static let policiesLimit = Int(StoreLimits.policies)
}

extension StoreFigures {
  public func quotas() throws -> StoreQuotas {
    try read { transaction in
      var quotas = StoreQuotas()
      for case (let zone?, let author, let count) in try transaction.names.namedCounts() {
        quotas.names[zone, default: [:]][try transaction.catalog.author(author)] = count
      }
      quotas.waiting = try transaction.catalog.heads.waiting()
      quotas.policies = try transaction.policies.counts()
      return quotas
    }
  }
}
