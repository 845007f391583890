/// What a zone's control log says: a pure function of the set of its records and of the owner's account state. The order in
/// which they came does not matter.
public struct ZoneState: Sendable, Equatable {
  public let zone: ZoneID
  /// Nil until the genesis is here.
  public private(set) var owner: AccountID?
  /// Devices that were cut, and where: instances that are not listed are cut at zero.
  public private(set) var cuts: [DeviceID: [InstanceID: ControlAct.CutPoint]] = [:]
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
    let ancestry = Ancestry(byID)
    let certified = byID.values.filter { devices.certificates[$0.author] != nil }.sorted { $0.id < $1.id }
    let cutRecords = Self.validCuts(certified, ancestry, devices)
    for case (_, .cut(let device, let points)) in cutRecords.map({ ($0, $0.act) }) {
      cuts[device] = cuts[device].map { Self.least($0, points) } ?? points
    }
    title = Self.title(certified)
    let cutIDs = Set(cutRecords.map(\.id))
    for record in certified {
      guard case .epoch(let commitment) = record.act, let id = EpochID(record.id.bytes) else { continue }
      let coversAll = cutIDs.isSubset(of: ancestry.of(record.id)) && !devices.isRevoked(record.author)
      epochs[id] = Epoch(id: id, minter: record.author, commitment: commitment, isCurrent: coversAll)
    }
  }

  /// Where an author's change sets end, if its device was cut.
  public func limit(_ author: Author) -> UInt64? {
    cuts[author.device].map { $0[author.instance]?.number ?? 0 }
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

  /// A live device's cuts count. Those of a device that was revoked since count as far as the records that cut it had seen them.
  /// (A revoked device's epochs encrypt nothing new, but what was written under them can still be read.)
  private static func validCuts(
    _ records: [ControlRecord], _ ancestry: Ancestry, _ devices: AccountState
  ) -> [ControlRecord] {
    let cuts = records.filter { if case .cut = $0.act { true } else { false } }
    var seen: [DeviceID: Set<ControlID>] = [:]
    for record in cuts {
      guard case .cut(let device, _) = record.act, !devices.isRevoked(record.author) else { continue }
      seen[device, default: []].formUnion(ancestry.of(record.id))
    }
    return cuts.filter { !devices.isRevoked($0.author) || (seen[$0.author]?.contains($0.id) ?? false) }
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

/// Which records lead to which.
private struct Ancestry {
  private var ancestors: [ControlID: Set<ControlID>] = [:]

  init(_ records: [ControlID: ControlRecord]) {
    for id in records.keys { visit(id, records) }
  }

  func of(_ id: ControlID) -> Set<ControlID> { ancestors[id] ?? [] }

  /// Depth first with a stack of its own: a hostile log can be as deep as it is long.
  private mutating func visit(_ start: ControlID, _ records: [ControlID: ControlRecord]) {
    var stack = [start]
    while let id = stack.last {
      guard ancestors[id] == nil else {
        stack.removeLast()
        continue
      }
      let parents = (records[id]?.parents ?? []) + (records[id]?.previous.map { [$0] } ?? [])
      let missing = parents.filter { ancestors[$0] == nil && records[$0] != nil }
      if missing.isEmpty {
        stack.removeLast()
        ancestors[id] = parents.reduce(into: []) {
          $0.formUnion(ancestors[$1] ?? [])
          $0.insert($1)
        }
      } else {
        stack.append(contentsOf: missing)
      }
    }
  }
}
