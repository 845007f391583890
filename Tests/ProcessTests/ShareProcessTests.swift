import Foundation
import MeshControl
import Testing

extension Daemons {
  /// Three accounts on one machine, each with its own daemon.
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
      let invite = String(try #require(invited.stdout.split(separator: "\n").last))
      let joined = try await node.done("share", "join", "-", "--yes", input: invite + "\n")
      #expect(joined.stdout.contains(permission))
      let again = try await node.done("share", "join", "-", "--yes", input: invite + "\n")
      #expect(
        again.stdout.contains(permission) && again.stderr.contains("The invite changes nothing"),
        "a member is told so")
      #expect(!joined.stderr.contains("The invite changes nothing"))
    }

    private func arrives(_ node: MeshProcess, _ what: String, _ sql: String, _ expected: String) async throws {
      try await eventually(what) { try await node.sqlite(sql).trimmingCharacters(in: .newlines) == expected }
    }

    @Test("a share is joined, written, made read-only and ended, with receipts for refused writes")
    func aShareIsReadWrittenLoweredAndTakenBack() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        _ = try await account(alice, "alice")
        let bobsDaemon = try await account(bob, "bob")
        _ = try await account(carol, "carol")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'mine', 0)")
        for table in ["nothing", "mesh_zone"] {
          let refused = try await alice.run("share", "create", table, "n1")
          #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("no table \(table)"))
        }
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
        let writer = try #require(try await share(alice).participants.first { $0.permission == .readWrite })
        // He is named by his device, because the id of his account is long.
        let device = try #require(writer.devices.first?.name)
        try await alice.done("share", "set-permission", "Shared", device, "read-only")
        _ = try await bob.serve()
        try await eventually("bob is told") { try await share(bob).role == .readOnly }
        try await arrives(bob, "what alice has", text, "milk")
        try await eventually("he is told of what was not taken") { try await !bob.status().receipts.isEmpty }
        let told = try await bob.run("status").stdout
        #expect(told.contains("mesh share receipt \(try await share(bob).id)"))
        let advice = try await bob.run("doctor")
        #expect(advice.status == 1 && advice.stdout.contains("mesh share receipt"))
        #expect(try await bob.run("wait").stdout.contains("not in a share: mesh share receipt"))
        let receipt = try await bob.run("share", "receipt", String(try await share(bob).id.prefix(12))).stdout
        // He may have signed it before or after he heard of the change to read-only.
        let reasons = ["\nnot-confirmed: the account lost", "\nnot-permitted: when this device"]
        #expect(receipt.contains("text    bread") && reasons.contains { receipt.contains($0) })
        #expect(try await bob.run("share", "receipt", "Shared", "--restore", "--discard").status == 2)
        let discarded = try await bob.run("share", "receipt", "Shared", "--discard").stdout
        #expect(discarded.contains("Discarded") && discarded.contains("Nothing is left."))
        #expect(try await bob.status().receipts.isEmpty)
        try await arrives(alice, "what she had", "SELECT text FROM notes WHERE id = 'n1'", "milk")

        let other = try #require(try await share(alice).participants.first { $0.account != writer.account }?.account)
        try await alice.done("share", "remove", "Shared", other)
        try await eventually("carol is told") { try await share(carol).role == .ended }
        try await arrives(carol, "her copy goes", "SELECT count(*) FROM notes", "0")
        let id = try await share(carol).id
        #expect(try await carol.run("status").stdout.contains("(mesh share show \(id))"))
        let doctor = try ControlJSON.decode(
          DoctorReport.self, from: Array(try await carol.run("doctor", "--json").stdout.utf8))
        let over = doctor.checks.filter { $0.name == "share" && $0.what.contains("A share is over: the owner removed") }
        #expect(over.map(\.state) == [.warning] && over[0].wayOut?.contains("mesh share show \(id)") == true)
        let list = try await carol.run("share", "list").stdout
        #expect(!list.contains("Shared") && list.contains("1 share that has ended is not shown: --all"))
        #expect(try await carol.run("share", "list", "--all").stdout.contains("ended"))
        let refusal = try await carol.run("share", "receipt", "Shared", "--restore")
        #expect(refusal.status == ExitStatus.refused.rawValue)
        #expect(refusal.stderr.contains("the owner removed") && !refusal.stderr.contains("set-permission"))
        // Alice can't get anything from Carol's private zone.
        try await carol.sqlite("INSERT INTO notes VALUES ('n1', 'hers', 1)")
        try await eventually("it is flushed") {
          let status = try await carol.status()
          return status.pending == 0 && status.zones.contains { $0.records == 1 }
        }
        #expect(try await carol.report(PeersReport.self, "peers").peers.isEmpty)
        #expect(try await alice.number("SELECT count(*) FROM notes WHERE text = 'hers'") == 0)
        let child = try await alice.run("share", "create", "tags", "t1")
        #expect(child.status == ExitStatus.refused.rawValue && child.stderr.contains("can't hold the root"))
        #expect(try await alice.run("share", "rename", "Shared", " \u{3000}").stderr.contains("blanks"))
        try await alice.done("share", "rename", "Shared", "Food")
        try await eventually("the title comes") { try await share(bob).title == "Food" }
        #expect(try await bob.run("share", "rename", "Food", "Mine").stderr.contains("only the share's owner"))
        // Of two shares with the same root, one is shown.
        try await carol.done("share", "create", "notes", "n1", "--title", "Hers")
        let invited = try await carol.done("share", "invite", "Hers", "--permission", "read-only")
        let invite = String(try #require(invited.stdout.split(separator: "\n").last))
        let joined = try await bob.done("share", "join", "-", "--yes", input: invite + "\n")
        let zones = try await bob.report(SharesReport.self, "share", "list").shares
        let food = try #require(zones.first { $0.title == "Food" }?.id)
        #expect(joined.stderr.contains("Another share here, \(food), has the same root record"))
        #expect(try await bob.run("share", "leave", "Hers").status == 0)
        try await alice.sqlite("UPDATE notes SET text = 'later' WHERE id = 'n1'")
        try await arrives(bob, "what alice wrote since", text, "later")
        try await carol.sqlite("DELETE FROM notes")
        #expect(try await carol.sqlite("SELECT count(*) FROM notes") == "0\n")
      }
    }

    /// Kills a daemon without warning, and starts it again at the same address.
    private func kill(_ daemon: Child, of node: MeshProcess) async throws -> Child {
      guard let address = try await node.status().listen else { throw Unexpected("the daemon does not listen") }
      await daemon.kill()
      return try await node.serve("--listen", address)
    }

    /// Runs a command whose daemon is killed meanwhile, and then runs it to its end.
    private func killed(_ daemon: Child, of node: MeshProcess, in verb: String...) async throws -> Child {
      let first = try await node.start(verb)
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...60)))
      let again = try await kill(daemon, of: node)
      _ = try await first.finished(within: MeshProcess.deadline)
      let second = try await node.run(verb)
      // Actions that were done before the end are not done again.
      #expect(second.status == 0 || second.stderr.contains("no participant"), "\(verb): \(second.stderr)")
      return again
    }

    @Test("names of accounts are shown to every member, equal titles are warned of, and an invite says what it admits")
    func namesAndTitles() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        _ = try await account(alice, "alice")
        _ = try await account(bob, "bob")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'bread', 0)")
        let first = try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        #expect(first.stderr.isEmpty && first.stdout.contains("alice (account-"))
        let second = try await alice.done("share", "create", "notes", "n2", "--title", "Shared")
        let ids = try await alice.report(SharesReport.self, "share", "list").shares.map(\.id)
        #expect(ids.count == 2 && second.stderr.contains("Another share here is called “Shared” too: zone-"))
        let ambiguous = try await alice.run("share", "show", "Shared", "--json")
        #expect(ambiguous.stderr.contains("share.ambiguous") && ids.allSatisfy(ambiguous.stderr.contains))
        let short = try await alice.run("share", "stop", "zone-abc")
        #expect(short.stderr.contains("give at least 4 characters after “zone-”"))

        let renamed = try await alice.done("share", "rename", ids[1], "Other")
        #expect(renamed.stdout.contains("Other (") && renamed.stderr.isEmpty)
        let alike = try await alice.done("share", "rename", ids[1], "Shared")
        #expect(alike.stderr.contains("called “Shared” too: \(ids[0])"))
        let client = ControlClient(home: alice.home)
        for (act, field) in [
          (ShareChangeRequest.Act.uninvite, "invite"), (.setPermission, "permission"), (.remove, "account"),
          (.rename, "title"),
        ] {
          let refusal = await #expect(throws: Refusal.self) {
            try await client.perform(ShareChangeRequest(act, share: ids[0]))
          }
          #expect(refusal?.code == "share.what" && refusal?.message.contains("“\(field)”") == true)
        }
        let both = await #expect(throws: Refusal.self) {
          try await client.perform(ShareReceiptRequest(share: ids[0], restore: true, discard: true))
        }
        #expect(both?.code == "share.what")
        let invited = try await alice.done("share", "invite", ids[0], "--permission", "read-write").stdout
        #expect(invited.contains("one account, read-write"))
        #expect(invited.contains("mesh share uninvite \(ids[0]) control-"))
        let invite = try await alice.report(
          ShareInviteReport.self, "share", "invite", ids[0], "--permission", "read-only", "--uses", "2",
          "--expires", "1h")
        #expect(invite.permission == .readOnly && invite.uses == 2 && invite.expires != nil && invite.account == nil)
        let link = String(try #require(invited.split(separator: "\n").last))
        let joined = try await bob.done("share", "join", "-", "--yes", input: link + "\n")
        #expect(joined.stdout.contains("alice (account-"), "\(joined.stdout)")
        let shown = try await bob.report(ShareReport.self, "share", "show", ids[0])
        #expect(shown.participants.map(\.name) == ["bob"] && shown.ownerName == "alice")
        for account in ["bob", "carol"] {
          let refused = try await bob.run("share", "set-permission", ids[0], account, "read-only")
          #expect(refused.stderr.contains("only the share's owner can do this"), "\(refused.stderr)")
        }
      }
    }

    @Test("a share keeps its rows and permissions when daemons are killed during its commands")
    func nothingOfItIsLostWhenDaemonsAreKilledInTheMiddle() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        var daemons: [Child] = []
        for (node, name) in zip(nodes, ["alice", "bob", "carol"]) { daemons.append(try await account(node, name)) }
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'mine', 0)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        daemons[0] = try await kill(daemons[0], of: alice)
        for (index, permission) in [(1, "read-write"), (2, "read-only")] {
          let invited = try await alice.done("share", "invite", "Shared", "--permission", permission)
          let invite = String(try #require(invited.stdout.split(separator: "\n").last))
          daemons[0] = try await kill(daemons[0], of: alice)
          daemons[index] = try await killed(daemons[index], of: nodes[index], in: "share", "join", invite, "--yes")
        }
        let text = "SELECT text FROM notes WHERE id = 'n1'"
        for node in [bob, carol] { try await arrives(node, "the root record", text, "milk") }
        let people = try await share(alice).participants
        let bobs = try #require(people.first { $0.permission == .readWrite }?.account)
        let carols = try #require(people.first { $0.permission == .readOnly }?.account)

        await daemons[1].kill()
        try await bob.sqlite("UPDATE notes SET text = 'bread'; INSERT INTO tags VALUES ('t1', 'n1', 'fresh')")
        daemons[0] = try await killed(
          daemons[0], of: alice, in: "share", "set-permission", "Shared", bobs, "read-only")
        daemons[1] = try await bob.serve()
        try await eventually("bob is told") { try await share(bob).role == .readOnly }
        daemons[1] = try await kill(daemons[1], of: bob)
        try await arrives(bob, "what alice has", text, "milk")
        try await eventually("bob has a receipt of both") {
          try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared").receipts.count == 2
        }

        daemons[0] = try await killed(daemons[0], of: alice, in: "share", "remove", "Shared", carols)
        try await eventually("carol is told") { try await share(carol).role == .ended }
        daemons[2] = try await kill(daemons[2], of: carol)
        try await arrives(carol, "her copy goes", "SELECT count(*) FROM notes", "0")
        try await alice.sqlite("UPDATE notes SET text = 'later' WHERE id = 'n1'")
        try await arrives(bob, "what alice wrote since", text, "later")

        // After the permission is granted again, the refused writes are restored.
        daemons[0] = try await killed(
          daemons[0], of: alice, in: "share", "set-permission", "Shared", bobs, "read-write")
        try await eventually("bob may write") { try await share(bob).role == .readWrite }
        let restored = try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared", "--restore")
        #expect(restored.restored == 2 && restored.receipts.isEmpty)
        for node in [alice, bob] {
          let alarms = try await node.status().complaints
          #expect(alarms == [], "\(node.directory): \(alarms)")
        }
        try await arrives(alice, "what bob restored", text, "bread")
        try await arrives(alice, "his tag", "SELECT name FROM tags", "fresh")
        try await alice.done("verify")
        let record = try await alice.report(RecordReport.self, "explain", "record", "notes", "n1").records[0]
        let column = try #require(record.columns.first { $0.name == "text" })
        #expect(column.by.account == bobs && column.by.deviceName == "bob")
        #expect(
          column.beat?.value == .text("later") && column.beat?.seen == true && column.beat?.by.deviceName == "alice")
      }
    }

    @Test("a share invite admits only its account, until it expires or is revoked")
    func invitesLetInWhomTheyAreForAndAsLongAsTheyHold() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        let daemon = try await account(alice, "alice")
        for (node, name) in [(bob, "bob"), (carol, "carol")] { _ = try await account(node, name) }
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        func invite(_ options: String...) async throws -> String {
          let invited = try await alice.run(["share", "invite", "Shared", "--permission", "read-write"] + options)
          return String(try #require(invited.stdout.split(separator: "\n").last, "\(invited.stderr)"))
        }
        func refusal(_ node: MeshProcess, _ invite: String) async throws -> String {
          let refused = try await node.run(["share", "join", "-", "--yes"], input: invite + "\n")
          #expect(refused.status == ExitStatus.refused.rawValue)
          return refused.stderr
        }
        let bobs = try await bob.report(AccountReport.self, "account", "show").account
        let bound = try await invite("--for", bobs)
        #expect(try await refusal(carol, bound).contains("for another account"))
        let own = try await alice.report(AccountReport.self, "account", "show").account
        let forHerself = try await alice.run(
          "share", "invite", "Shared", "--permission", "read-only", "--for", own)
        #expect(forHerself.status == ExitStatus.usage.rawValue && forHerself.stderr.contains("have the share already"))
        let short = try await invite("--expires", "1s")
        func invites() async throws -> [ShareReport.Invite] {
          try await alice.report([String: [ShareReport.Invite]].self, "share", "invites", "Shared")["invites"] ?? []
        }
        try await eventually("it is over") { try await invites().contains { $0.state == .expired } }
        #expect(try await refusal(carol, short).contains("expired"))
        let open = try await invite("--open")
        let revoked = try await invite()
        #expect(try await invites().map(\.state.rawValue).sorted() == ["expired", "open", "open", "open"])
        let last = try #require(
          try await invites().first { $0.account == nil && $0.usesLeft == 1 && $0.state == .open })
        try await alice.done("share", "uninvite", "Shared", last.id)
        #expect(try await refusal(carol, revoked).contains("revoked"))
        try await bob.done("share", "join", "-", "--yes", input: bound + "\n")

        // Any member admits accounts with an open invite, even while the owner is away. With other invites, only the
        // owner does.
        let single = try await invite()
        let bobsAddress = try #require(try await bob.status().listen)
        try await bob.connected(to: "alice")
        await daemon.kill()
        let away = try await carol.run(["share", "join", open, "--yes"])
        #expect(away.status == ExitStatus.noMember.rawValue && away.stderr.contains("could be reached"))
        let waiting = try await carol.start(["share", "join", single, "--yes", "--peer", bobsAddress])
        try await eventually("it says for whom it waits") {
          waiting.log.contains("only the device that made the invite")
        }
        try await carol.done("share", "join", open, "--yes", "--peer", bobsAddress)
        #expect(try await waiting.finished(within: MeshProcess.deadline).status == 0, "a member needs nobody")
        try await arrives(carol, "the root record", "SELECT text FROM notes", "milk")
      }
    }

    @Test("a device without the share's tables adopts those and no others")
    func whoLacksTheTablesAdoptsThoseOfTheShareAndNoOthers() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        try await alice.sqlite("CREATE TABLE diary (id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES notes)")
        _ = try await account(alice, "alice")
        try await alice.done("track", "--private", "diary")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1); INSERT INTO tags VALUES ('t', 'n1', 'red')")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        try await bob.done("init", "--database", bob.database, "--account", "bob", "--device", "bob")
        _ = try await bob.serve()
        let invited = try await alice.done("share", "invite", "Shared", "--permission", "read-write")
        let invite = String(try #require(invited.stdout.split(separator: "\n").last))
        for answer in ["", "n\n"] {
          let refused = try await bob.run("share", "join", invite, input: answer)
          #expect(refused.status == ExitStatus.no.rawValue && refused.stderr.hasSuffix("Not joined.\n"))
          #expect(refused.stdout.contains("notes n1, and what refers to it"))
        }
        let together = try await bob.start(
          ["sh", "-c", "\"$0\" share join \"$1\" 2>&1", try Child.binary(), invite], executable: MeshProcess.env)
        let lines = try await together.finished(within: MeshProcess.deadline).stdout.split(separator: "\n")
        #expect(lines.suffix(2) == ["Join? [y/N]", "Not joined."], "the offer comes before the question")
        let joined = try await bob.done("share", "join", "-", "--yes", input: invite)
        #expect(joined.stderr.contains("(notes, tags). To see its records: mesh schema --apply"))
        try await eventually("the records are here, and held") { try await bob.status().held["unknown-table"] == 2 }
        let schema = try await bob.report(SchemaReport.self, "schema", "--apply")
        #expect(schema.missing.map(\.table).sorted() == ["notes", "tags"])
        try await arrives(
          bob, "the tag", "SELECT text || ' ' || name FROM tags JOIN notes ON note = notes.id", "milk red")
        try await bob.sqlite("INSERT INTO tags VALUES ('u', 'n1', 'blue')")
        try await arrives(alice, "bob's", "SELECT count(*) FROM tags", "2")
      }
    }

    @Test("a participant gets the owner's defaults and CHECKs, and can't write values that they refuse")
    func aParticipantGetsTheOwnersRules() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        try await alice.sqlite(
          """
          CREATE TABLE lists (id TEXT PRIMARY KEY NOT NULL, size INTEGER, at TEXT DEFAULT CURRENT_TIMESTAMP,
            CHECK (size < 10));
          INSERT INTO lists (id, size) VALUES ('l1', 1)
          """)
        try await alice.done("init", "--database", alice.database, "--account", "alice", "--device", "alice")
        try await alice.done("track", "lists")
        _ = try await alice.serve()
        try await alice.done("share", "create", "lists", "l1", "--title", "Shared")
        try await bob.done("init", "--database", bob.database, "--account", "bob", "--device", "bob")
        _ = try await bob.serve()
        try await join(bob, alice, "read-write")
        try await eventually("the record is here, and held") { try await bob.status().held["unknown-table"] == 1 }
        try await bob.done("schema", "--apply")
        try await arrives(bob, "the list", "SELECT size FROM lists", "1")
        try await bob.sqlite("UPDATE lists SET size = 7")
        try await arrives(alice, "bob's", "SELECT size FROM lists", "7")
        await #expect(throws: (any Error).self) { try await bob.sqlite("UPDATE lists SET size = 11") }
        let table = try await bob.sqlite("SELECT sql FROM sqlite_schema WHERE name = 'lists'")
        #expect(table.contains("CURRENT_TIMESTAMP"))
      }
    }

    @Test("a row that is written before its parent in the new tables follows it into the share")
    func writtenBeforeItsParentIsShown() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        _ = try await account(alice, "alice")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1); INSERT INTO tags VALUES ('t', 'n1', 'red')")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        try await bob.done("init", "--database", bob.database, "--account", "bob", "--device", "bob")
        _ = try await bob.serve()
        try await join(bob, alice, "read-write")
        try await bob.done("schema", "--apply")
        // This comes immediately: the tables exist and are still empty.
        try await bob.sqlite("INSERT INTO tags VALUES ('u', 'n1', 'blue')")
        let expected = "red,blue"
        let names = "SELECT group_concat(name) FROM (SELECT name FROM tags ORDER BY id)"
        try await arrives(alice, "bob's", names, expected)
        try await bob.done("wait")
        #expect(try await bob.sqlite(names) == expected + "\n")
        #expect(try await bob.status().pending == 0)
      }
    }

    @Test("a private table's shared records are held until the table is tracked as shareable")
    func whoKeepsATablePrivateIsToldWhyItsRecordsAreHeldAndHowToSeeThem() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        _ = try await account(alice, "alice")
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1); INSERT INTO tags VALUES ('t', 'n1', 'red')")
        let created = try await alice.report(ShareReport.self, "share", "create", "notes", "n1", "--title", "Shared")
        #expect(created.records == 2)
        try await bob.sqlite(MeshProcess.schema)
        try await bob.done("init", "--database", bob.database, "--account", "bob", "--device", "bob")
        try await bob.done("track", "notes", "--private", "tags")
        _ = try await bob.serve()
        try await join(bob, alice, "read-write")
        try await eventually("the tag is held") { try await bob.status().held == ["outside-share": 1] }
        #expect(try await bob.run("status").stdout.contains("mesh doctor"))
        #expect(try await bob.run("doctor").stdout.contains("Private here, and so in no share: tags."))
        try await bob.done("untrack", "tags")
        #expect(try await bob.done("track", "tags").stdout.contains("Private, as before: tags."))
        #expect(try await bob.run("track", "--shareable", "tags").status == ExitStatus.refused.rawValue)
        try await bob.done("untrack", "tags")
        try await bob.done("track", "--shareable", "tags")
        try await arrives(bob, "the tag", "SELECT name FROM tags", "red")
        let again = try await bob.report(TrackReport.self, "track", "tags")
        #expect(again.tables.map(\.rows) == [0] && again.tables.map(\.isShareable) == [true], "it is tracked already")
      }
    }

    @Test(
      "the root record of a share that its owner deletes is gone on the owner's other device, whether that runs or not",
      arguments: [true, false])
    func aDeletedRootStaysDeletedOnTheOwnersOtherDevice(runs: Bool) async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, phone) = (nodes[0], nodes[1])
        _ = try await account(alice, "alice")
        try await phone.join(alice, device: "phone")
        let daemon = try await phone.serve()
        try await phone.settled(with: "alice")
        try await alice.sqlite(
          "INSERT INTO notes VALUES ('n1', 'milk', 1), ('n2', 'mine', 0); INSERT INTO tags VALUES ('t1', 'n1', 'red')")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        let rows = "SELECT count(*) FROM notes UNION ALL SELECT count(*) FROM tags"
        for node in nodes {
          try await eventually("the records are in the share") {
            try await node.status().zones.map(\.records).sorted() == [1, 2]
          }
        }
        try await arrives(phone, "the rows", rows, "2\n1")
        if !runs { _ = try await daemon.terminate() }
        try await alice.sqlite("PRAGMA foreign_keys = ON; DELETE FROM notes WHERE id = 'n1'")
        try await eventually("the share is stopped") { try await share(alice).stopped }
        if !runs { _ = try await phone.serve() }
        try await arrives(phone, "the delete", rows, "1\n0")
        try await alice.done("wait")
        try await phone.done("wait")
        try await Task.sleep(for: .milliseconds(500))
        for node in nodes { #expect(try await node.sqlite(rows) == "1\n0\n", "the delete stays") }
        #expect(try await alice.done("verify").status == 0)
        let conflicts = try await alice.report(ConflictsReport.self, "conflicts")
        #expect(conflicts.conflicts.isEmpty)
      }
    }

    @Test("a participant that leaves is told of BLOBs that have not arrived, and keeps them as receipts if it insists")
    func leavingWithBLOBs() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        for (node, name) in zip(nodes, ["alice", "bob", "carol"]) { _ = try await account(node, name) }
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        try await alice.done("asset", "policy", "tags", "on-demand")
        for node in [bob, carol] {
          try await join(node, alice, "read-write")
          try await arrives(node, "the root record", "SELECT count(*) FROM notes", "1")
        }
        try await bob.sqlite("INSERT INTO tags VALUES ('t1', 'n1', randomblob(50000))")
        try await carol.sqlite("INSERT INTO tags VALUES ('t2', 'n1', randomblob(70000))")
        try await arrives(alice, "the rows", "SELECT count(*) FROM tags", "2")
        for (node, size) in [(bob, "50 kB"), (carol, "70 kB")] {
          let refused = try await node.run("share", "leave", "Shared")
          #expect(refused.status == ExitStatus.refused.rawValue)
          #expect(refused.stderr.contains("1 BLOB (\(size))") && refused.stderr.contains("--force"))
        }
        try await carol.done("share", "leave", "Shared", "--force")
        try await arrives(carol, "the share's end", "SELECT count(*) FROM notes", "0")
        let receipts = try await carol.report(ShareReceiptReport.self, "share", "receipt", "Shared").receipts
        #expect(receipts.map(\.table) == ["tags"] && receipts[0].values?.keys.sorted() == ["name"])
        try await alice.done("asset", "policy", "tags", "always")
        try await arrives(alice, "bob's BLOB", "SELECT length(name) FROM tags WHERE id = 't1'", "50000")
        let missing = try await alice.report(AssetReport.self, "asset", "show", "tags", "t2").assets
        #expect(missing.map(\.state) == [.absent])
        #expect(missing[0].reason?.contains("is not in the share any more") == true)
        try await bob.done("wait")
        try await bob.done("share", "leave", "Shared")
        try await arrives(bob, "the share's end", "SELECT count(*) FROM notes", "0")
        #expect(try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared").receipts.isEmpty)
      }
    }

    @Test("a participant that leaves may keep a copy, and a stopped share ends for all")
    func whoLeavesKeepsACopyOrNoneAndAStoppedShareIsOver() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        let (alice, bob, carol) = (nodes[0], nodes[1], nodes[2])
        for (node, name) in zip(nodes, ["alice", "bob", "carol"]) { _ = try await account(node, name) }
        try await alice.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        for node in [bob, carol] { try await join(node, alice, "read-write") }
        let count = "SELECT count(*) FROM notes"
        for node in [bob, carol] { try await arrives(node, "the root record", count, "1") }
        try await bob.done("share", "leave", "Shared", "--keep-copy")
        try await eventually("it is bob's own") {
          try await bob.status().zones.first { $0.role == .owner }?.records == 1
        }
        try await bob.sqlite("UPDATE notes SET text = 'bob''s'")
        try await eventually("alice is told") {
          try await share(alice).participants.contains { $0.status == .left }
        }
        let invite = try await alice.done("share", "invite", "Shared", "--permission", "read-only").stdout
        let own = try await alice.run(
          ["share", "join", "-", "--yes"], input: String(try #require(invite.split(separator: "\n").last)))
        #expect(own.status == ExitStatus.refused.rawValue && own.stderr.contains("own share"))
        try await alice.done("share", "stop", "Shared")
        let members = try await share(alice).participants
        #expect(members.map(\.status).sorted { $0.rawValue < $1.rawValue } == [.left, .stopped])
        #expect(members.allSatisfy { $0.permission == nil })
        try await eventually("carol is told") { try await share(carol).role == .ended }
        try await arrives(carol, "her copy goes", count, "0")
        try await eventually("the record is private again") {
          try await alice.status().zones.first { $0.name == "alice" }?.records == 1
        }
        #expect(try await alice.sqlite("SELECT text FROM notes") == "milk\n")
        #expect(try await bob.sqlite("SELECT text FROM notes") == "bob's\n")
        let stopped = try await alice.run(["share", "invite", "Shared", "--permission", "read-only"])
        #expect(stopped.status == ExitStatus.refused.rawValue)
        for node in [alice, bob, carol] {
          #expect(try await node.status().complaints == [], "nothing of it is a fault")
        }
        // Its title is free again, and the account that had left comes back.
        try await alice.done("share", "create", "notes", "n1", "--title", "Shared")
        try await join(carol, alice, "read-write")
        try await arrives(carol, "the record again", "SELECT text FROM notes", "milk")
        try await carol.sqlite("UPDATE notes SET text = 'bread'")
        try await arrives(alice, "carol's edit", "SELECT text FROM notes", "bread")
        #expect(try await carol.status().complaints == [])
      }
    }

    @Test("a leave reaches an owner that was off, and a receipt goes if the share has its write after all")
    func theOwnerIsOff() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        let daemon = try await account(alice, "alice")
        _ = try await account(bob, "bob")
        try await alice.sqlite("CREATE TABLE votes (id TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 0)")
        try await alice.done("track", "votes", "--policy", "n=counter")
        try await alice.sqlite("INSERT INTO votes VALUES ('v', 0)")
        try await alice.done("share", "create", "votes", "v", "--title", "Shared")
        try await join(bob, alice, "read-write")
        try await bob.done("schema", "--apply")
        try await arrives(bob, "the row", "SELECT n FROM votes", "0")
        let address = try await alice.address()
        _ = try await daemon.terminate()
        try await bob.sqlite("UPDATE votes SET n = n + 5")
        try await bob.done("share", "leave", "Shared")
        let receipts = try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared").receipts
        #expect(receipts.count == 1)
        _ = try await alice.serve("--listen", address)
        try await eventually("alice hears that bob has left") {
          try await share(alice).participants.contains { $0.status == .left }
        }
        // He still had the change set, and sends it once he may.
        try await join(bob, alice, "read-write")
        try await arrives(alice, "the increment", "SELECT n FROM votes", "5")
        try await eventually("the receipt goes") {
          try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared").receipts.isEmpty
        }
        let restored = try await bob.report(ShareReceiptReport.self, "share", "receipt", "Shared", "--restore")
        #expect(restored.receipts.isEmpty)
        try await bob.settled(with: "alice")
        for node in nodes { #expect(try await node.sqlite("SELECT n FROM votes") == "5\n") }
      }
    }

    @Test("a share invite that was used is rejected with the reason")
    func anInviteThatWasUsedIsRefusedWithTheReason() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        for (node, name) in zip(nodes, ["alice", "bob", "carol"]) { _ = try await account(node, name) }
        try await nodes[0].sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await nodes[0].done("share", "create", "notes", "n1", "--title", "Shared")
        let invited = try await nodes[0].done("share", "invite", "Shared", "--permission", "read-only")
        let invite = String(try #require(invited.stdout.split(separator: "\n").last))
        try await nodes[1].done("share", "join", "-", "--yes", input: invite + "\n")
        let refused = try await nodes[2].run(["share", "join", "-", "--yes"], input: invite + "\n")
        #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("used already"))
      }
    }
  }
}
