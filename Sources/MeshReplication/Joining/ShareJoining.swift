package import MeshCore

/// The dialler's side of joining a share with an invite, as a value.
///
/// The steps are the hello with the invite's proof, the share's log, the claim, and the grant. The other side consumes
/// nothing before the claim, and nothing is kept here before `Output.done`.
package struct ShareJoining: Sendable {
  package enum Output: Sendable {
    case send(Message)
    /// The offer. Without `claims`, nothing else follows.
    case offered(Offer)
    /// This account is a member. `Replica.adopt` adds the share.
    case done(JoinedShare)
    /// Try again. Only another device can admit the account, or the device had no time or no room for this session. It
    /// may have admitted the account all the same.
    case wait(String)
    case refused(String)
  }

  /// The facts for a person's decision.
  package struct Offer: Sendable, Hashable {
    package let title: String
    package let owner: AccountID
    package let permission: Permission
    package let root: RecordName

    package init(title: String, owner: AccountID, permission: Permission, root: RecordName) {
      self.title = title
      self.owner = owner
      self.permission = permission
      self.root = root
    }
  }

  private let invite: ShareInviteContent
  private let account: AccountState
  private let device: DeviceID
  private let info: LinkInfo
  private let claims: Bool
  private let secrets: any DeviceSecrets
  private let cryptography: any Cryptography
  private var responder: Certificate?
  private var joined: JoinedShare
  private var hasClaimed = false

  /// Creates the joining side.
  ///
  /// - Parameter claims: False to see only the offer.
  package init(
    invite: ShareInviteContent, account: AccountState, device: DeviceID, info: LinkInfo, claims: Bool,
    secrets: any DeviceSecrets,
    cryptography: any Cryptography
  ) {
    self.invite = invite
    self.account = account
    self.device = device
    self.info = info
    self.claims = claims
    self.secrets = secrets
    self.cryptography = cryptography
    joined = JoinedShare(invite.zone, account, owner: invite.owner)
  }

  package func start() -> [Output] {
    var hello = Hello(
      certificate: account.certificate(device), accountHead: account.head(cryptography),
      proof: InviteProof(seed: invite.seed, handshakeHash: info.handshakeHash, cryptography))
    hello.sign(
      secrets, SessionBinding(signer: info.role, handshakeHash: info.handshakeHash, peerStatic: info.remoteStatic))
    return [.send(.hello(hello))]
  }

  package mutating func receive(_ message: Message) -> [Output] {
    switch message {
    case .hello, .goodbye: break
    default: if responder == nil { return [.refused("the node at \(info.address) did not say who it is")] }
    }
    switch message {
    case .hello(let hello):
      let binding = SessionBinding(
        signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: secrets.sessionKey)
      guard let certificate = hello.certificate, certificate.request.sessionKey == info.remoteStatic,
        hello.isSigned(binding, cryptography)
      else { return [.refused("the node at \(info.address) did not say who it is")] }
      responder = certificate
      return []
    case .account(let bytes):
      return joined.note(account: bytes, cryptography) ? [] : [.refused(faultyState)]
    case .controlRecords(invite.zone, let records):
      guard joined.learnAccounts(cryptography) else { return [.refused(faultyState)] }
      return joined.learn(records, cryptography) ? [] : [.refused("\(faulty): a record of the share is not valid")]
    case .controlHeads(invite.zone, let heads):
      return joined.learnAccounts(cryptography) ? look(heads) : [.refused(faultyState)]
    case .goodbye(.elsewhere, let text), .goodbye(.stalled, let text):
      return [.wait(printable(text))]
    case .goodbye(_, let text):
      return [.refused(printable(text))]
    default:
      return []
    }
  }

  private var faultyState: String { "\(faulty): an account's state is not valid" }
  private var faulty: String { "the node at \(info.address) did not show the share of the invite" }

  /// Handles a log that is complete up to the responder's heads.
  private mutating func look(_ heads: [ControlID]) -> [Output] {
    let state = joined.state(cryptography)
    guard let responder, state.owner == invite.owner, heads.allSatisfy(joined.has), let root = state.root,
      let known = state.invites[invite.record], known.terms.publicHalf == cryptography.publicKey(seed: invite.seed),
      state.permission(responder.account) != nil,
      joined.accounts[responder.account]?.certificate(responder.device) == responder
    else { return [.refused(faulty)] }
    if state.permission(account.id) != nil { return [.done(joined)] }
    guard !hasClaimed else { return [.refused("\(faulty): it did not let this account in")] }
    let offer = Offer(title: state.title, owner: invite.owner, permission: known.terms.permission, root: root)
    guard claims, let certificate = account.certificate(device) else { return [.offered(offer)] }
    hasClaimed = true
    let claim = ShareClaim(
      invite.record, zone: invite.zone, genesis: account.genesis, certificate: certificate, seed: invite.seed,
      secrets: secrets, cryptography)
    return [.offered(offer), .send(.account(account.encoded)), .send(.shareClaim(invite.zone, claim))]
  }
}

/// The log of a share and the states of its accounts, as a member showed them, with each signature verified.
package struct JoinedShare: Sendable {
  package let zone: ZoneID
  private let alwaysKept: Set<AccountID>
  /// The records, parents before children.
  package private(set) var records: [ControlRecord] = []
  package private(set) var accounts: Accounts
  /// States that were shown and are not verified yet.
  private var noted: [AccountID: [UInt8]] = [:]
  /// The bytes of the states, except for this account's and the owner's. The number of states is not bounded, because
  /// the log may name more accounts than were ever admitted.
  private var sizes: [AccountID: Int] = [:]
  var stateBound = Choices.joinedAccounts
  var recordBound = Choices.joinedControlRecords
  /// True if states were left out because they were too large. A session brings them once the share is here.
  private var isLacking = false
  private var known: [ControlID: ControlRecord] = [:]
  /// The accounts that the records name.
  private(set) var people: ZonePeople

  init(_ zone: ZoneID, _ account: AccountState, owner: AccountID) {
    self.zone = zone
    alwaysKept = [account.id, owner]
    accounts = Accounts([account])
    people = ZonePeople(zone)
  }

  func has(_ id: ControlID) -> Bool { known[id] != nil }

  func state(_ cryptography: any Cryptography) -> ZoneState {
    ZoneState(zone, records: records, accounts: accounts, cryptography)
  }

  /// Notes a state, which is verified before the records that follow it. If there are too many bytes, the largest
  /// states are left out and not verified, so that no account's state can displace those of others.
  ///
  /// - Returns: False if the bytes are not an account's state.
  mutating func note(account bytes: [UInt8], _ cryptography: any Cryptography) -> Bool {
    var reader = ByteReader(bytes)
    guard let id = (try? AccountGenesis(from: &reader))?.id(cryptography) else { return false }
    noted[id] = bytes
    guard !alwaysKept.contains(id) else { return true }
    sizes[id] = bytes.count
    while sizes.values.reduce(0, +) > stateBound,
      let largest = sizes.max(by: { ($0.value, $0.key) < ($1.value, $1.key) })?.key
    {
      (sizes[largest], noted[largest]) = (nil, nil)
      accounts.remove(largest)
      isLacking = true
    }
    return true
  }

  /// Verifies the noted states. Returns false if one breaks a rule.
  mutating func learnAccounts(_ cryptography: any Cryptography) -> Bool {
    for (id, bytes) in noted.sorted(by: { $0.key < $1.key }) {
      var reader = ByteReader(bytes)
      guard let state = try? AccountState(from: &reader, cryptography, knowing: { accounts[$0] }) else { return false }
      var known = accounts[id] ?? state
      known.merge(state, cryptography)
      accounts.set(known)
    }
    noted = [:]
    return true
  }

  /// Returns whether a record follows records that are here. Members require the same, and would otherwise accept no
  /// records from a device that has this one.
  private func follows(_ record: ControlRecord) -> Bool {
    guard record.parents.allSatisfy(has) else { return false }
    switch record.act {
    case .genesis, .shareGenesis: break
    default: if record.parents.isEmpty { return false }
    }
    guard let id = record.previous else { return true }
    return known[id].map(record.continues) ?? false
  }

  mutating func learn(_ encoded: [[UInt8]], _ cryptography: any Cryptography) -> Bool {
    for bytes in encoded {
      guard let record = try? ControlRecord(bytes, cryptography), record.zone == zone else { return false }
      guard !has(record.id) else { continue }
      guard records.count < recordBound else { return false }
      people.meet(record.act, id: record.id, cryptography)
      guard follows(record), record.isSound(people, accounts, isLacking: isLacking, cryptography) else { return false }
      records.append(record)
      known[record.id] = record
    }
    return true
  }
}
