import Testing

@testable import MeshCore

/// Logs that a participant fills on purpose. Account 0 owns the zone with device 0, account 1 has devices 1 and 2.
@Suite struct HostileLogTests {
  /// Records of device 1 that all have the same parents, with lower ids than another record has.
  private func branches(_ log: ControlLog, _ count: Int, below bound: ControlID, after parent: ControlRecord) throws
    -> [ControlRecord]
  {
    var branches: [ControlRecord] = []
    var drawn: UInt64 = 0
    while branches.count < count {
      drawn += 1
      let record = try ControlRecord(
        zone: log.zone, parents: [parent.id], number: 1, previous: nil,
        act: .epoch(commitment: (0..<32).map { UInt8(truncatingIfNeeded: drawn >> ($0 % 8 * 8)) }),
        secrets: StubSecrets(signingKey: log.device(1).bytes), StubCryptography())
      if record.id < bound { branches.append(record) }
    }
    return branches
  }

  @Test("an account that forks the log keeps no removal from being seen") func forksHideNoRemoval() throws {
    var log = try ControlLog([1, 2])
    let grant = try log.set(0, 1, .readWrite)
    let removal = try log.set(0, 1, nil)
    let branches = try branches(log, 2 * Limits.controlHeads, below: removal.id, after: grant)
    let state = log.state(of: log.records + branches)
    #expect(state.heads.count == branches.count + 1 && state.heads.first == removal.id)
    let epoch = try ControlRecord(
      zone: log.zone, parents: state.heads, number: removal.number + 1, previous: removal.id,
      act: .epoch(commitment: fill(1)), secrets: StubSecrets(signingKey: log.device(0).bytes), StubCryptography())
    #expect(epoch.parents.count == Limits.controlHeads && epoch.parents.contains(removal.id))
    #expect(log.state(of: log.records + branches + [epoch]).currentEpoch?.id.bytes == epoch.id.bytes)
  }

  @Test("heads of several accounts take turns") func headsTakeTurns() throws {
    var log = try ControlLog([1, 2, 1])
    try log.set(0, 1, .readWrite)
    let grant = try log.set(0, 2, .readWrite)
    let other = try log.epoch(3, after: [grant])
    let branches = try branches(log, 10, below: other.id, after: grant)
    #expect(log.state(of: log.records + branches).heads.prefix(2).contains(other.id))
  }

  @Test("a record that another names as its author's previous one is no head") func previousIsNoHead() throws {
    var log = try ControlLog([1, 1])
    let grant = try log.set(0, 1, .readWrite)
    try log.epoch(1, after: [grant])
    let second = try log.epoch(1, after: [grant])
    #expect(log.state.heads == [second.id])
  }

  @Test("an account leaves so many times and no more") func leavesAreBounded() throws {
    var log = try ControlLog([1, 1])
    try log.set(0, 1, .readWrite)
    for _ in 1..<Limits.leaves {
      try log.append(1, .leave(cuts: [:]))
      #expect(log.state.permission(log.ids[1]) == nil)
      try log.set(0, 1, .readWrite)
    }
    try log.append(1, .leave(cuts: [:]))
    #expect(log.state.permission(log.ids[1]) == nil)
    try log.set(0, 1, .readWrite)
    try log.append(1, .leave(cuts: [:]))
    #expect(log.state.permission(log.ids[1]) == .readWrite)
  }

  @Test("more leaves keep none from counting that has counted") func leavesStayCounted() throws {
    var log = try ControlLog([1, 1])
    let grant = try log.set(0, 1, .readWrite)
    for _ in 0..<3 * Limits.leaves { try log.append(1, .leave(cuts: [:]), after: [grant]) }
    #expect(log.state.permission(log.ids[1]) == nil)
  }

  @Test("epochs by the thousand cost the next reading nothing") func epochsAreReadAlone() throws {
    var log = try ControlLog([1, 1])
    try log.set(0, 1, .readWrite)
    var grown = ZoneLog(log.zone, log.records, StubCryptography())
    grown.read(log.accounts, revision: 0, StubCryptography())
    for _ in 0..<300 { grown.insert(try log.epoch(1, after: log.records.suffix(1)), StubCryptography()) }
    #expect(grown.isSettled(0) && grown.unread == 300)
    #expect(grown.read(log.accounts, revision: 0, StubCryptography()).count == 300)
    grown.insert(try log.epoch(1, after: log.records.suffix(1)), StubCryptography())
    #expect(grown.isSettled(0) && grown.unread == 1 && !grown.isSettled(1))
    #expect(grown.read(log.accounts, revision: 0, StubCryptography()).count == 1)
    #expect(grown.state == log.state)
    // The owner's word makes all of them be judged again.
    grown.insert(try log.set(0, 1, nil), StubCryptography())
    #expect(!grown.isSettled(0))
    #expect(grown.read(log.accounts, revision: 0, StubCryptography()).count == 301)
    #expect(grown.state == log.state && grown.state.currentEpoch == nil)
  }

  @Test("concurrent admissions of one account by one that was admitted as often are judged by what they have seen")
  func admissionsAreMany() throws {
    var log = try ControlLog([1, 1, 1, 1])
    try log.set(0, 1, .readWrite)
    let invite = try log.invite(0)
    let first = try (0..<100).map { _ in try log.admit(1, 2, by: invite, after: [invite]) }
    let second = try (0..<100).map { _ in try log.admit(2, 3, by: invite, after: first.suffix(1)) }
    #expect(log.state.permission(log.ids[2]) == .readWrite && log.state.permission(log.ids[3]) == .readWrite)
    // A leave of whoever was admitted, which has seen the admissions by it, takes nothing from them.
    let leave = try log.append(2, .leave(cuts: [:]), after: Array(first.suffix(1) + second.suffix(1)))
    #expect(log.state.permission(log.ids[2]) == nil && log.state.permission(log.ids[3]) == .readWrite)
    // What it admits after that does not stand.
    let third = try log.admit(2, 1, by: invite, after: [leave])
    #expect(log.state.citation(log.ids[1]) != third.id)
  }

  @Test("a device that is cut at very many places has said nothing") func cutsAreBounded() throws {
    var log = try ControlLog([1, 2])
    try log.set(0, 1, .readWrite)
    let epochs = try (0...Limits.forks).map { _ in try log.epoch(2) }
    for epoch in epochs.dropLast() { try log.cut(1, 2, last: epoch) }
    #expect(!log.state.countingCuts.isEmpty)
    let last = try log.epoch(1)
    #expect(log.state.epochs[try #require(EpochID(last.id.bytes))]?.isCurrent == true)
    let cut = try log.cut(1, 2, last: epochs.last)
    // Of the cuts of such a device one is enough: the epoch has seen some.
    #expect(log.state.epochs[try #require(EpochID(last.id.bytes))]?.isCurrent == true)
    let leave = try log.append(2, .leave(cuts: [:]), after: [cut])
    #expect(log.state.permission(log.ids[1]) == .readWrite && log.state.heads == [leave.id])
  }

  @Test("heads beyond what a message holds are not told, and longer lists are refused") func messagesAreBounded() throws
  {
    var generator = Generator(seed: 3)
    func ids(_ count: Int) -> [ControlID] { (0..<count).compactMap { _ in ControlID(generator.bytes(32)) } }
    let zone = try #require(ZoneID(fill(1)))
    let heads = ids(Limits.toldHeads + 5)
    #expect(
      try Message.decode(Message.controlHeads(zone, heads).encoded)
        == .controlHeads(zone, Array(heads.prefix(Limits.toldHeads))))
    let epochs = ids(Limits.controlBatch + 1).compactMap { EpochID($0.bytes) }
    for message: Message in [
      .keyRequest(zone, epochs), .controlRecords(zone, epochs.map(\.bytes)),
      .keys(zone, Dictionary(uniqueKeysWithValues: epochs.map { ($0, [1]) })),
    ] {
      #expect(throws: FormatError.self) { try Message.decode(message.encoded) }
    }
  }
}
