import MeshControl
import Testing

extension Daemons {
  @Suite struct ConflictTests {
    /// Both sides have note n1 and are disconnected. `here` and `there` are run, and then the sides meet again.
    private func apart(
      _ here: String, _ there: String, _ body: (MeshProcess, MeshProcess) async throws -> Void
    ) async throws {
      try await MeshProcess.pair { tower, laptop, daemons in
        try await tower.sqlite("INSERT INTO notes VALUES ('n1', 'milk', 1)")
        try await tower.settled(with: "laptop")
        #expect(try await daemons.laptop.terminate().status == 0)
        try await tower.sqlite(here)
        try await eventually("the tower has flushed") { try await tower.status().pending == 0 }
        try await laptop.sqlite(there)
        _ = try await laptop.serve()
        try await laptop.settled(with: "tower")
        #expect(try await tower.rows() == laptop.rows())
        try await body(tower, laptop)
      }
    }

    @Test("concurrent edits of one column keep one value and list the lost one, also by the zone's name")
    func theSameColumnWrittenOnBothSidesHasOneWinnerAndTheLosersValueIsListed() async throws {
      try await apart(
        "UPDATE notes SET text = 'oat milk' WHERE id = 'n1'", "UPDATE notes SET text = 'soy milk' WHERE id = 'n1'"
      ) { tower, laptop in
        let here = try await tower.report(ConflictsReport.self, "conflicts").conflicts
        let there = try await laptop.report(ConflictsReport.self, "conflicts").conflicts
        for conflict in [here, there].flatMap({ $0 }) {
          #expect(conflict.table == "notes" && conflict.key == .text("n1") && conflict.column == "text")
          #expect(conflict.winner.value == .text("soy milk") && conflict.winner.deviceName == "laptop")
          #expect(conflict.loser.value == .text("oat milk") && conflict.loser.deviceName == "tower")
        }
        #expect(here.count == 1 && there.count == 1)
        let zone = try #require(try await tower.report(ZonesReport.self, "zones").zones.first)
        for name in [zone.name, zone.id] {
          #expect(try await tower.report(ConflictsReport.self, "conflicts", "--zone", name).conflicts == here)
        }
        #expect(try await tower.sqlite("SELECT text FROM notes") == "soy milk\n")
        try await tower.sqlite("UPDATE notes SET text = 'rice milk'")
        try await tower.settled(with: "laptop")
        let replaced = try await tower.report(ConflictsReport.self, "conflicts").conflicts
        #expect(replaced.map(\.winner.deviceName) == ["tower"] && replaced.map(\.lostTo?.deviceName) == ["laptop"])
      }
    }

    @Test("concurrent edits of different columns of a row merge without a conflict")
    func differentColumnsOfOneRowAreBothKeptWithoutAConflict() async throws {
      try await apart(
        "UPDATE notes SET text = 'oat milk' WHERE id = 'n1'", "UPDATE notes SET stars = 5 WHERE id = 'n1'"
      ) { (tower, laptop) async throws in
        #expect(try await tower.rows() == "notes|'n1'|'oat milk'|5\n")
        #expect(try await tower.run("conflicts").stdout == "No conflicts.\n")
        #expect(try await laptop.run("conflicts").stdout == "No conflicts.\n")
      }
    }

    @Test("a delete wins over a concurrent edit, which is listed as a conflict")
    func aDeleteBeatsAnEditAndTheEditIsListed() async throws {
      try await apart(
        "DELETE FROM notes WHERE id = 'n1'", "UPDATE notes SET text = 'soy milk' WHERE id = 'n1'"
      ) { tower, laptop in
        #expect(try await tower.rows().isEmpty)
        for node in [tower, laptop] {
          let conflicts = try await node.report(ConflictsReport.self, "conflicts").conflicts
          #expect(conflicts.map(\.loser.value) == [.text("soy milk")])
          #expect(conflicts.map(\.winner.deviceName) == ["tower"])
          #expect(conflicts.map(\.winner.deleted) == [true] && conflicts.map(\.loser.deleted) == [false])
          #expect(try await node.done("conflicts").stdout.contains("(deleted)"))
        }
      }
    }

    @Test("restore brings back a lost value, an overwritten value and a deleted row")
    func whatLostAndWhatWasDeletedIsRestored() async throws {
      try await apart(
        "UPDATE notes SET text = 'oat milk' WHERE id = 'n1'", "UPDATE notes SET text = 'soy milk' WHERE id = 'n1'"
      ) { tower, laptop in
        let conflict = try await tower.report(ConflictsReport.self, "conflicts").conflicts[0]
        #expect(try await tower.done("restore", "--conflict", "\(conflict.id)").stdout.contains("oat milk"))
        try await tower.settled(with: "laptop")
        #expect(try await laptop.sqlite("SELECT text FROM notes") == "oat milk\n")
        #expect(try await tower.done("conflicts").stdout == "No conflicts.\n")
        // The laptop, which was not asked, dismisses it.
        let dismissed = try await laptop.done("conflicts", "dismiss", "1").stdout
        #expect(dismissed == "1 conflict is dismissed.\n")
        let unknown = try await laptop.run("conflicts", "dismiss", "1", "8")
        #expect(unknown.status == ExitStatus.refused.rawValue && unknown.stderr.contains("there is no conflict 8"))
        for wrong in [[], ["1", "--through", "1"], ["x"]] {
          #expect(try await laptop.run(["conflicts", "dismiss"] + wrong).status == ExitStatus.usage.rawValue)
        }
        // First the overwritten value is restored, and then the record itself.
        let restored = try await laptop.report(RestoreReport.self, "restore", "notes", "n1", "--column", "text")
        #expect(restored.values == ["text": .text("soy milk")])
        try await laptop.settled(with: "tower")
        try await tower.sqlite("DELETE FROM notes")
        try await tower.settled(with: "laptop")
        try await laptop.done("restore", "notes", "n1")
        try await laptop.settled(with: "tower")
        #expect(try await tower.rows() == "notes|'n1'|'soy milk'|1\n")
        // On the laptop, which dismissed it, the lost value is neither listed nor forgotten.
        try await laptop.sqlite("UPDATE notes SET text = 'rice milk'")
        let left = try await laptop.done("conflicts")
        #expect(left.stdout == "No conflicts.\n")
        #expect(left.stderr == "1 dismissed conflict is not listed: mesh conflicts --dismissed.\n")
        let listed = try await laptop.done("conflicts", "--dismissed")
        #expect(listed.stdout.contains("dismissed") && listed.stderr.isEmpty)
        try await laptop.sqlite("UPDATE notes SET text = 'soy milk'")
        try await laptop.settled(with: "tower")
        let refused = try await tower.run("restore", "notes", "n1")
        #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("--column"))
        #expect(try await tower.run("restore", "notes").status == ExitStatus.usage.rawValue)
      }
    }

    @Test("a child row is held while its parent is deleted, and shown when the parent returns")
    func aChildAddedWhileItsParentIsDeletedIsHeldAndComesBackWithIt() async throws {
      try await apart(
        "DELETE FROM notes WHERE id = 'n1'", "INSERT INTO tags VALUES ('t1', 'n1', 'food')"
      ) { tower, laptop in
        #expect(try await tower.rows().isEmpty)
        #expect(try await tower.status().held == ["parent-deleted": 1])
        #expect(try await laptop.status().held == ["parent-deleted": 1])
        try await laptop.sqlite("INSERT INTO notes VALUES ('n1', 'milk again', 2)")
        try await laptop.settled(with: "tower")
        #expect(try await tower.rows() == "notes|'n1'|'milk again'|2\ntags|'t1'|'n1'|'food'\n")
        #expect(try await laptop.rows() == tower.rows())
      }
    }
  }
}
