import ArgumentParser
import MeshControl
import MeshCore

struct Track: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Synchronize tables from now on.",
    discussion: """
      Checks all tables first, and reports every problem at once. Then installs triggers that capture what any program writes, \
      and takes in the rows that the tables have. If a table is tracked already, takes in none of its rows.

      Returns when rows that other devices wrote are in the tables as well. After 60 s, or if nothing more comes from them for \
      3 s, the node goes on in the background. So it does if a program writes without a pause for 3 s.

      Examples:
        mesh track notes tags
        mesh track notes --private drafts settings
        mesh track --shareable drafts
        mesh track counters --integer-keys
        mesh track posts --policy likes=counter --policy score=greatest
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Argument(help: ArgumentHelp("The tables.", valueName: "table"))
  var tables: [String] = []

  @Option(
    name: .customLong("private"), parsing: .upToNextOption,
    help: ArgumentHelp("Tables to synchronize and never to share.", valueName: "table"))
  var privateTables: [String] = []

  @Option(
    name: .customLong("shareable"), parsing: .upToNextOption,
    help: ArgumentHelp(
      "Untracked tables that were private, to synchronize again so that their rows may be shared. Without it, they stay private.",
      valueName: "table"))
  var shareableTables: [String] = []

  @Option(
    name: .customLong("policy"),
    help: ArgumentHelp(
      """
      How concurrent writes to a column become one value: last (the last edit wins), greatest, least, counter or \
      keepBoth. A counter loses no increment: an assignment counts as its difference. keepBoth keeps each device's last \
      8 values. Name the table if you track several: TABLE.COLUMN=POLICY.
      """,
      valueName: "column=policy"))
  var policies: [String] = []

  @Flag(help: "Accept integer keys, although row 1 of two devices becomes one row.")
  var integerKeys = false

  private var names: [String] { tables + privateTables + shareableTables }

  func validate() throws {
    if names.isEmpty { throw ValidationError("Name at least one table.") }
    let shareable = Set(shareableTables.map(\.folded))
    if let both = privateTables.first(where: { shareable.contains($0.folded) }) {
      throw ValidationError("\(printable(both)) can't be both --private and --shareable.")
    }
    _ = try columnPolicies()
  }

  /// Returns the policies by table and column.
  private func columnPolicies() throws -> [String: [String: String]] {
    try policies.reduce(into: [:]) { found, text in
      let parts = text.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw ValidationError(
          "\(printable(text)) is no policy. Write --policy COLUMN=POLICY, for example --policy likes=counter.")
      }
      let column = String(parts[0])
      if let table = names.first(where: { column.folded.bytes.starts(with: "\($0).".folded.bytes) }) {
        found[table, default: [:]][String(column.dropFirst(table.count + 1))] = String(parts[1])
      } else if names.count == 1 {
        found[names[0], default: [:]][column] = String(parts[1])
      } else {
        throw ValidationError(
          "\(printable(text)) doesn't name the table. Write --policy TABLE.COLUMN=POLICY, for example --policy "
            + "\(names[0]).\(text)."
        )
      }
    }
  }

  func run() async throws {
    let request = TrackRequest(
      tables: tables, privateTables: privateTables, shareableTables: shareableTables, integerKeys: integerKeys,
      policies: try columnPolicies())
    let access = try home.access()
    let report = try await access.perform(request, telling: "taking in rows")
    try await access.filled("filling the tables")
    if json.isOn { return try Output.json(report) }
    var table = TextTable("TABLE", "ROWS TAKEN IN", "SHARING")
    for row in report.tables {
      let sharing =
        row.isPrivate
        ? "private"
        : row.isShareable ? "if its root record is shared" : "never: its foreign keys don't lead to one root"
      table.add(row.name, row.wasTracked ? "tracked already" : "\(row.rows)", sharing)
    }
    Output.print(table.text)
    for (table, columns) in request.policies.sorted(by: { $0.key < $1.key }) {
      Output.facts(columns.sorted { $0.key < $1.key }.map { ("policy", "\(table).\($0.key): \($0.value)") })
    }
    for warning in report.warnings { Output.note("warning: \(printable(warning))") }
    let named = Set(tables.map(\.folded))
    let kept = report.tables.filter { $0.isPrivate && named.contains($0.name.folded) }
    if !kept.isEmpty {
      let names = kept.map(\.name).joined(separator: " ")
      Output.print(
        "Private, as before: \(names). To share their rows: mesh untrack \(names) on each of this account's devices, and then "
          + "mesh track --shareable \(names) on each.")
    }
  }
}
