import ArgumentParser
import MeshControl
import MeshNode

struct Rescan: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Capture rows that changed while the triggers were missing.",
    discussion: """
      Compares every row with the merged state. Rows that differ are captured as edits of now, and rows that are gone as \
      deletes. Use it after a write that no trigger sees: a BLOB written in place, or rows copied in while triggers were off. \
      After a change of the schema, the daemon compares rows by itself.

      Examples:
        mesh rescan
        mesh rescan notes tags
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables. Without one: all tables.", valueName: "table"))
  var tables: [String] = []

  func run() async throws {
    let report = try await home.access().perform(RescanRequest(tables: tables), telling: "comparing rows")
    if json.isOn { return try Output.json(report) }
    Output.facts([("compared", report.rows.counted("row", "rows")), ("differences", "\(report.differences)")])
  }
}
