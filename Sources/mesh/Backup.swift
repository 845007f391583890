import ArgumentParser
import MeshNode

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the database, as it is now, into a file.",
    discussion: """
      The copy is consistent, and programs and the daemon go on writing meanwhile. It holds every table of the database, the \
      change log and what is captured and not sent yet.

      It does not hold the home (config.toml and the keys), nor BLOBs that this machine lacks itself: those that it fetches on \
      demand, has evicted, or still waits for. Copy the home's directory as well, and keep that copy as safe as a key.

      To go back to a copy while the daemon runs: sqlite3 notes.db ".restore notes-monday.db". Never copy over a database that \
      a program has open (cp). The guide “Backup and restore” has every case.

      Examples:
        mesh backup notes-monday.db
        mesh backup /media/disk/notes.db --json
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The file to make. It must not exist yet.", valueName: "file"))
  var file: String

  func run() async throws {
    let file = try Home.absolute(file)
    let report = try await home.access().withNode(.home) { node in
      try await Progress.during("copying") { try await node.backup(to: file) }
    }
    if json.isOn { return try Output.json(report) }
    Output.facts([
      ("file", "\(report.file) (\(Output.bytes(report.bytes)))"), ("of", report.database),
      ("not in it", ([report.home] + lacking(report.lackingAssets)).joined(separator: ", ")),
    ])
  }

  private func lacking(_ assets: LackingAssets) -> [String] {
    let amounts = [(assets.coming, "still on their way"), (assets.absent, "on demand or to be had from nobody now")]
    return amounts.filter { $0.0.assets > 0 }.map { "\(Output.blobs($0.0)) \($0.1)" }
  }
}
