import MeshCore

@testable import MeshTesting

extension PlainZone {
  /// Reads records of a log under construction.
  convenience init(_ records: [ControlRecord], _ log: ControlLog) {
    func account(_ device: DeviceID) -> AccountID? {
      (0..<6).first { log.hasDevice($0) && log.device($0) == device }.map { log.account(of: $0) }
    }
    self.init(
      records,
      Accounts(
        owner: log.ids[0], account: account,
        isExcluded: { device in account(device).flatMap { log.accounts[$0]?.isExcluded(device) } ?? true }))
  }
}
