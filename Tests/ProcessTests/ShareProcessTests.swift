import Foundation
import MeshNode
import Testing

extension Daemons {
  /// Three accounts on one machine, each with a daemon of its own.
  @Suite struct ShareProcessTests {
    private func account(_ node: MeshProcess, _ name: String) async throws -> Child {
      try await node.sqlite(MeshProcess.schema)
      try await node.done("init", "--database", node.database, "--account", name, "--device", name)
      try await node.done("track", "notes", "tags")
      return try await node.serve()
    }

    private func share(_ node: MeshProcess) async throws -> ShareReport {
      guard let share = try await node.report(SharesReport.self, "share", "list").shares.first else {
        throw Unexpected("no share: \(node.directory)")
      }
      return share
    }

    private func join(_ node: MeshProcess, _ owner: MeshProcess, _ permission: String) async throws {
      let invited = try await owner.done("share", "invite", "Shared", "--permission", permission)
      let link = String(try #require(invited.stdout.split(separator: "\n").last))
      let joined = try await node.done("share", "join", "-", "--yes", input: link + "\n")
      #expect(joined.stdout.contains(permission))
      let again = try await node.done("share", "join", "-", "--yes", input: link + "\n")
      #expect(again.stdout.contains(permission), "who is in already is told so")
    }

    private func arrives(_ node: MeshProcess, _ what: String, _ sql: String, _ expected: String) async throws {
      try await eventually(what) { try await node.sqlite(sql).trimmingCharacters(in: .newlines) == expected }
    }

    @Test func aShareIsReadWrittenLoweredAndTakenBack() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        _ = try await account(alice, "alice")
        let bobsDaemon = try await account(bob, "bob")
        _ = try await account(carol, "carol")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'mine', 0)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        try await join(bob, alice, "read-write")
        try await join(carol, alice, "read-only")
        let text = "SELECT group_concat(text) FROM notes"
        for node in [bob, carol] { try await arrives(node, "the root record", text, "milk") }
        try await bob.sqlite("INSERT INTO tags VALUES ('t1', 'n1', 'fresh')")
        for node in [alice, carol] { try await arrives(node, "bob's tag", "SELECT name FROM tags", "fresh") }
        let refused = try await carol.run(["share", "list"])
        #expect(refused.status == 0)
        await #expect(throws: (any Error).self) { try await carol.sqlite("UPDATE notes SET text = 'hers'") }

        await bobsDaemon.kill()
        try await bob.sqlite("UPDATE notes SET text = 'bread'")
        let account = try #require(try await share(alice).participants.first { $0.permission == "read-write" }?.account)
        try await alice.done("share", "set-permission", "Shared", account, "read-only")
        _ = try await bob.serve()
        try await eventually("bob is told") { try await share(bob).role == .readOnly }
        try await arrives(bob, "what alice has", text, "milk")
        try await arrives(alice, "what she had", "SELECT text FROM notes WHERE id = 'n1'", "milk")

        let other = try #require(try await share(alice).participants.first { $0.account != account }?.account)
        try await alice.done("share", "remove", "Shared", other)
        try await eventually("carol is told") { try await share(carol).role == .ended }
        try await arrives(carol, "her copy goes", "SELECT count(*) FROM notes", "0")
        try await alice.sqlite("UPDATE notes SET text = 'later' WHERE id = 'n1'")
        try await arrives(bob, "what alice wrote since", text, "later")
        #expect(try await carol.sqlite("SELECT count(*) FROM notes") == "0\n")
      }
    }

    @Test func aLinkThatWasUsedIsRefusedWithTheReason() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        for (node, name) in zip(nodes, ["alice", "bob", "carol"]) { _ = try await account(node, name) }
        try await nodes[0].sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await nodes[0].done("share", "create", "notes", "n1", "--title", "Shared")
        let invited = try await nodes[0].done("share", "invite", "Shared", "--permission", "read-only")
        let link = String(try #require(invited.stdout.split(separator: "\n").last))
        try await nodes[1].done("share", "join", "-", "--yes", input: link + "\n")
        let refused = try await nodes[2].run(["share", "join", "-", "--yes"], input: link + "\n")
        #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("used already"))
      }
    }
  }
}
