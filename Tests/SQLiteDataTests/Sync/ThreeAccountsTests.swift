import Foundation
import Testing

@testable import SQLiteData

extension SharedSyncTests {
  /// Apps of three accounts that use nothing but the engine, over TCP on this machine.
  @Suite("Three accounts", .timeLimit(.minutes(5)))
  struct ThreeAccountsTests {
    private final class News: SyncEngineDelegate {
      let revoked = AsyncStream.makeStream(of: String.self)

      func syncEngine(_ syncEngine: SyncEngine, shareRevoked share: Share) async {
        revoked.continuation.yield(share.title ?? "")
      }
    }

    private func device(_ account: String, delegate: News? = nil) throws -> (SyncEngine, any DatabaseWriter) {
      let database = try syncedDatabase()
      let engine = try SyncEngine(
        for: database, tables: SyncedList.self, SyncedItem.self, privateTables: ListPosition.self,
        node: NodeConfiguration(
          home: DatabasePlace.temporaryHome(), device: "\(account)'s", listen: "127.0.0.1:0", network: .tcp),
        defaultZone: account, delegate: delegate)
      return (engine, database)
    }

    private func texts(_ database: any DatabaseWriter) async throws -> [String] {
      try await database.read { db in try SyncedItem.order(by: \.text).select(\.text).fetchAll(db) }
    }

    private func add(_ text: String, _ list: SyncedList, _ database: any DatabaseWriter) async throws {
      try await database.write { db in
        try SyncedItem.insert { SyncedItem(id: UUID(), text: text, listID: list.id) }.execute(db)
      }
    }

    @Test("a list with a participant that reads and one that writes, until its owner stops sharing it")
    func share() async throws {
      let news = News()
      let (alice, mine) = try device("alice")
      let (bob, bobs) = try device("bob", delegate: news)
      let (carol, carols) = try device("carol")
      let result: Result<Void, any Error>
      do {
        for engine in [alice, bob, carol] { try await engine.start() }
        let list = SyncedList(id: UUID(), title: "Groceries")
        try await mine.write { db in try SyncedList.insert { list }.execute(db) }
        try await add("milk", list, mine)

        let shared = try await alice.share(record: list) { $0.title = "Shopping" }
        try await bob.acceptShare(try #require(shared.link))
        let readOnly = try await alice.inviteParticipant(to: shared.share, permission: .readOnly)
        try await carol.acceptShare(metadata: try await carol.shareMetadata(for: readOnly))
        for database in [bobs, carols] { #expect(try await texts(database) == ["milk"]) }

        try await add("bread", list, bobs)
        for database in [mine, bobs, carols] {
          try await eventually("bread is everywhere") { try await texts(database) == ["bread", "milk"] }
        }
        let refused = await #expect(throws: DatabaseError.self) { try await add("eggs", list, carols) }
        #expect(refused?.message == SyncEngine.writePermissionError)
        let participants = try #require(try await alice.shares().first).participants
        #expect(participants.map(\.name).sorted { $0 ?? "" < $1 ?? "" } == ["alice", "bob", "carol"])
        #expect(participants.first { $0.name == "carol" }?.permission == .readOnly)
        #expect(participants.allSatisfy { $0.acceptanceStatus == .accepted })

        // The third account may write from now on.
        try await alice.share(record: list) { share in
          for index in share.participants.indices where share.participants[index].name == "carol" {
            share.participants[index].permission = .readWrite
          }
        }
        try await eventually("the permission") { try await carol.shares().first?.permission == .readWrite }
        try await add("eggs", list, carols)
        for database in [mine, bobs] {
          try await eventually("eggs are everywhere") { try await texts(database) == ["bread", "eggs", "milk"] }
        }

        try await alice.unshare(record: list)
        for database in [bobs, carols] {
          try await eventually("the rows are gone") { try await texts(database).isEmpty }
        }
        #expect(try await texts(mine) == ["bread", "eggs", "milk"])
        var titles = news.revoked.stream.makeAsyncIterator()
        #expect(await titles.next() == "Shopping")
        for engine in [alice, bob, carol] { #expect(try await engine.shares().isEmpty) }
        // The list is the owner's alone, who goes on with it.
        try await add("salt", list, mine)
        #expect(try await texts(carols).isEmpty)
        result = .success(())
      } catch {
        result = .failure(error)
      }
      for engine in [carol, bob, alice] { await engine.stopAndWait() }
      try result.get()
    }
  }
}
