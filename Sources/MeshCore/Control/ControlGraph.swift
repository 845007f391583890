/// The records of a zone's log with what is needed to judge them: whose each is, what led to it, and where a cut ends its author.
struct ControlGraph {
  let records: [ControlID: ControlRecord]
  let people: ZonePeople
  let accounts: Accounts
  /// Records of devices that one of the zone's accounts certified, by id.
  let certified: [ControlRecord]
  let ancestry: Ancestry
  /// Where cut devices end.
  let cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]]
  /// The cuts that count, which `cuts` sums up.
  let countingCuts: [DeviceID: Set<DeviceCut>]
  /// The records that bring the cuts that count: those that alone bring one, and the others by what they bring.
  private let onlyCopies: MarkSet
  private let copies: [MarkSet]
  /// Records of cut devices that still count.
  private let standing: [DeviceID: Set<ControlID>]

  init(_ records: [ControlID: ControlRecord], _ people: ZonePeople, _ accounts: Accounts) {
    self.records = records
    self.people = people
    self.accounts = accounts
    certified = records.values.filter { people.account(of: $0.author, accounts) != nil }.sorted { $0.id < $1.id }
    ancestry = Ancestry(records, marking: certified.filter(\.act.isJudgedByPast).map(\.id))
    var copies: [DeviceCut: [ControlID]] = [:]
    for record in certified {
      if case .cut(let cut) = record.act { copies[cut, default: []].append(record.id) }
    }
    var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
    var standing: [DeviceID: Set<ControlID>] = [:]
    let byAuthor = Dictionary(grouping: certified, by: \.author)
    countingCuts = Self.counting(copies.keys, people, accounts)
    var bringing: [[ControlID]] = []
    for (device, counting) in countingCuts {
      for cut in counting { cuts[device] = cuts[device].map { Self.least($0, cut.heads) } ?? cut.heads }
      let points = Set(counting.map(\.last))
      // Each point takes a reading of what the device said.
      let lines = points.count > Limits.forks ? [] : points.map { Self.line(of: device, to: $0, byAuthor, records) }
      standing[device] = lines.dropFirst().reduce(lines.first ?? []) { $0.intersection($1) }
      // Whoever repeats a cut that the account signed says nothing new.
      let brought = counting.compactMap { copies[$0] }
      bringing += points.count > Limits.forks ? [Array(brought.joined())] : brought
    }
    self.cuts = cuts
    self.standing = standing
    onlyCopies = ancestry.marks(of: bringing.filter { $0.count == 1 }.joined())
    self.copies = bringing.filter { $0.count > 1 }.map(ancestry.marks(of:))
  }

  /// Whether a record has seen all cuts that count.
  func hasSeenCuts(_ id: ControlID) -> Bool {
    let seen = ancestry.marks(before: id)
    return seen.isSuperset(of: onlyCopies) && copies.allSatisfy(seen.intersects)
  }

  func isBefore(_ earlier: ControlID, _ later: ControlID) -> Bool { ancestry.isMarked(earlier, before: later) }

  func account(of record: ControlRecord) -> AccountID? { people.account(of: record.author, accounts) }

  /// False for what a cut device said beyond its last accepted record, or on another branch, and for whatever a device says
  /// whose certificate nobody who counts has signed.
  func counts(_ record: ControlRecord) -> Bool {
    if let standing = standing[record.author] { return standing.contains(record.id) }
    return account(of: record).flatMap { accounts[$0] }?.isUnconfirmed(record.author) != true
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
    of device: DeviceID, to point: DeviceCut.ControlPoint?, _ byAuthor: [DeviceID: [ControlRecord]],
    _ records: [ControlID: ControlRecord]
  ) -> Set<ControlID> {
    guard let point else { return [] }
    guard records[point.id] != nil else {
      return Set((byAuthor[device] ?? []).filter { $0.number <= point.number }.map(\.id))
    }
    var line: Set<ControlID> = []
    var next: ControlID? = point.id
    while let id = next, line.insert(id).inserted { next = records[id]?.previous }
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

extension ControlAct {
  /// Whether it matters what such an act had seen, and who had seen it.
  fileprivate var isJudgedByPast: Bool {
    switch self {
    case .cut, .invite, .revokeInvite, .participant, .admission, .leave: true
    case .genesis, .shareGenesis, .epoch, .title, .fork, .end, .stop, .excess, .unknown: false
    }
  }
}
