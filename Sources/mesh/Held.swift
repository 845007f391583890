import ArgumentParser
import MeshControl
import MeshCore
import MeshNode

struct Held: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show records that are merged but not in their table, and how to free them.",
    discussion: """
      If a record's parent is not here, or this file lacks its table, mesh keeps the record whole and shows it as soon as the \
      reason goes. If an edit breaks a constraint of its table, the row stays the last version that the table accepted, and both \
      versions are listed: resolve settles the record. Use retry after a change outside of the record and the schema, and \
      discard for a record that nobody wants.

      Examples:
        mesh held
        mesh held --json | jq '.records[] | select(.hold.reason == "edit-refused")'
        mesh held resolve meetings m1 --column stop --value 10
        mesh held retry
        mesh held discard tags t1
      """, subcommands: [List.self, Resolve.self, Retry.self, Discard.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the held records.",
      discussion: """
        Example:
          mesh held list --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().perform(HeldRequest())
      if json.isOn { return try Output.json(report) }
      if report.counts.isEmpty, report.untracked.isEmpty {
        return Output.print("Nothing is held: every live record is in its table.")
      }
      if !report.records.isEmpty { show(report.records) }
      if !report.complete { Output.print("There are more than these \(report.records.count).") }
      let listed = Set(report.records.map(\.hold.reason))
      for (reason, count) in report.counts.sorted(by: { $0.key < $1.key }) where !listed.contains(reason) {
        Output.facts([(reason, "\(count) (mesh doctor says what they wait for)")])
      }
      if !report.untracked.isEmpty { Output.facts([("untracked", Self.kept(report.untracked))]) }
    }

    private static func kept(_ untracked: [String: Int]) -> String {
      let count = untracked.values.reduce(0, +)
      let tables = untracked.keys.sorted().joined(separator: " ")
      return "\(count.counted("record is", "records are")) kept for tables that are not synchronized here any more: "
        + "mesh track \(tables) takes them up again"
    }

    private func show(_ records: [HeldReport.Record]) {
      var table = TextTable("TABLE", "KEY", "ZONE", "REASON", "SINCE", "DETAIL")
      for record in records {
        table.add(
          record.table, Output.shortened(record.key), record.zoneName.isEmpty ? record.zone : record.zoneName,
          record.hold.reason, record.hold.since.map(ControlJSON.text) ?? "not known",
          record.hold.message ?? Held.waits(record.hold))
      }
      Output.print(table.text + "\n")
      showVersions(records.filter { $0.hold.refused.contains(where: \.inTable) })
      for (reason, records) in Dictionary(grouping: records, by: \.hold.reason).sorted(by: { $0.key < $1.key }) {
        let ways = Set(records.map(\.hold.wayOut)).sorted().prefix(Self.ways)
        Output.facts(ways.map { (reason, $0) })
      }
    }

    /// The number of remedies that are printed for each reason, because some name the record.
    private static let ways = 3

    /// Prints the values in the table beside the merged values.
    private func showVersions(_ records: [HeldReport.Record]) {
      guard !records.isEmpty else { return }
      var table = TextTable("TABLE", "KEY", "COLUMN", "SHOWN", "REFUSED")
      for record in records {
        for refused in record.hold.refused {
          table.add(
            record.table, Output.shortened(record.key), refused.column, Output.shortened(refused.shown),
            Output.shortened(refused.merged))
        }
      }
      Output.print(table.text + "\n")
    }
  }

  struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Settle a record whose merged version the table refuses.",
      discussion: """
        Writes values that the table accepts, as an edit of now: every machine gets it. Columns that you don't name get the \
        merged values; with --keep shown they keep what the row shows. If the table refuses the result, nothing changes. \
        Values that are overwritten are listed by mesh conflicts. mesh held shows both versions of a record.

        The column's type converts a value. NULL is NULL. In quotes, a value is an SQL literal ("'NULL'", "x'0a'").

        Examples:
          mesh held resolve meetings m1 --column stop --value 10
          mesh held resolve meetings m1 --column start --value 6 --column stop --value 7
          mesh held resolve meetings m1 --keep shown
        """)

    enum Keep: String, ExpressibleByArgument, CaseIterable {
      case shown, merged
    }

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table.") var table: String
    @Argument(help: .key) var key: String
    @Option(name: .customLong("column"), parsing: .unconditionalSingleValue, help: "A column, followed by its --value.")
    var columns: [String] = []
    @Option(name: .customLong("value"), parsing: .unconditionalSingleValue, help: "The value of the column before it.")
    var values: [String] = []
    @Option(help: "The value of the columns that you don't name.") var keep = Keep.merged
    @Option(help: "The zone, if several zones have such a record with this key.") var zone: String?

    func validate() throws {
      guard columns.count == values.count else {
        throw ValidationError("Give each --column one --value: --column stop --value 10.")
      }
      guard Set(columns.map(\.folded)).count == columns.count else {
        throw ValidationError("Name each column once.")
      }
    }

    func run() async throws {
      let request = ResolveRequest(
        table: table, key: key, values: Dictionary(zip(columns, values), uniquingKeysWith: { $1 }),
        keepShown: keep == .shown, zone: zone)
      let report = try await home.access().perform(request)
      if json.isOn { return try Output.json(report) }
      Output.facts(
        [("settled", "\(report.table) \(Output.shortened(report.key))")]
          + report.values.sorted { $0.key < $1.key }.map { ($0.key, Output.shortened($0.value)) })
    }
  }

  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Try again to show held records.",
      discussion: """
        Use it after a change that mesh can't notice. For example, a trigger refused a record because of another table, and you \
        have changed that table.

        Example:
          mesh held retry
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().perform(RetryRequest(), telling: "trying held records again")
      if json.isOn { return try Output.json(report) }
      Output.facts([("tried", "\(report.tried)"), ("shown", "\(report.shown)")])
    }
  }

  struct Discard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete records that are held: here and on every other machine.",
      discussion: """
        The records are in no table here, so no SQL deletes them. The delete goes to every device that has them, even if its \
        table shows them. The answer says what brings a record back; BLOBs of more than 16 KiB may not come with it. --json needs \
        --yes, because it can't ask.

        Examples:
          mesh held discard tags t1
          mesh held discard tags t1 t2 t3 --yes
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table.") var table: String
    @Argument(help: .key) var keys: [String]
    @Option(help: "The zone, if several zones have such a record with this key.") var zone: String?
    @Flag(help: "Delete without asking.") var yes = false

    func run() async throws {
      if json.isOn, !yes { throw ValidationError("--json can't ask: add --yes.") }
      let access = try home.access()
      var zone = zone
      if !yes {
        let found = try await access.perform(DiscardableRequest(table: table, keys: keys, zone: zone))
        guard askToDelete(found.discarded) else {
          Output.note("Nothing was deleted.")
          throw ExitCode(ExitStatus.no.rawValue)
        }
        // The record that was shown, even if another zone holds one with its key by now.
        if keys.count == 1 { zone = found.discarded.first?.zone }
      }
      let report = try await access.perform(DiscardRequest(table: table, keys: keys, zone: zone))
      if json.isOn { return try Output.json(report) }
      for record in report.discarded {
        Output.facts([("deleted everywhere", "\(record.table) \(Output.shortened(record.key))")])
      }
      for record in report.discarded { Output.note(printable(record.wayBack)) }
    }

    private func askToDelete(_ records: [DiscardReport.Record]) -> Bool {
      let only = records.count == 1 ? records.first : nil
      let what = only.map { "the record \(Output.shortened($0.key))" } ?? "\(records.count) records"
      return Input.ask(printable("Delete \(what) of \(table) on every machine?"))
    }
  }

  static func facts(_ hold: HoldReport) -> [(String, String)] {
    var facts = [("since", hold.since.map(ControlJSON.text) ?? "not known")]
    let isSQLite = ["constraint", "edit-refused"].contains(hold.reason)
    if let message = hold.message { facts.append((isSQLite ? "SQLite says" : "because", message)) }
    if !hold.waitsFor.isEmpty { facts.append(("waits for", awaited(hold))) }
    facts += hold.refused.filter(\.inTable).map { refused in
      (
        "\(refused.column) is \(Output.shortened(refused.shown)) in the table",
        "merged: \(Output.shortened(refused.merged))"
      )
    }
    return facts + [("way out", hold.wayOut)]
  }

  private static func waits(_ hold: HoldReport) -> String {
    hold.waitsFor.isEmpty ? "" : "waits for \(awaited(hold))"
  }

  private static func awaited(_ hold: HoldReport) -> String {
    hold.waitsFor.map { "\($0.table) \(Output.shortened($0.key))" + ($0.zone.map { " in \($0)" } ?? "") }
      .joined(separator: ", ")
  }
}
