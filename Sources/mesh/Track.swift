import ArgumentParser
import MeshControl

struct Track: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Synchronize tables from now on.",
    discussion: """
      Checks all tables first, and reports every problem at once. Then installs triggers that capture what any program writes, \
      and takes in the rows that the tables have. If a table is tracked already, takes in none of its rows.

      Returns when rows that other devices wrote are in the tables as well, or after 60 s: the node then goes on in the background.

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
    help: ArgumentHelp("Tables to synchronize and never to share.", valueName: "table"))
  var privateTables: [String] = []

  @Flag(help: "Accept integer keys, although row 1 of two devices becomes one row.")
  var integerKeys = false

  func validate() throws {
    if tables.isEmpty, privateTables.isEmpty { throw ValidationError("Name at least one table.") }
  }

  func run() async throws {
    let request = TrackRequest(tables: tables, privateTables: privateTables, integerKeys: integerKeys)
    let access = try home.access()
    let report = try await access.perform(request, telling: "taking in rows")
    try await access.filled("filling the tables")
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
