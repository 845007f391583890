import Foundation
import Logging
import MeshControl
import MeshNode
import Observation
import Synchronization
import Testing

@testable import SQLiteData

extension SyncTests {
  /// The engine runs the node, or uses the one of another process. These engines have control sockets, and listen on
  /// loopback.
  @Suite("Which process runs the node", .timeLimit(.minutes(5)))
  struct NodeOwnershipTests {
    private let loopback = NodeConfiguration(listen: "127.0.0.1:0", network: .tcp)

    private func engine(
      _ database: any DatabaseWriter, home: String, _ change: (inout NodeConfiguration) -> Void = { _ in }
    ) throws -> SyncEngine {
      var node = loopback
      node.home = home
      change(&node)
      return try SyncEngine(
        for: database, tables: SyncedList.self, SyncedItem.self, privateTables: ListPosition.self, node: node)
    }

    @Test("the second engine on a home uses the node of the first, and runs it when the first one stops")
    func takeOver() async throws {
      let (database, home) = (try syncedDatabase(), DatabasePlace.temporaryHome())
      let (first, second) = (try engine(database, home: home), try engine(database, home: home))
      try await first.start()
      #expect(first.activity.role == .node)
      try await second.start()
      #expect(second.activity.role == .client)
      #expect(try await second.devices().map(\.id) == first.devices().map(\.id))
      let isNotified = Mutex(false)
      withObservationTracking {
        _ = second.isRunning
      } onChange: {
        isNotified.withLock { $0 = true }
      }
      await first.stopAndWait()
      try await eventually("the second runs the node") { second.activity.role == .node }
      // In between, no node was working.
      #expect(isNotified.withLock { $0 })
      #expect(try await second.devices().count == 1)
      await second.stopAndWait()
    }

    @Test("a home is found again by its database, although the app doesn't name it")
    func homeOfDatabase() async throws {
      let (database, home) = (try syncedDatabase(), DatabasePlace.temporaryHome())
      let first = try engine(database, home: home)
      try await first.start()
      let account = try await first.account()
      let second = try engine(database, home: home) { $0.home = nil }
      #expect(second.plan.home == home)
      try await second.start()
      #expect(second.activity.role == .client)
      #expect(try await second.account() == account)
      await second.stopAndWait()
      // Another home is refused while the node runs and after that, and the database's home stays known.
      for _ in 0..<2 {
        let other = try engine(database, home: DatabasePlace.temporaryHome())
        #expect(await syncError { try await other.start() } != nil)
        await first.stopAndWait()
      }
      let third = try engine(database, home: home) { $0.home = nil }
      try await third.start()
      #expect(third.plan.home == home)
      #expect(try await third.account() == account)
      await third.stopAndWait()
    }

    @Test("a home that has another database is refused, and the message names both")
    func otherDatabase() async throws {
      let home = DatabasePlace.temporaryHome()
      let (mine, others) = (try syncedDatabase(), try syncedDatabase())
      let first = try engine(others, home: home)
      try await first.start()
      let second = try engine(mine, home: home)
      let error = await syncError { try await second.start() }
      #expect(error?.code == .database)
      #expect(error?.message.contains(mine.path) == true && error?.message.contains(others.path) == true)
      #expect(!second.isRunning)
      await first.stopAndWait()
      await second.stopAndWait()
    }

    @Test("the commands of mesh reach the node of an app over its socket")
    func verbs() async throws {
      let (database, home) = (try syncedDatabase(), DatabasePlace.temporaryHome())
      let engine = try engine(database, home: home)
      try await engine.start()
      let client = ControlClient(home: home)
      try await eventually("the socket answers") { client.isAnswered }
      #expect(try await client.perform(StatusRequest()).tables.sorted() == ["items", "listPositions", "lists"])
      await engine.stopAndWait()
      #expect(!client.isAnswered)
    }

    @Test("an app whose port is taken listens on a free one")
    func takenPort() async throws {
      let taken = try engine(try syncedDatabase(), home: DatabasePlace.temporaryHome())
      try await taken.start()
      let address = try #require(try await taken.perform(StatusRequest()).listen)
      let (database, home) = (try syncedDatabase(), DatabasePlace.temporaryHome())
      let first = try engine(database, home: home)
      try await first.start()
      await first.stopAndWait()
      let text = try String(contentsOfFile: "\(home)/config.toml", encoding: .utf8)
      let file = try FileHandle(forWritingTo: URL(filePath: "\(home)/config.toml"))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(text.replacing("127.0.0.1:0", with: address).utf8))
      try file.close()
      let again = try engine(database, home: home) { $0.listen = nil }
      try await again.start()
      let free = try await again.perform(StatusRequest()).listen
      #expect(free?.hasPrefix("127.0.0.1:") == true && free != address)
      await again.stopAndWait()
      await taken.stopAndWait()
    }

    @Test("engines that start at the same instant on a new database use one node", arguments: [false, true])
    func simultaneousStarts(namesHome: Bool) async throws {
      for _ in 0..<5 {
        let (database, home) = (try syncedDatabase(), DatabasePlace.temporaryHome())
        // Without a name, each of them proposes another home.
        let engines = try (0..<4).map { _ in try engine(database, home: home) { if !namesHome { $0.home = nil } } }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for engine in engines { group.addTask { try await engine.start() } }
          try await group.waitForAll()
        }
        #expect(engines.count { $0.activity.role == .node } == 1)
        var accounts: Set<String> = []
        for engine in engines { accounts.insert(try await engine.account().id) }
        #expect(accounts.count == 1)
        #expect(Set(engines.map(\.plan.home)).count == 1)
        for engine in engines { await engine.stopAndWait() }
      }
    }

    @Test("while an app deletes its local data or joins another account, no other app runs the node")
    func removalBesideAnotherApp() async throws {
      let (towerDatabase, laptopDatabase) = (try syncedDatabase(), try syncedDatabase())
      let tower = try engine(towerDatabase, home: DatabasePlace.temporaryHome())
      let home = DatabasePlace.temporaryHome()
      let (first, second) = (try engine(laptopDatabase, home: home), try engine(laptopDatabase, home: home))
      func titles(_ database: any DatabaseWriter) async throws -> [String] {
        try await database.read { db in try SyncedList.order(by: \.title).select(\.title).fetchAll(db) }
      }
      try await tower.start()
      try await first.start()
      try await second.start()
      #expect(second.activity.role == .client)
      let all = (0..<300).map { "\(1_000 + $0)" }
      try await laptopDatabase.write { db in
        for title in all { try SyncedList.insert { SyncedList(id: UUID(), title: title) }.execute(db) }
      }
      try await first.join(try await tower.inviteDevice().link)
      let account = try await tower.account().id
      for engine in [first, second] {
        try await eventually("both use the new account") { try await engine.account().id == account }
      }
      try await eventually("all rows") { try await titles(towerDatabase) == all }
      for _ in 0..<5 {
        guard first.activity.role == .node else {
          // The other app was faster, and the first one is refused.
          #expect(await syncError { try await first.deleteLocalData() }?.code == .otherNode)
          continue
        }
        let error = await syncError { try await first.deleteLocalData() }
        #expect(error == nil || error?.code == .otherNode, "\(String(describing: error))")
        try await eventually("all rows again") { try await titles(laptopDatabase) == all }
        #expect(try await titles(towerDatabase) == all)
      }
      for engine in [second, first] {
        #expect(try await engine.heldRecords() == [])
        await engine.stopAndWait()
      }
      // While rows are removed, an app that starts waits.
      try await first.plan.withoutNode {
        let starting = Task { try await second.start() }
        try await Task.sleep(for: .milliseconds(500))
        #expect(second.activity.role == nil)
        starting.cancel()
      }
      try await eventually("the second app runs the node") { second.activity.role == .node }
      #expect(await syncError { try await first.plan.withoutNode {} }?.code == .otherNode)
      await second.stopAndWait()
      await tower.stopAndWait()
    }
  }
}
