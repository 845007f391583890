import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import MeshNode
import Observation
import Synchronization
import Testing

@testable import SQLiteData

struct Titles: FetchKeyRequest {
  func fetch(_ db: Database) throws -> [String] {
    try String.fetchAll(db, sql: "SELECT title FROM items ORDER BY id")
  }
}

extension DatabaseWriter {
  func add(_ titles: String...) throws {
    try write { db in
      for title in titles { try db.execute(sql: "INSERT INTO items (title) VALUES (?)", arguments: [title]) }
    }
  }
}

/// Waits until a condition holds, by default at most half a minute, because all tests share few threads on a busy
/// machine.
func eventually(_ patience: Duration = .seconds(30), _ condition: () async throws -> Bool) async rethrows -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + patience
  while clock.now < deadline {
    if try await condition() { return true }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return false
}

@Suite("Fetch", .dependency(\.defaultDatabase, try itemsDatabase()))
struct FetchTests {
  @Dependency(\.defaultDatabase) var database

  @Test("the value is there when the property is made, and follows commits")
  func followsCommits() async throws {
    try database.add("a")
    @Fetch(Titles()) var titles = []
    #expect(titles == ["a"])
    try database.add("b", "c")
    #expect(await eventually { titles == ["a", "b", "c"] })
    #expect($titles.loadError == nil)
    #expect(!$titles.isLoading)
  }

  @Test("a load returns after the value includes every earlier commit")
  func loadIsFresh() async throws {
    @Fetch(Titles()) var titles = []
    for count in 1...200 {
      try database.add("x")
      try await $titles.load()
      #expect(titles.count == count)
    }
  }

  @Test("an error keeps the value, and the next success clears it")
  func errorKeepsValue() async throws {
    try database.add("a")
    @Fetch(Titles()) var titles = []
    try await database.write { try $0.execute(sql: "ALTER TABLE items RENAME TO things") }
    await #expect(throws: DatabaseError.self) { try await $titles.load() }
    #expect(titles == ["a"])
    #expect($titles.loadError is DatabaseError)
    try await database.write { try $0.execute(sql: "ALTER TABLE things RENAME TO items") }
    try database.add("b")
    #expect(await eventually { titles == ["a", "b"] && $titles.loadError == nil })
  }

  @Test("each commit of another process arrives")
  func otherProcess() async throws {
    @Fetch(Titles()) var titles = []
    for round in 1...20 {
      try python(
        "import sqlite3; c = sqlite3.connect('\(database.path)'); c.execute('INSERT INTO items (title) VALUES (1)'); c.commit()"
      )
      #expect(await eventually { titles.count == round })
    }
  }

  @Test("a commit of another process arrives by the kernel's events, without a poll")
  func otherProcessAtOnce() async throws {
    let count = Mutex(0)
    let database = database
    let events = WriteEvents(database: database.path, poll: nil) {
      let rows = try? database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM items") }
      count.withLock { $0 = rows ?? $0 }
    }
    let writer = try PythonWriter(database.path)
    var alone = 0
    for round in 1...15 {
      try writer.commit()
      alone += await eventually(.seconds(1)) { count.withLock { $0 } >= round } ? 1 : 0
    }
    // On a busy machine, all checks after an event may come before its commit. The event of a later commit then
    // compensates for it.
    #expect(alone >= 3)
    withExtendedLifetime(events) {}
  }

  @Test("each change is delivered once")
  func noDuplicates() async throws {
    @Fetch(Titles()) var titles = []
    let deliveries = Mutex<[[String]]>([])
    let values = $titles.values
    let reader = Task {
      for await value in values { deliveries.withLock { $0.append(value) } }
    }
    #expect(await eventually { deliveries.withLock { $0 } == [[]] })
    for title in ["a", "b", "c"] {
      try database.add(title)
      #expect(await eventually { titles.last == title })
      #expect(await eventually { deliveries.withLock { $0.last?.last } == title })
    }
    try await Task.sleep(for: .milliseconds(50))
    #expect(deliveries.withLock { $0 } == [[], ["a"], ["a", "b"], ["a", "b", "c"]])
    reader.cancel()
    await reader.value
  }

  @Test("equal requests share one observation")
  func sharing() throws {
    let first = Fetch(wrappedValue: [], Titles())
    let second = Fetch(wrappedValue: [], Titles())
    #expect(first.box.observationIdentity != nil)
    #expect(first.box.observationIdentity == second.box.observationIdentity)
    let other = Fetch(wrappedValue: [], Titles(), database: try itemsDatabase())
    #expect(other.box.observationIdentity != first.box.observationIdentity)
  }

  @Test("a property and its observation are released")
  func released() async throws {
    weak var box: FetchBox<[String]>?
    weak var observation: SharedObservation<[String]>?
    do {
      let titles = Fetch(wrappedValue: [], Titles())
      box = titles.box
      observation = titles.box.observation
      for await _ in titles.values { break }
      try await titles.load(Titles())
      #expect(observation != nil)
    }
    #expect(box == nil)
    #expect(await eventually { observation == nil })
  }

  /// A request that ends only by an interruption.
  private struct Endless: FetchKeyRequest {
    final class End: Sendable {
      let isReached = Atomic(false)
    }
    let end = End()

    func fetch(_ db: Database) throws -> [String] {
      defer { end.isReached.store(true, ordering: .relaxed) }
      return try String.fetchAll(
        db, sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
    }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.end === rhs.end }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(end)) }
  }

  @Test("a load that another one replaces is interrupted, and returns")
  func replacedLoad() async throws {
    try database.add("a")
    @Fetch(Titles()) var titles = []
    let projected = $titles
    let endless = Endless()
    let task = Task { _ = try await projected.load(endless) }
    #expect(await eventually { projected.isLoading })
    try await Task.sleep(for: .milliseconds(20))
    try await projected.load(Upper())
    #expect(titles == ["A"])
    try #require(await eventually { endless.end.isReached.load(ordering: .relaxed) })
    try await task.value
    #expect(titles == ["A"])
    #expect(!$titles.isLoading)
    #expect($titles.loadError == nil)
  }

  private struct Upper: FetchKeyRequest {
    func fetch(_ db: Database) throws -> [String] {
      try String.fetchAll(db, sql: "SELECT upper(title) FROM items ORDER BY id")
    }
  }

  @Test("cancelling a load interrupts its query and keeps the earlier one")
  func cancellation() async throws {
    @Fetch(Titles()) var titles = []
    let projected = $titles
    let endless = Endless()
    let task = Task { _ = try await projected.load(endless) }
    #expect(await eventually { projected.isLoading })
    try await Task.sleep(for: .milliseconds(20))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { endless.end.isReached.load(ordering: .relaxed) })
    #expect(!$titles.isLoading)
    try database.add("a")
    #expect(await eventually { titles == ["a"] })
    #expect($titles.loadError == nil)
  }

  @Test("a subscription's task ends when it is cancelled, and the observation with it")
  func subscription() async throws {
    @Fetch var titles = [String]()
    let projected = $titles
    let (ready, isReady) = AsyncStream<FetchSubscription>.makeStream()
    let task = Task {
      let subscription = try await projected.load(Titles())
      isReady.yield(subscription)
      try await subscription.task
    }
    var iterator = ready.makeAsyncIterator()
    let subscription = try #require(await iterator.next())
    try database.add("a")
    #expect(await eventually { titles == ["a"] })
    subscription.cancel()
    try await task.value
    #expect($titles.box.observationIdentity == nil)
    try database.add("b")
    try await Task.sleep(for: .milliseconds(20))
    #expect(titles == ["a"])
  }

  @Test("observation tracking sees a change of the value")
  func tracking() async throws {
    @Fetch(Titles()) var titles = []
    try await confirmation { confirm in
      let (changes, change) = AsyncStream<Void>.makeStream()
      withObservationTracking {
        _ = titles
      } onChange: {
        confirm()
        change.finish()
      }
      try database.add("a")
      for await _ in changes {}
    }
  }

  @Test("concurrent writes and loads end with exactly the rows that were written")
  func concurrency() async throws {
    @Fetch(Titles()) var titles = []
    let (database, projected) = (database, $titles)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<500 {
        group.addTask {
          try await database.write { try $0.execute(sql: "INSERT INTO items (title) VALUES (\(number))") }
        }
        if number.isMultiple(of: 10) { group.addTask { try await projected.load() } }
      }
      try await group.waitForAll()
    }
    try await $titles.load()
    #expect(titles.sorted() == (0..<500).map(String.init).sorted())
  }
}

/// A process that inserts a row into `items` on each request.
private final class PythonWriter {
  private let process = Process()
  private let requests = Pipe()
  private let answers = Pipe()

  init(_ path: String) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      """
      import sqlite3, sys
      c = sqlite3.connect(sys.argv[1], timeout=10)
      for line in sys.stdin:
        c.execute("INSERT INTO items (title) VALUES (1)")
        c.commit()
        print(flush=True)
      """,
      path,
    ]
    process.standardInput = requests
    process.standardOutput = answers
    try process.run()
  }

  deinit {
    try? requests.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Inserts a row and returns after the commit.
  func commit() throws {
    try requests.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    #expect(try answers.fileHandleForReading.read(upToCount: 1) == Data("\n".utf8))
  }
}

private func python(_ code: String) throws {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = ["python3", "-c", code]
  try process.run()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0)
}
