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
  /// The cuts that were brought, those that say the same together.
  let cutCopies: [[ControlID]]
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
    // Whoever repeats a cut that the account signed says nothing new.
    cutCopies = copies.values.sorted { $0[0] < $1[0] }
    var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
    var standing: [DeviceID: Set<ControlID>] = [:]
    for cut in copies.keys {
      let device = cut.device
      cuts[device] = cuts[device].map { Self.least($0, cut.heads) } ?? cut.heads
      let line = Self.line(of: device, to: cut.last, certified, records)
      standing[device] = standing[device]?.intersection(line) ?? line
    }
    self.cuts = cuts
    self.standing = standing
  }

  func isBefore(_ earlier: ControlID, _ later: ControlID) -> Bool { ancestry.isMarked(earlier, before: later) }

  func account(of record: ControlRecord) -> AccountID? { people.account(of: record.author, accounts) }

  /// False for what a cut device said beyond its last accepted record, or on another branch.
  func counts(_ record: ControlRecord) -> Bool { standing[record.author]?.contains(record.id) ?? true }

  /// What a device said up to a point. Where the record at the point is not here, the number alone tells.
  private static func line(
    of device: DeviceID, to point: DeviceCut.ControlPoint?, _ certified: [ControlRecord],
    _ records: [ControlID: ControlRecord]
  ) -> Set<ControlID> {
    guard let point else { return [] }
    guard records[point.id] != nil else {
      return Set(certified.filter { $0.author == device && $0.number <= point.number }.map(\.id))
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
