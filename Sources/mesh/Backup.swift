import ArgumentParser
import Foundation
import MeshControl
import MeshNode

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the database, as it is now, to a file.",
    discussion: """
      The copy is consistent. Programs and the daemon keep writing meanwhile. The copy holds every table of the database, the \
      change log, and captured rows that aren't sent yet.

      The copy doesn't hold the home (config.toml and the keys). It doesn't hold BLOBs that this machine itself lacks: those \
      that are on demand, evicted or still downloading. Copy the home's directory as well, and keep that copy as safe as a key.

      To go back to a copy while the daemon runs: sqlite3 notes.db ".restore notes-monday.db". Never copy over a database that \
      a program has open (cp). The guide “Backup and restore” describes every case.

      Examples:
        mesh backup notes-monday.db
        mesh backup /media/disk/notes.db --json
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The file to make. It must not exist yet.", valueName: "file"))
  var file: String

  func run() async throws {
    let request = BackupRequest(file: try Home.absolute(file, of: "copy"))
    let report = try await home.access().perform(request, telling: "copying")
    // A service may have a /tmp of its own.
    guard FileManager.default.fileExists(atPath: report.file) else {
      throw Refusal(
        code: "backup.notVisible",
        message:
          "the node has made a copy, and there is no \(report.file) for this command: the service that the node runs in sees "
          + "other directories. Name a file in a directory that both see, such as the database's.")
    }
    if json.isOn { return try Output.json(report) }
    Output.facts([
      ("file", "\(report.file) (\(report.bytes.asBytes))"), ("of", report.database),
      ("not in it", ([report.home] + lacking(report.lackingAssets)).joined(separator: ", ")),
    ])
  }

  private func lacking(_ assets: LackingAssets) -> [String] {
    let amounts = [
      (assets.coming, "still downloading"), (assets.absent, "on demand, evicted, or on no connected device"),
    ]
    return amounts.filter { $0.0.assets > 0 }.map { "\(Output.blobs($0.0)) \($0.1)" }
  }
}
