import Foundation
import Testing

@testable import SQLiteData

@SQLiteData.Table("roots") private struct Root: Hashable, Identifiable {
  let id: UUID
  var title = ""
}

@SQLiteData.Table("branches") private struct Branch: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var rootID: Root.ID?
}

@SQLiteData.Table("leaves") private struct Leaf: Hashable, Identifiable {
  let id: UUID
  var title = ""
  var branchID: Branch.ID?
}

extension SharedSyncTests {
  /// Shares whose rows refer to each other over several levels.
  @Suite("Deep shares", .timeLimit(.minutes(5)))
  struct DeepShareTests {
    private static func device(
      _ name: String, _ network: NodeConfiguration.Network, action: String
    ) throws -> SyncedDevice {
      let database = try defaultDatabase()
      try database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE "roots" ("id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '');
            CREATE TABLE "branches" (
              "id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '',
              "rootID" TEXT REFERENCES "roots"("id") ON DELETE \(action));
            CREATE TABLE "leaves" (
              "id" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL DEFAULT '',
              "branchID" TEXT REFERENCES "branches"("id") ON DELETE \(action));
            """)
      }
      return try SyncedDevice(name, on: network, database: database) {
        try SyncEngine(for: $0, tables: Root.self, Branch.self, Leaf.self, node: $1, defaultZone: name)
      }
    }

    private func rows(_ device: SyncedDevice) async throws -> [String] {
      try await device.database.read { db in
        try String.fetchAll(
          db,
          sql: """
            SELECT title FROM roots UNION ALL SELECT title || ':' || (rootID IS NOT NULL) FROM branches
            UNION ALL SELECT title || ':' || (branchID IS NOT NULL) FROM leaves ORDER BY 1
            """)
      }
    }

    @Test(
      "a participant adds rows at every level, and leaves by deleting the root", arguments: ["CASCADE", "SET NULL"])
    func grandchildren(action: String) async throws {
      let network = NodeConfiguration.Network.separate()
      let alice = try Self.device("alice", network, action: action)
      let bob = try Self.device("bob", network, action: action)
      try await SyncedDevice.running(alice, bob) {
        try await alice.engine.start()
        try await bob.engine.start()
        let root = Root(id: UUID(), title: "root")
        let branch = Branch(id: UUID(), title: "alice's", rootID: root.id)
        try await alice.database.write { db in
          try Root.insert { root }.execute(db)
          try Branch.insert { branch }.execute(db)
          try Leaf.insert { Leaf(id: UUID(), title: "alice's leaf", branchID: branch.id) }.execute(db)
        }
        try await bob.engine.acceptShare(try #require(try await alice.engine.share(record: root).link))
        #expect(try await rows(bob) == ["alice's leaf:1", "alice's:1", "root"])
        let other = Branch(id: UUID(), title: "bob's", rootID: root.id)
        let leaves = [branch, other].map { Leaf(id: UUID(), title: "bob's leaf of \($0.title)", branchID: $0.id) }
        try await bob.database.write { db in
          try Branch.insert { other }.execute(db)
          for leaf in leaves { try Leaf.insert { leaf }.execute(db) }
        }
        let all = [
          "alice's leaf:1", "alice's:1", "bob's leaf of alice's:1", "bob's leaf of bob's:1", "bob's:1", "root",
        ]
        try await eventually("the participant's rows") { try await rows(alice) == all }
        let parent = try await alice.database.read { db in try SyncMetadata.find(leaves[1].syncMetadataID).fetchOne(db)
        }
        #expect(parent?.parentRecordID?.parentRecordType == "branches")
        #expect(parent?.parentRecordID?.parentRecordPrimaryKey == other.id.uuidString.lowercased())
        // A branch that moves to another root takes its leaves along, and comes back with them. One without a root stays.
        let own = Root(id: UUID(), title: "own root")
        try await alice.database.write { db in
          try Root.insert { own }.execute(db)
          try Branch.find(branch.id).update { $0.rootID = #bind(own.id) }.execute(db)
          try Branch.find(other.id).update { $0.rootID = #bind(nil) }.execute(db)
        }
        try await eventually("moved out") { try await rows(bob) == ["bob's leaf of bob's:1", "bob's:0", "root"] }
        try await alice.database.write { db in
          try Branch.update { $0.rootID = #bind(root.id) }.execute(db)
          try Root.find(own.id).delete().execute(db)
        }
        try await eventually("moved in") { try await rows(bob) == all }

        try await bob.database.write { db in try Root.find(root.id).delete().execute(db) }
        try await eventually("left") { try await alice.engine.shares().first?.participants.count == 1 }
        try await eventually("no rows of the share") { try await rows(bob) == [] }
        #expect(try await rows(alice) == all)
      }
    }
  }
}
