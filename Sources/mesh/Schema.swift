import ArgumentParser
import MeshControl
import MeshCore

struct Schema: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show tables and columns of the mesh that this file lacks, or has in another form.",
    discussion: """
      If this file lacks a table, mesh keeps its records whole and shows them once the table exists. --apply creates and tracks \
      the missing tables and columns from their description. If one is refused, it creates none. It returns when the new tables \
      and columns have their rows. After 60 s, or if nothing more comes from other devices for 3 s, the node goes on in the \
      background.

      Tables and columns that your own devices or the owner of a share renamed are renamed here, too.

      The tables get the defaults, CHECKs and indexes that your own devices and the owner of a share have, as far as mesh \
      carries their expressions over. The parts that are left out are listed with the reason.

      The policies of columns are listed as well. Set them with mesh track TABLE --policy COLUMN=POLICY.

      A column in another form stays as it is. If its DEFAULT, its NOT NULL or its reference differs, two machines can show one \
      record differently. If a key differs, two records of one machine can be one record of the other. If your own devices \
      describe a table that is missing here in several forms, the form under HERE is the one that --apply creates.

      Examples:
        mesh schema
        mesh schema --apply
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Flag(help: "Create the missing tables and columns, and track them.")
  var apply = false

  func run() async throws {
    let (access, what) = (try home.access(), "looking at the schema")
    let report =
      apply
      ? try await access.perform(ApplySchemaRequest(), telling: what)
      : try await access.perform(SchemaRequest(), telling: what)
    if report.applied, report.missing.contains(where: { $0.refusal == nil }) {
      try await access.filled("filling the new tables and columns")
    }
    if json.isOn { return try Output.json(report) }
    if report.missing.isEmpty, report.undescribed.isEmpty {
      Output.print("Nothing is missing: this file has every table and column of the mesh.")
    }
    for table in report.undescribed {
      let what = "table \(table): mesh held lists its records, and no device has told this one its columns"
      Output.facts([("unknown", what)])
    }
    for missing in report.missing { show(missing, applied: report.applied) }
    Self.showLeftOut(report.leftOut)
    if !report.policies.isEmpty {
      var policies = TextTable("TABLE", "COLUMN", "POLICY")
      for policy in report.policies { policies.add(policy.table, policy.column, policy.policy) }
      Output.print("\nPolicies of columns:\n" + policies.text)
    }
    guard !report.different.isEmpty else { return }
    var table = TextTable("TABLE", "DEVICE", "HERE", "THERE")
    // Several devices often have the same schema.
    let forms = Dictionary(grouping: report.different) { [$0.table, $0.here, $0.there] }
    for (form, devices) in forms.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let (here, there) = (form[1].isEmpty ? "–" : form[1], form[2].isEmpty ? "–" : form[2])
      table.add(form[0], devices.map { $0.name ?? $0.device }.joined(separator: ", "), here, there)
    }
    Output.print("\nIn another form:\n" + table.text)
  }

  /// Prints the parts of other devices' tables that this file's tables lack, with the reasons.
  static func showLeftOut(_ parts: [String]) {
    guard !parts.isEmpty else { return }
    Output.print("Not carried over:")
    for part in parts { Output.print("  \(part)") }
    Output.note(
      "Add the parts that this machine needs with CREATE INDEX or CREATE TRIGGER, or create the table yourself.")
  }

  private func show(_ missing: SchemaReport.Missing, applied: Bool) {
    let parts = Self.parts(missing)
    if let refusal = missing.refusal {
      return Output.facts(parts.map { ("refused", $0.missing) } + [("", refusal)])
    }
    if applied {
      Output.facts(parts.map { ($0.verb, $0.done) })
    } else if missing.exists && missing.columns.isEmpty && missing.former == nil {
      let table = "table \(missing.table)"
      Output.facts([("untracked", "\(table), which is here: mesh track \(missing.table), or mesh schema --apply")])
    } else {
      Output.facts(parts.map { ("missing", $0.missing) })
    }
    if !applied || missing.statements.contains(where: { $0.contains(" RENAME ") }) {
      for statement in missing.statements {
        for line in statement.split(separator: "\n") { Output.print("  " + printable(String(line))) }
      }
    }
  }

  /// Returns the missing parts of a table: how each is described while it is missing and once it is done, and the verb
  /// for that.
  private static func parts(_ missing: SchemaReport.Missing) -> [(verb: String, missing: String, done: String)] {
    let table = missing.table
    if let former = missing.former {
      return [("renamed", "table \(table), which is \(former) here", "table \(former) to \(table)")]
    }
    let names = Set(missing.renamed.values)
    let columns = missing.columns.filter { !names.contains($0) }.joined(separator: ", ")
    guard missing.exists else { return [("created", "table \(table) (\(columns))", "table \(table) (\(columns))")] }
    guard !missing.columns.isEmpty else { return [("tracked", "table \(table)", "table \(table)")] }
    let created = "columns of \(table): \(columns)"
    return (columns.isEmpty ? [] : [("created", created, created)])
      + missing.renamed.sorted { $0.key < $1.key }.map { former, name in
        ("renamed", "column \(name) of \(table), which is \(former) here", "column \(former) of \(table) to \(name)")
      }
  }
}
