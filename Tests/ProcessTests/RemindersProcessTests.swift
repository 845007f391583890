import Foundation
import Testing

extension Daemons {
  /// The Reminders example in two terminals.
  @Suite("Reminders in two processes", .timeLimit(.minutes(5)))
  struct RemindersProcessTests {
    @Test("two people share a list with its cover image, and each sees live what the other one changes")
    func sharedList() async throws {
      try await MeshProcess.scope(nodes: 2) { machines in
        let alice = try await machines[0].reminders(user: "alice")
        let bob = try await machines[1].reminders(user: "bob")
        try await alice.type("list Groceries", until: "Groceries: 0 open")
        try await alice.type("add Groceries Milk", until: "Groceries: 1 open")
        try await bob.type("list Work", until: "Work: 0 open")
        try await alice.type("share Groceries", until: "mesh-share-")
        let invite = try #require(alice.output.split(separator: "\n").last { $0.hasPrefix("mesh-share-") })
        try await bob.type("accept \(invite)", until: "alice shares 'Groceries' with you")
        try await bob.says("Groceries: 1 open")
        try await bob.type("people Groceries", until: "  alice (owner)\n  bob (may read and write)")

        let seenByAlice = alice.output.count
        try bob.type("add Groceries Bread")
        try await alice.says("Groceries: 2 open", after: seenByAlice)
        let image = "\(machines[0].directory)/cover.png"
        try Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(filePath: image))
        let seenByBob = bob.output.count
        try alice.type("cover Groceries \(image)")
        try await bob.says("Groceries: 2 open, a cover of 200000 bytes", after: seenByBob)
        let hash = "SELECT hex(coverImage) FROM remindersListAssets"
        #expect(try await machines[0].sqlite(hash) == machines[1].sqlite(hash))

        // The other list of each person stays with them.
        #expect(!alice.output.contains("Work"))
        let beforeUnshare = bob.output.count
        try await alice.type("unshare Groceries", until: "no longer shared")
        try await eventually("bob has his own list alone") {
          bob.output.dropFirst(beforeUnshare).split(separator: "\n").last == "Work: 0 open"
        }
        try await alice.type("show Groceries", until: "  - Bread\n  - Milk")
      }
    }
  }
}
