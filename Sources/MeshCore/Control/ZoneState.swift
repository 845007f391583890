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
  /// The epoch that writers use: of those that are current, the one with the lowest id.
  public private(set) var currentEpoch: Epoch?
  /// Those that are current.
  public private(set) var currentEpochs: Set<EpochID> = []
  /// As the owner's devices named it; else a share is called by its root's table, and a private zone not at all.
  public private(set) var title = ""
  /// When it was given.
  public private(set) var titled = HybridTime.zero
  /// Records that lead to no other: first the owner's, then one of each account in turn. So the first of them are never those of
  /// one account that forks the log on purpose.
  public private(set) var heads: [ControlID] = []
  private var overfull = Overfull()
  private var grants: [ControlID: WriteGrant] = [:]
  /// Records that let somebody in, or would, whether or not they stand, by what instances under them begin with.
  private var words: [UInt64: Set<ControlID>] = [:]
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
    var log = ZoneLog(zone, records, cryptography)
    log.read(accounts, revision: 0, cryptography)
    self = log.state
  }

  /// That of a log without records.
  init(_ zone: ZoneID) { self.zone = zone }

  /// Reads all but the epochs and the heads. Returns what epochs are judged by; nil if the log has no owner.
  mutating func read(_ graph: ControlGraph, _ cryptography: any Cryptography) -> EpochRule? {
    let before = self
    self = ZoneState(zone)
    (epochs, currentEpoch, currentEpochs, heads) = (
      before.epochs, before.currentEpoch, before.currentEpochs, before.heads
    )
    guard let owner = graph.owner, graph.accounts[owner] != nil else { return nil }
    self.owner = owner
    cuts = graph.cuts
    countingCuts = graph.countingCuts
    ends = Self.ends(graph)
    devices = graph.devices
    overfull = Overfull(
      graph.certified(.excess).compactMap { if case .excess(let excess) = $0.act { excess } else { nil } }, owner: owner
    ) { [devices] in devices[$0] }
    readOwnersActs(graph, cryptography)
    let standings = Standings(graph)
    (participants, invites, grants) = (standings.participants, standings.invites, standings.grants)
    for record in graph.certified(.participant) + graph.certified(.admission) where record.act.isGrant {
      words[InstanceID.half(of: record.id), default: []].insert(record.id)
    }
    return EpochRule(
      removals: graph.log.marks(of: standings.removals), leavings: standings.leavings, cuts: graph.copies,
      standing: graph.standing)
  }

  mutating func forgetEpochs() { (epochs, currentEpoch, currentEpochs) = ([:], nil, []) }

  mutating func add(_ epoch: Epoch) {
    epochs[epoch.id] = epoch
    guard epoch.isCurrent else { return }
    currentEpochs.insert(epoch.id)
    if currentEpoch.map({ epoch.id < $0.id }) != false { currentEpoch = epoch }
  }

  /// - Parameter heads: With whose each is.
  mutating func setHeads(_ heads: [(id: ControlID, account: AccountID?)]) {
    var lines = Dictionary(grouping: heads, by: \.account).mapValues { $0.map(\.id).sorted() }
    guard owner != nil else {
      self.heads = heads.map(\.id).sorted()
      return
    }
    self.heads = lines.removeValue(forKey: owner) ?? []
    var turn = 0
    while !lines.isEmpty {
      self.heads += lines.values.map { $0[turn] }.sorted()
      turn += 1
      lines = lines.filter { $0.value.count > turn }
    }
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
    let cited = words[author.instance.half] ?? []
    let limits = cited.map { limit(author, citing: $0) }
    guard !limits.isEmpty, !limits.contains(nil) else { return nil }
    return limits.compactMap(\.self).max()
  }

  // MARK: Reading

  private mutating func readOwnersActs(_ graph: ControlGraph, _ cryptography: any Cryptography) {
    var last: (time: HybridTime, author: DeviceID, text: String)?
    for record in graph.certified(.genesis).sorted(by: { $0.id < $1.id }) where graph.account(of: record) == owner {
      if case .shareGenesis(_, _, let root) = record.act, self.root == nil,
        record.act.opening(zone, cryptography) == owner
      {
        self.root = root
      }
    }
    isStopped = !graph.owners(.stop).isEmpty
    for record in graph.owners(.title) {
      guard case .title(let text, let time) = record.act else { continue }
      if let known = last, (known.time, known.author, known.text) >= (time, record.author, text) { continue }
      last = (time, record.author, text)
    }
    title = last?.text ?? root?.table ?? ""
    titled = last?.time ?? .zero
  }

  private static func ends(_ graph: ControlGraph) -> [Author: UInt64] {
    var given: [Author: Set<UInt64>] = [:]
    var forks: [Author: Set<UInt64>] = [:]
    for record in graph.certified(.end) where graph.counts(record) {
      guard case .end(let instance, let number) = record.act else { continue }
      given[Author(device: record.author, instance: instance), default: []].insert(number)
    }
    for record in graph.certified(.fork) {
      if case .fork(let proof) = record.act { forks[proof.author, default: []].insert(proof.limit) }
    }
    // Each lower end has to be carried out by reading the log again.
    func least(_ numbers: Set<UInt64>) -> UInt64 { numbers.count > Limits.forks ? 0 : numbers.min() ?? 0 }
    return given.mapValues(least).merging(forks.mapValues(least)) { min($0, $1) }
  }
}
