import Dependencies
import Foundation
import MeshControl
import Testing

@testable import SQLiteData

extension SyncTests {
  @Suite("Metadata", .timeLimit(.minutes(5)))
  struct MetadataTests {
    @Selection struct ListRow: Equatable {
      let list: SyncedList
      let isShared: Bool
    }

    private func metadata<T: PrimaryKeyedTable>(of row: T, _ device: SyncedDevice) async throws -> SyncMetadata?
    where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
      let id = row.syncMetadataID
      return try await device.database.read { db in try SyncMetadata.find(id).fetchOne(db) }
    }

    @Test("before the first start there is no metadata, and a query finds nothing")
    func beforeStart() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      let list = SyncedList(id: UUID(), title: "Groceries")
      try await device.addList(list.title, id: list.id)
      #expect(try await metadata(of: list, device) == nil)
      let rows = try await device.database.read { db in
        try SyncedList.leftJoin(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }
          .select { ListRow.Columns(list: $0, isShared: $1.isShared ?? false) }.fetchAll(db)
      }
      #expect(rows == [ListRow(list: list, isShared: false)])
    }

    @Test("a row has its time, its parent and its devices, and joins work both ways")
    func rows() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        let item = SyncedItem(id: UUID(), text: "milk", listID: list.id)
        let before = Date()
        try await tower.addList(list.title, id: list.id)
        try await tower.database.write { db in
          try SyncedItem.insert { item }.execute(db)
          try ListPosition.insert { ListPosition(listID: list.id) }.execute(db)
        }
        try await eventually("acknowledged") { try await metadata(of: item, tower)?.isAcknowledged == true }
        let known = try #require(try await metadata(of: item, tower))
        #expect(known.recordType == "items" && known.recordPrimaryKey == item.id.uuidString.lowercased())
        #expect(known.parentRecordID?.parentRecordType == "lists")
        #expect(known.parentRecordID?.parentRecordPrimaryKey == list.id.uuidString.lowercased())
        #expect(known.hasLastKnownServerRecord && !known.isShared && known.share == nil && known.heldReason == nil)
        let time = Date(timeIntervalSince1970: Double(known.userModificationTime) / 1e9)
        #expect(time > before - 1 && time < Date() + 1)
        // A root and a row of a private table have no parent.
        #expect(try await metadata(of: list, tower)?.parentRecordID == nil)
        let position = try #require(try await metadata(of: ListPosition(listID: list.id), tower))
        #expect(position.parentRecordID == nil)
        // The other device wrote nothing, so everything came from a device that has it.
        try await eventually("arrived") { try await metadata(of: item, laptop)?.hasLastKnownServerRecord == true }

        let texts = try await tower.database.read { db in
          try SyncedItem.join(SyncMetadata.all) { $0.syncMetadataID.eq($1.id) }
            .where { $1.hasLastKnownServerRecord }.select { item, _ in item.text }.fetchAll(db)
        }
        #expect(texts == ["milk"])
        let count = try await tower.database.read { db in
          try SyncedItem.leftJoin(SyncMetadata.all) { $0.hasMetadata(in: $1) }
            .where { !($1.isShared ?? false) }.fetchCount(db)
        }
        #expect(count == 1)
        #expect(try await tower.database.read { db in try SyncMetadata.fetchCount(db) } == 3)
      }
    }

    @Table struct Tag: Equatable {
      @Column(primaryKey: true) let title: String
      var note = ""
    }

    @Table struct Code: Equatable {
      @Column(primaryKey: true) let text: String
    }

    @Test("a row whose key collates NOCASE is found by its spelling and by others, and keys of other columns are exact")
    func spelledKeys() async throws {
      let database = try defaultDatabase()
      try await database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE tags (title TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, note TEXT NOT NULL DEFAULT '');
            CREATE TABLE codes (text TEXT PRIMARY KEY NOT NULL);
            """)
      }
      let engine = try SyncEngine(
        for: database, tables: Tag.self, Code.self, node: NodeConfiguration(network: .separate()))
      try await engine.start()
      let tag = Tag(title: "Übung Weekend")
      try await database.write { db in
        try Tag.insert { tag }.execute(db)
        try Code.insert { [Code(text: "Ab"), Code(text: "aB")] }.execute(db)
      }
      try await eventually("all rows") { try await database.read { db in try SyncMetadata.fetchCount(db) } == 3 }
      try await database.read { db in
        let known = try #require(try SyncMetadata.find(tag.syncMetadataID).fetchOne(db))
        #expect(known.recordPrimaryKey == "Übung weekend")
        #expect(try Tag.metadata(for: tag.title).fetchOne(db) == known)
        #expect(try Tag.metadata(for: "Übung WEEKEND").fetchOne(db) == known)
        #expect(try Tag.metadata(for: "übung weekend").fetchOne(db) == nil)
        #expect(try SyncMetadata.find(known.id).fetchOne(db) == known)
        #expect(try SyncMetadata.find([tag.syncMetadataID, Code(text: "Ab").syncMetadataID]).fetchCount(db) == 2)
        // Joins find it whichever side comes first.
        #expect(try Tag.join(SyncMetadata.all) { $0.hasMetadata(in: $1) }.fetchCount(db) == 1)
        #expect(try SyncMetadata.join(Tag.all) { $0.id.eq($1.syncMetadataID) }.fetchCount(db) == 1)
        // Without the collation, the two spellings are two rows.
        #expect(try Code.metadata(for: "Ab").fetchOne(db)?.recordPrimaryKey == "Ab")
        #expect(try Code.metadata(for: "ab").fetchOne(db) == nil)
        #expect(try Code.join(SyncMetadata.all) { $0.hasMetadata(in: $1) }.fetchCount(db) == 2)
      }
      await engine.stopAndWait()
    }

    @Test("a row is not acknowledged before another device has it, nor after an edit of one column")
    func acknowledgement() async throws {
      try await SyncedDevice.pair { tower, laptop in
        let list = SyncedList(id: UUID(), title: "Groceries")
        let item = SyncedItem(id: UUID(), text: "milk", listID: list.id)
        await laptop.engine.stopAndWait()
        try await tower.addList(list.title, id: list.id)
        try await tower.database.write { db in try SyncedItem.insert { item }.execute(db) }
        try await eventually("taken up") { try await metadata(of: item, tower) != nil }
        try await Task.sleep(for: .seconds(1))
        #expect(try await metadata(of: item, tower)?.hasLastKnownServerRecord == false)
        #expect(try await metadata(of: item, tower)?.isAcknowledged == false)
        try await laptop.engine.start()
        try await eventually("acknowledged") { try await metadata(of: item, tower)?.isAcknowledged == true }
        await laptop.engine.stopAndWait()
        let created = try #require(try await metadata(of: item, tower)).userModificationTime
        try await tower.database.write { db in
          try SyncedItem.find(item.id).update { $0.isDone = true }.execute(db)
        }
        try await eventually("taken up") { try await metadata(of: item, tower)?.isAcknowledged == false }
        let edited = try #require(try await metadata(of: item, tower))
        #expect(edited.hasLastKnownServerRecord && edited.userModificationTime > created)
        #expect(try await metadata(of: list, tower)?.isAcknowledged == true)
      }
    }

    @Test("each row has the number of devices that acknowledged it, also of those that are disconnected or revoked")
    func devices() async throws {
      let network = NodeConfiguration.Network.separate()
      let (tower, laptop) = (try SyncedDevice("tower", on: network), try SyncedDevice("laptop", on: network))
      let phone = try SyncedDevice("phone", on: network)
      let list = SyncedList(id: UUID(), title: "Groceries")
      func reached(_ count: Int, of all: Int, line: Int = #line) async throws {
        try await eventually("\(count) of \(all) in line \(line)") {
          let row = try await metadata(of: list, tower)
          return row?.acknowledgedDevices == count && row?.devices == all && row?.isPending == false
        }
      }
      try await SyncedDevice.running(tower, laptop, phone) {
        try await tower.engine.start()
        @FetchOne(SyncMetadata.counts, database: tower.database) var counts = SyncCounts()
        try await tower.addList(list.title, id: list.id)
        try await reached(0, of: 0)
        try await eventually("one row") { counts == SyncCounts(rows: 1, unacknowledged: 1) }
        for device in [laptop, phone] { try await device.engine.join(try await tower.engine.inviteDevice().link) }
        try await reached(2, of: 2)
        try await eventually("acknowledged") { counts == SyncCounts(rows: 1) }
        // The tower has it. The laptop isn't connected to the phone, so it may not know whether the phone has it.
        try await eventually("known on the laptop") {
          let row = try await metadata(of: list, laptop)
          return row?.devices == 2 && (row?.acknowledgedDevices ?? 0) >= 1
        }
        await phone.engine.stopAndWait()
        try await tower.database.write { db in
          try SyncedList.find(list.id).update { $0.title = "Shopping" }.execute(db)
        }
        try await reached(1, of: 2)
        #expect(try await metadata(of: list, tower)?.isAcknowledged == true)
        await laptop.engine.stopAndWait()
        // The laptop wrote this while it was alone. The tower doesn't know that the phone has it.
        try await laptop.database.write { db in
          try SyncedList.find(list.id).update { $0.title = "Market" }.execute(db)
        }
        try await laptop.engine.start()
        try await reached(1, of: 2)
        try await phone.engine.start()
        try await reached(2, of: 2)
        try await tower.engine.revokeDevice(
          try #require(try await tower.engine.devices().first { $0.name == "phone" }).id)
        try await reached(1, of: 1)
        await tower.engine.stopAndWait()
        try await tower.addList("Books")
        try await eventually("pending") { counts.pending == 1 }
      }
    }

    @Test("the counts are right for 100,000 rows")
    func manyRows() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await device.database.write { db in
        try #sql(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
          INSERT INTO \(SyncedList.self) ("title") SELECT i FROM n
          """
        ).execute(db)
      }
      try await SyncedDevice.running(device) {
        try await device.engine.start()
        try await eventually("all rows have metadata") {
          try await device.database.read { db in try SyncMetadata.fetchCount(db) } == 100_000
        }
        let counts = try await device.database.read { db in try SyncMetadata.counts.fetchOne(db) }
        #expect(counts == SyncCounts(rows: 100_000, unacknowledged: 100_000))
      }
    }

    @Test("the root of a share has it in its metadata, and an observed query is notified without further work")
    func share() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        @FetchAll(
          SyncedList.leftJoin(SyncMetadata.all) { $0.hasMetadata(in: $1) }
            .select { ListRow.Columns(list: $0, isShared: $1.isShared ?? false) },
          database: alice.database)
        var rows
        try await eventually("observed") { rows == [ListRow(list: list, isShared: false)] }
        let sharedRecord = try await alice.engine.share(record: list)
        try await eventually("told") { rows == [ListRow(list: list, isShared: true)] }
        let share = try await alice.database.read { db in
          try SyncedList.metadata(for: list.id).select(\.share).fetchOne(db) ?? nil
        }
        #expect(share == sharedRecord.share)
        let items = try await alice.database.read { db in try SyncedItem.fetchAll(db) }
        #expect(try await metadata(of: items[0], alice)?.isShared == false)
        try await bob.engine.acceptShare(try #require(sharedRecord.link))
        let accepted = try #require(try await metadata(of: list, bob)?.share)
        #expect(accepted.permission == .readWrite && accepted.owner.id == share?.owner.id)
        try await eventually("both participants") {
          try await metadata(of: list, alice)?.share?.participants.count == 2
        }
        try await eventually("acknowledged by the other account") {
          let row = try await metadata(of: list, alice)
          return row?.isAcknowledged == true && row?.acknowledgedDevices == 1 && row?.devices == 1
        }
        // The device of the other account stays known while it is disconnected.
        await bob.engine.stopAndWait()
        try await alice.database.write { db in
          try SyncedList.find(list.id).update { $0.title = "Shopping" }.execute(db)
        }
        try await eventually("not acknowledged") { try await metadata(of: list, alice)?.acknowledgedDevices == 0 }
        #expect(try await metadata(of: list, alice)?.devices == 1)
        try await alice.engine.unshare(record: list)
        #expect(try await metadata(of: list, alice)?.isShared == false)
      }
    }

    @Test("the metadata can't be written to, and a table can be rebuilt beside them")
    func noWrites() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await SyncedDevice.running(device) {
        try await device.engine.start()
        try await device.addList("Groceries")
        try await eventually("taken up") {
          try await device.database.read { db in try SyncMetadata.fetchCount(db) } == 1
        }
        await #expect(throws: DatabaseError.self) {
          try await device.database.write { db in try SyncMetadata.delete().execute(db) }
        }
        await device.engine.stopAndWait()
        try await device.database.writeWithoutTransaction { db in
          try db.execute(
            sql: """
              PRAGMA foreign_keys = OFF;
              BEGIN;
              CREATE TABLE new_items ("id" TEXT PRIMARY KEY NOT NULL, "listID" TEXT NOT NULL REFERENCES "lists"("id"));
              DROP TABLE items;
              ALTER TABLE new_items RENAME TO items;
              COMMIT;
              PRAGMA foreign_keys = ON;
              """)
        }
      }
    }

    @Test("an app without an engine renames its tables and columns")
    func renameWithoutEngine() async throws {
      let database = try defaultDatabase()
      try await database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE a (id TEXT PRIMARY KEY NOT NULL, title TEXT);
            ALTER TABLE a RENAME COLUMN title TO name;
            ALTER TABLE a RENAME TO b
            """)
      }
      #expect(try await database.read { db in try db.tableExists("b") })
    }

    @Test("a connection that was opened before the engine was created reads the metadata")
    func openBefore() async throws {
      let database = try defaultDatabase()
      try await database.write { db in
        try #sql(#"CREATE TABLE "lists" ("id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '')"#).execute(
          db)
      }
      #expect(try await database.read { db in try db.tableExists("lists") })
      _ = try SyncEngine(for: database, tables: SyncedList.self)
      #expect(try await database.read { db in try SyncMetadata.fetchCount(db) } == 0)
      #expect(try await database.write { db in try SyncMetadata.fetchCount(db) } == 0)
    }

    @Test("a connection that the app opened itself reads the metadata once it is attached")
    func attached() async throws {
      let path = try defaultDatabase().path
      var configuration = Configuration()
      configuration.prepareDatabase { db in try db.attachMetadatabase(containerIdentifier: "iCloud.example") }
      let database = try DatabaseQueue(path: path, configuration: configuration)
      try await database.write { db in
        try #sql(#"CREATE TABLE "lists" ("id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '')"#).execute(
          db)
      }
      _ = try SyncEngine(for: database, tables: SyncedList.self)
      #expect(try await database.read { db in try SyncMetadata.fetchCount(db) } == 0)
    }
  }
}
