extension ControlRecord {
  /// Returns whether the record is sound: a device of the zone's accounts signed it, that device may sign such an act
  /// at all, and any proof in the act is valid. A record that isn't sound never counts. The state of the zone judges
  /// all other questions.
  ///
  /// If an account may have dropped certificates, other nodes may know a device that nobody certified here, and honest
  /// records may follow its records. Such records, and those that name such a device, are sound and have no effect.
  ///
  /// - Parameters:
  ///   - people: The accounts that the records before it name.
  ///   - isLacking: Whether the states of some of these accounts are not here.
  package func isSound(
    _ people: ZonePeople, _ accounts: Accounts, isLacking: Bool = false, _ cryptography: any Cryptography
  ) -> Bool {
    let mayLackDevices = isLacking || people.mayLackDevices(accounts)
    func isOfSomebody(_ device: DeviceID) -> Bool { mayLackDevices || people.account(of: device, accounts) != nil }
    guard isOfSomebody(author), isSigned(cryptography) else { return false }
    if act.isOwners, people.owner == nil || people.account(of: author, accounts) != people.owner { return false }
    switch act {
    case .cut(let cut):
      // Any account that certified the device may have signed. Otherwise a valid cut would fall if another account
      // turned out to have certified the device too.
      return mayLackDevices
        || people.all.compactMap { accounts[$0] }.contains {
          $0.certificates[cut.device] != nil && cut.isSigned(for: $0, zone: zone, cryptography)
        }
    case .fork(let proof):
      return proof.zone == zone && isOfSomebody(proof.author.device) && proof.isSigned(cryptography)
    case .excess(let excess):
      let accounts = Set(excess.authors.map { people.account(of: $0.device, accounts) })
      return excess.zone == zone && (mayLackDevices || accounts.count == 1 && !accounts.contains(nil))
        && excess.isSigned(cryptography)
    case .admission(let claim):
      // Without this check, anybody could admit accounts that he made up.
      return people.openInvites[claim.invite] == claim.publicHalf && claim.isSound(zone: zone, cryptography)
    case .genesis, .shareGenesis:
      return people.owner == act.opening(zone, cryptography)
    case .epoch, .title, .end, .invite, .revokeInvite, .participant, .leave, .stop, .unknown:
      return true
    }
  }
}

extension ControlRecord {
  /// Returns whether this record is the author's next one.
  ///
  /// - Parameter previous: The record that this one names as its predecessor.
  package func continues(_ previous: ControlRecord) -> Bool {
    previous.author == author && previous.number == number - 1
  }
}

extension ControlAct {
  /// Returns the account that the act makes the owner of a zone, or nil if the act doesn't open that zone.
  func opening(_ zone: ZoneID, _ cryptography: any Cryptography) -> AccountID? {
    switch self {
    case .genesis(let account, let nonce), .shareGenesis(let account, let nonce, _):
      cryptography.hash(account.bytes + nonce) == zone.bytes ? account : nil
    default: nil
    }
  }
}

/// The accounts that a zone's records name, whether or not they were ever let in. Their devices may add to the zone's
/// log.
package struct ZonePeople: Sendable, Equatable {
  /// The zone of the records.
  package let zone: ZoneID
  /// The account that opened the zone, or nil until its genesis was met.
  package private(set) var owner: AccountID?
  /// The accounts that records name as participants, whether or not those records count.
  package private(set) var others: Set<AccountID> = []
  /// The public halves of the invites that any member may use to admit accounts.
  private(set) var openInvites: [ControlID: [UInt8]] = [:]

  /// Creates the people of a zone that has no records yet.
  package init(_ zone: ZoneID) { self.zone = zone }

  /// The owner, followed by the other accounts in the order of their ids.
  package var all: [AccountID] { (owner.map { [$0] } ?? []) + others.subtracting(owner.map { [$0] } ?? []).sorted() }

  /// The number of accounts. It only grows.
  var count: Int { others.count + (owner == nil || owner.map(others.contains) == true ? 0 : 1) }

  /// Returns the account of each device that one of them certified.
  func devices(_ accounts: Accounts) -> [DeviceID: AccountID] {
    var devices: [DeviceID: AccountID] = [:]
    for account in all {
      for device in accounts[account]?.certificates.keys ?? [:].keys where devices[device] == nil {
        // The owner comes first, then the account with the lowest id.
        devices[device] = account
      }
    }
    return devices
  }

  /// Returns whether the records name the account, as owner or as participant.
  package func has(_ account: AccountID) -> Bool { account == owner || others.contains(account) }

  /// Returns whether other nodes may know devices of these accounts that nobody certified here.
  func mayLackDevices(_ accounts: Accounts) -> Bool { accounts.mayHaveDropped.contains(where: has) }

  /// Adds the accounts and the invite that an act names. Call it for each record that stands. Also call it for a record
  /// that may open the zone, before you check whether that record is sound.
  ///
  /// - Parameter id: The id of the record.
  package mutating func meet(_ act: ControlAct, id: ControlID? = nil, _ cryptography: any Cryptography) {
    switch act {
    case .invite(let terms):
      if let id, terms.use == .open { openInvites[id] = terms.publicHalf }
    case .genesis, .shareGenesis: owner = owner ?? act.opening(zone, cryptography)
    case .participant(let account, _, _, _): others.insert(account)
    case .admission(let claim): others.insert(claim.account)
    default: break
    }
  }

  /// Returns the account that a device belongs to, among those named here. The owner comes first, then the account with
  /// the lowest id.
  package func account(of device: DeviceID, _ accounts: Accounts) -> AccountID? {
    accounts.account(of: device, first: owner, among: others)
  }
}
