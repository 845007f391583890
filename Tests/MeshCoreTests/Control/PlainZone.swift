@testable import MeshCore

/// The participants of a share as the specification words them, read slowly: sets of ancestors, no marks, no order of evaluation.
struct PlainZone {
  private let records: [ControlRecord]
  private let log: ControlLog
  private var past: [ControlID: Set<ControlID>] = [:]
  private let owner: AccountID

  init(_ records: [ControlRecord], _ log: ControlLog) {
    self.log = log
    owner = log.ids[0]
    var people: Set<AccountID> = [owner]
    for record in records {
      if case .participant(let account, _, _, _) = record.act { people.insert(account) }
      if case .admission(let claim) = record.act { people.insert(claim.account) }
    }
    self.records = records.filter { record in
      (0..<6).contains {
        log.hasDevice($0) && log.device($0) == record.author && people.contains(log.account(of: $0))
      }
    }
    // Parents come before children in a log under construction.
    for record in records {
      let parents = record.parents + (record.previous.map { [$0] } ?? [])
      past[record.id] = parents.reduce(into: []) {
        $0.formUnion(past[$1] ?? [])
        $0.insert($1)
      }
    }
  }

  private func isBefore(_ one: ControlRecord, _ other: ControlRecord) -> Bool {
    past[other.id]?.contains(one.id) ?? false
  }

  private func account(_ record: ControlRecord) -> AccountID? {
    (0..<6).first { log.hasDevice($0) && log.device($0) == record.author }.map { log.account(of: $0) }
  }

  /// Cuts of these tests name device 1 only.
  private func counts(_ record: ControlRecord) -> Bool {
    for case .cut(let cut) in records.map(\.act) where cut.device == record.author {
      guard let last = cut.last, record.id == last.id || past[last.id]?.contains(record.id) == true else {
        return false
      }
    }
    return true
  }

  private func isOwners(_ record: ControlRecord) -> Bool { account(record) == owner }

  private func subject(_ record: ControlRecord) -> (AccountID, Permission?)? {
    if case .participant(let account, let permission, _, _) = record.act { (account, permission) } else { nil }
  }

  private func rank(_ record: ControlRecord) -> Int {
    guard let account = subject(record)?.0 else { return 0 }
    let earlier = records.filter { isOwners($0) && subject($0)?.0 == account && isBefore($0, record) }
    return 1 + (earlier.map(rank).max() ?? 0)
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

  /// Where an author ends that cites a record; nil for nowhere.
  func limit(_ author: Author, _ citation: ControlID) -> UInt64? {
    guard let device = (0..<6).first(where: { log.hasDevice($0) && log.device($0) == author.device }) else { return 0 }
    let account = log.account(of: device)
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

  var currentEpochs: Set<[UInt8]> {
    let cuts = records.filter { if case .cut = $0.act { true } else { false } }
    let needed = records.filter {
      isOwners($0) && counts($0) && subject($0).map { $0.1 == nil } == true && subject($0)?.0 != owner
    }
    let left = log.ids.dropFirst().filter { status($0) == .left }
    /// Whether it knows that the account is out, whatever let it in.
    func knows(_ account: AccountID, _ epoch: ControlRecord) -> Bool {
      (words(account) + admissions(account)).filter { permission($0) != nil }.allSatisfy { grant in
        let beating = leaves(account).filter { !isBefore($0, grant) }
        return beating.isEmpty || beating.contains { isBefore($0, epoch) }
      }
    }
    let current = records.filter { record in
      guard case .epoch = record.act, counts(record), let account = account(record) else { return false }
      guard account == owner || status(account) == .member(.readWrite) else { return false }
      let isRevoked = log.accounts[account]?.isRevoked(record.author) ?? true
      return !isRevoked && needed.allSatisfy { isBefore($0, record) } && left.allSatisfy { knows($0, record) }
        && cuts.allSatisfy { cut in cuts.contains { $0.act == cut.act && isBefore($0, record) } }
    }
    return Set(current.map(\.id.bytes))
  }
}
