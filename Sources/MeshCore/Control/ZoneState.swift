/// What a zone's control log says: a pure function of the set of its records and of the states of the accounts they name. The
/// order in which they came does not matter.
public struct ZoneState: Sendable, Equatable {
  public let zone: ZoneID
  /// Nil until the record that opens the zone is here.
  public private(set) var owner: AccountID?
  /// What is shared; nil of an account's private zone.
  public private(set) var root: RecordName?
  public private(set) var isStopped = false
  /// Everybody but the owner who was ever let in.
  public private(set) var participants: [AccountID: Participant] = [:]
  public private(set) var invites: [ControlID: Invite] = [:]
  /// Devices that were cut, and where: instances that are not listed are cut at zero.
  public private(set) var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
  /// The cuts that count, which `cuts` sums up.
  public private(set) var countingCuts: [DeviceID: Set<DeviceCut>] = [:]
  /// Instances that forked or were given up, and their last number.
  public private(set) var ends: [Author: UInt64] = [:]
  public private(set) var epochs: [EpochID: Epoch] = [:]
  /// As the owner's devices named it; else a share is called by its root's table, and a private zone not at all.
  public private(set) var title = ""
  /// When it was given.
  public private(set) var titled = HybridTime.zero
  /// Records that lead to no other: first the owner's, then one of each account in turn. So the first of them are never those of
  /// one account that forks the log on purpose.
  public private(set) var heads: [ControlID] = []
  private var overfull = Overfull()
  private var grants: [ControlID: WriteGrant] = [:]
  /// Records that let somebody in, or would, whether or not they stand.
  private var words: Set<ControlID> = []
  /// Whose each device is.
  private var devices: [DeviceID: AccountID] = [:]

  public struct Epoch: Sendable, Equatable {
    public let id: EpochID
    public let minter: DeviceID
    public let commitment: [UInt8]
    /// True where it covers every cut and departure that is known, and its minter may write: only such a key encrypts.
    public let isCurrent: Bool
  }

  /// - Parameter records: Sound ones (see `ControlRecord.isSound`).
  public init(
    _ zone: ZoneID, records: some Sequence<ControlRecord>, accounts: Accounts, _ cryptography: any Cryptography
  ) {
    self.zone = zone
    let byID = Dictionary(
      records.filter { $0.zone == zone }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    heads = Self.heads(byID)
    var people = ZonePeople(zone)
    for record in byID.values { people.meet(record.act, cryptography) }
    guard let owner = people.owner, accounts[owner] != nil else { return }
    self.owner = owner
    let graph = ControlGraph(byID, people, accounts)
    heads = Self.inTurn(heads, graph)
    cuts = graph.cuts
    countingCuts = graph.countingCuts
    ends = Self.ends(graph)
    for account in people.all {
      for device in accounts[account]?.certificates.keys.sorted() ?? [] {
        devices[device] = people.account(of: device, accounts)
      }
    }
    overfull = Overfull(
      graph.certified.compactMap { if case .excess(let excess) = $0.act { excess } else { nil } }, owner: owner
    ) { [devices] in devices[$0] }
    readOwnersActs(graph, cryptography)
    let standings = Standings(graph)
    (participants, invites, grants) = (standings.participants, standings.invites, standings.grants)
    words = Set(graph.certified.filter(\.act.isGrant).map(\.id))
    readEpochs(graph, standings)
  }

  // MARK: Questions

  /// What an account may do; nil where it is no member.
  public func permission(_ account: AccountID) -> Permission? {
    if account == owner { return .readWrite }
    return isStopped ? nil : participants[account]?.permission
  }

  /// Everybody whom the zone lists, members or not any more: who may have its log.
  public var accounts: Set<AccountID> { Set(participants.keys).union(owner.map { [$0] } ?? []) }

  /// Whose a device is, of the zone's accounts.
  public func account(of device: DeviceID) -> AccountID? { devices[device] }

  /// The record that lets an account write, which its authors cite; nil of the owner, who needs none.
  public func citation(_ account: AccountID) -> ControlID? {
    permission(account) == .readWrite ? participants[account]?.grant : nil
  }

  /// The epoch that writers use: of those that are current, the one with the lowest id.
  public var currentEpoch: Epoch? { epochs.values.filter(\.isCurrent).min { $0.id < $1.id } }

  /// Where an author's change sets end; nil where they do not. An author of a participant writes by what its first change set
  /// cites; without such a grant it ends at zero.
  public func limit(_ author: Author, citing citation: ControlID?) -> UInt64? {
    if isOverfull(author.device) { return 0 }
    let cut = cuts[author.device].map { $0[author.instance]?.number ?? 0 }
    return [cut, ends[author], lostPermission(author, citation)].compactMap { $0 }.min()
  }

  /// Whether a device writes in vain, since it or its account is proven to write as more authors than it may.
  public func isOverfull(_ device: DeviceID) -> Bool {
    overfull.devices.contains(device) || devices[device].map(overfull.accounts.contains) ?? false
  }

  /// Accounts of which, or of whose devices, that is proven.
  public var overfullAccounts: Set<AccountID> {
    overfull.accounts.union(overfull.devices.compactMap { devices[$0] })
  }

  /// Where an author ends because its account may not write, or could not go on to.
  public func lostPermission(_ author: Author, _ citation: ControlID?) -> UInt64? {
    guard let account = devices[author.device] else { return 0 }
    guard account != owner else { return nil }
    guard let grant = citation.flatMap({ grants[$0] }), grant.account == account else { return 0 }
    return grant.ceiling.map { $0[author]?.number ?? 0 }
  }

  /// Where an author ends of which nothing is here. Whoever had merged it may have taken it back, and then nobody can show what
  /// it cites: its instance tells that. Nil where it may yet come.
  public func limit(ofUnknown author: Author) -> UInt64? {
    guard let account = devices[author.device] else { return nil }
    guard account != owner, !isOverfull(author.device) else { return limit(author, citing: nil) }
    let cited = words.filter(author.instance.isUnder)
    let limits = cited.map { limit(author, citing: $0) }
    guard !limits.isEmpty, !limits.contains(nil) else { return nil }
    return limits.compactMap(\.self).max()
  }

  // MARK: Reading

  private mutating func readOwnersActs(_ graph: ControlGraph, _ cryptography: any Cryptography) {
    var last: (time: HybridTime, author: DeviceID, text: String)?
    for record in graph.certified where graph.account(of: record) == owner {
      if case .shareGenesis(_, _, let root) = record.act, self.root == nil,
        record.act.opening(zone, cryptography) == owner
      {
        self.root = root
      }
      guard graph.counts(record) else { continue }
      switch record.act {
      case .stop: isStopped = true
      case .title(let text, let time):
        if let known = last, (known.time, known.author, known.text) >= (time, record.author, text) { continue }
        last = (time, record.author, text)
      default: break
      }
    }
    title = last?.text ?? root?.table ?? ""
    titled = last?.time ?? .zero
  }

  private static func ends(_ graph: ControlGraph) -> [Author: UInt64] {
    var given: [Author: Set<UInt64>] = [:]
    var forks: [Author: Set<UInt64>] = [:]
    for record in graph.certified {
      switch record.act {
      case .end(let instance, let number) where graph.counts(record):
        let author = Author(device: record.author, instance: instance)
        given[author, default: []].insert(number)
      case .fork(let proof):
        forks[proof.author, default: []].insert(proof.limit)
      default: break
      }
    }
    // Each lower end has to be carried out by reading the log again.
    func least(_ numbers: Set<UInt64>) -> UInt64 { numbers.count > Limits.forks ? 0 : numbers.min() ?? 0 }
    return given.mapValues(least).merging(forks.mapValues(least)) { min($0, $1) }
  }

  /// Ascending.
  private static func heads(_ records: [ControlID: ControlRecord]) -> [ControlID] {
    var heads = Set(records.keys)
    for record in records.values {
      heads.subtract(record.parents)
      if let previous = record.previous { heads.remove(previous) }
    }
    return heads.sorted()
  }

  private static func inTurn(_ heads: [ControlID], _ graph: ControlGraph) -> [ControlID] {
    var turns: [AccountID?: Int] = [:]
    let ranked = heads.map { id -> (turn: Int, id: ControlID) in
      let account = graph.records[id].flatMap(graph.account)
      guard account != graph.people.owner else { return (0, id) }
      turns[account, default: 0] += 1
      return (turns[account, default: 0], id)
    }
    return ranked.sorted { ($0.turn, $0.id) < ($1.turn, $1.id) }.map(\.id)
  }

  private mutating func readEpochs(_ graph: ControlGraph, _ standings: Standings) {
    let removals = graph.ancestry.marks(of: standings.removals)
    for record in graph.certified {
      guard case .epoch(let commitment) = record.act, let id = EpochID(record.id.bytes),
        let account = graph.account(of: record)
      else { continue }
      let seen = graph.ancestry.marks(before: record.id)
      let isCurrent =
        permission(account) == .readWrite && graph.counts(record)
        && graph.accounts[account]?.isRevoked(record.author) == false
        && seen.isSuperset(of: removals) && standings.leavings.allSatisfy(seen.intersects)
        && graph.hasSeenCuts(record.id)
      epochs[id] = Epoch(id: id, minter: record.author, commitment: commitment, isCurrent: isCurrent)
    }
  }
}
