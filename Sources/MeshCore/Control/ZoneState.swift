/// The state that a zone's control log describes. It is a pure function of the set of its records and of the states of
/// the accounts that they name. The order in which the records arrived doesn't matter.
package struct ZoneState: Sendable, Equatable {
  /// The zone that the log describes.
  package let zone: ZoneID
  /// The owner, or nil until the record that opens the zone is here.
  package private(set) var owner: AccountID?
  /// The root record of a share, or nil for an account's private zone.
  package private(set) var root: RecordName?
  /// True if the owner stopped the share. Then only the owner is a member.
  package private(set) var isStopped = false
  /// All accounts that were ever let in, except the owner.
  package private(set) var participants: [AccountID: Participant] = [:]
  /// The invites by the ids of their records, used and revoked ones included.
  package private(set) var invites: [ControlID: InviteState] = [:]
  /// The devices that have cutoffs. Instances that are not listed are cut at zero.
  package private(set) var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
  /// The cuts that count. `cuts` is their combination.
  package private(set) var countingCuts: [DeviceID: Set<DeviceCut>] = [:]
  /// The last number of each instance that forked or was given up.
  package private(set) var ends: [Author: UInt64] = [:]
  /// All epochs by their ids, current or not.
  package private(set) var epochs: [EpochID: Epoch] = [:]
  /// The epoch that writers use: the current one with the lowest id.
  package private(set) var currentEpoch: Epoch?
  /// The epochs that are current.
  package private(set) var currentEpochs: Set<EpochID> = []
  /// The title that the owner's devices gave. Without one, a share is called by the table of its root record, and a
  /// private zone has no name.
  package private(set) var title = ""
  /// The time at which the title was given.
  package private(set) var titled = HybridTime.zero
  /// The tips: the records that no other record names. The owner's come first, then the accounts take turns. Therefore
  /// an account that forks the log on purpose can't fill the first places.
  package private(set) var heads: [ControlID] = []
  private var overfull = Overfull()
  private var grants: [ControlID: WriteGrant] = [:]
  /// The records that let an account in, or would if they stood. The key is the first half of the instances that write
  /// under them.
  private var words: [UInt64: Set<ControlID>] = [:]
  /// The account of each device.
  private var devices: [DeviceID: AccountID] = [:]
  /// Whether devices that nobody certified here may be devices of the zone's accounts whose certificates were dropped.
  /// Then their authors are cut at zero on every node.
  package private(set) var mayLackDevices = false

  /// An epoch, as the record that announced it describes it.
  package struct Epoch: Sendable, Equatable {
    /// The id of the record that announced it.
    package let id: EpochID
    /// The device that made the key.
    package let minter: DeviceID
    /// The commitment to the key (see `EpochKey.commitment`), 32 bytes.
    package let commitment: [UInt8]
    /// True if the epoch covers every known cut and departure, and its minter may write. Only such a key encrypts.
    package let isCurrent: Bool
  }

  /// - Parameter records: Sound records (see `ControlRecord.isSound`).
  package init(
    _ zone: ZoneID, records: some Sequence<ControlRecord>, accounts: Accounts, _ cryptography: any Cryptography
  ) {
    var log = ZoneLog(zone, records, cryptography)
    log.read(accounts, revision: 0, cryptography)
    self = log.state
  }

  /// The state of a log without records.
  init(_ zone: ZoneID) { self.zone = zone }

  /// Reads everything except the epochs and the tips. Returns the rule by which epochs are judged, or nil if the log
  /// has no owner.
  ///
  /// - Parameter known: The rule of the last reading if the records, devices and cuts on which the standings depend are
  ///   the same as then, or nil. Weighing all admissions against each other takes long.
  mutating func read(
    _ graph: ControlGraph, standingsOf known: EpochRule?, _ cryptography: any Cryptography
  ) -> EpochRule? {
    let before = self
    self = ZoneState(zone)
    (epochs, currentEpoch, currentEpochs, heads) = (
      before.epochs, before.currentEpoch, before.currentEpochs, before.heads
    )
    guard let owner = graph.owner, graph.accounts[owner] != nil else { return nil }
    self.owner = owner
    cuts = graph.cuts
    countingCuts = graph.countingCuts
    devices = graph.devices
    mayLackDevices = graph.log.people.mayLackDevices(graph.accounts)
    let forks = Self.forks(graph)
    ends = Self.ends(graph, forks)
    overfull = Overfull(
      graph.certified(.excess).compactMap { if case .excess(let excess) = $0.act { excess } else { nil } },
      forks: forks.mapValues(\.count), owner: owner
    ) { [devices] in devices[$0] }
    readOwnersActs(graph, cryptography)
    if let known {
      (participants, invites) = (before.participants, before.invites)
      (grants, words) = (before.grants, before.words)
      return EpochRule(
        removals: known.removals, leavings: known.leavings, cuts: graph.copies, standing: graph.standing)
    }
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

  /// Sorts and sets the tips.
  ///
  /// - Parameter heads: The tips, each with the account of its device.
  mutating func setHeads(_ heads: [(id: ControlID, account: AccountID?)]) {
    var accounts = Dictionary(grouping: heads, by: \.account).mapValues { $0.map(\.id).sorted() }
    guard owner != nil else {
      self.heads = heads.map(\.id).sorted()
      return
    }
    self.heads = accounts.removeValue(forKey: owner) ?? []
    var turn = 0
    while !accounts.isEmpty {
      self.heads += accounts.values.map { $0[turn] }.sorted()
      turn += 1
      accounts = accounts.filter { $0.value.count > turn }
    }
  }

  // MARK: Questions

  /// Returns an account's permission, or nil if it is not a member.
  package func permission(_ account: AccountID) -> Permission? {
    if account == owner { return .readWrite }
    return isStopped ? nil : participants[account]?.permission
  }

  /// All accounts that the zone lists, whether or not they are still members. They may have its log.
  package var accounts: Set<AccountID> { Set(participants.keys).union(owner.map { [$0] } ?? []) }

  /// Returns the zone's account that a device belongs to.
  package func account(of device: DeviceID) -> AccountID? { devices[device] }

  /// Returns the record that lets an account write, which its authors cite. Returns nil for the owner, who needs none.
  package func citation(_ account: AccountID) -> ControlID? {
    permission(account) == .readWrite ? participants[account]?.grant : nil
  }

  /// Returns the cutoff of an author, or nil if it has none. An author of a participant writes under the grant that its
  /// first change set cites. Without a valid grant, it is cut at zero.
  package func limit(_ author: Author, citing citation: ControlID?) -> UInt64? {
    if isOverfull(author.device) { return 0 }
    let cut = cuts[author.device].map { $0[author.instance]?.number ?? 0 }
    return [cut, ends[author], lostPermission(author, citation)].compactMap { $0 }.min()
  }

  /// Returns whether all change sets of a device are refused, because the device or its account is proven to write as
  /// more authors, or to fork at more points, than it may.
  package func isOverfull(_ device: DeviceID) -> Bool {
    overfull.devices.contains(device) || devices[device].map(overfull.accounts.contains) ?? false
  }

  /// The accounts that are proven to write as too many authors, or that have such a device.
  package var overfullAccounts: Set<AccountID> {
    overfull.accounts.union(overfull.devices.compactMap { devices[$0] })
  }

  /// Returns the cutoff that follows from a missing or lost permission of the author's account, or nil if there is
  /// none.
  package func lostPermission(_ author: Author, _ citation: ControlID?) -> UInt64? {
    guard let account = devices[author.device] else { return 0 }
    guard account != owner else { return nil }
    guard let grant = citation.flatMap({ grants[$0] }), grant.account == account else { return 0 }
    return grant.ceiling.map { $0[author]?.number ?? 0 }
  }

  /// Returns the cutoff of an author that has no change sets here, or nil if they may still arrive.
  ///
  /// The devices that had merged its change sets may have reverted them, and then no device can show the record that
  /// the author cites. The author's instance tells it instead.
  package func limit(ofUnknown author: Author) -> UInt64? {
    guard let account = devices[author.device] else { return mayLackDevices ? 0 : nil }
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

  /// Where each author is proven to fork.
  private static func forks(_ graph: ControlGraph) -> [Author: Set<UInt64>] {
    graph.certified(.fork).reduce(into: [:]) { forks, record in
      if case .fork(let proof) = record.act { forks[proof.author, default: []].insert(proof.limit) }
    }
  }

  private static func ends(_ graph: ControlGraph, _ forks: [Author: Set<UInt64>]) -> [Author: UInt64] {
    var given: [Author: Set<UInt64>] = [:]
    for record in graph.certified(.end) where graph.counts(record) {
      guard case .end(let instance, let number) = record.act else { continue }
      given[Author(device: record.author, instance: instance), default: []].insert(number)
    }
    // Each lower end requires reading the log again.
    func least(_ numbers: Set<UInt64>) -> UInt64 { numbers.count > Limits.forks ? 0 : numbers.min() ?? 0 }
    return given.mapValues(least).merging(forks.mapValues(least)) { min($0, $1) }
  }
}
