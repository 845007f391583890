import Testing

@testable import MeshCore
@testable import MeshTesting

/// What holds of every log, however it came about: the state against a plain reading of the specification, and what the removed
/// and the revoked can do about it.
@Suite struct ShareLawsTests {
  /// A log of devices that do not always know of each other's records, honest ones and others.
  private struct History {
    var log: ControlLog
    /// What each device knows, closed under parents.
    var known: [Set<ControlID>]
    var invites: [ControlRecord] = []
    static let devices = [2, 2, 1, 1]
    static let owners = [0, 0, 1, 1, 2, 3]

    init() throws {
      log = try ControlLog(Self.devices)
      known = Self.owners.map { _ in [] }
      for device in known.indices { known[device].insert(log.records[0].id) }
    }

    mutating func step(_ generator: inout Generator) throws {
      let device = generator.below(known.count)
      if generator.flag() { known[device].formUnion(known[generator.below(known.count)]) }
      let mine = log.records.filter { known[device].contains($0.id) }
      let named = Set(mine.flatMap(\.parents))
      let record = try act(device, after: mine.filter { !named.contains($0.id) }, mine, &generator)
      known[device].insert(record.id)
    }

    private mutating func act(
      _ device: Int, after heads: [ControlRecord], _ mine: [ControlRecord], _ generator: inout Generator
    ) throws -> ControlRecord {
      let account = generator.below(3) + 1
      let cuts = [log.author(2, 1), log.author(3, 1), log.author(4, 1)].filter { _ in generator.flag() }
        .map { ($0, UInt64(generator.below(5) + 1)) }
      let points = Dictionary(uniqueKeysWithValues: cuts)
      let isOwners = Self.owners[device] == 0
      switch generator.below(isOwners ? 9 : 5) {
      case 0: return try log.epoch(device, after: heads)
      case 1: return try log.append(device, .leave(cuts: points.mapValues { try ControlLog.point($0) }), after: heads)
      case 2, 3:
        guard let invite = invites.filter({ mine.contains($0) }).randomElement(using: &generator) else { fallthrough }
        return try log.admit(
          device, generator.below(4) + 2, by: invite, seed: fill(generator.flag(oneIn: 6) ? 8 : 7), after: heads)
      case 4:
        let last = mine.filter { $0.author == log.device(1) }.max { $0.number < $1.number }
        if generator.flag(oneIn: 4) { return try log.cut(device, 1, [1: 3], last: last, after: heads) }
        return try log.epoch(device, after: heads)
      case 5:
        let invite = try log.invite(device, generator.flag() ? .readOnly : .readWrite, after: heads)
        invites.append(invite)
        return invite
      case 6:
        guard let invite = invites.filter({ mine.contains($0) }).randomElement(using: &generator) else { fallthrough }
        let standing = log.ids[1...].filter { _ in generator.flag() }.sorted()
        return try log.append(device, .revokeInvite(invite.id, standing: standing), after: heads)
      default:
        return try log.set(
          device, account, generator.pick([nil, .readOnly, .readWrite, .readWrite]), cuts: points, after: heads)
      }
    }
  }

  private func history(_ generator: inout Generator, steps: Int) throws -> History {
    var history = try History()
    for _ in 0..<steps { try history.step(&generator) }
    return history
  }

  private func authors(_ log: ControlLog) -> [Author] {
    [2, 3, 4, 5].flatMap { [log.author($0, 1), log.author($0, 2)] }
  }

  @Test(
    "the state of any closed part of a log equals a plain reading in any order",
    arguments: TestSeeds.through(60 as UInt64))
  func theStateIsWhatAPlainReadingSaysInAnyOrderAndOfAnyClosedPart(seed: UInt64) throws {
    var generator = Generator(seed: seed)
    let log = try history(&generator, steps: 24).log
    let parts =
      [log.records]
      + (0..<3).map { _ in
        log.closure(of: Array(log.records.shuffled(using: &generator).prefix(2)) + log.records.prefix(1))
      }
    for part in parts {
      let state = log.state(of: part)
      #expect(log.state(of: part.shuffled(using: &generator) + part.prefix(2)) == state)
      let plain = PlainZone(part, log)
      for account in log.ids.dropFirst() {
        #expect(state.participants[account]?.status == plain.status(account))
      }
      for author in authors(log) {
        for record in part {
          #expect(state.lostPermission(author, record.id) == plain.limit(author, record.id))
        }
      }
      #expect(Set(state.epochs.values.filter(\.isCurrent).map(\.id.bytes)) == plain.currentEpochs)
    }
  }

  /// Reads the state after each record, or after several, and after changes of accounts.
  @Test("a log that grows has the state of its records read at once", arguments: TestSeeds.through(40 as UInt64))
  func aGrowingLogHasTheStateOfItsRecords(seed: UInt64) throws {
    var generator = Generator(seed: 2_000 + seed)
    var history = try history(&generator, steps: 24)
    var log = ZoneLog(history.log.zone)
    var revision = 0
    for (index, record) in history.log.records.enumerated() {
      log.insert(record, StubCryptography())
      if generator.flag(oneIn: 8) {
        history.log.revoke(generator.below(6))
        revision += 1
      }
      if generator.flag(oneIn: 3) { continue }
      log.read(history.log.accounts, revision: revision, StubCryptography())
      #expect(log.state == history.log.state(of: history.log.records.prefix(index + 1)))
    }
    let heads = history.log.records.shuffled(using: &generator).prefix(2).map(\.id)
    let past = log.past(of: heads)
    #expect(log.records(beyond: heads).map(\.id) == log.records.map(\.id).filter { !past.contains($0) })
  }

  @Test("records that were not kept leave no trace in a log") func recordsThatWereNotKept() throws {
    var generator = Generator(seed: 5)
    let records = try history(&generator, steps: 24).log
    var log = ZoneLog(records.zone)
    for record in records.records.prefix(12) { log.insert(record, StubCryptography()) }
    log.read(records.accounts, revision: 0, StubCryptography())
    for record in records.records[12..<18] { log.insert(record, StubCryptography()) }
    log.removeLast(6, StubCryptography())
    log.read(records.accounts, revision: 0, StubCryptography())
    #expect(log.count == 12 && log.state == records.state(of: records.records.prefix(12)))
    for record in records.records[12...] { log.insert(record, StubCryptography()) }
    log.read(records.accounts, revision: 0, StubCryptography())
    let whole = ZoneLog(records.zone, records.records, StubCryptography())
    #expect(log.state == records.state && log.people == whole.people)
  }

  @Test(
    "records of removed participants and revoked devices restore no permission",
    arguments: TestSeeds.through(60 as UInt64))
  func theRemovedAndTheRevokedUndoNothing(seed: UInt64) throws {
    var generator = Generator(seed: 1_000 + seed)
    var history = try history(&generator, steps: 16)
    let known = history.log.records
    // Account 1 is put out, and device 1 of the owner.
    let last = known.filter { $0.author == history.log.device(1) }.max { $0.number < $1.number }
    history.log.revoke(1)
    try history.log.cut(0, 1, [:], last: last)
    try history.log.set(0, 1, nil, cuts: [history.log.author(2, 1): 3])
    if let invite = history.invites.first {
      try history.log.append(0, .revokeInvite(invite.id, standing: []))
    }
    let before = history.log.state
    // They go on, on what they knew before, or on all of it.
    let out = [1, 2, 3]
    for _ in 0..<12 {
      let device = generator.pick(out)
      let base = generator.flag() ? known : history.log.records
      let parents = Array(base.shuffled(using: &generator).prefix(2))
      switch generator.below(6) {
      case 0: try history.log.set(device, 1, .readWrite, after: parents)
      case 1: try history.log.set(device, 3, .readWrite, after: parents)
      case 2: try history.log.append(device, .leave(cuts: [:]), after: parents)
      case 3:
        guard let invite = history.invites.randomElement(using: &generator) else { continue }
        try history.log.admit(device, generator.pick([2, 3, 5]), by: invite, after: parents)
      case 4: try history.log.epoch(device, after: parents)
      default: try history.log.append(device, .title("theirs", time: HybridTime(.max)), after: parents)
      }
    }
    let after = history.log.state
    #expect(after.permission(history.log.ids[1]) == nil)
    #expect(after.participants == before.participants && after.title == before.title)
    #expect(after.currentEpoch == before.currentEpoch)
    for author in authors(history.log) {
      for record in history.log.records {
        let (old, new) = (before.limit(author, citing: record.id), after.limit(author, citing: record.id))
        #expect((new ?? .max) <= (old ?? .max))
      }
    }
  }

  /// All logs of four of the owner's words by two devices: each has seen all of its own device's before, and any of the other's.
  @Test("the state of every log of two devices and four decisions equals a plain reading")
  func ofAllSmallLogsTheStateIsWhatAPlainReadingSays() throws {
    let words: [Permission?] = [nil, .readOnly, .readWrite]
    for choice in TestSeeds.some(of: Array(0..<81)) {
      for seen in 0..<16 {
        var log = try ControlLog([2, 1])
        var last: [ControlRecord?] = [nil, nil]
        for turn in 0..<4 {
          let device = turn % 2
          let other = seen >> turn & 1 == 1 ? last[1 - device] : nil
          let parents = [log.records[0], last[device], other].compactMap { $0 }
          let word = words[choice / [1, 3, 9, 27][turn] % 3]
          last[device] = try log.set(device, 1, word, cuts: [log.author(2, 1): UInt64(turn + 1)], after: parents)
        }
        let (state, plain) = (log.state, PlainZone(log.records, log))
        #expect(state.participants[log.ids[1]]?.status == plain.status(log.ids[1]))
        for record in log.records {
          #expect(state.lostPermission(log.author(2, 1), record.id) == plain.limit(log.author(2, 1), record.id))
          #expect(state.lostPermission(log.author(2, 2), record.id) == plain.limit(log.author(2, 2), record.id))
        }
      }
    }
  }
}
