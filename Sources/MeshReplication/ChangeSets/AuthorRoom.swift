import MeshCore

/// Counts the stored authors and new ones, to bound the number of authors that devices and accounts have in a zone.
///
/// The order in which authors arrive differs from device to device, so the excess is refused and proven to all members
/// by the authors' own signatures. Then all these authors end at zero, on every device.
struct AuthorRoom {
  private let state: ZoneState
  private(set) var all: Int
  private var devices: [DeviceID: Int] = [:]
  private var accounts: [AccountID: Int] = [:]
  private let own: AccountID?

  /// Counts the stored authors.
  ///
  /// - Parameter own: The account whose authors are accepted without a bound. It doesn't begin more than it may.
  init(_ stored: VersionVector, _ state: ZoneState, own: AccountID?) {
    (self.state, self.own) = (state, own)
    all = stored.numbers.count
    for author in stored.numbers.keys {
      devices[author.device, default: 0] += 1
      if let account = state.account(of: author.device) { accounts[account, default: 0] += 1 }
    }
  }

  enum Answer {
    case room
    /// The account or the device already has the maximum number of authors.
    case excess
    /// The zone has the maximum number of authors.
    case full
  }

  /// Counts a new author of a device, if there is room. The last places are reserved for the local account and the
  /// owner.
  mutating func take(_ device: DeviceID) -> Answer {
    let account = state.account(of: device)
    let isBounded = account != state.owner && account != own
    if devices[device] ?? 0 >= Limits.instances { return .excess }
    if let account, isBounded, accounts[account] ?? 0 >= Limits.authorsOfAccount { return .excess }
    guard all < Limits.authors - (isBounded ? Limits.authorsOfAccount : 0) else { return .full }
    all += 1
    devices[device, default: 0] += 1
    if let account { accounts[account, default: 0] += 1 }
    return .room
  }
}
