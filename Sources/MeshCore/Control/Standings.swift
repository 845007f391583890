/// What the records say of accounts: who is a member, by which word, and where those end that lost the right to write.
struct Standings {
  private(set) var participants: [AccountID: Participant] = [:]
  private(set) var invites: [ControlID: Invite] = [:]
  private(set) var grants: [ControlID: WriteGrant] = [:]
  /// Records by which the owner put somebody out: an epoch encrypts only if it has seen them.
  private(set) var removals: [ControlID] = []
  /// For each grant that leaves beat, of an account that has left: those leaves. An epoch encrypts only if it has seen one of them.
  /// One is enough to know that the account is out, and an account may say it ever so often. A grant that no leave beats gave way to
  /// a removal.
  private(set) var leavings: [MarkSet] = []

  private let graph: ControlGraph

  /// What one record says of one account.
  private struct Word {
    let id: ControlID
    let account: AccountID
    /// Nil: out.
    let permission: Permission?
    let invite: ControlID?
    var admittedBy: AccountID?
    let cuts: [Author: ControlAct.CutPoint]
    /// How many of the owner's words on the account lead to it, one for itself; 0 of an admission. A leave has the highest.
    let rank: Int
  }

  init(_ graph: ControlGraph) {
    self.graph = graph
    let words = Self.ownersWords(graph)
    let said = Self.leaves(graph)
    let leaves = Self.counting(said, graph)
    invites = Self.invites(graph)
    let admissions = admissions(words, leaves)
    removals = words.filter { $0.permission == nil }.map(\.id)
    countUses(words.filter { $0.permission != nil } + admissions)
    let byAccount = Dictionary(grouping: words + admissions, by: \.account)
    let leavesByAccount = Dictionary(grouping: leaves, by: \.account)
    for (account, words) in byAccount {
      let leaves = leavesByAccount[account] ?? []
      participants[account] = participant(words, leaves)
      let lowering = words.filter { $0.permission != .readWrite } + leaves
      for grant in words where grant.permission == .readWrite {
        grants[grant.id] = WriteGrant(account: account, ceiling: ceiling(grant, lowering))
      }
      guard participants[account]?.status == .left else { continue }
      let marks = graph.ancestry.marks(of: said.filter { $0.account == account }.map(\.id))
      for grant in words where grant.permission != nil {
        let beating = marks.subtracting(graph.ancestry.marks(before: grant.id))
        if beating.count > 0, leavings.last != beating { leavings.append(beating) }
      }
    }
  }

  // MARK: Words

  /// The rank counts what cut devices said too: else a cut could raise an old word above one that was said since.
  private static func ownersWords(_ graph: ControlGraph) -> [Word] {
    guard let owner = graph.people.owner else { return [] }
    var byAccount: [AccountID: [(record: ControlRecord, word: Word)]] = [:]
    let acts = graph.certified.filter { graph.account(of: $0) == owner }
    // Whatever leads to a record has fewer marks before it.
    let ordered = acts.map { ($0, graph.ancestry.marks(before: $0.id).count) }.sorted { $0.1 < $1.1 }
    for (record, _) in ordered {
      guard case .participant(let account, let permission, let invite, let cuts) = record.act, account != owner else {
        continue
      }
      let earlier = (byAccount[account] ?? []).filter { graph.isBefore($0.record.id, record.id) }
      let rank = 1 + (earlier.map(\.word.rank).max() ?? 0)
      let word = Word(
        id: record.id, account: account, permission: permission, invite: invite, cuts: cuts, rank: rank)
      byAccount[account, default: []].append((record, word))
    }
    return byAccount.values.flatMap { $0 }.filter { graph.counts($0.record) }.map(\.word).sorted { $0.id < $1.id }
  }

  private static func leaves(_ graph: ControlGraph) -> [Word] {
    graph.certified.compactMap { record -> Word? in
      guard case .leave(let cuts) = record.act, graph.counts(record), let account = graph.account(of: record),
        account != graph.people.owner
      else { return nil }
      return Word(id: record.id, account: account, permission: nil, invite: nil, cuts: cuts, rank: .max)
    }
  }

  /// Of each account those that had seen the least, which stay the same when there are more.
  private static func counting(_ leaves: [Word], _ graph: ControlGraph) -> [Word] {
    let counting = Dictionary(grouping: leaves, by: \.account).values.flatMap { leaves in
      let ordered = leaves.map { ($0, graph.ancestry.marks(before: $0.id).count) }.sorted {
        ($0.1, $0.0.id) < ($1.1, $1.0.id)
      }
      return ordered.prefix(Limits.leaves).map(\.0)
    }
    return counting.sorted { $0.id < $1.id }
  }

  /// Those that stand: by a member, by an open invite that it knew, and did not know to be revoked, of somebody who was no member,
  /// and about whom it knew of no decision by the owner.
  private func admissions(_ words: [Word], _ leaves: [Word]) -> [Word] {
    let records = graph.certified.filter { if case .admission = $0.act { graph.counts($0) } else { false } }
    let ordered = records.map { ($0, graph.ancestry.marks(before: $0.id).count) }.sorted {
      ($0.1, $0.0.id) < ($1.1, $1.0.id)
    }
    var granted = Dictionary(grouping: words.filter { $0.permission != nil }, by: \.account)
    let departures = Dictionary(grouping: words.filter { $0.permission == nil } + leaves, by: \.account)
    let decided = Dictionary(grouping: words, by: \.account)
    var marks = granted.mapValues { graph.ancestry.marks(of: $0.map(\.id)) }
    var admissions: [Word] = []
    /// Whether a record has seen that an account was let in, and not that it left since.
    func isGranted(_ account: AccountID, before record: ControlID) -> Bool {
      // Mostly it has seen none: then no grant is looked at.
      guard let granting = marks[account], graph.ancestry.marks(before: record).intersects(granting) else {
        return false
      }
      return (granted[account] ?? []).contains { earlier in
        graph.isBefore(earlier.id, record)
          && !(departures[account] ?? []).contains {
            $0.rank == .max && graph.isBefore($0.id, record) && beats($0, earlier)
          }
      }
    }
    for (record, _) in ordered {
      guard case .admission(let claim) = record.act, let member = graph.account(of: record),
        let invite = invites[claim.invite], claim.account != graph.people.owner,
        graph.isBefore(claim.invite, record.id), invite.lets(in: claim),
        !invite.revocations.contains(where: { graph.isBefore($0, record.id) }),
        !(decided[claim.account] ?? []).contains(where: { graph.isBefore($0.id, record.id) }),
        !isGranted(claim.account, before: record.id)
      else { continue }
      let isMember =
        member == graph.people.owner
        || (granted[member] ?? []).contains { grant in
          graph.isBefore(grant.id, record.id)
            && (departures[member] ?? []).allSatisfy { !beats($0, grant) || graph.isBefore(record.id, $0.id) }
        }
      guard isMember else { continue }
      let word = Word(
        id: record.id, account: claim.account, permission: invite.terms.permission, invite: claim.invite,
        admittedBy: member, cuts: [:], rank: 0)
      admissions.append(word)
      granted[claim.account, default: []].append(word)
      marks[claim.account, default: MarkSet()].formUnion(graph.ancestry.marks(of: [record.id]))
    }
    return admissions
  }

  private static func invites(_ graph: ControlGraph) -> [ControlID: Invite] {
    let acts = graph.certified.filter { graph.account(of: $0) == graph.people.owner && graph.counts($0) }
    var invites: [ControlID: Invite] = [:]
    for record in acts {
      if case .invite(let terms) = record.act { invites[record.id] = Invite(id: record.id, terms: terms) }
    }
    for record in acts {
      if case .revokeInvite(let id, let standing) = record.act {
        invites[id]?.revoke(by: record.id, leaving: standing)
      }
    }
    return invites
  }

  private mutating func countUses(_ words: [Word]) {
    for word in words {
      if let invite = word.invite { invites[invite]?.accounts.insert(word.account) }
    }
  }

  // MARK: Which word stands

  /// Whether a word that puts out or lowers ends a grant: it had seen it, or neither had seen the other and it ranks as high.
  private func beats(_ word: Word, _ grant: Word) -> Bool {
    if graph.isBefore(word.id, grant.id) { return false }
    return graph.isBefore(grant.id, word.id)
      || (word.rank, grant.permission?.rawValue ?? 0) >= (grant.rank, word.permission?.rawValue ?? 0)
  }

  /// The highest rank; among equals the most restrictive, then the lowest id.
  private func participant(_ words: [Word], _ leaves: [Word]) -> Participant? {
    func isHigher(_ one: Word, _ other: Word) -> Bool {
      let (mine, theirs) = (one.permission?.rawValue ?? 0, other.permission?.rawValue ?? 0)
      return (one.rank, theirs, other.id) > (other.rank, mine, one.id)
    }
    let hasLeft = { (word: Word) in word.permission != nil && leaves.contains { beats($0, word) } }
    let best = words.filter { !hasLeft($0) }.max { isHigher($1, $0) }
    let left = words.filter(hasLeft).max { isHigher($1, $0) }
    if let left, best == nil || best?.permission == nil && (best?.rank ?? 0) < left.rank {
      return Participant(
        status: .left, grant: left.id, invite: left.invite, admittedBy: left.admittedBy, granted: left.permission)
    }
    return best.map {
      Participant(
        status: $0.permission.map { .member($0) } ?? .removed, grant: $0.id, invite: $0.invite,
        admittedBy: $0.admittedBy, granted: $0.permission)
    }
  }

  /// Where authors end that cite a grant; nil where none does.
  private func ceiling(_ grant: Word, _ lowering: [Word]) -> [Author: ControlAct.CutPoint]? {
    let beating = lowering.filter { beats($0, grant) }
    let departures = beating.filter { $0.permission == nil }
    var ceiling: [Author: ControlAct.CutPoint]?
    for word in beating {
      // Who comes back to read alone had lost the grant before, and keeps what it had written.
      if word.permission != nil, departures.contains(where: { graph.isBefore($0.id, word.id) }) { continue }
      let points = graph.isBefore(grant.id, word.id) ? word.cuts : [:]
      ceiling = ceiling.map { ControlGraph.least($0, points) } ?? points
    }
    return ceiling
  }
}
