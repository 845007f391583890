import MeshCore

/// Bytes of change sets that are stored and not merged: one account of them for each account, over its devices, their instances and
/// all zones, and one for all.
struct WaitingQuota {
  /// An account's id; or that of a device of which no account is known.
  typealias Owner = [UInt8]

  private(set) var owners: [Owner: Int64] = [:]
  private var all: Int64 = 0
  private let accounts: Accounts

  init(_ session: Session, _ accounts: Accounts) throws {
    self.accounts = accounts
    for (device, bytes) in try session.catalog.heads.waiting() {
      owners[Self.owner(device, accounts), default: 0] += bytes
      all += bytes
    }
  }

  static func owner(_ device: DeviceID, _ accounts: Accounts) -> Owner {
    accounts.account(certifying: device)?.bytes ?? device.bytes
  }

  /// False where the account's share is full; and where all is full, unless the account has less than what is kept free for each.
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
