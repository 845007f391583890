import MeshCore
import MeshReplication
import MeshTesting
import Testing

/// The order of a session, without a store.
@Suite struct SessionStateMachineTests {
  private let zone: ZoneID
  private let author: Author

  init() throws {
    zone = try #require(ZoneID([UInt8](repeating: 1, count: 32)))
    author = Author(device: try #require(DeviceID([UInt8](repeating: 2, count: 32))), instance: InstanceID(1))
  }

  private func vector(_ number: UInt64) -> VersionVector { VersionVector([author: number]) }

  /// Returns a machine in which the zone is in common and the peer wants everything.
  private func open() throws -> SessionStateMachine {
    var machine = SessionStateMachine(author.device, now: 0)
    let hello = Hello(certificate: nil, accountHead: [UInt8](repeating: 0, count: 32))
    _ = machine.handle(.message(.hello(hello)), now: 0)
    _ = machine.handle(.admitted, now: 0)
    _ = machine.handle(.share(zone, stored: VersionVector()), now: 0)
    return machine
  }

  private func reads(_ outputs: [SessionStateMachine.Output]) -> Int {
    outputs.count { if case .read = $0 { true } else { false } }
  }

  /// The wants that the machine's caller has to answer.
  private func meetings(_ outputs: [SessionStateMachine.Output]) -> Int {
    outputs.count { if case .deliver(.want) = $0 { true } else { false } }
  }

  /// Lets the peer's first want of the zone arrive, and answers it.
  private func want(_ machine: inout SessionStateMachine) throws -> [SessionStateMachine.Output] {
    try #require(meetings(machine.handle(.message(.want(zone, VersionVector())), now: 0)) == 1)
    return machine.handle(.met(zone, wanted: VersionVector()), now: 0)
  }

  private func sent(_ outputs: [SessionStateMachine.Output]) -> [Message] {
    outputs.compactMap { if case .send(let message) = $0 { message } else { nil } }
  }

  @Test("a hello that has come and waits for its turn is in time") func aHelloThatHasComeAndWaitsForItsTurnIsInTime() {
    var machine = SessionStateMachine(author.device, now: 0)
    _ = machine.handle(.waiting, now: 1_000)
    #expect(machine.handle(.tick, now: 3 * SessionStateMachine.helloLimit).isEmpty)
    var silent = SessionStateMachine(author.device, now: 0)
    #expect(!silent.handle(.tick, now: 3 * SessionStateMachine.helloLimit).isEmpty)
  }

  @Test("no more is sent than the peer gave credit for, and a batch")
  func noMoreIsSentThanThePeerGaveCreditForAndABatch() throws {
    var machine = try open()
    let batch = [UInt8](repeating: 0, count: 1 << 20)
    var outputs = try want(&machine)
    var bytes = 0
    var position: Int64 = 0
    while reads(outputs) > 0 {
      position += 1
      outputs = machine.handle(
        .batch(zone, ChangeSetBatch(changeSets: [batch], position: position, isComplete: false)), now: 0)
      bytes += batch.count
      try #require(bytes <= Choices.creditWindow + batch.count, "it does not stop")
    }
    #expect(bytes >= Choices.creditWindow)
    #expect(reads(machine.handle(.message(.credit(1)), now: 0)) == 1, "it goes on with new credit")
  }

  @Test("what another device has acknowledged is still sent to the peer that passes it on")
  func relayedAcknowledgement() throws {
    var machine = try open()
    let outputs = try want(&machine)
    #expect(reads(outputs) == 1)
    _ = machine.handle(.batch(zone, ChangeSetBatch(changeSets: [], position: 0, isComplete: true)), now: 0)
    let account = try TestAccount(devices: 1, seed: 1)
    let acknowledgement = Acknowledgement(
      zone: zone, device: try account.device(0), time: HybridTime(1), merged: vector(3), controlHeads: [],
      secrets: account.devices[0])
    _ = machine.handle(.message(.acknowledgement(acknowledgement)), now: 0)
    let read = machine.handle(.advanced(zone), now: 0).compactMap {
      if case .read(_, let beyond, _, _) = $0 { beyond } else { nil }
    }
    #expect(read == [VersionVector()])
  }

  @Test("a peer is met when it wants a zone that is in common here, or when the zone that it wanted is, and once")
  func peersAreMetOnce() throws {
    var machine = try open()
    let other = try zone(1)
    #expect(meetings(machine.handle(.message(.want(zone, vector(1))), now: 0)) == 1)
    #expect(reads(machine.handle(.met(zone, wanted: vector(1)), now: 0)) == 1)
    _ = machine.handle(.batch(zone, ChangeSetBatch(changeSets: [], position: 0, isComplete: true)), now: 0)
    let again = machine.handle(.message(.want(zone, vector(2))), now: 0)
    #expect(meetings(again) == 0 && reads(again) == 1)
    #expect(meetings(machine.handle(.message(.want(other, vector(1))), now: 0)) == 0, "it is not in common")
    #expect(meetings(machine.handle(.share(other, stored: VersionVector()), now: 0)) == 1)
  }

  private func zone(_ number: Int) throws -> ZoneID {
    try #require(ZoneID((0..<32).map { $0 == 0 ? UInt8(number) : 0xee }))
  }

  @Test("wants for zones that are not in common yet are kept for a few zones")
  func earlyWantsAreFew() throws {
    var machine = try open()
    for number in 0..<17 { _ = machine.handle(.message(.want(try zone(number), VersionVector())), now: 0) }
    let answered = try (0..<17).map {
      meetings(machine.handle(.share(try zone($0), stored: VersionVector()), now: 0))
    }
    #expect(answered == Array(repeating: 1, count: 16) + [0])
  }

  @Test("wants for zones that are not in common yet name as many authors as one zone can have")
  func earlyWantsAreShort() throws {
    func authors(_ count: Int) throws -> VersionVector {
      let authors = try (0..<count).map { index in
        let id = (0..<32).map { $0 < 2 ? UInt8(truncatingIfNeeded: index >> ($0 * 8)) : 0xdd }
        return (Author(device: try #require(DeviceID(id)), instance: InstanceID(1)), UInt64(1))
      }
      return VersionVector(Dictionary(uniqueKeysWithValues: authors))
    }
    var machine = try open()
    _ = machine.handle(.message(.want(try zone(1), try authors(Limits.authors - 1))), now: 0)
    _ = machine.handle(.message(.want(try zone(2), try authors(2))), now: 0)
    _ = machine.handle(.message(.want(try zone(3), try authors(1))), now: 0)
    let answered = try (1...3).map {
      meetings(machine.handle(.share(try zone($0), stored: VersionVector()), now: 0))
    }
    #expect(answered == [1, 0, 1])
  }

  @Test("credit beyond the window is not kept") func creditBeyondTheWindowIsNotKept() throws {
    var machine = try open()
    _ = machine.handle(.message(.credit(.max)), now: 0)
    let batch = [UInt8](repeating: 0, count: 1 << 20)
    var outputs = try want(&machine)
    var count = 0
    while reads(outputs) > 0, count < 100 {
      count += 1
      outputs = machine.handle(
        .batch(zone, ChangeSetBatch(changeSets: [batch], position: Int64(count), isComplete: false)), now: 0)
    }
    #expect(count <= Choices.creditWindow / batch.count + 1)
  }

  @Test("credit is given back as change sets are dealt with") func creditIsGivenBackAsChangeSetsAreDealtWith() throws {
    var machine = try open()
    let quarter = Choices.creditWindow / 4
    let before = machine.handle(
      .settled(zone, received: vector(1), bytes: quarter - 1, new: 1, duplicates: 0), now: 0)
    #expect(sent(before).isEmpty)
    let after = machine.handle(.settled(zone, received: vector(2), bytes: 1, new: 1, duplicates: 0), now: 0)
    #expect(sent(after) == [.credit(UInt64(quarter))])
  }

  @Test("a session that brings copies only is asked to announce") func aSessionThatBringsCopiesOnlyIsAskedToAnnounce()
    throws
  {
    var machine = try open()
    let first = machine.handle(.settled(zone, received: vector(1), bytes: 10, new: 0, duplicates: 1), now: 0)
    #expect(sent(first) == [.announceOnly(zone)])
    let second = machine.handle(.settled(zone, received: vector(1), bytes: 10, new: 0, duplicates: 1), now: 0)
    #expect(sent(second).isEmpty, "once is enough")
  }

  /// The devices whose change sets are read to push them, or nil if nothing is read. All devices are an empty set.
  private func pushed(_ outputs: [SessionStateMachine.Output]) -> Set<DeviceID>? {
    outputs.compactMap { if case .read(_, _, let devices, _) = $0 { devices ?? [] } else { nil } }.first
  }

  private func batch(_ devices: Set<DeviceID> = []) -> SessionStateMachine.Input {
    var batch = ChangeSetBatch(changeSets: devices.map { $0.bytes }, position: 1, isComplete: true)
    batch.devices = devices
    return .batch(zone, batch)
  }

  @Test("what this device writes is pushed, and what others write once the peer asked for it again")
  func pushesWhatThePeerDependsOn() throws {
    let other = try #require(DeviceID([UInt8](repeating: 3, count: 32)))
    let third = try #require(DeviceID([UInt8](repeating: 4, count: 32)))
    var machine = try open()
    #expect(pushed(try want(&machine)) == [], "the first answer is everything")
    _ = machine.handle(batch([author.device, other, third]), now: 0)
    #expect(pushed(machine.handle(.advanced(zone), now: 1)) == [author.device])
    _ = machine.handle(batch(), now: 1)
    #expect(pushed(machine.handle(.message(.want(zone, vector(1))), now: 2)) == [])
    _ = machine.handle(batch([other]), now: 2)
    #expect(pushed(machine.handle(.advanced(zone), now: 3)) == [], "everything")
    _ = machine.handle(batch([author.device, other]), now: 3)
    let pruned = machine.handle(.message(.announceOnly(zone)), now: 4)
    #expect(pruned.contains { if case .sayMerged(zone, isAll: false) = $0 { true } else { false } })
    #expect(pushed(machine.handle(.advanced(zone), now: 5)) == [author.device])
    _ = machine.handle(batch(), now: 5)
    #expect(pushed(machine.handle(.message(.want(zone, vector(2))), now: 6)) == [])
    _ = machine.handle(batch([third]), now: 6)
    #expect(pushed(machine.handle(.advanced(zone), now: 7)) == [author.device, third])
    _ = machine.handle(batch(), now: 7)
    _ = machine.handle(.message(.announceOnly(zone)), now: 8)
    #expect(pushed(machine.handle(.advanced(zone), now: 9)) == [author.device])
  }

  private func checks(_ outputs: [SessionStateMachine.Output]) -> [Bool] {
    outputs.compactMap { if case .check(_, _, let isLate) = $0 { isLate } else { nil } }
  }

  @Test("what is announced is looked up at once, and again if it does not come", arguments: [false, true])
  func whatWasAnnouncedAndDoesNotComeIsAskedFor(isAcknowledged: Bool) throws {
    let after = SessionStateMachine.graftAfter
    var machine = try open()
    _ = machine.handle(.message(.upToDate(zone, VersionVector())), now: 0)
    func announce(_ number: UInt64, now: Int64) -> [Bool] {
      checks(
        machine.handle(
          isAcknowledged ? .acknowledged(zone, vector(number)) : .message(.have(zone, vector(number))), now: now))
    }
    #expect(announce(5, now: 0) == [false])
    #expect(!machine.isMissingAnnounced, "the caller says so")
    _ = machine.handle(.missing(zone, announced: vector(5)), now: 0)
    #expect(machine.isMissingAnnounced)
    #expect(announce(6, now: 200) == [], "one after the other")
    #expect(checks(machine.handle(.tick, now: after)) == [], "another session has its time")
    let late = machine.handle(.tick, now: after + 1)
    #expect(late.contains { if case .check(_, vector(5), isLate: true) = $0 { true } else { false } })
    #expect(checks(machine.handle(.tick, now: after + 2)) == [], "the later ones have their time too")
    #expect(checks(machine.handle(.tick, now: 2 * after + 2)) == [true])
    #expect(!machine.isMissingAnnounced)
    #expect(
      sent(machine.handle(.lacking(zone, stored: vector(2), isAnnounced: true), now: 700)) == [.want(zone, vector(2))])
  }

  @Test("requests that bring nothing new become rarer") func futileRequestsBecomeRarer() throws {
    var machine = try open()
    func ask(isAnnounced: Bool = true) {
      _ = machine.handle(.lacking(zone, stored: VersionVector(), isAnnounced: isAnnounced), now: 0)
      _ = machine.handle(.message(.upToDate(zone, VersionVector())), now: 0)
    }
    func pause(_ now: Int64) -> Int64? {
      _ = machine.handle(.acknowledged(zone, vector(9)), now: now)
      return stride(from: 100, through: 4_900, by: 100).first {
        checks(machine.handle(.tick, now: now + $0)).contains(true)
      }
    }
    ask(isAnnounced: false)
    #expect(checks(machine.handle(.acknowledged(zone, vector(9)), now: 0)) == [false])
    ask()
    #expect(checks(machine.handle(.acknowledged(zone, vector(9)), now: 0)) == [], "not at once any more")
    ask()
    #expect(pause(1_000) == 1_300)
    for _ in 0..<20 { ask() }
    #expect(pause(10_000) == nil)
    #expect(checks(machine.handle(.tick, now: 15_001)).contains(true), "5 seconds at most")
    machine.noteParting([zone])
    _ = machine.handle(.acknowledged(zone, vector(9)), now: 16_000)
    #expect(checks(machine.handle(.tick, now: 16_301)) == [true], "another session ended")
    ask()
    _ = machine.handle(.settled(zone, received: vector(1), bytes: 1, new: 1, duplicates: 0), now: 300_000)
    #expect(checks(machine.handle(.acknowledged(zone, vector(9)), now: 300_000)) == [false])
  }

  @Test("what a peer announces while it answers is not looked up", arguments: [false, true])
  func answersAreAwaited(isDuplicate: Bool) throws {
    var machine = try open()
    func announce() -> [Bool] { checks(machine.handle(.acknowledged(zone, vector(9)), now: 0)) }
    #expect(announce() == [])
    if isDuplicate {
      _ = machine.handle(.settled(zone, received: vector(1), bytes: 1, new: 0, duplicates: 1), now: 0)
    } else {
      _ = machine.handle(.message(.upToDate(zone, vector(1))), now: 0)
    }
    #expect(announce() == [false])
    _ = machine.handle(.lacking(zone, stored: vector(1), isAnnounced: false), now: 0)
    #expect(announce() == [])
  }

  @Test("silence is answered with a ping, then with the end") func silenceIsAnsweredWithAPingThenWithTheEnd() throws {
    var machine = try open()
    #expect(sent(machine.handle(.tick, now: SessionStateMachine.pingAfter)).isEmpty)
    let pings = sent(machine.handle(.tick, now: SessionStateMachine.pingAfter + 1))
    #expect(pings.count == 1)
    guard case .ping(let number)? = pings.first else {
      Issue.record("\(pings)")
      return
    }
    _ = machine.handle(.message(.pong(number)), now: SessionStateMachine.pingAfter + 2)
    func ends(_ now: Int64) -> Bool {
      machine.handle(.tick, now: now).contains { if case .end(.stalled, _) = $0 { true } else { false } }
    }
    #expect(!ends(SessionStateMachine.silenceLimit + 1), "it was heard since")
    #expect(ends(SessionStateMachine.pingAfter + 3 + SessionStateMachine.silenceLimit))
  }
}
