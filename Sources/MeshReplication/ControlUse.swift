import MeshCore

/// What somebody's control records take in a zone.
struct ControlUse: Sendable, Equatable {
  private(set) var records = 0
  private(set) var bytes = 0

  mutating func add(_ record: ControlRecord) {
    records += 1
    bytes += record.size
  }

  mutating func add(_ other: ControlUse) {
    records += other.records
    bytes += other.bytes
  }
}

extension Replica.Zone {
  /// Of all devices of an account.
  func controlUse(of account: AccountID?, _ accounts: Accounts) -> ControlUse {
    recordCounts.reduce(into: ControlUse()) { sum, entry in
      if people.account(of: entry.key, accounts) == account { sum.add(entry.value) }
    }
  }
}
