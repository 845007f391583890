import Foundation
import Testing

@testable import SQLiteData

extension SyncTests {
  @Suite("The engine in SQL", .timeLimit(.minutes(5)))
  struct SyncSQLTests {
    @Test("a trigger with the condition runs for the app's own rows, and not for those of other devices")
    func triggers() async throws {
      try await SyncedDevice.pair { tower, laptop in
        for device in [tower, laptop] {
          try await device.database.write { db in
            for (name, condition) in [("all", SQLQueryExpression("1")), ("own", !SyncEngine.$isSynchronizing)] {
              try #sql(
                """
                CREATE TRIGGER \(quote: name) AFTER INSERT ON "lists"
                FOR EACH ROW WHEN \(condition)
                BEGIN
                  INSERT INTO "drafts" ("id", "text") VALUES (lower(hex(randomblob(16))), \(quote: name, delimiter: .text));
                END
                """
              )
              .execute(db)
            }
          }
        }
        try await tower.addList("Groceries")
        try await tower.engine.sendChanges()
        func drafts(_ device: SyncedDevice) async throws -> [String] {
          try await device.database.read { db in
            try #sql(#"SELECT "text" FROM "drafts" ORDER BY "text""#, as: String.self).fetchAll(db)
          }
        }
        #expect(try await drafts(tower) == ["all", "own"])
        #expect(try await drafts(laptop) == ["all"])
      }
    }

    @Test("a temporary trigger accepts the condition, and the property used as a value is reported")
    func temporaryTrigger() async throws {
      let device = try SyncedDevice("tower", on: .separate())
      try await device.database.write { db in
        try SyncedList.createTemporaryTrigger(
          "draft",
          after: .insert { new in
            UnsentDraft.insert { UnsentDraft(id: UUID(), text: "made") }
          } when: { _ in
            !SyncEngine.$isSynchronizing
          }
        ).execute(db)
      }
      try await device.addList("Groceries")
      #expect(try await device.database.read { db in try UnsentDraft.fetchCount(db) } == 1)
      withKnownIssue {
        #expect(!SyncEngine.isSynchronizing)
      } matching: {
        $0.comments.contains { $0.rawValue.contains("$isSynchronizing") }
      }
    }

    @Test("a write to a read-only share, and another key for the root of a share, have their errors")
    func errors() async throws {
      try await SyncedDevice.accounts { alice, bob, list in
        let shared = try await alice.engine.share(record: list) { $0.publicPermission = .readOnly }
        try await bob.engine.acceptShare(try #require(shared.link))
        do {
          try await bob.database.write { db in
            try SyncedList.find(list.id).update { $0.title = "Personal" }.execute(db)
          }
          Issue.record("the write was not refused")
        } catch let error as DatabaseError where error.message == SyncEngine.writePermissionError {
          #expect(SyncError(error)?.code == .writePermission)
        }
        do {
          try await alice.database.write { db in
            try #sql("UPDATE \(SyncedList.self) SET \(quote: "id") = 'other'").execute(db)
          }
          Issue.record("the write was not refused")
        } catch let error as DatabaseError where error.message == SyncEngine.invalidRecordNameError {
          #expect(SyncError(error)?.code == .invalidRecordName)
        }
        let error = await #expect(throws: DatabaseError.self) {
          try await alice.database.write { db in try #sql("UPDATE nothing SET a = 1").execute(db) }
        }
        #expect(error.map { SyncError($0) == nil } == true)
      }
    }
  }
}
