package import MeshCore

/// The data that others make this file keep, as far as it has a bound.
package struct StoreQuotas: Sendable {
  /// The number of table and column names that an author uses, by zone.
  package var names: [ZoneID: [Author: Int]] = [:]
  /// The bytes of change sets that wait to be merged, by device.
  package var waiting: [DeviceID: Int64] = [:]
  /// The number of policies of columns that an owner of shares has set.
  package var policies: [AccountID: Int] = [:]

  package static let namesLimit = Limits.names
  package static let waitingLimit = StoreLimits.waitingBytes
  package static let policiesLimit = Int(StoreLimits.policies)
}

extension StoreFigures {
  package func quotas() throws -> StoreQuotas {
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
