extension ControlRecord {
  /// Whether a device of the zone's accounts signed the record, may say such a thing at all, and what the act brings as proof
  /// holds. What is not sound is no record, now and for ever: the rest is for the state of the zone to judge.
  ///
  /// - Parameter people: Whom the records before it name.
  public func isSound(_ people: ZonePeople, _ accounts: Accounts, _ cryptography: any Cryptography) -> Bool {
    guard let account = people.account(of: author, accounts), !act.isOwners || account == people.owner,
      isSigned(cryptography)
    else { return false }
    switch act {
    case .cut(let cut):
      // Any that certified the device: what stood must not fall when another account turns out to have done so as well.
      return people.all.compactMap { accounts[$0] }.contains {
        $0.certificates[cut.device] != nil && cut.isSigned(for: $0, zone: zone, cryptography)
      }
    case .fork(let proof):
      return proof.zone == zone && people.account(of: proof.author.device, accounts) != nil
        && proof.isSigned(cryptography)
    case .excess(let excess):
      let accounts = Set(excess.authors.map { people.account(of: $0.device, accounts) })
      return excess.zone == zone && accounts.count == 1 && !accounts.contains(nil) && excess.isSigned(cryptography)
    case .admission(let claim):
      // Or anybody could let in whom he made up.
      return people.openInvites[claim.invite] == claim.publicHalf && claim.isSound(zone: zone, cryptography)
    case .genesis, .shareGenesis:
      return people.owner == act.opening(zone, cryptography)
    case .epoch, .title, .end, .invite, .revokeInvite, .participant, .leave, .stop, .unknown:
      return true
    }
  }
}

extension ControlRecord {
  /// Whether it is its author's next.
  ///
  /// - Parameter previous: The record that it names as the one before.
  public func continues(_ previous: ControlRecord) -> Bool {
    previous.author == author && previous.number == number - 1
  }
}

extension ControlAct {
  /// The account that the act makes the owner of a zone; nil where it is not the opening of that zone.
  func opening(_ zone: ZoneID, _ cryptography: any Cryptography) -> AccountID? {
    switch self {
    case .genesis(let account, let nonce), .shareGenesis(let account, let nonce, _):
      cryptography.hash(account.bytes + nonce) == zone.bytes ? account : nil
    default: nil
    }
  }
}

/// The accounts that a zone's records name, whether or not they were ever let in: whose devices may add to its log.
public struct ZonePeople: Sendable, Equatable {
  public let zone: ZoneID
  public private(set) var owner: AccountID?
  public private(set) var others: Set<AccountID> = []
  /// Public halves of the invites by which any member lets in.
  private(set) var openInvites: [ControlID: [UInt8]] = [:]

  public init(_ zone: ZoneID) { self.zone = zone }

  /// The owner, then the others by their ids.
  public var all: [AccountID] { (owner.map { [$0] } ?? []) + others.subtracting(owner.map { [$0] } ?? []).sorted() }

  /// How many they are; they only grow.
  var count: Int { others.count + (owner == nil || owner.map(others.contains) == true ? 0 : 1) }

  /// Whose each device is that one of them certified.
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

  public func has(_ account: AccountID) -> Bool { account == owner || others.contains(account) }

  /// To be called before the soundness of a record is asked for that may open the zone, and for each that stands.
  ///
  /// - Parameter id: Of the record.
  public mutating func meet(_ act: ControlAct, id: ControlID? = nil, _ cryptography: any Cryptography) {
    switch act {
    case .invite(let terms):
      if let id, terms.use == .open { openInvites[id] = terms.publicHalf }
    case .genesis, .shareGenesis: owner = owner ?? act.opening(zone, cryptography)
    case .participant(let account, _, _, _): others.insert(account)
    case .admission(let claim): others.insert(claim.account)
    default: break
    }
  }

  public func account(of device: DeviceID, _ accounts: Accounts) -> AccountID? {
    accounts.account(of: device, first: owner, among: others)
  }
}
