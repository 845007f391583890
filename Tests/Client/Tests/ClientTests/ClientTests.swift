import Foundation
import SQLiteData
import Testing

@testable import Client

@Suite struct ClientTests {
  @Test("an app prepares its database, writes and reads")
  func writesAndReads() throws {
    let database = try appDatabase()
    try database.write { db in
      try RemindersList.insert { RemindersList.Draft(title: "Home") }.execute(db)
      try Reminder.insert {
        Reminder.Draft(title: "Milk", remindersListID: 1)
        Reminder.Draft(isCompleted: true, title: "Bread", remindersListID: 1)
      }
      .execute(db)
    }
    let open = try database.read { db in
      try Reminder.where { !$0.isCompleted }.order(by: \.title).fetchAll(db)
    }
    #expect(open == [Reminder(id: 1, isCompleted: false, title: "Milk", remindersListID: 1)])
  }

  @Test("an app asks for the state of a node, and learns that none runs")
  func asksANode() async throws {
    let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    #expect(try await describe(home: home.path) == "No node runs here. Start it with mesh serve.")
  }

  @Test("the sample of the MeshControl page is the code that is compiled here")
  func sampleOfTheControlPage() throws {
    let client = URL(filePath: #filePath).appending(path: "../../..").standardized
    let page = try String(
      contentsOf: client.appending(path: "../../Sources/MeshControl/MeshControl.docc/MeshControl.md"), encoding: .utf8)
    let sample = try #require(page.components(separatedBy: "```swift\n").last?.components(separatedBy: "```\n").first)
    let code = try String(contentsOf: client.appending(path: "Sources/Client/Control.swift"), encoding: .utf8)
    #expect(code.hasSuffix(sample))
  }
}
