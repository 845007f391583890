/// The number and the size of somebody's control records in a zone.
package struct ControlUse: Sendable, Equatable {
  /// The number of records.
  package private(set) var records = 0
  /// The bytes of their encodings.
  package private(set) var bytes = 0

  package init() {}

  /// Counts one more record.
  package mutating func add(_ record: ControlRecord) {
    records += 1
    bytes += record.size
  }

  /// Counts the records of another use too.
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
