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
    let waiting = try session.sql.all(
      """
      SELECT device, sum(waiting) FROM mesh_head JOIN mesh_author ON mesh_author.id = mesh_head.author
      WHERE waiting > 0 GROUP BY device
      """
    ) { (DeviceID($0.bytes(0)), $0.integer(1)) }
    for case (let device?, let bytes) in waiting {
      owners[owner(device), default: 0] += bytes
      all += bytes
    }
  }

  private func owner(_ device: DeviceID) -> Owner { accounts.account(certifying: device)?.bytes ?? device.bytes }

  /// False where the account's share is full; and where all is full, unless the account has less than what is kept free for each.
  mutating func take(_ bytes: Int64, _ device: DeviceID) -> Bool {
    let owner = owner(device)
    let own = (owners[owner] ?? 0) + bytes
    guard own <= StoreLimits.waitingBytes,
      all + bytes <= StoreLimits.waitingBytesOfAll || own <= StoreLimits.waitingShare
    else { return false }
    owners[owner] = own
    all += bytes
    return true
  }
}
