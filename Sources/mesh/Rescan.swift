import ArgumentParser
import MeshNode

struct Rescan: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find what was written to tables unnoticed.",
    discussion: """
      Triggers note what programs write, and a daemon compares rows by itself where they can't have. What no trigger sees \
      (a BLOB written in place, rows copied in while triggers were off) is found by comparing every row with what is \
      merged. Rows that differ are taken in as edits of now; rows that are gone, as deletes.

      Examples:
        mesh rescan
        mesh rescan notes tags
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables; all where none is named.", valueName: "table"))
  var tables: [String] = []

  func run() async throws {
    let tables = tables
    let report = try await home.access().withNode(.home) { node in
      try await Progress.during("comparing rows") { try await node.rescan(tables) }
    }
    if json.isOn { return try Output.json(report) }
    Output.facts([("compared", report.rows.counted("row", "rows")), ("differences", "\(report.differences)")])
  }
}
