/// A zone's control log as it grows. A record costs its own bytes and one bit for each marked record before it, however long the
/// log is: a hostile participant may fill it.
public struct ZoneLog: Sendable {
  public let zone: ZoneID
  /// Whom the records name.
  public private(set) var people: ZonePeople
  /// Records that lead to no other.
  private(set) var heads: Set<ControlID> = []
  public private(set) var bytes = 0
  /// The records whose effect may depend on any other record: all but epochs and unknown acts.
  private(set) var weighed = 0
  /// The state as it was last read.
  public private(set) var state: ZoneState

  /// In an order in which each record comes after those that lead to it.
  private var entries: [Entry] = []
  private var places: [ControlID: Int] = [:]
  private var byKind: [ControlAct.Kind: [Int]] = [:]
  private var byDevice: [DeviceID: [Int]] = [:]
  /// What the records of each device take.
  public private(set) var uses: [DeviceID: ControlUse] = [:]
  /// How many records have a mark.
  private var marked = 0
  private var reading = Reading()

  private struct Entry {
    let record: ControlRecord
    /// Places of the records that it names.
    let parents: [Int]
    /// The marked records that lead to it.
    let seen: MarkSet
    /// Its own mark, if it matters who has seen it.
    let mark: Int?
  }

  public init(_ zone: ZoneID) {
    self.zone = zone
    people = ZonePeople(zone)
    state = ZoneState(zone)
  }

  /// - Parameter records: Sound ones, in any order. Records that they name may be missing.
  public init(_ zone: ZoneID, _ records: some Sequence<ControlRecord>, _ cryptography: any Cryptography) {
    self.init(zone)
    let known = Dictionary(
      records.filter { $0.zone == zone }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    // Depth first with a stack of its own: a hostile log can be as deep as it is long.
    var stack = Array(known.keys)
    while let id = stack.last {
      guard places[id] == nil, let record = known[id] else {
        stack.removeLast()
        continue
      }
      let before = record.leading.filter { known[$0] != nil && places[$0] == nil }
      if before.isEmpty {
        stack.removeLast()
        insert(record, cryptography)
      } else {
        stack.append(contentsOf: before)
      }
    }
  }

  // MARK: Growing

  /// Adds a sound record after those that it names.
  public mutating func insert(_ record: ControlRecord, _ cryptography: any Cryptography) {
    guard places[record.id] == nil else { return }
    let parents = Set(record.leading.compactMap { places[$0] })
    var seen = MarkSet()
    for parent in parents {
      seen.formUnion(entries[parent].seen)
      if let mark = entries[parent].mark { seen.insert(mark) }
    }
    let kind = record.act.kind
    let place = entries.count
    entries.append(
      Entry(record: record, parents: Array(parents), seen: seen, mark: kind.isJudgedByPast ? marked : nil))
    if kind.isJudgedByPast { marked += 1 }
    if kind.isWeighed { weighed += 1 }
    places[record.id] = place
    byKind[kind, default: []].append(place)
    byDevice[record.author, default: []].append(place)
    for parent in record.leading { heads.remove(parent) }
    heads.insert(record.id)
    bytes += record.size
    uses[record.author, default: ControlUse()].add(record)
    people.meet(record.act, id: record.id, cryptography)
    if reading.cutDevices.contains(record.author) { reading.hasCutRecords = true }
  }

  /// As if the last records, which were not read, had never come.
  public mutating func removeLast(_ count: Int, _ cryptography: any Cryptography) {
    let (left, state, reading) = (entries.dropLast(count).map(\.record), state, reading)
    self = ZoneLog(zone)
    for record in left { insert(record, cryptography) }
    (self.state, self.reading) = (state, reading)
  }

  // MARK: Records

  public var count: Int { entries.count }
  public subscript(_ id: ControlID) -> ControlRecord? { places[id].map { entries[$0].record } }
  public func contains(_ id: ControlID) -> Bool { places[id] != nil }
  /// In an order in which each record comes after those that lead to it.
  public var records: some Sequence<ControlRecord> { entries.lazy.map(\.record) }

  public func records(of kind: ControlAct.Kind) -> some Sequence<ControlRecord> {
    (byKind[kind] ?? []).lazy.map { entries[$0].record }
  }

  public func records(of device: DeviceID) -> some Sequence<ControlRecord> {
    (byDevice[device] ?? []).lazy.map { entries[$0].record }
  }

  /// The last one that a device said; of several with its number the one with the lowest id.
  public func last(of device: DeviceID) -> ControlRecord? {
    records(of: device).max { ($0.number, $1.id) < ($1.number, $0.id) }
  }

  /// Those that do not lead to some heads, each after those that lead to it: as many visits as there are of them, and of those
  /// beside them that do lead there.
  public func records(beyond heads: [ControlID]) -> [ControlRecord] {
    var isKnown = [Bool](repeating: false, count: entries.count)
    for place in heads.compactMap({ places[$0] }) { isKnown[place] = true }
    var beyond: [Int] = []
    for place in entries.indices.reversed() {
      guard isKnown[place] else {
        beyond.append(place)
        continue
      }
      for parent in entries[place].parents { isKnown[parent] = true }
    }
    return beyond.reversed().map { entries[$0].record }
  }

  /// Some records and all that lead to them.
  public func past(of ids: [ControlID]) -> Set<ControlID> {
    var past: Set<ControlID> = []
    var stack = ids.compactMap { places[$0] }
    while let place = stack.popLast() {
      guard past.insert(entries[place].record.id).inserted else { continue }
      stack.append(contentsOf: entries[place].parents)
    }
    return past
  }

  // MARK: Marks

  /// The marked records that lead to a record.
  func seen(by id: ControlID) -> MarkSet { places[id].map { entries[$0].seen } ?? MarkSet() }
  func mark(of id: ControlID) -> Int? { places[id].flatMap { entries[$0].mark } }
  func marks(of ids: some Sequence<ControlID>) -> MarkSet {
    ids.reduce(into: MarkSet()) { marks, id in
      if let mark = mark(of: id) { marks.insert(mark) }
    }
  }

  // MARK: Reading

  /// What the state was last read from.
  private struct Reading {
    var revision: Int?
    var accounts = 0
    /// Whose each device is.
    var devices: [DeviceID: AccountID] = [:]
    var entries = 0
    var weighed = 0
    var epochs = 0
    var rule: EpochRule?
    var cutDevices: Set<DeviceID> = []
    /// A cut device has said more: its cuts may have to be read in another way.
    var hasCutRecords = false
  }

  /// Whether nothing came since the last reading but epochs and unknown acts: then these alone are read.
  ///
  /// - Parameter revision: Of the states of the accounts.
  public func isSettled(_ revision: Int) -> Bool {
    reading.revision == revision && reading.weighed == weighed && !reading.hasCutRecords
  }

  /// How many records came since the last reading.
  public var unread: Int { count - reading.entries }

  /// Reads the state. Epochs that came alone are judged by the rule of the last reading.
  ///
  /// - Parameters:
  ///   - accounts: The states of the accounts that the records name.
  ///   - revision: Tells these states from those of other readings.
  /// - Returns: The epochs that were judged: those that came, or all.
  @discardableResult
  public mutating func read(_ accounts: Accounts, revision: Int, _ cryptography: any Cryptography) -> [EpochID] {
    let isSettled = isSettled(revision)
    guard !isSettled || reading.entries != count else { return [] }
    if !isSettled {
      if reading.revision != revision || reading.accounts != people.count {
        reading.devices = people.devices(accounts)
        (reading.revision, reading.accounts) = (revision, people.count)
      }
      let graph = ControlGraph(self, accounts, reading.devices)
      var rule = state.read(graph, cryptography)
      if let known = reading.rule, rule?.judges(as: known, graph, state) == true {
        rule?.minters = known.minters
      } else {
        state.forgetEpochs()
        reading.epochs = 0
      }
      reading.rule = rule
      reading.cutDevices = Set(graph.cuts.keys)
      (reading.weighed, reading.hasCutRecords) = (weighed, false)
    }
    let judged = judgeEpochs(accounts)
    state.setHeads(heads.map { id in (id, places[id].flatMap { reading.devices[entries[$0].record.author] }) })
    reading.entries = count
    return judged
  }

  private mutating func judgeEpochs(_ accounts: Accounts) -> [EpochID] {
    guard var rule = reading.rule else { return [] }
    var judged: [EpochID] = []
    for place in (byKind[.epoch] ?? []).dropFirst(reading.epochs) {
      let record = entries[place].record
      let minter = rule.minter(record.author, reading.devices, accounts, state)
      guard minter != .isOfNobody else { continue }
      guard case .epoch(let commitment) = record.act, let id = EpochID(record.id.bytes) else { continue }
      let isCurrent = minter == .mayMint && rule.isSeen(record, entries[place].seen)
      state.add(.init(id: id, minter: record.author, commitment: commitment, isCurrent: isCurrent))
      judged.append(id)
    }
    reading.rule = rule
    reading.epochs = byKind[.epoch]?.count ?? 0
    return judged
  }
}
