// This file contains the code of the article about conflict policies. A test compares them line by line.

import Foundation
import MeshControl
import SQLiteData
import Testing

@testable import SQLiteData

@Table
private struct Post: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var likes = 0
  var bestScore = 0
  var firstSeen = ""
}

extension SharedSyncTests {
  @Suite("Conflict policies", .timeLimit(.minutes(5)))
  struct ConflictPolicyTests {
    private func appDatabase() throws -> any DatabaseWriter {
      let database = try defaultDatabase()
      try database.write { db in
        try #sql(
          """
          CREATE TABLE "posts" (
            "id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '', "likes" INTEGER NOT NULL DEFAULT 0,
            "bestScore" INTEGER NOT NULL DEFAULT 0, "firstSeen" TEXT NOT NULL DEFAULT '')
          """
        ).execute(db)
      }
      return database
    }

    private func engine(
      _ database: any DatabaseWriter, _ policies: [ConflictPolicy] = [], on network: NodeConfiguration.Network
    ) throws -> SyncEngine {
      try SyncEngine(
        for: database, tables: Post.self, policies: policies, node: NodeConfiguration(network: network))
    }

    private static let policies: [ConflictPolicy] = [
      .counter(Post.columns.likes), .greatest(Post.columns.bestScore), .least(Post.columns.firstSeen),
    ]

    /// Returns the policies that a node knows, by table and column.
    private func policies(_ engine: SyncEngine) async throws -> [String: [String: String]] {
      let listed = try await engine.perform(SchemaRequest()).policies
      return Dictionary(grouping: listed, by: \.table).mapValues { columns in
        Dictionary(columns.map { ($0.column, $0.policy) }, uniquingKeysWith: { $1 })
      }
    }

    @Test("the sample of the article makes an engine and counts")
    func sample() async throws {
      let database = try appDatabase()
      let syncEngine = try SyncEngine(
        for: database,
        tables: Post.self,
        policies: [
          .counter(Post.columns.likes), .greatest(Post.columns.bestScore), .least(Post.columns.firstSeen),
        ]
      )
      let post = Post(id: UUID())
      try await database.write { db in try Post.insert { post }.execute(db) }
      try await syncEngine.start()
      try await database.write { db in
        try Post.find(post.id).update { $0.likes += 1 }.execute(db)
      }
      #expect(try await database.read { db in try Post.find(post.id).fetchOne(db) }?.likes == 1)
      await syncEngine.stopAndWait()
    }

    @Test("two engines that wrote apart end with the sum, the greatest, the least and the last value")
    func apart() async throws {
      let network = NodeConfiguration.Network.separate()
      let (mine, theirs) = (try appDatabase(), try appDatabase())
      let tower = try engine(mine, Self.policies, on: network)
      // An engine without policies follows those of the mesh.
      let laptop = try engine(theirs, on: network)
      let id = UUID()
      try await tower.start()
      try await laptop.join(try await tower.inviteDevice().link)
      try await mine.write { db in try Post.insert { Post(id: id, likes: 0, firstSeen: "m") }.execute(db) }
      try await eventually("the row") { try await theirs.read { db in try Post.fetchCount(db) } == 1 }
      // A device that doesn't know a policy yet assigns.
      try await eventually("the policies") { try await policies(laptop)["posts"]?.count == 3 }
      await laptop.stopAndWait()
      for _ in 1...5 {
        try await mine.write { db in
          try Post.find(id).update {
            $0.likes += 1
            $0.bestScore = 5
            $0.firstSeen = "k"
            $0.title = "tower"
          }.execute(db)
        }
      }
      for _ in 1...7 {
        try await theirs.write { db in
          try Post.find(id).update {
            $0.likes += 1
            $0.bestScore = 39
            $0.firstSeen = "x"
            $0.title = "laptop"
          }.execute(db)
        }
      }
      try await laptop.start()
      try await laptop.syncChanges()
      let expected = Post(id: id, title: "laptop", likes: 12, bestScore: 39, firstSeen: "k")
      for database in [mine, theirs] {
        try await eventually("the merged row") {
          try await database.read { db in try Post.find(id).fetchOne(db) } == expected
        }
      }
      await laptop.stopAndWait()
      await tower.stopAndWait()
    }

    @Test("another policy at a later start replaces the first on every device, and an omitted one stays")
    func changed() async throws {
      let network = NodeConfiguration.Network.separate()
      let (mine, theirs) = (try appDatabase(), try appDatabase())
      let tower = try engine(mine, Self.policies, on: network)
      try await tower.start()
      let home = tower.plan.home
      let laptop = try engine(theirs, on: network)
      try await laptop.join(try await tower.inviteDevice().link)
      try await eventually("the policies") { try await policies(laptop)["posts"]?.count == 3 }
      await tower.stopAndWait()
      let again = try SyncEngine(
        for: mine, tables: Post.self, policies: [.last(Post.columns.likes)],
        node: NodeConfiguration(home: home, network: network))
      try await again.start()
      try await eventually("the other device knows it") {
        let known = try await policies(laptop)["posts"] ?? [:]
        return known["likes"] ?? "last" == "last" && known["bestScore"] == "greatest"
      }
      await laptop.stopAndWait()
      await again.stopAndWait()
    }

    @Test("the last values of both devices, with earlier ones, are listed on both, the newest first")
    func keptValues() async throws {
      let network = NodeConfiguration.Network.separate()
      let (mine, theirs) = (try appDatabase(), try appDatabase())
      let tower = try engine(mine, [.keepBoth(Post.columns.title)], on: network)
      let laptop = try engine(theirs, on: network)
      let post = Post(id: UUID(), title: "inserted")
      try await tower.start()
      try await laptop.join(try await tower.inviteDevice().link)
      try await mine.write { db in try Post.insert { post }.execute(db) }
      try await eventually("the row") { try await theirs.read { db in try Post.fetchCount(db) } == 1 }
      try await eventually("the policy") { try await policies(laptop)["posts"] == ["title": "keepBoth"] }
      try await theirs.write { db in try Post.find(post.id).update { $0.title = "theirs" }.execute(db) }
      try await eventually("the edit") {
        try await mine.read { db in try Post.find(post.id).fetchOne(db) }?.title == "theirs"
      }
      for title in ["mine", "mine again"] {
        try await mine.write { db in try Post.find(post.id).update { $0.title = title }.execute(db) }
        try await eventually("the edit") {
          try await theirs.read { db in try Post.find(post.id).fetchOne(db) }?.title == title
        }
      }
      for syncEngine in [tower, laptop] {
        #expect(
          try await syncEngine.keptValues(Post.columns.title, of: post).map(\.value)
            == ["mine again", "mine", "theirs"])
        for kept in try await syncEngine.keptValues(Post.columns.title, of: post) {
          print("\(kept.device ?? "A device") wrote \(kept.value).")
        }
        #expect(try await syncEngine.keptValues(Post.columns.likes, of: post).isEmpty)
      }
      await laptop.stopAndWait()
      await tower.stopAndWait()
    }

    @Test("every column that can't have its policy is listed")
    func violations() throws {
      let database = try appDatabase()
      try database.write { db in try syncedDatabaseTables(db) }
      let error = #expect(throws: SyncError.self) {
        try SyncEngine(
          for: database, tables: Post.self,
          policies: [
            .counter(Post.columns.title), .greatest(Post.columns.id), .counter(Post.columns.likes),
            .least(SyncedList.columns.title), .counter(Post.columns.bestScore), .greatest(Post.columns.bestScore),
            .counter(Post.columns.likes),
          ])
      }
      #expect(error?.code == .schema)
      #expect(error?.reasons.count == 4)
      let twice = "posts: bestScore has the policies counter and greatest; choose one of them"
      #expect(error?.reasons.contains(twice) == true)
      let message = error?.message ?? ""
      for name in ["title", "id", "lists: it has a conflict policy and isn't synchronized"] {
        #expect(message.contains(name))
      }
      #expect(!message.contains("likes"))
    }

    private func syncedDatabaseTables(_ db: Database) throws {
      try #sql("CREATE TABLE \"lists\" (\"id\" TEXT PRIMARY KEY NOT NULL, \"title\" TEXT)").execute(db)
    }
  }
}
