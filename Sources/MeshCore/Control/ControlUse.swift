/// The number and the size of somebody's control records in a zone.
package struct ControlUse: Sendable, Equatable {
  package private(set) var records = 0
  package private(set) var bytes = 0

  package init() {}

  package mutating func add(_ record: ControlRecord) {
    records += 1
    bytes += record.size
  }

  package mutating func add(_ other: ControlUse) {
    records += other.records
    bytes += other.bytes
  }
}

extension ZoneLog {
  /// Returns the use of all devices of an account together.
  ///
  /// - Parameter account: The account, or nil for the devices that nobody certified.
  package func use(of account: AccountID?, _ accounts: Accounts) -> ControlUse {
    let certified = account.map { accounts[$0]?.certificates.keys ?? [:].keys }
    let devices =
      if let certified, certified.count < uses.count { certified.filter { uses[$0] != nil } } else { Array(uses.keys) }
    return devices.reduce(into: ControlUse()) { sum, device in
      if let use = uses[device], people.account(of: device, accounts) == account { sum.add(use) }
    }
  }
}
