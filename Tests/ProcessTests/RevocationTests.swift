import Foundation
import MeshControl
import Testing

extension Daemons {
  @Suite struct RevocationTests {
    /// The tower created the account, and the laptop and the phone are connected to it.
    private func three(
      _ body: (_ tower: MeshProcess, _ laptop: MeshProcess, _ phone: MeshProcess, _ lost: Child) async throws -> Void
    ) async throws {
      try await MeshProcess.scope(nodes: 3) { nodes in
        _ = try await nodes[0].found()
        try await nodes[1].join(nodes[0], device: "laptop")
        try await nodes[2].join(nodes[0], device: "phone")
        _ = try await nodes[1].serve()
        let lost = try await nodes[2].serve()
        try await nodes[2].sqlite("INSERT INTO notes VALUES ('early', 'before', 0)")
        try await nodes[2].settled(with: "tower")
        try await nodes[0].settled(with: "laptop")
        try await body(nodes[0], nodes[1], nodes[2], lost)
      }
    }

    private func isToldOfItsRevocation(_ mesh: MeshProcess) async throws -> Bool {
      try await mesh.status().complaints.contains { $0.contains("revoked this device") }
    }

    @Test("a revoked device loses its sessions at once, and the other devices continue")
    func aRevokedDeviceIsOutAtOnceAndTheOthersGoOn() async throws {
      try await three { tower, laptop, phone, lost in
        try await tower.done("device", "revoke", "phone")
        #expect(try await !tower.isConnected(to: "phone"))
        try await eventually("the phone knows") { try await isToldOfItsRevocation(phone) }
        try await phone.sqlite("INSERT INTO notes VALUES ('late', 'after', 0)")
        try await tower.sqlite("INSERT INTO notes VALUES ('secret', 'not for the phone', 0)")
        try await laptop.sqlite("INSERT INTO notes VALUES ('answer', 'from the laptop', 0)")
        try await tower.settled(with: "laptop")
        await lost.kill()
        _ = try await phone.serve("--peer", try await laptop.address())
        try await eventually("the laptop refuses the phone") {
          let peers = try await phone.status().peers
          return peers.allSatisfy { !$0.connected } && peers.contains { $0.lastError?.contains("revoked") ?? false }
        }
        try await tower.settled(with: "laptop")
        #expect(try await tower.sqlite("SELECT id FROM notes ORDER BY id") == "answer\nearly\nsecret\n")
        #expect(try await laptop.rows() == tower.rows())
        #expect(try await phone.sqlite("SELECT id FROM notes ORDER BY id") == "early\nlate\n")
        #expect(try await phone.status().pending == 1)
      }
    }

    @Test("the other devices reject what a revoked device wrote while it was away")
    func whatARevokedDeviceWroteWhileItWasAwayIsRefusedEverywhere() async throws {
      try await three { tower, laptop, phone, lost in
        // The change is signed and not sent, because the phone can't reach another device.
        #expect(try await lost.terminate().status == 0)
        try phone.configure(peers: [])
        let alone = try await phone.serve()
        try await phone.sqlite("INSERT INTO notes VALUES ('late', 'after', 0)")
        try await eventually("it is signed") { try await phone.status().pending == 0 }
        #expect(try await alone.terminate().status == 0)
        try await tower.done("device", "revoke", "phone")
        try await tower.settled(with: "laptop")
        try phone.configure(peers: [try await tower.address(), try await laptop.address()])
        _ = try await phone.serve()
        try await eventually("the phone knows") { try await isToldOfItsRevocation(phone) }
        try await tower.sqlite("INSERT INTO notes VALUES ('later', 'still', 0)")
        try await tower.settled(with: "laptop")
        #expect(try await tower.sqlite("SELECT id FROM notes ORDER BY id") == "early\nlater\n")
        #expect(try await laptop.rows() == tower.rows())
      }
    }

    @Test("a device that dialled a revoked device no longer waits for it, lists it or keeps its address")
    func aRevokedDeviceIsNotWaitedFor() async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        let address = try await tower.address()
        try await tower.done("device", "promote", "laptop")
        try await laptop.settled(with: "tower")
        await daemons.laptop.kill()
        // The address is one that joining a share brought, and not a configured one.
        try laptop.configure(peers: [])
        let known = try String(contentsOfFile: "\(laptop.home)/peers.json", encoding: .utf8)
        #expect(known.contains(address))
        try known.replacing("\"isDialled\" : false", with: "\"isDialled\" : true")
          .write(toFile: "\(laptop.home)/peers.json", atomically: false, encoding: .utf8)
        let dialling = try await laptop.serve()
        try await laptop.settled(with: "tower")
        await daemons.tower.kill()
        try await laptop.insertNotes(0..<2, prefix: "l")
        try await laptop.done("device", "revoke", "tower")
        try await eventually("the address is forgotten") {
          try !String(contentsOfFile: "\(laptop.home)/peers.json", encoding: .utf8).contains(address)
        }
        try await expectNoTrace(of: address, on: laptop)

        // A configured address stays, and is not complained about.
        await dialling.kill()
        try known.write(toFile: "\(laptop.home)/peers.json", atomically: false, encoding: .utf8)
        try laptop.configure(peers: [address])
        _ = try await laptop.serve()
        try await expectNoTrace(of: address, on: laptop)
      }
    }

    private func expectNoTrace(of address: String, on mesh: MeshProcess) async throws {
      #expect(try await mesh.status().peers.isEmpty)
      let waited = try await mesh.run("wait", "--timeout", "1s")
      #expect(waited.status == ExitStatus.noMember.rawValue && !waited.stderr.contains(address))
      let checked = try await mesh.run("doctor").stdout
      #expect(!checked.contains(address) && !checked.contains("tower is not connected"))
    }

    @Test("a machine without the account's key can't invite or revoke and names the one that can")
    func onlyTheMachineWithTheAccountsKeyInvitesAndRevokes() async throws {
      try await MeshProcess.pair { _, laptop, _ in
        for verb in [["device", "invite"], ["device", "revoke", "tower"]] {
          let finished = try await laptop.run(verb)
          #expect(finished.status == ExitStatus.refused.rawValue)
          #expect(finished.stderr.contains("“tower”"))
        }
      }
    }

    @Test("revoke rejects an unknown device and the machine itself")
    func unknownDevicesAndThisOneAreNotRevoked() async throws {
      try await MeshProcess.pair { (tower, laptop, _) async throws in
        #expect(try await tower.run("device", "revoke", "nobody").status == ExitStatus.refused.rawValue)
        #expect(try await tower.run("device", "revoke", "tower").status == ExitStatus.refused.rawValue)
        #expect(try await tower.isConnected(to: "laptop"))
      }
    }
  }
}
