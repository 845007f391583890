import Foundation
import GRDB
import MeshControl
import MeshNode
import Testing

@Suite struct EmbeddingTests {
  @Test("an app that embeds a node sends what it writes", .timeLimit(.minutes(1)))
  func embeds() async throws {
    try await withTemporaryDirectory { root in
      let (home, file) = ("\(root)/home", "\(root)/notes.db")
      try await DatabaseQueue(path: file).write { db in
        try db.execute(sql: "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, text TEXT)")
      }
      try await makeNode(home: home, database: file)
      try await withNode(home: home, listen: HostPort(host: "127.0.0.1", port: 0)) { node in
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        try await DatabaseQueue(path: file, configuration: configuration).write { db in
          try db.execute(sql: "INSERT INTO notes VALUES ('n1', 'milk')")
        }
        var status = try await node.perform(StatusRequest())
        while status.zones.map(\.records) != [1] {
          try await Task.sleep(for: .milliseconds(20))
          status = try await node.perform(StatusRequest())
        }
        #expect(status.tables == ["notes"] && status.running)
        #expect(try await ControlClient(home: home).perform(StatusRequest()).device == status.device)
      }
    }
  }

  @Test("a file with a second name is refused")
  func secondName() async throws {
    try await withTemporaryDirectory { root in
      let (file, other) = ("\(root)/notes.db", "\(root)/other.db")
      try await DatabaseQueue(path: file).write { db in
        try db.execute(sql: "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, text TEXT)")
      }
      #expect(link(file, other) == 0)
      let error = await #expect(throws: Refusal.self) { try await makeNode(home: "\(root)/home", database: file) }
      #expect(error?.code == "database.hardLink")
      #expect(unlink(other) == 0)
      try await makeNode(home: "\(root)/home", database: file)
    }
  }

  @Test("the sample of the MeshNode page is the code that is compiled here")
  func sampleOfThePage() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let page = try String(
      contentsOf: folder.appending(path: "../../Sources/MeshNode/MeshNode.docc/MeshNode.md").standardized,
      encoding: .utf8)
    let sample = try #require(page.components(separatedBy: "```swift\n").last?.components(separatedBy: "```\n").first)
    let code = try String(contentsOf: folder.appending(path: "EmbeddingSample.swift"), encoding: .utf8)
    #expect(code.hasSuffix(sample))
  }
}
