import Foundation
import MeshControl
import Testing

/// The text and the form of a refusal.
@Suite struct RefusalTextTests {
  private struct Envelope: Decodable { let error: Refusal }

  private func node(_ mesh: MeshProcess) async throws {
    try await mesh.sqlite(MeshProcess.schema)
    try await mesh.done("init", "--database", mesh.database)
    try await mesh.done("track", "notes", "tags")
  }

  @Test("a command with --json prints its errors as JSON") func whoAsksForJSONGetsRefusalsAsJSON() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("status", "--json")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stdout.isEmpty)
      let envelope = try ControlJSON.decode(Envelope.self, from: Array(finished.stderr.utf8))
      #expect(envelope.error.code == "home.missing")
      #expect(envelope.error.exit == .refused)
    }
  }

  @Test("the JSON of an error has one item for each reason") func everyReasonIsAnItemOfTheJSON() async throws {
    try await MeshProcess.scope { mesh in
      try await node(mesh)
      try await mesh.sqlite("CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE)")
      let finished = try await mesh.run("track", "t", "nowhere", "--json")
      let error = try ControlJSON.decode(Envelope.self, from: Array(finished.stderr.utf8)).error
      #expect(error.reasons.count == 3 && error.reasons.joined(separator: "\n") == error.message)
    }
  }

  @Test("status names a truncated key file as damaged") func aTruncatedKeyIsNamed() async throws {
    try await MeshProcess.scope { mesh in
      try await node(mesh)
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: "\(mesh.home)/device.key"))
      try handle.truncate(atOffset: 10)
      try handle.close()
      let finished = try await mesh.run("status")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("\(mesh.home)/device.key is damaged"))
    }
  }

  @Test("untrack rejects a parent table while its child is still synchronized")
  func aParentStaysSynchronizedAsLongAsItsChildDoes() async throws {
    try await MeshProcess.scope { mesh in
      try await node(mesh)
      let finished = try await mesh.run("untrack", "notes")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("notes: tags refers to it"))
      #expect(try await mesh.status().tables == ["notes", "tags"])
      try await mesh.done("untrack", "tags", "notes")
      #expect(try await mesh.status().tables.isEmpty)
    }
  }

  @Test("serve doesn't print that it runs if its port is in use")
  func aNodeWhosePortIsTakenNeverSaysThatItRuns() async throws {
    try await MeshProcess.scope(nodes: 2) { nodes in
      _ = try await nodes[0].found()
      try await node(nodes[1])
      let address = try await nodes[0].address()
      let finished = try await nodes[1].run("serve", "--listen", address)
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("is in use"))
      #expect(!finished.stderr.contains("The node runs."))
    }
  }

  @Test("a device whose table doesn't fit joins and syncs once the table is replaced")
  func aDeviceWhoseTableDoesNotFitHasJoinedAndIsToldHowToGoOn() async throws {
    try await MeshProcess.scope(nodes: 2) { nodes in
      _ = try await nodes[0].found()
      try await nodes[1].sqlite("CREATE TABLE notes (id TEXT, text TEXT, stars INTEGER NOT NULL DEFAULT 0)")
      let finished = try await nodes[1].run(
        "init", "--database", nodes[1].database, "--link", "-", "--adopt-schema", "--device", "laptop",
        input: try await nodes[0].invite() + "\n")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("notes") && finished.stderr.contains("This device has joined all the same"))
      try await nodes[1].sqlite("DROP TABLE notes")
      try await nodes[1].done("schema", "--apply")
      _ = try await nodes[1].serve()
      try await nodes[1].settled(with: "tower")
    }
  }
}
