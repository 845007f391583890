import Foundation
import GRDB
import MeshCore
import Testing

@testable import MeshStore

/// BLOBs that a participant wrote and the share's owner may not have.
@Suite struct UndeliveredAssetTests {
  private static let image = "CAST(x'01' || zeroblob(30000) AS BLOB)"

  /// Returns a participant that has merged the share.
  private func bob() throws -> Member {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try bob.pull(SharedList.share, from: alice)
    return bob
  }

  private func undelivered(_ member: Member) throws -> Int {
    try member.store.assets.undelivered(SharedList.share, limit: 99).count
  }

  private func deliver(_ member: Member) throws {
    let assets = try member.store.assets.undelivered(SharedList.share, limit: 99).map(\.id)
    try member.store.assets.noteDelivered(Set(assets), in: SharedList.share)
  }

  @Test("a BLOB that a participant writes is undelivered until the owner is known to have it") func marks() throws {
    let bob = try bob()
    #expect(try undelivered(bob) == 0)
    try bob.run("UPDATE reminders SET title = \(Self.image) WHERE id = 'r1'")
    try bob.run("INSERT INTO lists VALUES ('B', \(Self.image))")
    try bob.settle()
    let found = try bob.store.assets.undelivered(SharedList.share, limit: 99)
    #expect(found.map(\.size) == [30_001], "the private one is no part of the share")
    #expect(try bob.store.assets.undelivered(SharedList.share, limit: 0).isEmpty)
    try bob.store.assets.noteDelivered([found[0].id], in: SharedList.bobs)
    // Another column of the record is written.
    try bob.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try bob.settle()
    #expect(try undelivered(bob) == 1)
    try bob.reopen()
    try deliver(bob)
    #expect(try undelivered(bob) == 0)
    try bob.run("UPDATE reminders SET done = 2 WHERE id = 'r1'")
    try bob.settle()
    #expect(try undelivered(bob) == 0, "its BLOB is the same")
    try bob.run("UPDATE reminders SET title = CAST(title || x'02' AS BLOB) WHERE id = 'r1'")
    try bob.settle()
    #expect(try undelivered(bob) == 1)
    try bob.run("UPDATE reminders SET title = 'short' WHERE id = 'r1'")
    try bob.settle()
    #expect(try undelivered(bob) == 0)
  }

  @Test("a BLOB that another device wrote is not this one's to deliver") func othersBLOBs() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try alice.run("UPDATE reminders SET title = \(Self.image) WHERE id = 'r1'")
    try alice.settle()
    #expect(try undelivered(alice) == 0, "it is in the owner's own share")
    try bob.pull(SharedList.share, from: alice)
    try bob.run("UPDATE reminders SET done = 1 WHERE id = 'r1'")
    try bob.settle()
    #expect(try undelivered(bob) == 0)
  }

  @Test("a BLOB that another device of the account wrote is undelivered here too, and its receipt needs its bytes")
  func otherDevice() throws {
    let bob = try bob()
    let second = try Member(8, bob.standings)
    try second.pull(SharedList.share, from: bob)
    // Only devices of the account write in its private zone.
    try bob.run("INSERT INTO lists VALUES ('B', 'mine')")
    try bob.settle()
    try second.pull(SharedList.bobs, from: bob)
    try bob.run("UPDATE reminders SET title = \(Self.image), done = 3 WHERE id = 'r1'")
    try bob.settle()
    try second.pull(SharedList.share, from: bob)
    #expect(try undelivered(second) == 1)
    try second.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try second.drop(SharedList.share)
    let receipts = try second.store.zones.receipts(SharedList.share)
    #expect(receipts.isEmpty, "its bytes are on the other device: \(receipts)")
  }

  @Test("a BLOB that the owner may not have becomes a receipt when the share ends", arguments: [false, true])
  func receipt(isDelivered: Bool) throws {
    let bob = try bob()
    try bob.run("UPDATE reminders SET title = \(Self.image) WHERE id = 'r1'")
    try bob.run("INSERT INTO steps VALUES ('s9', 'r1', 'x')")
    try bob.settle()
    if isDelivered { try deliver(bob) }
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.map(\.record.key) == (isDelivered ? [] : [.text("r1")]))
    guard !isDelivered else { return }
    #expect(receipts[0].values == ["title": .blob([1] + [UInt8](repeating: 0, count: 30_000))])
    // Let in again, it gives the BLOB back.
    let alice = try SharedList.alice()
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    try bob.pull(SharedList.share, from: alice)
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 1)
    #expect(try bob.rows("SELECT length(title) FROM reminders WHERE id = 'r1'") == ["30001"])
  }

  @Test("many BLOBs that the owner may not have all become receipts") func manyReceipts() throws {
    let bob = try bob()
    try bob.run(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20)
      INSERT INTO reminders SELECT 'm' || i, 'L', randomblob(2000000), 0 FROM n
      """)
    try bob.settle()
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.count == 20 && Set(receipts.map(\.values)).count == 20)
    #expect(try bob.rows("SELECT id FROM reminders").isEmpty)
  }

  @Test("a BLOB of a held record becomes a receipt") func heldRecord() throws {
    let (alice, bob) = (try SharedList.alice(), try SharedList.bob())
    try converge([alice, bob])
    try bob.run("INSERT INTO steps VALUES ('s9', 'r1', \(Self.image))")
    try bob.settle()
    try alice.run("DELETE FROM reminders WHERE id = 'r1'")
    try converge([alice, bob])
    #expect(try bob.held().values.contains(.parentDeleted))
    #expect(try bob.rows("SELECT id FROM steps").isEmpty)
    #expect(try undelivered(bob) == 1)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    let receipts = try bob.store.zones.receipts(SharedList.share)
    #expect(receipts.map(\.record.key) == [.text("s9")])
    #expect(receipts.first?.values == ["title": .blob([1] + [UInt8](repeating: 0, count: 30_000))])
  }

  @Test("BLOBs that are rolled back all become receipts, also if they don't fit into memory at once")
  func rolledBack() throws {
    let bob = try bob()
    try bob.run(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 6)
      INSERT INTO steps SELECT 'm' || i, 'r1', randomblob(14000000) FROM n
      """)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readOnly, root: SharedList.root))
    try bob.settle()
    #expect(try bob.rows("SELECT id FROM steps") == ["s1"])
    let sizes = try bob.store.zones.receipts(SharedList.share).map { receipt in
      if case .blob(let bytes)? = receipt.values?["title"] { bytes.count } else { 0 }
    }
    #expect(sizes == Array(repeating: 14_000_000, count: 6))
    // Let in again, the account has the rows only after a while. Until then, the receipts stay.
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 0)
    #expect(try bob.store.zones.receipts(SharedList.share).count == 6)
    try bob.pull(SharedList.share, from: SharedList.alice())
    #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 6)
    try bob.settle()
    #expect(try bob.rows("SELECT count(*) FROM steps") == ["7"] && bob.held().isEmpty)
  }

  @Test("a receipt keeps the name of a BLOB that it doesn't have, and restores the rest") func onlyNamed() throws {
    let bob = try bob()
    try bob.run("UPDATE reminders SET title = \(Self.image) WHERE id = 'r1'")
    try bob.settle()
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .ended))
    try bob.drop(SharedList.share)
    try bob.other.write { db in
      let bytes = try #require(try Data.fetchOne(db, sql: "SELECT extra FROM mesh_receipt"))
      let done = try #require(
        try Int64.fetchOne(
          db,
          sql: """
            SELECT c.id FROM mesh_column c JOIN mesh_table t ON t.id = c.tbl WHERE t.name = 'reminders' AND c.name = 'done'
            """))
      var values = try ExtraValues.decode(Array(bytes))
      values[done] = .asset(Asset(id: AssetID([UInt8](repeating: 3, count: 32)).unsafe, size: 70 << 20))
      try db.execute(sql: "UPDATE mesh_receipt SET extra = ?", arguments: [Data(ExtraValues.encode(values) ?? [])])
    }
    try bob.stand(ZoneStanding(zone: SharedList.share, role: .readWrite, root: SharedList.root))
    try bob.pull(SharedList.share, from: SharedList.alice())
    for _ in 0..<2 {
      #expect(try bob.store.zones.restoreReceipts(SharedList.share).written == 0)
      #expect(try bob.rows("SELECT length(title), done FROM reminders WHERE id = 'r1'") == ["30001|0"])
      #expect(try bob.store.zones.receipts(SharedList.share).map { $0.values?.keys.sorted() } == [["done"]])
      try bob.settle()
    }
  }
}
