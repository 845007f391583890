import ArgumentParser
import MeshCore
import MeshNode

struct Schema: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what tables and columns the mesh knows and this file lacks, or has in another form.",
    discussion: """
      Records of a table that this file lacks are kept whole and shown once it is there. With --apply the tables and \
      columns are created from their description and tracked: all of them, or where one is refused, none. A column that is here \
      in another form stays as it is: where its DEFAULT, its NOT NULL or its reference differ, two machines can show one record \
      differently; where a key differs, two records of one machine can be one of the other.

      Examples:
        mesh schema
        mesh schema --apply
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Flag(help: "Create what is missing, and track it.")
  var apply = false

  func run() async throws {
    let apply = apply
    let report = try await home.access().withNode(.home) { node in
      try await Progress.during("looking at the schema") { try await node.schema(apply: apply) }
    }
    if json.isOn { return try Output.json(report) }
    if report.missing.isEmpty { Output.print("Nothing is missing: this file has all that the mesh knows.") }
    for missing in report.missing { show(missing, applied: report.applied) }
    if report.missing.contains(where: { !$0.exists && $0.refusal == nil }) { Output.note(Self.leftOut) }
    guard !report.different.isEmpty else { return }
    var table = TextTable("TABLE", "DEVICE", "HERE", "THERE")
    // Several devices often have the same.
    let forms = Dictionary(grouping: report.different) { [$0.table, $0.here, $0.there] }
    for (form, devices) in forms.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      table.add(form[0], devices.map { $0.name ?? $0.device }.joined(separator: ", "), form[1], form[2])
    }
    Output.print("\nIn another form:\n" + table.text)
  }

  /// Of tables that are made from a description.
  static let leftOut =
    "A description has columns, types, NOT NULL, literal defaults, keys and references. Indexes, CHECKs, triggers, generated columns "
    + "and computed defaults are not in it, so that nobody's expressions run here: add those that this machine needs."

  private func show(_ missing: SchemaReport.Missing, applied: Bool) {
    let columns = missing.columns.joined(separator: ", ")
    let what =
      !missing.exists
      ? "table \(missing.table) (\(columns))"
      : columns.isEmpty
        ? "table \(missing.table)\(applied ? "" : ", which is here: mesh track \(missing.table), or mesh schema --apply")"
        : "columns of \(missing.table): \(columns)"
    if let refusal = missing.refusal { return Output.facts([("refused", what), ("", refusal)]) }
    let isUntracked = missing.exists && columns.isEmpty
    Output.facts([(applied ? isUntracked ? "tracked" : "created" : isUntracked ? "untracked" : "missing", what)])
    if !applied {
      for statement in missing.statements {
        for line in statement.split(separator: "\n") { Output.print("  " + printable(String(line))) }
      }
    }
  }
}
