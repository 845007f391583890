/// A zone's control log as it grows. A record takes its own bytes, plus one bit for each marked record before it. The
/// cost doesn't depend on the length of the log otherwise, because a hostile participant may fill it.
package struct ZoneLog: Sendable {
  /// The zone of the records.
  package let zone: ZoneID
  /// The accounts that the records name.
  package private(set) var people: ZonePeople
  /// The tips: the records that no other record names.
  private(set) var heads: Set<ControlID> = []
  /// The bytes of all records.
  package private(set) var bytes = 0
  /// The number of records whose effect may depend on other records: all but epochs and unknown acts.
  private(set) var weighed = 0
  /// The state as of the last reading.
  package private(set) var state: ZoneState

  /// The records in an order in which each one comes after the records in its past.
  private var entries: [Entry] = []
  private var places: [ControlID: Int] = [:]
  private var byKind: [ControlAct.Kind: [Int]] = [:]
  private var byDevice: [DeviceID: [Int]] = [:]
  /// The number and size of each device's records.
  package private(set) var uses: [DeviceID: ControlUse] = [:]
  /// The number of records that have a mark.
  private var marked = 0
  private var reading = Reading()

  private struct Entry {
    let record: ControlRecord
    /// The positions of the records that it names.
    let parents: [Int]
    /// The marked records in its past.
    let seen: MarkSet
    /// Its own mark, if it matters which records have seen it.
    let mark: Int?
  }

  /// Creates an empty log.
  package init(_ zone: ZoneID) {
    self.zone = zone
    people = ZonePeople(zone)
    state = ZoneState(zone)
  }

  /// - Parameter records: Sound records in any order. Records that they name may be missing.
  package init(_ zone: ZoneID, _ records: some Sequence<ControlRecord>, _ cryptography: any Cryptography) {
    self.init(zone)
    let known = Dictionary(
      records.filter { $0.zone == zone }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    // This is a depth-first search with an explicit stack, because a hostile log can be as deep as it is long.
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

  /// Adds a sound record. Add the records that it names first.
  package mutating func insert(_ record: ControlRecord, _ cryptography: any Cryptography) {
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

  /// Removes the last records, which have not been read, as if they had never arrived.
  package mutating func removeLast(_ count: Int, _ cryptography: any Cryptography) {
    let (left, state, reading) = (entries.dropLast(count).map(\.record), state, reading)
    self = ZoneLog(zone)
    for record in left { insert(record, cryptography) }
    (self.state, self.reading) = (state, reading)
  }

  // MARK: Records

  /// The number of records.
  package var count: Int { entries.count }
  /// The record with that id, or nil if it isn't here.
  package subscript(_ id: ControlID) -> ControlRecord? { places[id].map { entries[$0].record } }
  /// Returns whether the record with that id is here.
  package func contains(_ id: ControlID) -> Bool { places[id] != nil }
  /// The records in an order in which each one comes after the records in its past.
  package var records: some Sequence<ControlRecord> { entries.lazy.map(\.record) }

  /// Returns the records of one kind, in the order of `records`.
  package func records(of kind: ControlAct.Kind) -> some Sequence<ControlRecord> {
    (byKind[kind] ?? []).lazy.map { entries[$0].record }
  }

  /// Returns the records that a device signed, in the order of `records`.
  package func records(of device: DeviceID) -> some Sequence<ControlRecord> {
    (byDevice[device] ?? []).lazy.map { entries[$0].record }
  }

  /// Returns the last record of a device. If several records have its number, returns the one with the lowest id.
  package func last(of device: DeviceID) -> ControlRecord? {
    records(of: device).max { ($0.number, $1.id) < ($1.number, $0.id) }
  }

  /// Returns the records that are not in the past of some tips, each after the records in its own past. It visits only
  /// these records, and the records beside them that are in that past.
  package func records(beyond heads: [ControlID]) -> [ControlRecord] {
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

  /// Returns these records and all records in their past.
  package func past(of ids: [ControlID]) -> Set<ControlID> {
    var past: Set<ControlID> = []
    var stack = ids.compactMap { places[$0] }
    while let place = stack.popLast() {
      guard past.insert(entries[place].record.id).inserted else { continue }
      stack.append(contentsOf: entries[place].parents)
    }
    return past
  }

  // MARK: Marks

  /// Returns the marked records in a record's past.
  func seen(by id: ControlID) -> MarkSet { places[id].map { entries[$0].seen } ?? MarkSet() }
  func mark(of id: ControlID) -> Int? { places[id].flatMap { entries[$0].mark } }
  func marks(of ids: some Sequence<ControlID>) -> MarkSet {
    ids.reduce(into: MarkSet()) { marks, id in
      if let mark = mark(of: id) { marks.insert(mark) }
    }
  }

  // MARK: Reading

  /// The input of the last reading.
  private struct Reading {
    var revision: Int?
    var accounts = 0
    /// The account of each device.
    var devices: [DeviceID: AccountID] = [:]
    var entries = 0
    var weighed = 0
    var epochs = 0
    var rule: EpochRule?
    var standings: StandingsInput?
    var cutDevices: Set<DeviceID> = []
    /// True if a cut device has signed more records. Its cuts may then have to be read differently.
    var hasCutRecords = false
    var checked = CheckedCuts()
  }

  /// The records from which the standings follow, if the accounts are the same.
  private struct StandingsInput: Equatable {
    /// The number of records of each kind that they are read from.
    let counts: [Int]
    /// The records of cut devices that still count.
    let standing: [DeviceID: Set<ControlID>]
  }

  /// Returns whether only epochs and unknown acts arrived since the last reading. Then only these are read.
  ///
  /// - Parameter revision: The revision of the states of the accounts.
  package func isSettled(_ revision: Int) -> Bool {
    reading.revision == revision && reading.weighed == weighed && !reading.hasCutRecords
  }

  /// The number of records that arrived since the last reading.
  package var unread: Int { count - reading.entries }

  /// Reads the state. If only epochs arrived, they are judged by the rule of the last reading.
  ///
  /// - Parameters:
  ///   - accounts: The states of the accounts that the records name.
  ///   - revision: A number that distinguishes these states from those of other readings.
  /// - Returns: The epochs that were judged: the new ones, or all of them.
  @discardableResult
  package mutating func read(_ accounts: Accounts, revision: Int, _ cryptography: any Cryptography) -> [EpochID] {
    let isSettled = isSettled(revision)
    guard !isSettled || reading.entries != count else { return [] }
    if !isSettled {
      let hasAccounts = reading.revision == revision && reading.accounts == people.count
      if !hasAccounts {
        reading.devices = people.devices(accounts)
        (reading.revision, reading.accounts) = (revision, people.count)
      }
      var checked = reading.checked
      let graph = ControlGraph(self, accounts, reading.devices, checked: &checked, cryptography)
      reading.checked = checked
      let standings = StandingsInput(
        counts: Standings.kinds.map { byKind[$0]?.count ?? 0 }, standing: graph.standing)
      var rule = state.read(
        graph, standingsOf: hasAccounts && reading.standings == standings ? reading.rule : nil, cryptography)
      reading.standings = standings
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
      guard case .epoch(let commitment) = record.act, let id = EpochID(record.id.bytes) else { continue }
      let isCurrent =
        rule.mayMint(record.author, reading.devices, accounts, state) && rule.isSeen(record, entries[place].seen)
      state.add(.init(id: id, minter: record.author, commitment: commitment, isCurrent: isCurrent))
      judged.append(id)
    }
    reading.rule = rule
    reading.epochs = byKind[.epoch]?.count ?? 0
    return judged
  }
}
