import Dependencies
import DependenciesTestSupport
import Foundation
import SQLiteData
import SQLiteDataTestSupport
import Synchronization
import Testing

@testable import Reminders

@Suite(
  "Reminders",
  .dependencies {
    $0.uuid = .incrementing
    $0.defaultDatabase = try appDatabase()
  })
struct RemindersTests {
  @Dependency(\.defaultDatabase) var database

  /// Runs commands and returns what the program wrote.
  private func run(_ commands: String...) async -> [String] {
    let output = Output()
    let (lines, continuation) = AsyncStream<String>.makeStream()
    for command in commands { continuation.yield(command) }
    continuation.finish()
    await RemindersProgram { output.write($0) }.run(lines)
    return output.lines
  }

  @Test("reminders are added, flagged, completed and shown")
  func editing() async throws {
    let output = await run(
      "list Groceries", "add Groceries Get milk", "add Groceries Bread", "add Groceries Apples", "flag Get milk",
      "done Bread", "show Groceries")
    #expect(output.contains("  ! Get milk\n  - Apples"))
    assertQuery(ListOverview.lists) {
      """
      ┌───────────────────────┐
      │ ListOverview(         │
      │   title: "Groceries", │
      │   openCount: 2,       │
      │   coverSize: nil      │
      │ )                     │
      └───────────────────────┘
      """
    }
  }

  @Test("the lists are shown when the program or another connection changes them")
  func live() async throws {
    let output = Output()
    let (lines, continuation) = AsyncStream<String>.makeStream()
    let program = Task { await RemindersProgram { output.write($0) }.run(lines) }
    #expect(await eventually { output.lines.last == "No lists. Make one with: list Groceries" })
    let other = try DatabaseQueue(path: database.path)
    try await other.write { db in
      try RemindersList.insert { RemindersList(id: UUID(100), title: "Elsewhere") }.execute(db)
    }
    #expect(await eventually { output.lines.last == "Elsewhere: 0 open" })
    continuation.yield("add Elsewhere Sweep")
    #expect(await eventually { output.lines.last == "Elsewhere: 1 open" })
    continuation.yield("done Sweep")
    #expect(await eventually { output.lines.last == "Elsewhere: 0 open" })
    continuation.yield("quit")
    await program.value
  }

  @Test("titles and notes are searched by parts of words")
  func search() async {
    let output = await run("list Home", "add Home Water the flowers", "add Home Sweep", "search lowe", "search xyz")
    #expect(output.contains("  Water the flowers (Home)"))
    #expect(output.contains("  nothing found"))
  }

  @Test("reminders have tags, and equal tags are one")
  func tags() async throws {
    let output = await run(
      "list Home", "add Home Sweep", "add Home Cook", "tag Sweep weekly", "tag Cook weekly", "tagged weekly")
    #expect(output.contains("  #weekly Cook\n  #weekly Sweep"))
    #expect(try await database.read { try Tag.fetchCount($0) } == 1)
  }

  @Test("a list has a cover image")
  func cover() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
    try Data([1, 2, 3]).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    _ = await run("list Home", "cover Home \(file.path)")
    let asset = try await database.read { try RemindersListAsset.fetchOne($0) }
    #expect(asset?.coverImage == Data([1, 2, 3]))
  }

  @Test("a mistake says what to do")
  func mistakes() async {
    let output = await run("add Home Sweep", "what")
    #expect(output.contains("reminders: there is no list 'Home'. Make it with: list Home"))
    #expect(output.contains(RemindersProgram.help))
  }
}

private final class Output: Sendable {
  private let written = Mutex<[String]>([])

  var lines: [String] { written.withLock { $0 } }

  func write(_ text: String) { written.withLock { $0.append(text) } }
}

/// Waits until a condition holds, at most half a minute.
private func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
  let clock = ContinuousClock()
  let deadline = clock.now + .seconds(30)
  while clock.now < deadline {
    if try await condition() { return true }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return false
}
