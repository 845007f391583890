/// The records of a zone's log, together with the facts needed to judge them: the account of each record's device, the
/// records in its past, and the cutoffs of devices.
struct ControlGraph {
  let log: ZoneLog
  let accounts: Accounts
  /// The account of each device that one of the zone's accounts certified.
  let devices: [DeviceID: AccountID]
  /// The cutoffs of revoked devices.
  let cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]]
  /// The cuts that count. `cuts` is their combination.
  let countingCuts: [DeviceID: Set<DeviceCut>]
  let copies: EpochRule.CountingCopies
  /// The records of cut devices that still count.
  let standing: [DeviceID: Set<ControlID>]
  /// The marks of records by devices that no account has certified, or nil if there are none.
  private let strangers: MarkSet?

  /// - Parameter checked: The cuts whose signatures were checked before.
  init(
    _ log: ZoneLog, _ accounts: Accounts, _ devices: [DeviceID: AccountID], checked: inout CheckedCuts,
    _ cryptography: any Cryptography
  ) {
    self.log = log
    self.accounts = accounts
    self.devices = devices
    let strangers = log.uses.keys.filter { devices[$0] == nil }.flatMap { log.records(of: $0).map(\.id) }
    self.strangers = strangers.isEmpty ? nil : log.marks(of: strangers)
    var brought: [DeviceCut: [ControlID]] = [:]
    for record in log.records(of: .cut) where devices[record.author] != nil {
      if case .cut(let cut) = record.act { brought[cut, default: []].append(record.id) }
    }
    var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
    var standing: [DeviceID: Set<ControlID>] = [:]
    // One that was brought while nobody had certified its device may be signed by anybody.
    let signed = brought.keys.filter { checked.isSigned($0, log.people, accounts, cryptography) }
    countingCuts = Self.counting(signed, log.people, accounts)
    var bringing: [[ControlID]] = []
    for (device, counting) in countingCuts.sorted(by: { $0.key < $1.key }) {
      for cut in counting { cuts[device] = cuts[device].map { Self.least($0, cut.heads) } ?? cut.heads }
      let points = Set(counting.map(\.last))
      // Each point needs a pass over the device's records.
      let chains = points.count > Limits.forks ? [] : points.map { Self.chain(of: device, to: $0, log) }
      standing[device] = chains.dropFirst().reduce(chains.first ?? []) { $0.intersection($1) }
      // A record that repeats a cut signed by the account adds nothing new.
      let copies = counting.compactMap { brought[$0]?.sorted() }.sorted { ($0.first ?? .zero) < ($1.first ?? .zero) }
      bringing += points.count > Limits.forks ? [Array(copies.joined())] : copies
    }
    self.cuts = cuts
    self.standing = standing
    copies = EpochRule.CountingCopies(
      only: log.marks(of: bringing.filter { $0.count == 1 }.joined()),
      several: bringing.filter { $0.count > 1 }.map(log.marks(of:)))
  }

  var owner: AccountID? { log.people.owner }

  /// Returns the records of this kind by devices that one of the zone's accounts certified.
  func certified(_ kind: ControlAct.Kind) -> [ControlRecord] {
    log.records(of: kind).filter { devices[$0.author] != nil }
  }

  /// Returns the counting records of this kind by devices of the zone's owner.
  func owners(_ kind: ControlAct.Kind) -> [ControlRecord] {
    log.records(of: kind).filter { devices[$0.author] == owner && counts($0) }.sorted { $0.id < $1.id }
  }

  /// Returns the number of marks in `seen`, without those of devices that no account has certified.
  func pastCount(_ seen: MarkSet) -> Int { strangers.map { seen.subtracting($0).count } ?? seen.count }

  func account(of record: ControlRecord) -> AccountID? { devices[record.author] }

  /// Returns whether a record counts. It doesn't if a cut device wrote it after its last accepted record or on another
  /// branch, or if nobody whose signature counts has certified the device.
  func counts(_ record: ControlRecord) -> Bool {
    if let standing = standing[record.author] { return standing.contains(record.id) }
    return devices[record.author].flatMap { accounts[$0] }?.isUnconfirmed(record.author) != true
  }

  /// Returns the cuts that count for each device: those by signers who count.
  ///
  /// If a revoked device has none, the cuts of former signers count. They stand until a signer who counts signs them
  /// again. After that, no former signer can move the device's cutoff.
  private static func counting(
    _ cuts: some Sequence<DeviceCut>, _ people: ZonePeople, _ accounts: Accounts
  ) -> [DeviceID: Set<DeviceCut>] {
    Dictionary(grouping: cuts, by: \.device).compactMapValues { cuts in
      let states = people.all.compactMap { accounts[$0] }.filter { $0.certificates[cuts[0].device] != nil }
      let present = cuts.filter { cut in
        states.contains {
          $0.counts(cut.authority) && ($0.administrators[cut.device] == nil || cut.authority.promotion == nil)
        }
      }
      if !present.isEmpty { return Set(present) }
      return states.contains { $0.revocations[cuts[0].device] != nil } ? Set(cuts) : nil
    }
  }

  /// Returns the ids of a device's records up to a point. If the record at the point is not here, only its number
  /// decides.
  private static func chain(
    of device: DeviceID, to point: DeviceCut.ControlPoint?, _ log: ZoneLog
  ) -> Set<ControlID> {
    guard let point else { return [] }
    guard log.contains(point.id) else {
      return Set(log.records(of: device).filter { $0.number <= point.number }.map(\.id))
    }
    var chain: Set<ControlID> = []
    var next: ControlID? = point.id
    while let id = next, chain.insert(id).inserted { next = log[id]?.previous }
    return chain
  }

  /// Returns the lower of two cutoffs for each key. A key that one of them doesn't name is cut at zero.
  static func least<Key: Hashable>(
    _ left: [Key: ControlAct.CutPoint], _ right: [Key: ControlAct.CutPoint]
  ) -> [Key: ControlAct.CutPoint] {
    var both: [Key: ControlAct.CutPoint] = [:]
    for (key, point) in left {
      guard let other = right[key] else { continue }
      both[key] = (point.number, point.id) <= (other.number, other.id) ? point : other
    }
    return both
  }
}

/// Cuts whose signatures were checked, each once.
struct CheckedCuts: Sendable {
  private var found: [DeviceCut: [AccountID: Bool]] = [:]

  /// Whether an account that certified the device has signed the cut.
  mutating func isSigned(
    _ cut: DeviceCut, _ people: ZonePeople, _ accounts: Accounts, _ cryptography: any Cryptography
  ) -> Bool {
    for state in people.all.compactMap({ accounts[$0] }) where state.certificates[cut.device] != nil {
      let isSigned = found[cut]?[state.id] ?? cut.isSigned(for: state, zone: people.zone, cryptography)
      found[cut, default: [:]][state.id] = isSigned
      if isSigned { return true }
    }
    return false
  }
}
