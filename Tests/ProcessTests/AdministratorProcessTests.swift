import Foundation
import MeshControl
import Testing

extension Daemons {
  @Suite struct AdministratorProcessTests {
    @Test(
      "an account outlives its first machine: an administrator goes on, and the recovery key replaces the account's key"
    )
    func theFirstMachineIsLost() async throws {
      try await MeshProcess.scope(nodes: 4) { nodes in
        let (tower, laptop, phone, tablet) = (nodes[0], nodes[1], nodes[2], nodes[3])
        let lost = try await tower.found()
        try await laptop.join(tower, device: "laptop")
        try await phone.join(tower, device: "phone")
        try await tablet.join(tower, device: "gone")
        try FileManager.default.removeItem(atPath: tablet.home)
        try FileManager.default.removeItem(atPath: tablet.database)
        _ = try await laptop.serve()
        _ = try await phone.serve("--peer", try await laptop.address())
        try await tower.settled(with: "laptop")
        try await tower.settled(with: "phone")
        let recovery = try await tower.run("account", "recovery", "--yes").stdout
        try await tower.done("device", "promote", "laptop")
        let listed = try await tower.run("device", "list").stdout
        #expect(listed.contains("administrator"))
        try await laptop.connected(to: "phone")
        try await tower.done("device", "revoke", "gone")
        let revoked = try await tower.run("device", "promote", "gone")
        #expect(revoked.stderr.contains("is revoked, so it can't be promoted"))
        // The first machine is gone, together with its home.
        await lost.kill()
        try FileManager.default.removeItem(atPath: tower.home)
        try await eventually("the laptop knows that it is an administrator") {
          try await laptop.run("device", "list").stdout.contains("this device, administrator")
        }
        try await tablet.join(laptop, device: "tablet")
        _ = try await tablet.serve()
        try await tablet.sqlite("INSERT INTO notes VALUES ('new', 'from the tablet', 0)")
        try await tablet.settled(with: "laptop")
        try await laptop.done("device", "revoke", "tower")
        #expect(try await laptop.run("device", "demote", "laptop").stderr.contains("mesh account replace-key"))
        // On another machine, the recovery key creates a new key, which outranks the administrator.
        let wrong = try await phone.run(["account", "replace-key"], input: "mesh-recovery-aaaaaaaa\n")
        #expect(wrong.status != 0 && wrong.stderr.contains("56 characters"))
        let replaced = try await phone.run(["account", "replace-key"], input: recovery)
        #expect(replaced.status == 0, "\(replaced.stderr)")
        #expect(try await phone.run("account", "show").stdout.contains("here"))
        try await phone.done("device", "demote", "laptop")
        try await eventually("the laptop can't invite any more") {
          try await laptop.run("device", "invite").status == ExitStatus.refused.rawValue
        }
        try await phone.sqlite("INSERT INTO notes VALUES ('newer', 'from the phone', 0)")
        try await phone.settled(with: "laptop")
        try await laptop.settled(with: "tablet")
        #expect(try await tablet.rows() == phone.rows())
        #expect(try await phone.run("device", "list").stdout.contains("unconfirmed") == false)
      }
    }
  }
}
