import MeshCore
import MeshCrypto
import Testing

@testable import MeshStore

/// Private copies of shares that have ended for their account, and that it joins again.
@Suite struct KeptCopyTests {
  @Test(
    "unsent changes beside a kept copy come again after joining, and their receipts go", arguments: [false, true])
  func aKeptCopyComesAgain(isHere: Bool) throws {
    let share = SharedList.share
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.store.zones.beginInstance(InstanceID(55), zone: share)
    try bob.pull(share, from: alice)
    for title in ["sent", "unsent", "last"] {
      try bob.run("UPDATE reminders SET title = '\(title)' WHERE id = 'r1'")
      try bob.settle()
      if title == "sent" || isHere { try alice.pull(share, from: bob) }
    }
    let author = try bob.author(share)
    try bob.stand(ZoneStanding(zone: share, role: .ended))
    try bob.store.zones.keepCopy(of: share)
    try bob.store.merges.keepUnsent([author: 1], zone: share, bob.reader(share), now: bob.now)
    try bob.drop(share, unsent: [author: 1])
    #expect(try bob.store.zones.receipts(share).count == 2)
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    try bob.stand(ZoneStanding(zone: share, role: .readWrite, root: SharedList.root))
    try bob.pull(share, from: alice)
    #expect(try bob.store.log.storeAgain(share) { _ in true } == !isHere)
    try bob.apply(share)
    try converge([alice, bob])
    for member in [alice, bob] {
      #expect(try member.rows("SELECT title FROM reminders WHERE id = 'r1'") == ["last"])
    }
    #expect(try bob.store.zones.receipts(share).isEmpty)
  }

  @Test("of two unsent increments, the receipt of the one that the share has goes")
  func halfArrived() throws {
    let share = SharedList.share
    let members = [try SharedList.alice(), try SharedList.bob()]
    let (alice, bob) = (members[0], members[1])
    for member in members {
      try member.store.schema.setPolicies(["reminders": ["done": .counter]], now: member.now)
    }
    try bob.store.zones.beginInstance(InstanceID(55), zone: share)
    try bob.pull(share, from: alice)
    for count in [5, 50] {
      try bob.run("UPDATE reminders SET done = done + \(count), title = 'n\(count)' WHERE id = 'r1'")
      try bob.settle()
      if count == 5 { try alice.pull(share, from: bob) }
    }
    let author = try bob.author(share)
    try bob.stand(ZoneStanding(zone: share, role: .ended))
    bob.cuts[share] = [author: 0]
    try bob.store.merges.revert(
      [author: 0], aftermath: [author: .receipt], zone: share, bob.reader(share), now: bob.now)
    #expect(try bob.store.zones.receipts(share).count == 2)
    try bob.drop(share)
    bob.cuts = [:]
    try bob.stand(ZoneStanding(zone: share, role: .readWrite, root: SharedList.root))
    try alice.run("UPDATE reminders SET title = 'newer' WHERE id = 'r1'")
    try alice.settle()
    try bob.pull(share, from: alice)
    #expect(try !bob.store.log.storeAgain(share) { _ in false })
    #expect(try bob.store.zones.receipts(share).map { $0.values?["title"] } == [.text("n50")])
    #expect(try bob.store.zones.restoreReceipts(share).written == 1)
    try converge(members)
    for member in members {
      #expect(try member.rows("SELECT done, title FROM reminders WHERE id = 'r1'") == ["55|n50"])
    }
  }

  private func account(of member: Member, _ seed: UInt8) throws -> AccountState {
    let (key, recovery) = (AccountKey(randomness: Seeded(seed: seed)), AccountKey(randomness: Seeded(seed: seed + 1)))
    let genesis = AccountGenesis(
      signingKey: key.publicKey, recoveryKey: recovery.publicKey, salt: [UInt8](repeating: seed, count: 16))
    var state = try #require(AccountState(genesis, member.cryptography))
    let request = try #require(CertificateRequest(name: "n", for: state.id, secrets: member.keys))
    let certificate = Certificate(
      account: state.id, request: request, serial: [UInt8](repeating: seed, count: 16), issued: member.now,
      sign: key.sign)
    state.insert(certificate, member.cryptography)
    return state
  }

  @Test("a copy that is deleted after leaving deletes nothing of the share", arguments: [false, true])
  func aDeletedCopy(isCertified: Bool) throws {
    let share = SharedList.share
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    if isCertified {
      let accounts = Accounts([try account(of: alice, 101), try account(of: bob, 111)])
      for member in [alice, bob] { member.store.control.setAccounts(accounts, device: member.device) }
      try #require(accounts.account(certifying: alice.device) != nil)
    }
    try bob.pull(share, from: alice)
    try bob.stand(ZoneStanding(zone: share, role: .ended))
    try bob.drop(share, keepingCopy: true)
    try bob.settle()
    try bob.run("DELETE FROM lists WHERE id = 'L'")
    try bob.settle()
    try bob.stand(ZoneStanding(zone: share, role: .readWrite, root: SharedList.root))
    try bob.pull(share, from: alice)
    try converge([alice, bob])
    #expect(try alice.rows("SELECT id FROM reminders WHERE list = 'L'") == ["r1"])
    #expect(try bob.rows("SELECT id FROM reminders") == ["r1"])
    #expect(try bob.store.conflicts.list(limit: 9).isEmpty)
  }
}
