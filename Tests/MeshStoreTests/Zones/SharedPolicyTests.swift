import MeshCore
import MeshCrypto
import MeshTesting
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
    for member in [alice, laptop, bob] { try member.store.schema.setPolicies(Self.policies, now: member.now) }
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
      #expect(try member.store.conflicts.list(limit: 9).isEmpty)
    }
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
  }

  @Test("the first increment of a record counts once if it moves at the same time")
  func movedWithItsFirstIncrement() throws {
    let (alice, laptop, bob) = try members()
    try alice.run("INSERT INTO reminders VALUES ('n', 'M', 'tea', 5)")
    try converge([alice, laptop, bob])
    try alice.run("UPDATE reminders SET done = done + 10 WHERE id = 'n'")
    try alice.run("UPDATE reminders SET list = 'L', done = done + 100 WHERE id = 'n'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member, "n") == ["115"]) }
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
  }

  @Test("the first increment counts once if the record moves on before it has left", arguments: 0..<8)
  func movedOnWithItsFirstIncrement(steps: Int) throws {
    let (alice, laptop, bob) = try members()
    try alice.run("INSERT INTO reminders VALUES ('n', 'M', 'tea', 5), ('m', 'L', 'tea', 5)")
    try converge([alice, laptop, bob])
    for (key, lists) in ["n": ["L", "M"], "m": ["M", "L"]] {
      try alice.run("UPDATE reminders SET list = '\(lists[0])', done = done + 10 WHERE id = '\(key)'")
      for _ in 0..<steps { _ = try alice.step() }
      try alice.run("UPDATE reminders SET list = '\(lists[1])', done = done + 100 WHERE id = '\(key)'")
    }
    try converge([alice, laptop, bob])
    for member in [alice, laptop] {
      for key in ["n", "m"] { #expect(try done(member, key) == ["115"]) }
      #expect(try member.store.conflicts.list(limit: 9).isEmpty && member.held().isEmpty)
    }
    #expect(try done(bob, "m") == ["115"])
    #expect(try alice.store.zones.digest(SharedList.share) == bob.store.zones.digest(SharedList.share))
    #expect(try alice.store.zones.digest(SharedList.home) == laptop.store.zones.digest(SharedList.home))
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
    for member in [alice, laptop, bob] {
      #expect(try member.held().isEmpty && member.store.localWrites.pendingCount() == 0)
    }
  }

  @Test("a record that is shared for the first time has its counts on the participant's side")
  func sharedLater() throws {
    let alice = try Member(1, [SharedList.mine])
    try alice.store.schema.setPolicies(Self.policies, now: alice.now)
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

  /// Bob, in a share of each of two accounts, whose devices have told their policies of lists' titles.
  private func guest(_ policies: [ColumnPolicySetting], _ more: [ColumnPolicySetting] = []) throws -> (
    Member, [TestAccount]
  ) {
    let owners = [try TestAccount(devices: 1, seed: 11), try TestAccount(devices: 1, seed: 12)]
    let other = RecordName(table: "lists", key: .text("O"))
    let bob = try Member(
      9,
      [
        ZoneStanding(zone: SharedList.bobs, role: .privateZone),
        ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root, owner: owners[0].state.id),
        ZoneStanding(zone: Member.zone(4), role: .readWrite, root: other, owner: owners[1].state.id),
      ])
    bob.store.control.setAccounts(Accounts(owners.map(\.state)), device: bob.device)
    for (owner, policies) in zip(owners, [policies, more]) {
      var lists = try #require(try bob.store.schema.schemaDescriptions().first { $0.name == "lists" })
      lists.policies = policies
      _ = try bob.store.schema.saveForeignSchema(
        [lists], device: DeviceID(owner.devices[0].signingKey).unsafe, isOwn: false)
    }
    return (bob, owners)
  }

  @Test("the policy of a share's owner doesn't change what becomes of writes to private rows")
  func privateRows() throws {
    let (bob, _) = try guest([.init(column: "title", policy: .greatest, time: 1)])
    try bob.run("INSERT INTO lists VALUES ('mine', 'b')")
    try bob.settle()
    try bob.run("UPDATE lists SET title = 'a'")
    try bob.settle()
    #expect(try bob.rows("SELECT title FROM lists") == ["a"])
    // The account's own policy counts there.
    try bob.store.schema.setPolicies(["lists": ["title": .greatest]], now: bob.now)
    try bob.run("UPDATE lists SET title = 'Z'")
    try bob.settle()
    #expect(try bob.rows("SELECT title FROM lists") == ["a"])
  }

  @Test("in another account's share, the account's own policy comes before the owner's")
  func ownComesFirst() throws {
    let (bob, owners) = try guest([.init(column: "title", policy: .greatest, time: 1)])
    func title() throws -> [String] { try bob.rows("SELECT title FROM lists") }
    try converge([try SharedList.alice(), bob])
    try bob.run("UPDATE lists SET title = 'b'")
    try bob.settle()
    #expect(try title() == ["shared"], "the owner's policy keeps the greatest")
    try bob.store.schema.setPolicies(["lists": ["title": .least]], now: bob.now)
    for (written, kept) in [("a", "a"), ("z", "a")] {
      try bob.run("UPDATE lists SET title = '\(written)'")
      try bob.settle()
      #expect(try title() == [kept])
    }
    #expect(try bob.store.figures.quotas().policies == [owners[0].state.id: 1], "nobody's but the owner's")
  }

  @Test("the policies of one share's owner take no place from those of another, and go with the last share")
  func owners() throws {
    let many = (0...StoreLimits.policies).map { ColumnPolicySetting(column: "c\($0)", policy: .least, time: 1) }
    let (bob, accounts) = try guest(
      many + [.init(column: "title", policy: .greatest, time: ColumnPolicySetting.latest)],
      [.init(column: "title", policy: .least, time: 1)])
    func kept(_ owner: TestAccount) throws -> [String] {
      let id = owner.state.id.bytes.map { String($0, radix: 16) }.map { $0.count == 1 ? "0" + $0 : $0 }.joined()
      return try bob.rows("SELECT count(*) FROM mesh_policy WHERE account = x'\(id)'")
    }
    #expect(try kept(accounts[0]) == ["\(StoreLimits.policies)"] && kept(accounts[1]) == ["1"])
    #expect(
      try bob.store.figures.quotas().policies == [
        accounts[0].state.id: StoreQuotas.policiesLimit, accounts[1].state.id: 1,
      ])
    let ended = bob.standings.map {
      $0.owner == accounts[0].state.id
        ? ZoneStanding(zone: $0.zone, role: .ended, root: $0.root, owner: $0.owner) : $0
    }
    try bob.stand(ended)
    #expect(try kept(accounts[0]) == ["0"] && kept(accounts[1]) == ["1"])
    #expect(try bob.store.schema.columnPolicies().map(\.policy) == [.least])
    // A device of an account that is in no share sets nothing.
    bob.store.control.setAccounts(Accounts(), device: bob.device)
    var lists = try #require(try bob.store.schema.schemaDescriptions().first { $0.name == "lists" })
    lists.policies = [.init(column: "title", policy: .counter, time: 2)]
    _ = try bob.store.schema.saveForeignSchema(
      [lists], device: DeviceID(accounts[0].devices[0].signingKey).unsafe, isOwn: false)
    #expect(try bob.rows("SELECT count(*) FROM mesh_policy") == ["1"])
  }

  @Test("a file of the format before keeps this account's policies")
  func formerFormat() throws {
    let bob = try SharedList.bob()
    try bob.store.schema.setPolicies(Self.policies, now: bob.now)
    try bob.run(
      """
      CREATE TABLE saved AS SELECT tbl, col, policy, time, 1 AS own FROM mesh_policy;
      DROP TABLE mesh_policy;
      ALTER TABLE saved RENAME TO mesh_policy;
      INSERT INTO mesh_policy VALUES ('lists', 'id', 1, 1, 0);
      UPDATE mesh_state SET format = 16;
      """)
    try bob.reopen()
    #expect(try bob.store.schema.columnPolicies().count == 3)
    #expect(try bob.rows("SELECT count(*) FROM mesh_policy WHERE account = x''") == ["3"])
    #expect(try bob.rows("SELECT count(*) FROM mesh_policy") == ["3"])
    #expect(try bob.rows("PRAGMA integrity_check") == ["ok"])
  }

  @Test("SQLite finds no damage in a file with policies, whose tables have the columns of their keys first")
  func integrity() throws {
    let bob = try SharedList.bob()
    try bob.store.schema.setPolicies(Self.policies, now: bob.now)
    #expect(try bob.rows("PRAGMA integrity_check") == ["ok"])
    let tables = try bob.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'mesh_*' AND sql LIKE '%WITHOUT ROWID'")
    #expect(tables.contains("mesh_policy"))
    for table in tables {
      let keys = try bob.rows("SELECT cid FROM pragma_table_info('\(table)') WHERE pk ORDER BY pk").compactMap(Int.init)
      #expect(keys == Array(keys.indices), "\(table)")
    }
    // A file of the format before has the columns in another order.
    try bob.run(
      """
      CREATE TABLE former (tbl TEXT NOT NULL COLLATE NOCASE, col TEXT NOT NULL COLLATE NOCASE, policy INTEGER NOT NULL,
        time INTEGER NOT NULL, account BLOB NOT NULL, PRIMARY KEY (tbl, col, account)) WITHOUT ROWID;
      INSERT INTO former SELECT tbl, col, policy, time, account FROM mesh_policy;
      DROP TABLE mesh_policy;
      ALTER TABLE former RENAME TO mesh_policy;
      UPDATE mesh_state SET format = 17;
      """)
    try bob.reopen()
    #expect(try bob.store.schema.columnPolicies().count == 3)
    #expect(try bob.rows("PRAGMA integrity_check") == ["ok"])
  }

  @Test("a file of the format before keeps all policies, and is whole")
  func formerOrder() throws {
    let bob = try SharedList.bob()
    try bob.store.schema.setPolicies(Self.policies, now: bob.now)
    try bob.run(
      """
      CREATE TABLE saved AS SELECT tbl, col, policy, time, account FROM mesh_policy;
      DROP TABLE mesh_policy;
      CREATE TABLE mesh_policy (tbl TEXT NOT NULL, col TEXT NOT NULL, policy INTEGER NOT NULL, time INTEGER NOT NULL,
        account BLOB NOT NULL, PRIMARY KEY (tbl, col, account)) WITHOUT ROWID;
      INSERT INTO mesh_policy SELECT * FROM saved;
      INSERT INTO mesh_policy VALUES ('lists', 'id', 1, 1, x'01');
      DROP TABLE saved;
      UPDATE mesh_state SET format = 17;
      """)
    let before = try bob.rows("SELECT tbl, col, account, policy, time FROM mesh_policy ORDER BY tbl, col, account")
    try bob.reopen()
    #expect(try bob.rows("SELECT * FROM mesh_policy ORDER BY tbl, col, account") == before)
    #expect(try bob.rows("PRAGMA integrity_check") == ["ok"])
  }

  /// SQLite 3.40 looks for NULL in other columns otherwise, and says that the file is damaged.
  @Test("tables without a rowid have the columns of their key first")
  func keysFirst() throws {
    let bob = try SharedList.bob()
    let late = try bob.rows(
      """
      SELECT t.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
      WHERE t.wr AND t.name GLOB 'mesh_*' AND c.pk > 0 AND c.cid >= (
        SELECT count(*) FROM pragma_table_info(t.name) WHERE pk > 0)
      """)
    #expect(late.isEmpty)
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
      try member.store.schema.setPolicies(["reminders": ["done": .last]], now: member.now)
      #expect(try done(member) == ["3"])
    }
    try bob.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'")
    try alice.run("UPDATE reminders SET done = 10 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member) == ["11"]) }
    try bob.store.schema.setPolicies(["reminders": ["done": .last]], now: bob.now)
    try bob.run("UPDATE reminders SET done = 20 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    try laptop.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["21"])
      #expect(try member.held().isEmpty && member.store.localWrites.pendingCount() == 0)
    }
  }

  @Test("a receipt of a rejected increment adds to the row when it is restored", arguments: [false, true])
  func rejectedIncrement(isPulledFirst: Bool) throws {
    let (alice, laptop, bob) = try members()
    for member in [alice, laptop] { try member.run("UPDATE reminders SET done = done + 5 WHERE id = 'r1'") }
    try converge([alice, laptop, bob])
    try bob.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'; UPDATE reminders SET done = done + 2")
    let writable = bob.standings
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    try alice.run("UPDATE reminders SET done = done + 20 WHERE id = 'r1'")
    try alice.settle()
    if isPulledFirst { try bob.pull(SharedList.share, from: alice) }
    try bob.settle()
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.compactMap(\.values).map { Array($0.values) } == [[.integer(3)]])
    #expect(receipts.first?.values?.keys.first?.hasPrefix("done (counted by ") == true)
    try bob.stand(writable)
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 1)
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member) == ["33"]) }
  }

  @Test("a receipt of an increment that was pending when the root was deleted adds to the row when it is restored")
  func incrementBeforeLeaving() throws {
    let (alice, bob) = (
      try SharedList.alice(),
      try Member(
        9,
        [
          ZoneStanding(zone: SharedList.bobs, role: .privateZone),
          ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root),
        ], foreignKeys: false)
    )
    for member in [alice, bob] { try member.store.schema.setPolicies(Self.policies, now: member.now) }
    try converge([alice, bob])
    try bob.run("UPDATE reminders SET done = done + 3 WHERE id = 'r1'")
    try bob.run("UPDATE reminders SET done = done + 4 WHERE id = 'r1'; DELETE FROM lists WHERE id = 'L'")
    let writable = bob.standings
    try bob.settle()
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.compactMap(\.values).map { Array($0.values) } == [[.integer(7)]])
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    try alice.run("UPDATE reminders SET done = done + 20 WHERE id = 'r1'")
    try alice.settle()
    try bob.stand(writable)
    try bob.pull(SharedList.share, from: alice)
    #expect(try done(bob) == ["20"])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 1)
    try converge([alice, bob])
    for member in [alice, bob] { #expect(try done(member) == ["27"]) }
  }

  @Test("a receipt of a rejected assignment to a counter keeps the value, if nothing tells what was there")
  func rejectedAssignment() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    try bob.run("UPDATE reminders SET done = 7")
    try bob.store.schema.setPolicies(Self.policies, now: bob.now)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    try bob.settle()
    #expect(try bob.store.zones.receipts(SharedList.share).map(\.values) == [["done": .integer(7)]])
  }

  /// Cuts off Bob's change sets above a number, on every member.
  private func cut(_ bob: Member, to limit: UInt64, on members: [Member]) throws {
    let author = try bob.author(SharedList.share)
    for member in members {
      member.cuts[SharedList.share] = [author: limit]
      try member.store.merges.revert(
        [author: limit], aftermath: member === bob ? [author: .receipt] : [:], zone: SharedList.share,
        member.reader(SharedList.share), now: member.now)
    }
  }

  @Test("a receipt of reverted parts has what was added, and restoring it adds that to the row")
  func revertedParts() throws {
    let (alice, laptop, bob) = try members()
    try bob.run("UPDATE reminders SET done = done + 1 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    try bob.run("UPDATE reminders SET done = done + 3 WHERE id = 'r1'; UPDATE lists SET title = 'x'")
    try converge([alice, laptop, bob])
    try cut(bob, to: 1, on: [alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["1"])
      #expect(try member.rows("SELECT title FROM lists WHERE id = 'L'") == ["shared"])
    }
    let values = try bob.store.zones.receipts(SharedList.share).compactMap(\.values)
    #expect(values.compactMap(\.values.first).sorted() == [.integer(3), .text("x")])
    let names = values.flatMap(\.keys).sorted()
    #expect(names.map { $0.hasPrefix("done (counted by ") } == [true, false])
    #expect(names.map { $0.hasPrefix("title (greatest by ") } == [false, true])
    for member in [alice, laptop, bob] { member.cuts = [:] }
    try bob.store.zones.beginInstance(InstanceID(77), zone: SharedList.share)
    try alice.run("UPDATE reminders SET done = done + 20 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 2)
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["24"])
      #expect(try member.rows("SELECT title FROM lists WHERE id = 'L'") == ["x"])
    }
  }

  @Test("each author of unsent increments has a receipt, and it goes when the share has that author's change sets")
  func receiptsOfTwoAuthors() throws {
    let (alice, laptop, bob) = try members()
    var authors: [Author] = []
    for instance: UInt64 in [77, 78] {
      try bob.store.zones.beginInstance(InstanceID(instance), zone: SharedList.share)
      try bob.run("UPDATE reminders SET done = done + \(instance) WHERE id = 'r1'")
      try bob.settle()
      authors.append(try bob.author(SharedList.share))
    }
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.store.zones.keepCopy(of: SharedList.share)
    let limits = Dictionary(authors.map { ($0, UInt64(0)) }, uniquingKeysWith: { $1 })
    func receipts() throws -> [Value] {
      try bob.store.zones.receipts(SharedList.share).compactMap(\.values?.values.first).sorted()
    }
    // As if the node had stopped after it.
    for _ in 0..<2 {
      try bob.store.merges.keepUnsent(
        limits, zone: SharedList.share, bob.reader(SharedList.share), now: bob.now)
      #expect(try receipts() == [.integer(77), .integer(78)])
    }
    try bob.drop(SharedList.share, unsent: limits)
    try bob.settle()
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.store.log.storeAgain(SharedList.share) { $0.header.author == authors[0] })
    #expect(try receipts() == [.integer(78)])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 1)
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] { #expect(try done(member) == ["155"]) }
    #expect(try !bob.store.log.storeAgain(SharedList.share) { _ in true })
  }

  @Test("equal increments that are rejected one after the other are all kept, and an equal value once")
  func rejectedTwice() throws {
    let (alice, laptop, bob) = try members()
    let writable = bob.standings
    for title in ["a", "b", "b"] {
      try bob.stand(writable)
      try bob.run("UPDATE reminders SET done = done + 3 WHERE id = 'r1'")
      try bob.run("UPDATE steps SET title = '\(title)' WHERE id = 's1'")
      try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
      try bob.settle()
    }
    let receipts = try bob.store.zones.receipts(SharedList.share).compactMap(\.values).flatMap(\.values)
    #expect(receipts.count { $0 == .integer(3) } == 3)
    #expect(receipts.filter { $0 != .integer(3) }.sorted() == [.text("a"), .text("b")])
    try bob.stand(writable)
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 5)
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["9"])
      #expect(try member.rows("SELECT title FROM steps WHERE id = 's1'") == ["b"])
    }
  }

  @Test("restoring a part neither lowers the greatest value nor exceeds the greatest number")
  func partsAtTheLimits() throws {
    let (alice, laptop, bob) = try members()
    try bob.run("UPDATE reminders SET done = done + 3 WHERE id = 'r1'; UPDATE lists SET title = 'x'")
    try converge([alice, laptop, bob])
    try cut(bob, to: 0, on: [alice, laptop, bob])
    for member in [alice, laptop, bob] { member.cuts = [:] }
    try bob.store.zones.beginInstance(InstanceID(77), zone: SharedList.share)
    try alice.run("UPDATE reminders SET done = 9223372036854775806; UPDATE lists SET title = 'z'")
    try converge([alice, laptop, bob])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 2)
    try converge([alice, laptop, bob])
    for member in [alice, laptop, bob] {
      #expect(try done(member) == ["9223372036854775807"])
      #expect(try member.rows("SELECT title FROM lists WHERE id = 'L'") == ["z"])
    }
  }

  @Test("an increment stays a receipt while the row has no number to add it to")
  func nothingToAddTo() throws {
    let (alice, laptop, bob) = try members()
    try bob.run("UPDATE reminders SET done = done + 3 WHERE id = 'r1'")
    try converge([alice, laptop, bob])
    try cut(bob, to: 0, on: [alice, laptop, bob])
    for member in [alice, laptop, bob] { member.cuts = [:] }
    try bob.store.zones.beginInstance(InstanceID(77), zone: SharedList.share)
    try alice.run("UPDATE reminders SET done = NULL")
    try converge([alice, laptop, bob])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 0)
    try alice.run("UPDATE reminders SET done = 1")
    try converge([alice, laptop, bob])
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 1)
    #expect(try done(bob) == ["4"])
  }
}
