import MeshCore

/// Bounds the number of authors that devices and accounts have in a zone.
///
/// The order in which authors arrive differs from device to device, so the excess is refused and proven to all members
/// by the authors' own signatures. Then all these authors end at zero, on every device.
extension Replica {
  /// Counts the stored authors and new ones.
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

  /// Appends a proof of the excess to the zone's log, once. It contains the first change set of each stored author of
  /// the device or the account, and of the one that has no room.
  ///
  /// - Parameter beginning: The first change set of that author. The caller has checked its signature.
  func proveExcess(_ beginning: SignedHeader, _ id: ZoneID, now: Moment) throws {
    guard let zone = zones[id], let account = zone.state.account(of: beginning.header.author.device),
      !zone.state.isOverfull(beginning.header.author.device)
    else { return }
    let stored = try store.storedVector(id).authors
    let ofDevice = stored.filter { $0.device == beginning.header.author.device }
    let authors =
      ofDevice.count >= Limits.instances ? ofDevice : stored.filter { zone.state.account(of: $0.device) == account }
    var headers = [beginning]
    for author in authors where author != beginning.header.author {
      headers += try store.line(id, author, through: 1, count: 1)
    }
    for start in stride(from: 0, to: headers.count, by: Limits.beginnings) {
      guard let excess = Excess(headers[start..<min(start + Limits.beginnings, headers.count)]),
        zones[id].map(mayProve) == true
      else { return }
      probe?(.excessProven)
      try append(.excess(excess), id)
    }
    try controlChanged(id, now: now)
  }
}
