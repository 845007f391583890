import Testing

@testable import MeshCore

@Suite struct ZoneStateTests {
  @Test("a zone's state does not depend on the order in which its records arrive")
  func theOrderOfArrivalDoesNotMatter() throws {
    var generator = Generator(seed: 71)
    for _ in 0..<60 {
      var log = try ControlLog(devices: 4)
      for _ in 0..<15 {
        let device = generator.below(4)
        let parents = generator.flag() ? nil : Array(log.records.shuffled(using: &generator).prefix(2))
        switch generator.below(7) {
        case 0: try log.cut(device, generator.below(4), [1: UInt64(generator.below(9) + 1)], after: parents)
        case 1: try log.append(device, .title("title \(generator.below(3))", time: generator.time()), after: parents)
        case 3:
          try log.append(device, .end(instance: InstanceID(1), number: UInt64(generator.below(9))), after: parents)
        case 4:
          let proof = try log.fork(generator.below(4), 1, after: UInt64(generator.below(9)))
          try log.append(device, .fork(proof), after: parents)
        case 2: try log.append(device, .unknown(tag: 99, bytes: generator.bytes(3)), after: parents)
        default: try log.epoch(device, after: parents)
        }
        if generator.flag(oneIn: 12) { log.revoke(device) }
      }
      let expected = log.state
      for _ in 0..<5 {
        let shuffled = log.records.shuffled(using: &generator) + log.records.prefix(3)
        #expect(log.state(of: shuffled) == expected)
      }
    }
  }

  @Test("an unknown act moves the tips of the control log and changes nothing else")
  func anUnknownActChangesNothingButTheHeads() throws {
    var log = try ControlLog(devices: 1)
    try log.epoch(0)
    let before = log.state
    let unknown = try log.append(0, .unknown(tag: 200, bytes: [1, 2, 3]))
    let after = log.state
    #expect(after.heads == [unknown.id])
    #expect(after.owner == before.owner && after.cuts == before.cuts && after.epochs == before.epochs)
  }

  @Test("a genesis that does not match the zone's id sets no owner")
  func aGenesisThatDoesNotOpenTheZonesIdOwnsNothing() throws {
    var log = try ControlLog(devices: 1)
    let stranger = try #require(AccountID(fill(9)))
    let forged = try log.append(0, .genesis(account: stranger, nonce: fill(0x41)))
    #expect(log.state.owner == log.ids[0])
    let alone = log.state(of: [forged])
    #expect(alone.owner == nil && alone.epochs.isEmpty && alone.heads == [forged.id])
    #expect(log.state(of: []).owner == nil)
  }

  @Test("records of other zones and of strangers have no effect")
  func recordsOfOtherZonesAndOfStrangersHaveNoEffect() throws {
    var log = try ControlLog(devices: 2)
    let other = try ControlRecord(
      zone: #require(ZoneID(fill(3))), parents: [], number: 1, previous: nil, act: .epoch(commitment: fill(1)),
      secrets: StubSecrets(signingKey: log.device(0).bytes), StubCryptography())
    let before = log.state
    #expect(log.state(of: log.records + [other]) == before)
    let stranger = try ControlRecord(
      zone: log.zone, parents: before.heads, number: 1, previous: nil,
      act: .cut(DeviceCut(log.device(1), last: nil, heads: [:], zone: log.zone, sign: { _ in fill(0, 64) })),
      secrets: StubSecrets(signingKey: fill(8)), StubCryptography())
    let after = log.state(of: log.records + [stranger])
    #expect(after.cuts.isEmpty && after.epochs == before.epochs)
    try log.epoch(0)
    #expect(log.state.currentEpoch != nil)
  }

  @Test("several cutoffs of a device limit each instance to the lowest number")
  func cutsTakeTheLeastOfEachInstance() throws {
    var log = try ControlLog(devices: 3)
    let genesis = log.records
    try log.cut(0, 2, [1: 9, 2: 4, 3: 7], after: genesis)
    try log.cut(1, 2, [1: 5, 2: 6], after: genesis)
    let state = log.state
    #expect(state.limit(log.author(2, 1), citing: nil) == 5)
    #expect(state.limit(log.author(2, 2), citing: nil) == 4)
    #expect(state.limit(log.author(2, 3), citing: nil) == 0)
    #expect(state.limit(log.author(2, 4), citing: nil) == 0)
    #expect(state.limit(log.author(1, 1), citing: nil) == nil)
  }

  @Test("an epoch is current only if it has seen every cutoff") func onlyAnEpochThatHasSeenEveryCutIsCurrent() throws {
    var log = try ControlLog(devices: 3)
    let first = try log.epoch(0)
    #expect(log.state.currentEpoch?.id.bytes == first.id.bytes)
    try log.cut(0, 2)
    #expect(log.state.currentEpoch == nil)
    let beside = try log.epoch(1, after: [first])
    #expect(log.state.currentEpoch == nil)
    let covering = try log.epoch(0)
    #expect(log.state.currentEpoch?.id.bytes == covering.id.bytes)
    #expect(log.state.epochs.count == 3)
    #expect(log.state.epochs[try #require(EpochID(beside.id.bytes))]?.isCurrent == false)
  }

  @Test("a zone uses the current epoch with the lowest id") func ofSeveralCurrentEpochsTheLowestIdIsUsed() throws {
    var log = try ControlLog(devices: 2)
    let genesis = log.records
    let epochs = [try log.epoch(0, after: genesis), try log.epoch(1, after: genesis)]
    #expect(log.state.currentEpoch?.id.bytes == epochs.map(\.id).min()?.bytes)
  }

  @Test("an epoch minted by a revoked device is kept and is never current")
  func anEpochOfARevokedDeviceIsNeverCurrent() throws {
    var log = try ControlLog(devices: 2)
    let epoch = try log.epoch(1)
    log.revoke(1)
    try log.cut(0, 1, [1: 5])
    let late = try log.epoch(1)
    #expect(log.state.currentEpoch == nil)
    // What was written under it can still be read.
    for record in [epoch, late] {
      #expect(log.state.epochs[try #require(EpochID(record.id.bytes))]?.isCurrent == false)
    }
    let fresh = try log.epoch(0)
    #expect(log.state.currentEpoch?.id.bytes == fresh.id.bytes)
  }

  @Test("an epoch has to see one of the records that bring a cut") func cutsInSeveralRecords() throws {
    var log = try ControlLog(devices: 4)
    let before = log.records
    let cut = try log.cut(0, 2, after: before)
    try log.append(1, cut.act, after: before)
    try log.epoch(3, after: before)
    #expect(log.state.currentEpoch == nil)
    let seeing = try log.epoch(0, after: [cut])
    #expect(log.state.currentEpoch?.id.bytes == seeing.id.bytes)
  }

  @Test("an epoch is not current if its device is revoked and not cut, or cut and not revoked")
  func epochsOfHalfRevokedDevices() throws {
    var revoked = try ControlLog(devices: 2)
    try revoked.epoch(1)
    revoked.revoke(1)
    #expect(revoked.state.currentEpoch == nil)
    var cut = try ControlLog(devices: 2)
    try cut.cut(0, 1, [1: 5])
    try cut.epoch(1)
    #expect(cut.state.currentEpoch == nil, "it has seen its own cut")
    let fresh = try cut.epoch(0)
    #expect(cut.state.currentEpoch?.id.bytes == fresh.id.bytes)
  }

  @Test("a cutoff stays in force when the device that recorded it is revoked")
  func aCutIsTheAccountsWordWhoeverBringsIt() throws {
    // 2 brings the cut of 3, 1 that of 2, and all three are revoked.
    var log = try ControlLog(devices: 4)
    for bringer in [2, 1, 0] {
      try log.cut(bringer, bringer + 1, [1: 5])
      log.revoke(bringer + 1)
      #expect(log.state.cuts.count == 3 - bringer)
    }
  }

  @Test("a repeated cutoff does not end the current epoch") func aCutThatIsRepeatedStopsNoEpoch() throws {
    var log = try ControlLog(devices: 3)
    let cut = try log.cut(0, 2, [1: 5])
    let epoch = try log.epoch(0)
    try log.append(1, cut.act, after: [cut])
    #expect(log.state.currentEpoch?.id.bytes == epoch.id.bytes)
  }

  @Test("an end record limits that instance of its author and no other")
  func aDeviceEndsItsOwnInstancesAndNoOthers() throws {
    var log = try ControlLog(devices: 3)
    let epoch = try log.epoch(0)
    try log.append(1, .end(instance: InstanceID(7), number: 4))
    try log.append(1, .end(instance: InstanceID(7), number: 6))
    let state = log.state
    #expect(state.limit(log.author(1, 7), citing: nil) == 4)
    #expect(state.limit(log.author(1, 8), citing: nil) == nil)
    #expect(state.limit(log.author(2, 7), citing: nil) == nil)
    #expect(state.cuts.isEmpty && state.currentEpoch?.id.bytes == epoch.id.bytes, "it goes on as another")
  }

  @Test("a fork ends the instance at the last whole unit before it")
  func aForkEndsItsAuthorAtTheLastUnitBeforeIt() throws {
    var log = try ControlLog(devices: 3)
    try log.append(1, .fork(try log.fork(2, 7, after: 9)))
    #expect(log.state.limit(log.author(2, 7), citing: nil) == 9)
    #expect(log.state.limit(log.author(2, 8), citing: nil) == nil)
    // The third part of a unit that began after 6.
    try log.append(0, .fork(try log.fork(2, 7, after: 8, part: 2)))
    #expect(log.state.limit(log.author(2, 7), citing: nil) == 6)
    try log.append(0, .fork(try log.fork(2, 9, after: 0)))
    #expect(log.state.limit(log.author(2, 9), citing: nil) == 0)
    try log.append(0, .fork(try log.fork(2, 10, after: 3, part: .max)))
    #expect(log.state.limit(log.author(2, 10), citing: nil) == 0)
  }

  @Test("an instance with more forks than the limit ends at zero") func aLiarThatForksEverywhereEndsAtZero() throws {
    var log = try ControlLog(devices: 2)
    for place in 0..<UInt64(Limits.forks) { try log.append(0, .fork(try log.fork(1, 7, after: 100 - place))) }
    #expect(log.state.limit(log.author(1, 7), citing: nil) == 101 - UInt64(Limits.forks))
    try log.append(0, .fork(try log.fork(1, 7, after: 200)))
    #expect(log.state.limit(log.author(1, 7), citing: nil) == 0)
  }

  @Test("an account that forks at too many places ends at zero")
  func anAccountThatForksEverywhere() throws {
    var log = try ControlLog([2, 2])
    try log.set(0, 1, .readWrite)
    for place in 0..<UInt64(Limits.forksOfAccount) {
      for liar in [1, 2] { try log.append(0, .fork(try log.fork(liar, place, after: 9))) }
    }
    #expect(log.state.overfullAccounts.isEmpty && log.state.ends[log.author(3, 0)] == nil)
    try log.append(0, .fork(try log.fork(1, .max, after: 9)))
    #expect(log.state.overfullAccounts.isEmpty && log.state.limit(log.author(1, 77), citing: nil) == nil)
    // Both devices count.
    try log.append(0, .fork(try log.fork(3, 0, after: 9)))
    #expect(log.state.overfullAccounts == [log.ids[1]])
    #expect(log.state.limit(ofUnknown: log.author(3, 77)) == 0)
  }

  @Test("a device and an account may begin and fork as often as the limits say, and not once more")
  func overfullFromOneMore() throws {
    let log = try ControlLog([1, 17])
    let (key, epoch) = (try #require(EpochKey(fill(1))), try #require(EpochID(fill(2))))
    /// Reads the proof that the devices of account 1 write as so many instances each.
    func overfull(_ instances: [Int], forks: Int = 0, owner: Int = 0) throws -> Overfull {
      let authors = instances.enumerated().flatMap { index, count in
        (0..<count).map { (index: index + 1, instance: UInt64($0)) }
      }
      let headers = try authors.map { index, instance in
        let header = ChangeSetHeader(
          zone: log.zone, author: log.author(index, instance), number: 1, previous: nil, time: HybridTime(1),
          epoch: epoch, part: .only)
        let secrets = StubSecrets(signingKey: log.device(index).bytes)
        return try ChangeSet(header, body: [], key: key, secrets: secrets, with: StubCryptography()).signedHeader
      }
      let proofs = stride(from: 0, to: headers.count, by: Limits.beginnings).compactMap { start in
        Excess(headers[start..<min(start + Limits.beginnings, headers.count)])
      }
      #expect(proofs.reduce(0) { $0 + $1.authors.count } == authors.count)
      return Overfull(proofs, forks: [log.author(1, 0): forks], owner: log.ids[owner]) { device in
        (1...17).contains { log.device($0) == device } ? log.ids[1] : nil
      }
    }
    let full = Array(repeating: Limits.instances, count: Limits.authorsOfAccount / Limits.instances)
    #expect(try overfull(full) == Overfull())
    #expect(try overfull(full + [1]).accounts == [log.ids[1]])
    #expect(try overfull(full + [1]).devices.isEmpty)
    #expect(try overfull(full + [1], owner: 1) == Overfull())
    #expect(try overfull([Limits.instances]) == Overfull())
    #expect(try overfull([Limits.instances + 1]).devices == [log.device(1)])
    #expect(try overfull([], forks: Limits.forksOfAccount) == Overfull())
    #expect(try overfull([], forks: Limits.forksOfAccount + 1).accounts == [log.ids[1]])
  }

  @Test("what a dropped device says keeps no record out")
  func droppedDevices() throws {
    var log = try ControlLog([1, 2])
    try log.set(0, 1, .readWrite)
    // No other device has a higher id.
    let secrets = StubSecrets(signingKey: fill(0xFF))
    let device = try #require(DeviceID(fill(0xFF)))
    func record(_ act: ControlAct) throws -> ControlRecord {
      try ControlRecord(
        zone: log.zone, parents: log.state.heads, number: 1, previous: nil, act: act, secrets: secrets,
        StubCryptography())
    }
    let epoch = try record(.epoch(commitment: fill(1)))
    try log.cut(1, 2, [1: 5])
    let aboutIt = try record(
      .cut(DeviceCut(device, last: nil, heads: [:], zone: log.zone, sign: { _ in fill(0x56, 64) })))
    let sound = [epoch, aboutIt]
    let owners = try record(.title("mine", time: .zero))
    func isSound(_ record: ControlRecord) -> Bool {
      var people = ZonePeople(log.zone)
      for record in log.records { people.meet(record.act, id: record.id, StubCryptography()) }
      return record.isSound(people, log.accounts, StubCryptography())
    }
    #expect(!sound.contains(where: isSound) && !isSound(owners))
    #expect(log.state.limit(ofUnknown: Author(device: device, instance: InstanceID(1))) == nil)

    var generator = Generator(seed: 89)
    var state = try #require(log.accounts[log.ids[1]])
    for _ in 0..<Limits.devicesEver { state.insert(generator.certificate(state.id), StubCryptography()) }
    log.accounts.set(state)
    #expect(sound.allSatisfy(isSound) && !isSound(owners))
    let before = log.state
    let after = log.state(of: log.records + sound)
    #expect(after.cuts == before.cuts && after.participants == before.participants)
    #expect(after.epochs[try #require(EpochID(epoch.id.bytes))]?.isCurrent == false)
    #expect(after.limit(ofUnknown: Author(device: device, instance: InstanceID(1))) == 0)
  }

  @Test("the lower of a cutoff and an end limits the instance") func theLesserOfCutAndEndHolds() throws {
    var log = try ControlLog(devices: 2)
    let end = try log.append(1, .end(instance: InstanceID(1), number: 4))
    try log.cut(0, 1, [1: 9, 2: 3], last: end)
    #expect(log.state.limit(log.author(1, 1), citing: nil) == 4)
    #expect(log.state.limit(log.author(1, 2), citing: nil) == 3)
    #expect(log.state.limit(log.author(1, 3), citing: nil) == 0)
  }

  @Test("the title with the latest time wins") func theLastTitleStands() throws {
    var log = try ControlLog(devices: 2)
    #expect(log.state.title.isEmpty)
    try log.append(0, .title("new", time: HybridTime(9)))
    try log.append(1, .title("old", time: HybridTime(3)))
    #expect(log.state.title == "new")
  }

  @Test("an epoch finds a cutoff that lies 5,000 records back")
  func aDeepLogIsReadWithoutRecursionAndItsCutsAreFound() throws {
    var log = try ControlLog(devices: 3)
    var last = try log.cut(0, 2, [1: 5])
    for _ in 0..<5_000 { last = try log.append(1, .unknown(tag: 77, bytes: []), after: [last]) }
    let epoch = try log.epoch(0, after: [last])
    #expect(log.state.currentEpoch?.id.bytes == epoch.id.bytes)
    #expect(log.state.heads == [epoch.id])
  }

  @Test("several records gather more tips than one record can name")
  func aLogWithMoreHeadsThanARecordNamesIsGatheredInSeveralRecords() throws {
    var log = try ControlLog(devices: 2)
    let genesis = log.records
    for branch in 0..<Limits.controlHeads + 30 {
      try log.branch(1, .unknown(tag: 77, bytes: [UInt8(branch)]), after: genesis)
    }
    let first = try log.epoch(0)
    #expect(first.parents.count == Limits.controlHeads)
    #expect(try ControlRecord(first.encoded, StubCryptography()) == first)
    let second = try log.epoch(0)
    #expect(log.state.heads == [second.id])
  }

  @Test("a control record rejects an act that exceeds its size limit")
  func anActThatIsTooLongForARecordIsRefusedWhereItIsMade() throws {
    var log = try ControlLog(devices: 2)
    let points = Dictionary(uniqueKeysWithValues: (1...400).map { (UInt64($0), UInt64(1)) })
    #expect(throws: FormatError.limit("control record")) { try log.cut(0, 1, points) }
  }
}
