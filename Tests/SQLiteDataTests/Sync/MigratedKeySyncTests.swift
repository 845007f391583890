import Foundation
import GRDB
import MeshControl
import SQLiteData
import Testing

@testable import SQLiteData

@SQLiteData.Table private struct Team: Hashable, Identifiable {
  let id: UUID
  var name = ""
}

@SQLiteData.Table private struct Player: Hashable, Identifiable {
  let id: UUID
  var name = ""
  var teamID: Team.ID?
  var edits = 0
}

@SQLiteData.Table private struct Skill: Hashable, Identifiable {
  let id: UUID
  var title = ""
}

@SQLiteData.Table private struct PlayerSkill: Hashable, Identifiable {
  let id: UUID
  var playerID: Player.ID
  var skillID: Skill.ID
}

extension SharedSyncTests {
  /// Two machines with copies of an old file, whose rows have numbers as keys.
  @Suite("Synchronizing after a migration of primary keys", .timeLimit(.minutes(5)))
  struct MigratedKeySyncTests {
    private static let old = """
      CREATE TABLE "teams" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL DEFAULT '');
      CREATE TABLE "players" (
        "id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL DEFAULT '',
        "teamID" INTEGER REFERENCES "teams"("id") ON DELETE SET NULL, "edits" INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE "skills" ("id" INTEGER PRIMARY KEY, "title" TEXT NOT NULL DEFAULT '');
      CREATE TABLE "playerSkills" (
        "id" INTEGER PRIMARY KEY, "playerID" INTEGER NOT NULL REFERENCES "players"("id") ON DELETE CASCADE,
        "skillID" INTEGER NOT NULL REFERENCES "skills"("id") ON DELETE CASCADE);
      CREATE INDEX "players_team" ON "players"("teamID", "name");
      CREATE TRIGGER "players_edits" AFTER UPDATE OF "name" ON "players" WHEN new."edits" = old."edits" BEGIN
        UPDATE "players" SET "edits" = "edits" + 1 WHERE "id" = new."id";
      END;
      INSERT INTO "teams" VALUES (1, 'Red'), (7, 'Blue');
      INSERT INTO "players" VALUES (1, 'Ann', 1, 0), (2, 'Bo', 7, 3), (3, 'Cy', NULL, 0), (9, 'Di', 1, 0);
      INSERT INTO "skills" VALUES (1, 'run'), (2, 'jump');
      INSERT INTO "playerSkills" VALUES (1, 1, 1), (2, 1, 2), (3, 2, 2), (5, 9, 1);
      """

    /// Opens a copy of the old file and migrates it.
    private func machine(_ file: URL, _ name: String) throws -> any DatabaseWriter {
      let copy = file.deletingLastPathComponent().appending(path: "\(name).db")
      try FileManager.default.copyItem(at: file, to: copy)
      let database = try withDependencies {
        $0.context = .live
      } operation: {
        try defaultDatabase(path: copy.path)
      }
      var migrator = DatabaseMigrator()
      migrator.registerMigration("Give UUIDs to all rows") { db in
        try db.migratePrimaryKeys(
          tables: Team.self, Player.self, Skill.self, PlayerSkill.self, salt: "the salt of all machines")
      }
      try migrator.migrate(database)
      return database
    }

    private func contents(_ database: any DatabaseWriter) async throws -> [String] {
      try await database.read { db in
        try ["teams", "players", "skills", "playerSkills"].flatMap { table in
          try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY id").map { "\(table) \($0)" }
        }
      }
    }

    @Test("copies of one old file that were migrated with the same salt become equal, and have no row twice")
    func copies() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appending(path: "old.db")
      let queue = try DatabaseQueue(path: file.path)
      try await queue.write { db in try db.execute(sql: Self.old) }
      try queue.close()
      let (mine, theirs) = (try machine(file, "tower"), try machine(file, "laptop"))
      let (before, same) = (try await contents(mine), try await contents(theirs))
      #expect(before == same)

      let network = NodeConfiguration.Network.separate()
      func engine(_ database: any DatabaseWriter) throws -> SyncEngine {
        try SyncEngine(
          for: database, tables: Team.self, Player.self, Skill.self, PlayerSkill.self,
          node: NodeConfiguration(network: network))
      }
      let (tower, laptop) = (try engine(mine), try engine(theirs))
      try await tower.start()
      try await laptop.join(try await tower.inviteDevice().link)
      func end(_ what: String, _ isDone: ([String]) -> Bool) async throws {
        try await eventually(what) {
          let rows = try await contents(mine)
          let others = try await contents(theirs)
          return isDone(rows) && rows == others
        }
      }
      try await end("no row is there twice") { $0.count == 12 }
      let held = try await (tower.perform(StatusRequest()).held, laptop.perform(StatusRequest()).held)
      #expect(held.0.isEmpty && held.1.isEmpty)

      // Each machine edits another machine's row by a reference, and the trigger and the references do their work.
      try await theirs.write { db in
        try Player.where { $0.name.eq("Ann") }.update { $0.name = "Anna" }.execute(db)
        try Player.insert { Player.Draft(name: "Ed", teamID: nil) }.execute(db)
      }
      try await mine.write { db in try Team.where { $0.name.eq("Blue") }.delete().execute(db) }
      try await end("the edits") { rows in
        rows.count == 12 && rows.contains { $0.contains("Anna") } && rows.contains { $0.contains("Ed") }
      }
      for database in [mine, theirs] {
        try await database.read { db in
          #expect(try Player.where { $0.name.eq("Bo") }.fetchOne(db)?.teamID == nil, "its team is gone")
          #expect(try Player.where { $0.name.eq("Anna") }.fetchOne(db)?.edits == 1, "the trigger ran once")
          #expect(try Player.where { $0.teamID.is(nil) }.fetchCount(db) == 3)
          let skills = try PlayerSkill.join(Player.all) { $0.playerID.eq($1.id) }
            .join(Skill.all) { links, _, skills in links.skillID.eq(skills.id) }
            .where { _, players, _ in players.name.eq("Anna") }.order { _, _, skills in skills.title }.select {
              _, _, skills in skills.title
            }
            .fetchAll(db)
          #expect(skills == ["jump", "run"])
          #expect(try db.indexes(on: "players").map(\.name).contains("players_team"))
          #expect(try String.fetchOne(db, sql: "PRAGMA quick_check") == "ok")
        }
      }
      let verified = try await tower.perform(VerifyRequest(timeout: .seconds(60)))
      #expect(!verified.comparisons.isEmpty && verified.comparisons.allSatisfy { $0.outcome == .equal })
      await laptop.stopAndWait()
      await tower.stopAndWait()
    }
  }
}
