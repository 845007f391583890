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

  @Test("a key's default may be uuid(), as on Apple's platforms, on every connection and in place of NULL")
  func uuids() throws {
    let database = try defaultDatabase()
    let keys = try database.write { db in
      try db.execute(
        sql: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()), n INTEGER) STRICT")
      try db.execute(sql: "INSERT INTO t (n) VALUES (1), (2); INSERT INTO t VALUES (NULL, 3), ('own', 4)")
      return try String.fetchAll(db, sql: "SELECT id FROM t ORDER BY n")
    }
    #expect(Set(keys).count == 4 && keys.last == "own")
    for key in keys.dropLast() { #expect(UUID(uuidString: key)?.uuidString.lowercased() == key) }
    #expect(try database.read { try UUID(uuidString: String.fetchOne($0, sql: "SELECT uuid()") ?? "") } != nil)
  }

  @Test("an app's own uuid() is kept")
  func ownUUIDs() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(function: GRDB.DatabaseFunction("uuid", argumentCount: 0) { _ in "own" })
    }
    let database = try defaultDatabase(configuration: configuration)
    #expect(try database.read { try String.fetchOne($0, sql: "SELECT uuid()") } == "own")
  }

  @Test("an app's uuid() with an argument doesn't replace the one without")
  func uuidsWithArguments() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(function: GRDB.DatabaseFunction("uuid", argumentCount: 1) { _ in "own" })
    }
    let database = try defaultDatabase(configuration: configuration)
    #expect(try database.read { try String.fetchOne($0, sql: "SELECT uuid(1)") } == "own")
    #expect(try database.read { try UUID.fetchOne($0, sql: "SELECT uuid()") } != nil)
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
