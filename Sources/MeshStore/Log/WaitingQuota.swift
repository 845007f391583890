import MeshCore

/// The bytes of change sets that are stored and not merged. There is one sum for each account, over its devices, their
/// instances and all zones, and one sum for all accounts.
struct WaitingQuota {
  /// The id of an account, or of a device whose account is unknown.
  typealias Owner = [UInt8]

  private(set) var owners: [Owner: Int64] = [:]
  private var all: Int64 = 0
  private let accounts: Accounts

  init(_ transaction: Transaction, _ accounts: Accounts) throws {
    self.accounts = accounts
    for (device, bytes) in try transaction.catalog.heads.waiting() {
      owners[Self.owner(device, accounts), default: 0] += bytes
      all += bytes
    }
  }

  static func owner(_ device: DeviceID, _ accounts: Accounts) -> Owner {
    accounts.account(certifying: device)?.bytes ?? device.bytes
  }

  /// Adds bytes for a device. Returns false if its account's share is full, or if all room is used and the account has
  /// more than is reserved for each.
  mutating func take(_ bytes: Int64, _ device: DeviceID) -> Bool {
    let owner = Self.owner(device, accounts)
    let own = (owners[owner] ?? 0) + bytes
    guard own <= StoreLimits.waitingBytes,
      all + bytes <= StoreLimits.waitingBytesOfAll || own <= StoreLimits.waitingShare
    else { return false }
    owners[owner] = own
    all += bytes
    return true
  }
}
