/// What a zone's control log says: a pure function of the set of its records and of the owner's account state. The order in
/// which they came does not matter.
public struct ZoneState: Sendable, Equatable {
  public let zone: ZoneID
  /// Nil until the genesis is here.
  public private(set) var owner: AccountID?
  /// Devices that were cut, and where: instances that are not listed are cut at zero.
  public private(set) var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
  /// Instances that forked or were given up, and their last number.
  public private(set) var ends: [Author: UInt64] = [:]
  public private(set) var epochs: [EpochID: Epoch] = [:]
  /// Empty where none was given.
  public private(set) var title = ""
  /// Records that no other names as a parent, ascending.
  public private(set) var heads: [ControlID] = []

  public struct Epoch: Sendable, Equatable {
    public let id: EpochID
    public let minter: DeviceID
    public let commitment: [UInt8]
    /// True where it covers every cut that is known: only such a key encrypts.
    public let isCurrent: Bool
  }

  /// The epoch that writers use: of those that cover all cuts, the one with the lowest id.
  public var currentEpoch: Epoch? { epochs.values.filter(\.isCurrent).min { $0.id < $1.id } }

  /// - Parameter records: Sound ones (see `ControlRecord.isSound`).
  public init(
    _ zone: ZoneID, records: [ControlRecord], account: (AccountID) -> AccountState?, _ cryptography: any Cryptography
  ) {
    self.zone = zone
    let byID = Dictionary(
      records.filter { $0.zone == zone }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let named = Set(byID.values.flatMap(\.parents))
    heads = byID.keys.filter { !named.contains($0) }.sorted()
    guard let owner = Self.owner(zone, byID.values, cryptography), let devices = account(owner) else { return }
    self.owner = owner
    let certified = byID.values.filter { devices.certificates[$0.author] != nil }.sorted { $0.id < $1.id }
    let cutRecords = certified.filter { if case .cut = $0.act { true } else { false } }
    for case .cut(let device, let points, _) in cutRecords.map(\.act) {
      cuts[device] = cuts[device].map { Self.least($0, points) } ?? points
    }
    ends = Self.ends(certified)
    title = Self.title(certified)
    let ancestry = Ancestry(byID, marking: cutRecords.map(\.id))
    // Whoever repeats a cut that the account signed says nothing new.
    let copies = Dictionary(grouping: cutRecords.indices) { cutRecords[$0].act }.values
    for record in certified {
      guard case .epoch(let commitment) = record.act, let id = EpochID(record.id.bytes) else { continue }
      let seen = ancestry.marks(before: record.id)
      let coversAll = copies.allSatisfy { $0.contains(where: seen.contains) } && !devices.isRevoked(record.author)
      epochs[id] = Epoch(id: id, minter: record.author, commitment: commitment, isCurrent: coversAll)
    }
  }

  /// Where an author's change sets end, if its device was cut or its line has ended.
  public func limit(_ author: Author) -> UInt64? {
    let cut = cuts[author.device].map { $0[author.instance]?.number ?? 0 }
    guard let end = ends[author] else { return cut }
    return min(end, cut ?? .max)
  }

  private static func ends(_ records: [ControlRecord]) -> [Author: UInt64] {
    var ends: [Author: UInt64] = [:]
    var forks: [Author: Set<UInt64>] = [:]
    for record in records {
      switch record.act {
      case .end(let instance, let number):
        let author = Author(device: record.author, instance: instance)
        ends[author] = min(ends[author] ?? .max, number)
      case .fork(let proof):
        forks[proof.author, default: []].insert(proof.limit)
      default: break
      }
    }
    for (author, places) in forks {
      let least = places.count > Limits.forks ? 0 : places.min() ?? 0
      ends[author] = min(ends[author] ?? .max, least)
    }
    return ends
  }

  private static func title(_ records: [ControlRecord]) -> String {
    var last: (time: HybridTime, author: DeviceID, text: String)?
    for record in records {
      guard case .title(let text, let time) = record.act else { continue }
      if let known = last, (known.time, known.author, known.text) >= (time, record.author, text) { continue }
      last = (time, record.author, text)
    }
    return last?.text ?? ""
  }

  private static func owner(
    _ zone: ZoneID, _ records: some Sequence<ControlRecord>, _ cryptography: any Cryptography
  ) -> AccountID? {
    for record in records {
      if case .genesis(let account, let nonce) = record.act, cryptography.hash(account.bytes + nonce) == zone.bytes {
        return account
      }
    }
    return nil
  }

  private static func least(
    _ left: [InstanceID: ControlAct.CutPoint], _ right: [InstanceID: ControlAct.CutPoint]
  ) -> [InstanceID: ControlAct.CutPoint] {
    var both: [InstanceID: ControlAct.CutPoint] = [:]
    for (instance, point) in left {
      guard let other = right[instance] else { continue }
      both[instance] = point.number <= other.number ? point : other
    }
    return both
  }
}
