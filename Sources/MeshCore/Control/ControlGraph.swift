/// The records of a zone's log with what is needed to judge them: whose each is, what led to it, and where a cut ends its author.
struct ControlGraph {
  let log: ZoneLog
  let accounts: Accounts
  /// Whose each device is that one of the zone's accounts certified.
  let devices: [DeviceID: AccountID]
  /// Where cut devices end.
  let cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]]
  /// The cuts that count, which `cuts` sums up.
  let countingCuts: [DeviceID: Set<DeviceCut>]
  let copies: EpochRule.CountingCopies
  /// Records of cut devices that still count.
  let standing: [DeviceID: Set<ControlID>]
  /// Marks of records of devices that nobody has certified; nil if there are none.
  private let strangers: MarkSet?

  init(_ log: ZoneLog, _ accounts: Accounts, _ devices: [DeviceID: AccountID]) {
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
    countingCuts = Self.counting(brought.keys, log.people, accounts)
    var bringing: [[ControlID]] = []
    for (device, counting) in countingCuts.sorted(by: { $0.key < $1.key }) {
      for cut in counting { cuts[device] = cuts[device].map { Self.least($0, cut.heads) } ?? cut.heads }
      let points = Set(counting.map(\.last))
      // Each point takes a reading of what the device said.
      let lines = points.count > Limits.forks ? [] : points.map { Self.line(of: device, to: $0, log) }
      standing[device] = lines.dropFirst().reduce(lines.first ?? []) { $0.intersection($1) }
      // Whoever repeats a cut that the account signed says nothing new.
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

  /// Records of devices that one of the zone's accounts certified.
  func certified(_ kind: ControlAct.Kind) -> [ControlRecord] {
    log.records(of: kind).filter { devices[$0.author] != nil }
  }

  /// Those that count, of the zone's owner.
  func owners(_ kind: ControlAct.Kind) -> [ControlRecord] {
    log.records(of: kind).filter { devices[$0.author] == owner && counts($0) }.sorted { $0.id < $1.id }
  }

  /// How many marked records lead to one, of devices that somebody has certified.
  func pastCount(_ seen: MarkSet) -> Int { strangers.map { seen.subtracting($0).count } ?? seen.count }

  func account(of record: ControlRecord) -> AccountID? { devices[record.author] }

  /// False for what a cut device said beyond its last accepted record, or on another branch, and for whatever a device says
  /// whose certificate nobody who counts has signed.
  func counts(_ record: ControlRecord) -> Bool {
    if let standing = standing[record.author] { return standing.contains(record.id) }
    return devices[record.author].flatMap { accounts[$0] }?.isUnconfirmed(record.author) != true
  }

  /// The cuts by signers who count. If a revoked device has none, those of former signers: they stand until somebody who counts
  /// has signed them again, and no former signer can move where a device ends after that.
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

  /// What a device said up to a point. Where the record at the point is not here, the number alone tells.
  private static func line(
    of device: DeviceID, to point: DeviceCut.ControlPoint?, _ log: ZoneLog
  ) -> Set<ControlID> {
    guard let point else { return [] }
    guard log.contains(point.id) else {
      return Set(log.records(of: device).filter { $0.number <= point.number }.map(\.id))
    }
    var line: Set<ControlID> = []
    var next: ControlID? = point.id
    while let id = next, line.insert(id).inserted { next = log[id]?.previous }
    return line
  }

  /// Instances that one of the two does not name are cut at zero.
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
