import MeshCore

/// How many authors devices and accounts have in a zone. Which of too many come first differs from device to device, so the rest is
/// refused, and the excess is proven to everybody by the authors' own signatures: then all of them end at zero, everywhere alike.
extension Replica {
  /// Counts the authors that are stored while new ones come.
  struct AuthorRoom {
    private let state: ZoneState
    private var all: Int
    private var devices: [DeviceID: Int] = [:]
    private var accounts: [AccountID: Int] = [:]
    private let own: AccountID?

    /// - Parameter own: The account whose authors are taken whatever it has. It does not begin more than it may.
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
      /// Its account, or its device, has as many as it may.
      case excess
      /// The zone has as many as it can have.
      case full
    }

    /// The account that writes here and the owner have the last places to themselves.
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

  /// Puts the excess into the zone's log, once: the first change set of each author of the device or of the account that is here, and
  /// of the one that has no room.
  ///
  /// - Parameter beginning: Its signature was checked.
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
      try append(.excess(excess), id)
    }
    try controlChanged(id, now: now)
  }
}
