import Foundation
import MeshControl
import Testing

extension Daemons {
  @Suite struct InviteRefusalTests {
    private func join(_ mesh: MeshProcess, _ invite: String) async throws -> Finished {
      try await mesh.run("init", "--database", mesh.database, "--link", "-", "--device", "new", input: invite + "\n")
    }

    @Test("a device invite admits one device, and a second needs another invite")
    func anInviteLetsInOneDevice() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        _ = try await nodes[0].found()
        let invite = try await nodes[0].invite()
        #expect(try await join(nodes[1], invite).status == 0)
        let second = try await join(nodes[2], invite)
        #expect(second.status == ExitStatus.refused.rawValue)
        #expect(second.stderr.contains("used already"))
        #expect(try await join(nodes[2], try await nodes[0].invite()).status == 0)
        #expect(try await nodes[0].report(DevicesReport.self, "device", "list").devices.count == 3)
      }
    }

    @Test("an expired device invite is rejected") func anInviteThatHasExpiredIsRefused() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        _ = try await nodes[0].found()
        let invite = try await nodes[0].report(InviteReport.self, "device", "invite", "--expires", "1s")
        // The report has whole seconds.
        try await eventually("the invite expires") { Date() > invite.expires.addingTimeInterval(1) }
        let late = try await join(nodes[1], invite.link)
        #expect(late.status == ExitStatus.refused.rawValue)
        #expect(late.stderr.contains("expired"))
      }
    }

    @Test("init says what is wrong with an invalid invite and creates no database")
    func anInvalidInviteIsRefusedWithItsReasonAndNoDatabase() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        _ = try await nodes[0].found()
        let invite = try await nodes[0].invite()
        let middle = invite.index(invite.startIndex, offsetBy: invite.count / 2)
        let mistyped = invite[..<middle] + (invite[middle] == "a" ? "b" : "a") + invite[invite.index(after: middle)...]
        let device = try await nodes[0].status().device
        let wrong = [
          ("hello", "is not an invite"), (String(mistyped), "damaged"), (String(invite.dropLast()), "damaged"),
          (device, "not an invite for a device"), ("mesh-device-", "damaged"),
        ]
        for (text, reason) in wrong {
          let finished = try await join(nodes[1], text)
          #expect(finished.status == ExitStatus.refused.rawValue)
          #expect(finished.stderr.contains(reason))
          #expect(!FileManager.default.fileExists(atPath: nodes[1].database))
        }
        #expect(try await join(nodes[1], "  \(invite.uppercased())  ").status == 0)
      }
    }

    @Test("an empty standard input is answered with the usage of the command")
    func emptyInput() async throws {
      try await MeshProcess.scope { mesh in
        let joined = try await mesh.run("init", "--database", mesh.database, "--link", "-")
        #expect(joined.status == ExitStatus.usage.rawValue)
        #expect(joined.stderr.contains("No invite came") && joined.stderr.contains("Usage: mesh init "))
        try await mesh.done("init", "--database", mesh.database)
        let replaced = try await mesh.run("account", "replace-key")
        #expect(replaced.status == ExitStatus.usage.rawValue)
        #expect(replaced.stderr.contains("Usage: mesh account replace-key "))
      }
    }

    @Test("a second device with the same name is warned, and both are shown with the beginning of their ids")
    func equalNames() async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        _ = try await nodes[0].found()
        var told: [Bool] = []
        for node in nodes[1...] {
          let joined = try await node.done(
            "init", "--database", node.database, "--link", "-", "--adopt-schema", "--device", "laptop",
            input: try await nodes[0].invite())
          told.append(joined.stderr.contains("called “laptop” too"))
        }
        #expect(told == [false, true])
        let names = try await nodes[0].status().peers.map { $0.name ?? "" }
        #expect(names.count == 2 && Set(names).count == 2)
        #expect(names.allSatisfy { $0.hasPrefix("laptop (device-") })
      }
    }

    @Test("init names the address it tried if the inviting node is down")
    func anInviteWhoseNodeIsGoneSaysWhichAddressesWereTried() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let daemon = try await nodes[0].found()
        let address = try await nodes[0].address()
        let invite = try await nodes[0].invite()
        await daemon.kill()
        let finished = try await join(nodes[1], invite)
        #expect(finished.status == ExitStatus.noMember.rawValue)
        #expect(finished.stderr.contains(address))
        _ = try await nodes[0].serve("--listen", address)
        #expect(try await join(nodes[1], invite).status == 0)
      }
    }

    @Test("a device that is killed while it joins continues with the same invite")
    func aJoiningThatWasKilledIsTakenUpAgainWithTheSameInvite() async throws {
      try await MeshProcess.scope(nodes: 9) { nodes in
        _ = try await nodes[0].found()
        for (number, node) in nodes.enumerated().dropFirst() {
          let invite = try await nodes[0].invite()
          let name = "device \(number)"
          let arguments = ["init", "--database", node.database, "--adopt-schema", "--link", "-", "--device", name]
          let first = try await node.start(arguments, input: invite)
          try await eventually("it is certified") { first.log.contains("certified") }
          await first.kill()
          // A process that was killed too late has joined, and another device is to be killed earlier.
          if FileManager.default.fileExists(atPath: "\(node.home)/config.toml") { continue }
          #expect(try await node.run(arguments, input: invite).status == 0)
          _ = try await node.serve()
          try await node.settled(with: "tower")
          let names = try await nodes[0].report(DevicesReport.self, "device", "list").devices.map(\.name)
          #expect(names.filter { $0 == name }.count == 1 && names.count == number + 1)
          return
        }
        Issue.record("no process was killed while it joined")
      }
    }
  }
}
