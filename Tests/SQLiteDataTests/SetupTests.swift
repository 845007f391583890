import Dependencies
import DependenciesTestSupport
import Foundation
import GRDB
import Testing

@testable import SQLiteData

@Suite("Setting up a database")
struct SetupTests {
  @Test("the app's database is below XDG_DATA_HOME, and its directory is created")
  func place() throws {
    let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: home) }
    let path = try DatabasePlace.ofApp(environment: ["XDG_DATA_HOME": home.path], executable: "shopping")
    #expect(path == home.appending(path: "shopping/SQLiteData.db").path)
    #expect(FileManager.default.fileExists(atPath: home.appending(path: "shopping").path))
  }

  @Test("a running app opens the database at the path that it names")
  func livePath() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let path = directory.appending(path: "app.db").path
    let database = try withDependencies {
      $0.context = .live
    } operation: {
      try defaultDatabase(path: path)
    }
    #expect(database.path == path)
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test("two tests don't share a database, whatever path they name")
  func testPaths() throws {
    let first = try defaultDatabase(path: "/nowhere/app.db")
    let second = try defaultDatabase(path: "/nowhere/app.db")
    #expect(first.path != second.path)
    #expect(!first.path.hasPrefix("/nowhere"))
  }

  @Test("a writer waits for other writers unless the configuration says otherwise")
  func busyMode() throws {
    guard case .timeout(5) = try defaultDatabase().configuration.busyMode else {
      Issue.record("the busy mode isn't a timeout")
      return
    }
    var configuration = Configuration()
    configuration.busyMode = .timeout(1)
    guard case .timeout(1) = try defaultDatabase(configuration: configuration).configuration.busyMode else {
      Issue.record("the configured busy mode is replaced")
      return
    }
  }

  @Test("a default database that isn't set is an issue, and properties stay as they are", .dependencies)
  func unset() {
    withKnownIssue {
      @Fetch(Titles()) var titles = ["default"]
      #expect(titles == ["default"])
      #expect($titles.loadError == nil)
    } matching: {
      $0.description.contains("The default database isn't set")
    }
  }
}
