import ArgumentParser
import MeshNode

struct Held: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what is merged and not in its table, and what would free it.",
    discussion: """
      A record whose parent is not here, whose table this file lacks, or that a constraint refuses is kept whole, with the \
      reason, and shown as soon as the reason goes. Nobody has to ask for that, but where only something outside of the \
      record and the schema kept it: then retry. A record that nobody wants is discarded.

      Examples:
        mesh held
        mesh held --json | jq '.records[] | select(.hold.reason == "constraint")'
        mesh held retry
        mesh held discard tags t1
      """, subcommands: [List.self, Retry.self, Discard.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show what is held.")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().withNode(.home) { try await $0.held() }
      if json.isOn { return try Output.json(report) }
      if report.counts.isEmpty { return Output.print("Nothing is held: every live record is in its table.") }
      if !report.records.isEmpty { show(report.records) }
      if !report.complete { Output.print("There are more than these \(report.records.count).") }
      let listed = Set(report.records.map(\.hold.reason))
      for (reason, count) in report.counts.sorted(by: { $0.key < $1.key }) where !listed.contains(reason) {
        Output.facts([(reason, "\(count) (mesh doctor says what they wait for)")])
      }
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
      let ways = Dictionary(records.map { ($0.hold.wayOut, $0.hold.reason) }, uniquingKeysWith: { $1 })
      Output.facts(ways.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map { ($0.value, $0.key) })
      Output.print("\nmesh held discard TABLE KEY deletes one that nobody wants, everywhere.")
    }
  }

  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Try again to show what is held.",
      discussion: """
        For a trigger that refused a record because of something that has changed since, in a table of its own, say.

        Example:
          mesh held retry
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().withNode(.home) { node in
        try await Progress.during("looking at what is held") { try await node.heldRetry() }
      }
      if json.isOn { return try Output.json(report) }
      Output.facts([("tried", "\(report.tried)"), ("shown", "\(report.shown)")])
    }
  }

  struct Discard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Delete records that are held: here and on every other machine.",
      discussion: """
        They are in no table here, so no SQL deletes them. It is an edit of now and goes to all who have the records, also \
        where they are shown. mesh restore brings one back, but for BLOBs of more than 16 KiB.

        Examples:
          mesh held discard tags t1
          mesh held discard tags t1 t2 t3
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table.") var table: String
    @Argument(help: .key) var keys: [String]
    @Option(help: "The zone, where several hold a record with one key.") var zone: String?

    func run() async throws {
      let request = DiscardRequest(table: table, keys: keys, zone: zone)
      let report = try await home.access().withNode(.home) { try await $0.heldDiscard(request) }
      if json.isOn { return try Output.json(report) }
      for record in report.discarded {
        Output.facts([("deleted everywhere", "\(record.table) \(Output.shortened(record.key))")])
      }
      Output.note("mesh restore TABLE KEY brings one back.")
    }
  }

  static func facts(_ hold: HoldReport) -> [(String, String)] {
    var facts = [("since", hold.since.map(ControlJSON.text) ?? "not known")]
    if let message = hold.message { facts.append(("SQLite says", message)) }
    if !hold.waitsFor.isEmpty { facts.append(("waits for", awaited(hold))) }
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
