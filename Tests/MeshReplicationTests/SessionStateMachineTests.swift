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
    var machine = SessionStateMachine(now: 0)
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

  private func announcements(_ outputs: [SessionStateMachine.Output]) -> Int {
    outputs.count { if case .sayMerged(zone, isAll: false) = $0 { true } else { false } }
  }

  private func sent(_ outputs: [SessionStateMachine.Output]) -> [Message] {
    outputs.compactMap { if case .send(let message) = $0 { message } else { nil } }
  }

  @Test("a hello that has come and waits for its turn is in time") func aHelloThatHasComeAndWaitsForItsTurnIsInTime() {
    var machine = SessionStateMachine(now: 0)
    _ = machine.handle(.waiting, now: 1_000)
    #expect(machine.handle(.tick, now: 3 * SessionStateMachine.helloLimit).isEmpty)
    var silent = SessionStateMachine(now: 0)
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
      if case .read(_, let beyond, _) = $0 { beyond } else { nil }
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

  @Test("a peer that asked for announcements gets no change sets but a vector")
  func aPeerThatAskedForAnnouncementsGetsNoChangeSetsButAVector() throws {
    var machine = try open()
    _ = try want(&machine)
    _ = machine.handle(.batch(zone, ChangeSetBatch(changeSets: [], position: 1, isComplete: true)), now: 0)
    _ = machine.handle(.message(.announceOnly(zone)), now: 0)
    #expect(announcements(machine.handle(.tick, now: 0)) == 1)
    #expect(reads(machine.handle(.advanced(zone), now: 1)) == 0)
    #expect(announcements(machine.handle(.tick, now: 2)) == 1)
    #expect(announcements(machine.handle(.tick, now: 3)) == 0, "nothing new, nothing said")
    // The peer asks when it misses something, and is then pushed to again.
    #expect(reads(machine.handle(.message(.want(zone, vector(1))), now: 4)) == 1)
  }

  @Test("what was announced and does not come is asked for") func whatWasAnnouncedAndDoesNotComeIsAskedFor() throws {
    var machine = try open()
    _ = machine.handle(.message(.have(zone, vector(5))), now: 0)
    func checks(_ outputs: [SessionStateMachine.Output]) -> Int {
      outputs.count { if case .check = $0 { true } else { false } }
    }
    #expect(checks(machine.handle(.tick, now: SessionStateMachine.graftAfter)) == 0, "the tree has its time")
    #expect(checks(machine.handle(.tick, now: SessionStateMachine.graftAfter + 1)) == 1)
    #expect(sent(machine.handle(.lacking(zone, stored: vector(2)), now: 400)) == [.want(zone, vector(2))])
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
