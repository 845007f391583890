import MeshCore
import Testing

@testable import MeshStore

/// Columns with policies in shares, and in records that move between zones.
@Suite struct SharedPolicyTests {
  private static let policies: [String: [String: ColumnPolicy]] = [
    "reminders": ["done": .counter, "title": .keepBoth], "lists": ["title": .greatest],
  ]

  /// Alice's two devices and Bob, who all have the share.
  private func members() throws -> (Member, Member, Member) {
    let (alice, laptop, bob) = (try SharedList.alice(), try SharedList.laptop(), try SharedList.bob())
    for member in [alice, laptop, bob] { try member.store.setPolicies(Self.policies, now: member.now) }
    try converge([alice, laptop, bob])
    return (alice, laptop, bob)
  }

  private func done(_ member: Member, _ key: String = "r1") throws -> [String] {
    try member.rows("SELECT done FROM reminders WHERE id = '\(key)'")
  }

  @Test("accounts that count in a share lose no increment, and the greatest title of all wins")
  func shared() throws {
    let (alice, laptop, bob) = try members()
    for (index, member) in [alice, laptop, bob].enumerated() {
      for _ in 0...index { try member.run("UPDATE reminders SET done = done + 1 WHERE list = 'L'") }
      try member.run("UPDATE lists SET title = 't\(index)' WHERE id = 'L'")
    }
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["6"])
      #expect(try member.rows("SELECT title FROM lists WHERE id = 'L'") == ["t2"])
      #expect(try member.store.conflicts(limit: 9).isEmpty)
    }
    #expect(try alice.store.digest(SharedList.share) == bob.store.digest(SharedList.share))
  }

  @Test("a record keeps its counts when it leaves a share and when it comes back")
  func moved() throws {
    let (alice, laptop, bob) = try members()
    for member in [alice, laptop, bob] { try member.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    try alice.run("UPDATE reminders SET list = 'M', done = done + 1 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try done(alice) == ["4"] && done(laptop) == ["4"] && done(bob) == [])
    for member in [alice, laptop] { try member.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    #expect(try done(alice) == ["6"] && done(laptop) == ["6"])
    try laptop.run("UPDATE reminders SET list = 'L' WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { try member.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member) == ["9"]) }
    for member in [alice, laptop, bob] { #expect(try member.held().isEmpty && member.store.pendingCount() == 0) }
  }

  @Test("a record that is shared for the first time has its counts on the participant's side")
  func sharedLater() throws {
    let alice = try Member(1, [SharedList.mine])
    try alice.store.setPolicies(Self.policies, now: alice.now)
    try alice.run("INSERT INTO lists VALUES ('L', 'a'); INSERT INTO reminders VALUES ('r1', 'L', 'milk', 0)")
    try alice.settle()
    try alice.run("UPDATE reminders SET done = done + 1; UPDATE lists SET title = 'b'")
    try alice.settle()
    try alice.stand(SharedList.shared)
    let bob = try SharedList.bob()
    // Bob's device has not heard of the policies. It shows the same, and what it writes is assigned.
    try converge([alice, bob])
    #expect(try done(bob) == ["1"] && bob.rows("SELECT title FROM lists") == ["b"])
    try bob.run("UPDATE reminders SET done = 10")
    try converge([alice, bob])
    try alice.run("UPDATE reminders SET done = done + 1")
    try converge([alice, bob])
    #expect(try done(alice) == ["11"] && done(bob) == ["11"])
  }

  @Test("the rows of a share that ends keep their counts with the owner, and with a participant that keeps a copy")
  func ended() throws {
    let (alice, laptop, bob) = try members()
    for member in [alice, laptop, bob] { try member.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    try bob.drop(SharedList.share, keepingCopy: true)
    try bob.stand(bob.standings.filter { $0.zone != SharedList.share })
    try bob.settle()
    #expect(try done(bob) == ["3"])
    try bob.run("UPDATE reminders SET done = done + 1")
    try bob.settle()
    #expect(try done(bob) == ["4"] && done(alice) == ["3"])
  }

  @Test("a policy that the owner turns off keeps the counts in the share, and later writes are assignments")
  func turnedOff() throws {
    let (alice, laptop, bob) = try members()
    for member in [alice, laptop, bob] { try member.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    // Alice's devices know of it, and Bob's doesn't yet.
    for member in [alice, laptop] {
      try member.store.setPolicies(["reminders": ["done": .last]], now: member.now)
      #expect(try done(member) == ["3"])
    }
    try bob.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'")
    try alice.run("UPDATE reminders SET done = 10 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member) == ["11"]) }
    try bob.store.setPolicies(["reminders": ["done": .last]], now: bob.now)
    try bob.run("UPDATE reminders SET done = 20 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    try laptop.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["21"])
      #expect(try member.held().isEmpty && member.store.pendingCount() == 0)
    }
  }
}
