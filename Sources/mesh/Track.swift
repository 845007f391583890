import ArgumentParser
import MeshNode

struct Track: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Keep tables in step with the mesh from now on.",
    discussion: """
      Checks all the tables first and says everything that is wrong with them at once; then installs triggers that \
      capture what any program writes, and takes in the rows that are there. Of a table that is tracked already it takes \
      in none.

      Examples:
        mesh track notes tags
        mesh track notes --private drafts settings
        mesh track counters --integer-keys
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables.", valueName: "table"))
  var tables: [String] = []

  @Option(
    name: .customLong("private"), parsing: .upToNextOption,
    help: ArgumentHelp("Tables to keep in step and never share.", valueName: "table"))
  var privateTables: [String] = []

  @Flag(help: "Take tables with integer keys, although row 1 of two devices becomes one row.")
  var integerKeys = false

  func validate() throws {
    if tables.isEmpty, privateTables.isEmpty { throw ValidationError("Name at least one table.") }
  }

  func run() async throws {
    let request = TrackRequest(tables: tables, privateTables: privateTables, integerKeys: integerKeys)
    let report = try await home.access().withNode(.home) { node in
      try await Progress.during("taking in rows") { try await node.track(request) }
    }
    if json.isOn { return try Output.json(report) }
    var table = TextTable("TABLE", "ROWS TAKEN IN", "SHARING")
    for row in report.tables {
      let sharing =
        row.isPrivate
        ? "private" : row.isShareable ? "with its root record" : "never: its foreign keys lead to no one root"
      table.add(row.name, "\(row.rows)", sharing)
    }
    Output.print(table.text)
  }
}

struct Untrack: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Stop keeping tables in step; their rows stay.",
    discussion: """
      The rows stay here and on every other device; what is written to the tables here from now on stays here.

      Example:
        mesh untrack drafts
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables.", valueName: "table"))
  var tables: [String]

  func run() async throws {
    let tables = tables
    let report = try await home.access().withNode(.home) { try await $0.untrack(tables) }
    if json.isOn { return try Output.json(report) }
    for table in report.tables { Output.facts([("untracked", table)]) }
  }
}
