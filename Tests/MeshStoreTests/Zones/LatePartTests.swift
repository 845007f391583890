import MeshCore
import Testing

@testable import MeshStore

/// Parts of columns with policies that devices write in a zone while another device moves the record to another zone.
@Suite struct LatePartTests {
  private static let (home, share, other) = (SharedList.home, SharedList.share, Member.zone(4))
  private static let second = RecordName(table: "lists", key: .text("N"))

  private struct Members {
    let alice: Member
    let laptop: Member
    let bob: Member
    var all: [Member] { [alice, laptop, bob] }
  }

  /// Alice's two devices, which have two shares and a private zone, and Bob, who takes part in both shares.
  private func members(_ policy: ColumnPolicy = .counter) throws -> Members {
    let members = Members(alice: try SharedList.alice(), laptop: try SharedList.laptop(), bob: try SharedList.bob())
    try members.alice.run("INSERT INTO lists VALUES ('N', 'second')")
    try members.alice.settle()
    for device in [members.alice, members.laptop] {
      try device.stand(ZoneStanding(zone: Self.other, role: .owned, root: Self.second))
    }
    try members.bob.stand(ZoneStanding(zone: Self.other, role: .readWrite, root: Self.second))
    for member in members.all {
      try member.store.schema.setPolicies(["reminders": ["done": policy, "title": .keepBoth]], now: member.now)
    }
    try converge(members.all)
    return members
  }

  private func count(_ member: Member, _ key: String, by number: Int = 1) throws {
    try member.run("UPDATE reminders SET done = done + \(number) WHERE id = '\(key)'")
    try member.settle()
  }

  private func expectDone(_ members: [Member], _ key: String, _ value: Int) throws {
    for member in members {
      #expect(try member.rows("SELECT done FROM reminders WHERE id = '\(key)'") == ["\(value)"])
      #expect(try member.held().isEmpty && member.store.localWrites.pendingCount() == 0)
    }
    for zone in [Self.share, Self.other] {
      #expect(try Set(members.map { try $0.store.zones.digest(zone) }).count == 1)
    }
  }

  /// The order in which devices merge a move and a count that didn't know of it.
  enum Order: CaseIterable { case countFirst, arrivalFirst, departureFirst }

  /// Lets a device that is neither the one that moves nor the one that counts merge both.
  private func merge(
    _ order: Order, at member: Member, moved: Member, counted: Member, from: ZoneID, to: ZoneID
  ) throws {
    switch order {
    case .countFirst: try member.pull(from, from: counted)
    case .arrivalFirst: try member.pull(to, from: moved)
    case .departureFirst: try member.pull(from, from: moved)
    }
  }

  @Test("counts of a row that another device moves into a share continue there", arguments: Order.allCases)
  func intoShare(_ order: Order) throws {
    let members = try members()
    for device in [members.alice, members.laptop] { try count(device, "r2") }
    try converge(members.all)
    try count(members.laptop, "r2", by: 5)
    try members.alice.run("UPDATE reminders SET list = 'L', done = done + 10 WHERE id = 'r2'")
    try members.alice.settle()
    try merge(
      order, at: order == .countFirst ? members.alice : members.laptop, moved: members.alice, counted: members.laptop,
      from: Self.home, to: Self.share)
    try converge(members.all)
    try expectDone(members.all, "r2", 17)
    for member in members.all { try count(member, "r2") }
    try converge(members.all)
    try expectDone(members.all, "r2", 20)
    for member in members.all { #expect(try member.store.conflicts.list(limit: 9).isEmpty) }
  }

  @Test("counts of a participant continue in a row that its owner takes out of the share", arguments: Order.allCases)
  func outOfShare(_ order: Order) throws {
    let members = try members()
    let devices = [members.alice, members.laptop]
    try count(members.bob, "r1")
    try converge(members.all)
    try count(members.bob, "r1", by: 5)
    try count(members.bob, "r1", by: 7)
    try members.alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try members.alice.settle()
    try merge(
      order, at: members.laptop, moved: members.alice, counted: members.bob, from: Self.share, to: Self.home)
    try converge(members.all)
    try expectDone(devices, "r1", 13)
    #expect(try members.bob.rows("SELECT id FROM reminders").isEmpty)
    for device in devices { try count(device, "r1") }
    try converge(members.all)
    try expectDone(devices, "r1", 15)
    for device in devices { #expect(try device.store.conflicts.list(limit: 9).isEmpty) }
  }

  @Test(
    "counts continue in another share, if the device that counted is in both or not", arguments: Order.allCases,
    [true, false])
  func toAnotherShare(_ order: Order, isInBoth: Bool) throws {
    let members = try members()
    if !isInBoth { try members.bob.stand(members.bob.standings.filter { $0.zone != Self.other }) }
    try count(members.bob, "r1", by: 5)
    try members.alice.run("UPDATE reminders SET list = 'N' WHERE id = 'r1'")
    try members.alice.settle()
    try merge(
      order, at: members.laptop, moved: members.alice, counted: members.bob, from: Self.share, to: Self.other)
    try converge(members.all)
    let all = isInBoth ? members.all : [members.alice, members.laptop]
    for member in all { try count(member, "r1") }
    try converge(members.all)
    for member in all {
      #expect(try member.rows("SELECT list, done FROM reminders WHERE id = 'r1'") == ["N|\(5 + all.count)"])
      #expect(try member.store.conflicts.list(limit: 9).isEmpty && member.store.localWrites.pendingCount() == 0)
    }
  }

  @Test("counts continue in a row that has left its zone and come back meanwhile", arguments: Order.allCases)
  func thereAndBack(_ order: Order) throws {
    let members = try members()
    try count(members.bob, "r1")
    try converge(members.all)
    try count(members.bob, "r1", by: 5)
    for list in ["M", "L"] {
      try members.alice.run("UPDATE reminders SET list = '\(list)' WHERE id = 'r1'")
      try members.alice.settle()
    }
    try merge(
      order, at: members.laptop, moved: members.alice, counted: members.bob, from: Self.share, to: Self.home)
    try converge(members.all)
    try expectDone(members.all, "r1", 6)
    for member in members.all { try count(member, "r1") }
    try converge(members.all)
    try expectDone(members.all, "r1", 9)
  }

  @Test("counts follow a row that moves on before they arrive")
  func movesOn() throws {
    let members = try members()
    try count(members.bob, "r1", by: 5)
    try members.alice.run("UPDATE reminders SET list = 'M' WHERE id = 'r1'")
    try members.alice.settle()
    try members.laptop.pull(Self.share, from: members.alice)
    try members.laptop.pull(Self.home, from: members.alice)
    try members.laptop.run("UPDATE reminders SET list = 'N' WHERE id = 'r1'")
    try members.laptop.settle()
    // The device continues the count where the row was, while another one has moved it on.
    try members.alice.pull(Self.share, from: members.bob)
    try members.alice.settle()
    try converge(members.all)
    try expectDone(members.all, "r1", 5)
  }

  @Test("the greatest and the least value of all win in a row that moves meanwhile", arguments: Order.allCases)
  func comparisons(_ order: Order) throws {
    for (policy, value) in [(ColumnPolicy.greatest, 9), (.least, -9)] {
      let members = try members(policy)
      for (member, part) in [(members.bob, value), (members.laptop, value / 3)] {
        try member.run("UPDATE reminders SET done = \(part) WHERE id = 'r1'")
        try member.settle()
      }
      try members.alice.run("UPDATE reminders SET list = 'N' WHERE id = 'r1'")
      try members.alice.settle()
      try merge(
        order, at: members.laptop, moved: members.alice, counted: members.bob, from: Self.share, to: Self.other)
      try converge(members.all)
      try expectDone(members.all, "r1", value)
    }
  }

  @Test("a text that loses against a move is a conflict, and is kept as its author's")
  func keptText() throws {
    let members = try members()
    try members.bob.run("UPDATE reminders SET title = 'oats' WHERE id = 'r1'")
    try members.bob.settle()
    try members.alice.run("UPDATE reminders SET list = 'N' WHERE id = 'r1'")
    try converge(members.all)
    for member in members.all {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["milk"])
      #expect(try member.store.conflicts.list(limit: 9).map(\.column) == ["title"])
      let explained = try member.store.history.explain(table: "reminders", key: .text("r1"), member.reader)
      let kept = explained.flatMap(\.columns).filter { $0.name.hasPrefix("title (kept by ") }
      #expect(kept.map(\.value) == [.text("oats")])
    }
  }

  @Test("parts of a deleted record, of another life and of other authors don't continue")
  func otherLives() throws {
    let members = try members()
    try count(members.bob, "r1", by: 5)
    try members.alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try members.alice.settle()
    members.alice.now += 10
    try members.alice.run("INSERT INTO reminders VALUES ('r1', 'N', 'again', 0)")
    try converge(members.all)
    for member in members.all {
      #expect(try member.rows("SELECT list, done FROM reminders WHERE id = 'r1'") == ["N|0"])
      #expect(try member.store.conflicts.list(limit: 9).contains { $0.column?.hasPrefix("done (counted by") == true })
    }
  }

  @Test("a lost count is restored by hand if its row was created again, and a greater value by a command")
  func restored() throws {
    for policy in [ColumnPolicy.counter, .greatest] {
      let members = try members(policy)
      try members.bob.run("UPDATE reminders SET done = 5 WHERE id = 'r1'")
      try members.bob.settle()
      try members.alice.run("DELETE FROM reminders WHERE id = 'r1'")
      try members.alice.settle()
      try members.alice.run("INSERT INTO reminders VALUES ('r1', 'L', 'again', 2)")
      try converge(members.all)
      let lost = try #require(
        try members.alice.store.conflicts.list(limit: 9).first { $0.column?.hasPrefix("done (") == true })
      let restore = { try members.alice.store.history.restore(.conflict(lost.id), members.alice.reader) }
      if policy == .counter {
        #expect(throws: RestoreError.counted(column: lost.column ?? "", in: "done")) { try restore() }
        continue
      }
      #expect(try restore().values == ["done": .integer(5)])
      try converge(members.all)
      for member in members.all { #expect(try member.rows("SELECT done FROM reminders WHERE id = 'r1'") == ["5"]) }
      #expect(throws: RestoreError.outdone(column: "done", policy: .greatest)) { try restore() }
    }
  }

  @Test("a device that may only read where the row is now waits for another one to continue its count")
  func waits() throws {
    let members = try members()
    try members.bob.stand(ZoneStanding(zone: Self.other, role: .readOnly, root: Self.second))
    try count(members.bob, "r1", by: 5)
    try members.alice.run("UPDATE reminders SET list = 'N' WHERE id = 'r1'")
    try members.alice.settle()
    for zone in [Self.share, Self.other] { try members.bob.pull(zone, from: members.alice) }
    #expect(try members.bob.rows("SELECT done FROM reminders WHERE id = 'r1'") == ["0"])
    let lost = try #require(try members.bob.store.conflicts.list(limit: 9).first)
    #expect(throws: RestoreError.continues(column: lost.column ?? "")) {
      try members.bob.store.history.restore(.conflict(lost.id), members.bob.reader)
    }
    try converge(members.all)
    try expectDone(members.all, "r1", 5)
    for member in members.all {
      #expect(try member.store.conflicts.list(limit: 9).isEmpty && member.store.conflicts.dropped() == 0)
    }
  }
}
