/// The participants, invites and grants that follow from a zone's records, and the cutoffs of accounts that lost the
/// permission to write.
struct Standings {
  /// The kinds of records from which they follow.
  static let kinds: [ControlAct.Kind] = [.participant, .leave, .admission, .invite, .revokeInvite]

  private(set) var participants: [AccountID: Participant] = [:]
  private(set) var invites: [ControlID: InviteState] = [:]
  private(set) var grants: [ControlID: WriteGrant] = [:]
  /// The records by which the owner removed accounts. An epoch encrypts only if it has seen all of them.
  private(set) var removals: [ControlID] = []
  /// Groups of leave records. An epoch encrypts only if it has seen one record of each group.
  ///
  /// There is a group for each grant of an account that has left, with the leaves that beat the grant. One leave is
  /// enough to know that the account is out, and an account may repeat it any number of times. A grant that no leave
  /// beats was ended by a removal instead.
  private(set) var leavings: Set<MarkSet> = []

  private let graph: ControlGraph

  /// A statement about one account, taken from one record.
  private struct Word {
    let id: ControlID
    let mark: Int
    /// The marked records in its past.
    let seen: MarkSet
    let account: AccountID
    /// The account's permission. Nil means that the account is out.
    let permission: Permission?
    let invite: ControlID?
    var admittedBy: AccountID?
    let cuts: [Author: ControlAct.CutPoint]
    /// The number of the owner's statements about the account in its past, plus one for itself. An admission has 0. A
    /// leave has the highest rank.
    let rank: Int

    var isLeave: Bool { rank == .max }

    /// Returns whether this statement, which removes or lowers a permission, ends a grant. It does if it had seen the
    /// grant. It also does if neither had seen the other, and it ranks at least as high.
    func beats(_ grant: Word) -> Bool {
      if grant.seen.contains(mark) { return false }
      return seen.contains(grant.mark)
        || (rank, grant.permission?.rawValue ?? 0) >= (grant.rank, permission?.rawValue ?? 0)
    }
  }

  /// A record with the marked records that it has seen.
  private struct Act {
    let record: ControlRecord
    let mark: Int
    let seen: MarkSet
    let past: Int

    init(_ record: ControlRecord, _ graph: ControlGraph) {
      self.record = record
      mark = graph.log.mark(of: record.id) ?? 0
      seen = graph.log.seen(by: record.id)
      past = graph.pastCount(seen)
    }

    /// Orders records so that each one comes after the records in its past, because those have seen less.
    static func ordered(_ records: [ControlRecord], _ graph: ControlGraph) -> [Act] {
      records.map { Act($0, graph) }.sorted { ($0.past, $0.record.id) < ($1.past, $1.record.id) }
    }
  }

  init(_ graph: ControlGraph) {
    self.graph = graph
    let words = Self.ownersWords(graph)
    let said = Self.leaves(graph)
    let leaves = said.mapValues { Array($0.prefix(Limits.leaves)) }
    invites = Self.invites(graph)
    let admissions = admissions(words, leaves)
    removals = words.filter { $0.permission == nil }.map(\.id)
    countUses(words.filter { $0.permission != nil } + admissions)
    for (account, words) in Dictionary(grouping: words + admissions, by: \.account) {
      let leaves = leaves[account] ?? []
      participants[account] = participant(words, leaves)
      readCeilings(words, leaves, account)
      guard participants[account]?.status == .left else { continue }
      let marks = Self.marks(said[account] ?? [])
      for grant in words where grant.permission != nil {
        let beating = marks.subtracting(grant.seen)
        if !beating.isEmpty { leavings.insert(beating) }
      }
    }
  }

  private static func marks(_ words: [Word]) -> MarkSet { words.reduce(into: MarkSet()) { $0.insert($1.mark) } }

  // MARK: Words

  /// Returns the owner's statements about accounts. The rank also counts statements by cut devices. Otherwise a cut
  /// could raise an old statement above a later one.
  private static func ownersWords(_ graph: ControlGraph) -> [Word] {
    guard let owner = graph.owner else { return [] }
    /// The statements about each account, ascending by rank.
    var byAccount: [AccountID: [Word]] = [:]
    var words: [Word] = []
    for act in Act.ordered(graph.certified(.participant), graph) where graph.account(of: act.record) == owner {
      guard case .participant(let account, let permission, let invite, let cuts) = act.record.act, account != owner
      else {
        continue
      }
      let known = byAccount[account] ?? []
      let rank = 1 + (known.last { act.seen.contains($0.mark) }?.rank ?? 0)
      let word = Word(
        id: act.record.id, mark: act.mark, seen: act.seen, account: account, permission: permission, invite: invite,
        cuts: cuts, rank: rank)
      byAccount[account, default: []].insert(word, at: (known.lastIndex { $0.rank <= rank } ?? -1) + 1)
      if graph.counts(act.record) { words.append(word) }
    }
    return words.sorted { $0.id < $1.id }
  }

  /// Returns the leaves of each account. Those that have seen the least come first, so the first ones stay the same
  /// when more arrive.
  private static func leaves(_ graph: ControlGraph) -> [AccountID: [Word]] {
    let words = Act.ordered(graph.certified(.leave).filter(graph.counts), graph).compactMap { act -> Word? in
      guard case .leave(let cuts) = act.record.act, let account = graph.account(of: act.record), account != graph.owner
      else { return nil }
      return Word(
        id: act.record.id, mark: act.mark, seen: act.seen, account: account, permission: nil, invite: nil, cuts: cuts,
        rank: .max)
    }
    return Dictionary(grouping: words, by: \.account)
  }

  /// The statements that let an account in, added one by one, and the statements that remove it.
  private struct Grants {
    let departures: [Word]
    private(set) var marks = MarkSet()
    /// For each departure, the grants that it beats.
    private var beaten: [MarkSet]

    init(departures: [Word]) {
      self.departures = departures
      beaten = departures.map { _ in MarkSet() }
    }

    mutating func add(_ grant: Word) {
      marks.insert(grant.mark)
      for index in departures.indices where departures[index].beats(grant) { beaten[index].insert(grant.mark) }
    }

    /// Returns whether the record's past has a grant that none of the relevant departures beats.
    ///
    /// - Parameter matters: Selects the relevant departures.
    func stand(before record: Act, _ matters: (Word) -> Bool) -> Bool {
      // Usually the record has seen no grant.
      guard marks.intersects(record.seen) else { return false }
      var standing = marks.intersection(record.seen)
      for (index, departure) in departures.enumerated() where matters(departure) { standing.subtract(beaten[index]) }
      return !standing.isEmpty
    }
  }

  /// Returns the admissions that stand.
  ///
  /// An admission stands if a member made it, by an open invite that it knew, and did not know to be revoked. The
  /// admitted account must not have been a member, and the admitting device must not have known of a decision by the
  /// owner about that account.
  private func admissions(_ words: [Word], _ leaves: [AccountID: [Word]]) -> [Word] {
    let records = graph.certified(.admission)
    guard !records.isEmpty else { return [] }
    let byAccount = Dictionary(grouping: words, by: \.account)
    let decided = byAccount.mapValues(Self.marks)
    let revocations = invites.mapValues { graph.log.marks(of: $0.revocations) }
    var admissions: [Word] = []
    var granted: [AccountID: Grants] = [:]
    func grants(_ account: AccountID) -> Grants {
      if let known = granted[account] { return known }
      let words = byAccount[account] ?? []
      var grants = Grants(departures: words.filter { $0.permission == nil } + (leaves[account] ?? []))
      for word in words where word.permission != nil { grants.add(word) }
      granted[account] = grants
      return grants
    }
    for act in Act.ordered(records.filter(graph.counts), graph) {
      guard case .admission(let claim) = act.record.act, let member = graph.account(of: act.record),
        let invite = invites[claim.invite], claim.account != graph.owner,
        graph.log.mark(of: claim.invite).map(act.seen.contains) == true, invite.lets(in: claim),
        revocations[claim.invite]?.intersects(act.seen) != true,
        decided[claim.account]?.intersects(act.seen) != true,
        !grants(claim.account).stand(before: act, { $0.isLeave && act.seen.contains($0.mark) }),
        // A leave or removal that knew of the admission did not end the right to it.
        member == graph.owner || grants(member).stand(before: act, { !$0.seen.contains(act.mark) })
      else { continue }
      let word = Word(
        id: act.record.id, mark: act.mark, seen: act.seen, account: claim.account, permission: invite.terms.permission,
        invite: claim.invite, admittedBy: member, cuts: [:], rank: 0)
      admissions.append(word)
      granted[claim.account]?.add(word)
    }
    return admissions
  }

  private static func invites(_ graph: ControlGraph) -> [ControlID: InviteState] {
    var invites: [ControlID: InviteState] = [:]
    for record in graph.owners(.invite) {
      if case .invite(let terms) = record.act { invites[record.id] = InviteState(id: record.id, terms: terms) }
    }
    for record in graph.owners(.revokeInvite) {
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

  /// Returns the participant that follows from the statements. The highest rank wins, then the most restrictive
  /// permission, then the lowest id.
  private func participant(_ words: [Word], _ leaves: [Word]) -> Participant? {
    func isHigher(_ one: Word, _ other: Word) -> Bool {
      let (mine, theirs) = (one.permission?.rawValue ?? 0, other.permission?.rawValue ?? 0)
      return (one.rank, theirs, other.id) > (other.rank, mine, one.id)
    }
    // A leave beats every statement that has not seen it.
    let marks = Self.marks(leaves)
    let hasLeft = words.map { $0.permission != nil && !$0.seen.isSuperset(of: marks) }
    let best = zip(words, hasLeft).filter { !$0.1 }.map(\.0).max { isHigher($1, $0) }
    let left = zip(words, hasLeft).filter(\.1).map(\.0).max { isHigher($1, $0) }
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

  /// Sets the cutoffs of authors that cite a grant of the account. An account can have many grants, if other
  /// participants admit it repeatedly.
  private mutating func readCeilings(_ words: [Word], _ leaves: [Word], _ account: AccountID) {
    let lowering = Dictionary(
      (words.filter { $0.permission != .readWrite } + leaves).map { ($0.mark, $0) },
      uniquingKeysWith: { first, _ in first })
    let departures = lowering.values.filter { $0.permission == nil }
    let marks = Self.marks(Array(lowering.values))
    // If an account comes back with read-only permission, it had lost the grant before. It keeps the change sets of
    // that time.
    let since = departures.map { departure in
      (departure, Self.marks(lowering.values.filter { $0.permission != nil && $0.seen.contains(departure.mark) }))
    }
    var ceilings: [MarkSet: [Author: ControlAct.CutPoint]?] = [:]
    for grant in words where grant.permission == .readWrite {
      var beating = marks.subtracting(grant.seen)
      for (departure, words) in since where departure.beats(grant) { beating.subtract(words) }
      grants[grant.id] = WriteGrant(
        account: account, ceiling: ceiling(grant, beating.members.lazy.compactMap { lowering[$0] }, &ceilings))
    }
  }

  /// Returns the cutoffs that these statements set for the grant, or nil if none of them beats it.
  private func ceiling(
    _ grant: Word, _ lowering: some Sequence<Word>, _ known: inout [MarkSet: [Author: ControlAct.CutPoint]?]
  ) -> [Author: ControlAct.CutPoint]? {
    var beating: [Word] = []
    for word in lowering where word.beats(grant) {
      // An empty cutoff can't get any lower.
      guard word.seen.contains(grant.mark), !word.cuts.isEmpty else { return [:] }
      beating.append(word)
    }
    let marks = Self.marks(beating)
    if let ceiling = known[marks] { return ceiling }
    var ceiling: [Author: ControlAct.CutPoint]?
    for word in beating { ceiling = ceiling.map { ControlGraph.least($0, word.cuts) } ?? word.cuts }
    known[marks] = .some(ceiling)
    return ceiling
  }
}
