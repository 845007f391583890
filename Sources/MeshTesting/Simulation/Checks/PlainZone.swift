import MeshCore

/// The participants of a share as the specification words them, read slowly: sets of ancestors, no marks, no order of
/// evaluation. A second implementation of what `ZoneState` says, which shares no code with it.
final class PlainZone {
  /// The accounts that the reader knows.
  struct Accounts {
    let owner: AccountID
    /// Returns the account that certified a device.
    let account: (DeviceID) -> AccountID?
    let isExcluded: (DeviceID) -> Bool
  }

  private let records: [ControlRecord]
  private let accounts: Accounts
  private let people: Set<AccountID>
  private var past: [ControlID: Set<ControlID>] = [:]
  private var ranks: [ControlID: Int] = [:]
  private var standing: [ControlID: Bool] = [:]
  private var owner: AccountID { accounts.owner }

  init(_ records: [ControlRecord], _ accounts: Accounts) {
    self.accounts = accounts
    var people: Set<AccountID> = [accounts.owner]
    for record in records {
      if case .participant(let account, _, _, _) = record.act { people.insert(account) }
      if case .admission(let claim) = record.act { people.insert(claim.account) }
    }
    self.people = people
    self.records = records.filter { record in accounts.account(record.author).map(people.contains) ?? false }
    let parents = Dictionary(
      records.map { ($0.id, $0.parents + ($0.previous.map { [$0] } ?? [])) }, uniquingKeysWith: { first, _ in first })
    for record in records {
      var (found, left) = (Set<ControlID>(), parents[record.id] ?? [])
      while let next = left.popLast() {
        if found.insert(next).inserted { left += parents[next] ?? [] }
      }
      past[record.id] = found
    }
  }

  private func isBefore(_ one: ControlRecord, _ other: ControlRecord) -> Bool {
    past[other.id]?.contains(one.id) ?? false
  }

  private func account(_ record: ControlRecord) -> AccountID? { accounts.account(record.author) }

  /// Returns whether no cut of its device leaves the record out. All cuts of a device count: in the logs that are read
  /// here, an account has one signer.
  private func counts(_ record: ControlRecord) -> Bool {
    for case .cut(let cut) in records.map(\.act) where cut.device == record.author {
      guard let last = cut.last else { return false }
      let isUpTo =
        past[last.id] == nil
        ? record.number <= last.number : record.id == last.id || past[last.id]?.contains(record.id) == true
      if !isUpTo { return false }
    }
    return true
  }

  private func isOwners(_ record: ControlRecord) -> Bool { account(record) == owner }

  private func subject(_ record: ControlRecord) -> (AccountID, Permission?)? {
    if case .participant(let account, let permission, _, _) = record.act { (account, permission) } else { nil }
  }

  private func rank(_ record: ControlRecord) -> Int {
    if let known = ranks[record.id] { return known }
    guard let account = subject(record)?.0 else { return 0 }
    let earlier = records.filter { isOwners($0) && subject($0)?.0 == account && isBefore($0, record) }
    let rank = 1 + (earlier.map(rank).max() ?? 0)
    ranks[record.id] = rank
    return rank
  }

  private func words(_ account: AccountID) -> [ControlRecord] {
    records.filter { isOwners($0) && counts($0) && subject($0)?.0 == account }
  }

  private func leaves(_ account: AccountID) -> [ControlRecord] {
    records.filter {
      guard case .leave = $0.act else { return false }
      return counts($0) && self.account($0) == account
    }
  }

  private func admissions(_ account: AccountID) -> [ControlRecord] {
    records.filter {
      guard case .admission(let claim) = $0.act else { return false }
      return claim.account == account && stands($0, claim)
    }
  }

  private func permission(_ record: ControlRecord) -> Permission? {
    if let subject = subject(record) { return subject.1 }
    guard case .admission(let claim) = record.act,
      case .invite(let terms) = records.first(where: { $0.id == claim.invite })?.act
    else { return nil }
    return terms.permission
  }

  private func beats(_ word: ControlRecord, _ grant: ControlRecord) -> Bool {
    if isBefore(word, grant) { return false }
    if isBefore(grant, word) { return true }
    if case .leave = word.act { return true }
    let (mine, theirs) = (rank(word), rank(grant))
    return mine > theirs || mine == theirs && (permission(word)?.rawValue ?? 0) <= (permission(grant)?.rawValue ?? 0)
  }

  private func stands(_ record: ControlRecord, _ claim: ShareClaim) -> Bool {
    if let known = standing[record.id] { return known }
    let stands = judge(record, claim)
    standing[record.id] = stands
    return stands
  }

  private func judge(_ record: ControlRecord, _ claim: ShareClaim) -> Bool {
    guard counts(record), let member = account(record), claim.account != owner,
      let invite = records.first(where: { $0.id == claim.invite }), isOwners(invite), counts(invite),
      isBefore(invite, record), case .invite(let terms) = invite.act, terms.use == .open,
      terms.publicHalf == claim.publicHalf
    else { return false }
    for revocation in records where isOwners(revocation) && counts(revocation) {
      if case .revokeInvite(invite.id, let standing) = revocation.act,
        !standing.contains(claim.account) || isBefore(revocation, record)
      {
        return false
      }
    }
    if words(claim.account).contains(where: { isBefore($0, record) }) { return false }
    for earlier in records where isBefore(earlier, record) {
      guard case .admission(let other) = earlier.act, other.account == claim.account, stands(earlier, other) else {
        continue
      }
      guard leaves(claim.account).contains(where: { isBefore($0, record) && beats($0, earlier) }) else { return false }
    }
    if member == owner { return true }
    let out = words(member).filter { permission($0) == nil } + leaves(member)
    let grants = records.filter { grant in
      guard isBefore(grant, record) else { return false }
      if case .admission(let other) = grant.act { return other.account == member && stands(grant, other) }
      return words(member).contains(grant) && permission(grant) != nil
    }
    return grants.contains { grant in out.allSatisfy { !beats($0, grant) || isBefore(record, $0) } }
  }

  func status(_ account: AccountID) -> Participant.Status? {
    let all = words(account) + admissions(account)
    func isHigher(_ one: ControlRecord, _ other: ControlRecord) -> Bool {
      let (mine, theirs) = (permission(one)?.rawValue ?? 0, permission(other)?.rawValue ?? 0)
      return (rank(one), theirs, other.id) > (rank(other), mine, one.id)
    }
    func best(_ records: [ControlRecord]) -> ControlRecord? {
      records.max { isHigher($1, $0) }
    }
    func hasLeft(_ record: ControlRecord) -> Bool {
      permission(record) != nil && leaves(account).contains { beats($0, record) }
    }
    let standing = best(all.filter { !hasLeft($0) })
    if let left = best(all.filter(hasLeft)) {
      guard let standing else { return .left }
      if permission(standing) == nil, rank(standing) < rank(left) { return .left }
    }
    return standing.map { record in permission(record).map { .member($0) } ?? .removed }
  }

  /// Whether the owner has stopped the share.
  var isStopped: Bool { records.contains { $0.act == .stop && isOwners($0) && counts($0) } }

  /// Returns where an author ends that cites a record, or nil if nothing ends it.
  func limit(_ author: Author, _ citation: ControlID) -> UInt64? {
    guard let account = accounts.account(author.device) else { return 0 }
    guard let grant = (words(account) + admissions(account)).first(where: { $0.id == citation }),
      permission(grant) == .readWrite
    else { return 0 }
    let lowering = (words(account) + admissions(account)).filter { permission($0) != .readWrite } + leaves(account)
    let beating = lowering.filter { beats($0, grant) }
    return beating.filter { word in
      permission(word) == nil
        || !beating.contains { permission($0) == nil && isBefore($0, word) }
    }.map { word in
      guard isBefore(grant, word) else { return 0 }
      return switch word.act {
      case .participant(_, _, _, let cuts), .leave(let cuts): cuts[author]?.number ?? 0
      default: 0
      }
    }.min()
  }

  /// The ids of the epochs that encrypt.
  var currentEpochs: Set<[UInt8]> {
    let left = people.filter { $0 != owner && status($0) == .left }
    var current: Set<[UInt8]> = []
    for record in records {
      guard case .epoch = record.act, counts(record), mayMint(record) else { continue }
      if knowsRemovals(record), left.allSatisfy({ knowsLeft($0, record) }), knowsCuts(record) {
        current.insert(record.id.bytes)
      }
    }
    return current
  }

  private func mayMint(_ epoch: ControlRecord) -> Bool {
    guard let account = account(epoch), !accounts.isExcluded(epoch.author) else { return false }
    return account == owner || !isStopped && status(account) == .member(.readWrite)
  }

  private func knowsRemovals(_ epoch: ControlRecord) -> Bool {
    for record in records where isOwners(record) && counts(record) {
      guard case .participant(let account, nil, _, _) = record.act, account != owner else { continue }
      if !isBefore(record, epoch) { return false }
    }
    return true
  }

  /// Returns whether an epoch knows that an account is out which left, whatever let it in.
  private func knowsLeft(_ account: AccountID, _ epoch: ControlRecord) -> Bool {
    for grant in words(account) + admissions(account) where permission(grant) != nil {
      let beating = leaves(account).filter { !isBefore($0, grant) }
      if !beating.isEmpty, !beating.contains(where: { isBefore($0, epoch) }) { return false }
    }
    return true
  }

  private func knowsCuts(_ epoch: ControlRecord) -> Bool {
    var (all, known): (Set<DeviceCut>, Set<DeviceCut>) = ([], [])
    for record in records {
      // An account that certifies too many devices loses some, and with them their cuts.
      guard case .cut(let cut) = record.act, accounts.account(cut.device) != nil else { continue }
      all.insert(cut)
      if isBefore(record, epoch) { known.insert(cut) }
    }
    return all == known
  }
}
