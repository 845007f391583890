import ArgumentParser
import MeshControl

struct Untrack: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Stop synchronizing tables. Their rows stay.",
    discussion: """
      The rows stay here and on every other device. New writes to the tables on this machine stay on this machine.

      Example:
        mesh untrack drafts
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables.", valueName: "table"))
  var tables: [String]

  func run() async throws {
    let report = try await home.access().perform(UntrackRequest(tables: tables))
    if json.isOn { return try Output.json(report) }
    for table in report.tables { Output.facts([("untracked", table)]) }
  }
}
