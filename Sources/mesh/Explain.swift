import ArgumentParser
import MeshControl

struct Explain: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explain the state of a record.",
    discussion: """
      Example:
        mesh explain record notes n1
      """, subcommands: [Record.self])

  struct Record: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show which device wrote each value of a record, when, and which value it overwrote.",
      discussion: """
        Works for deleted and hidden records too, and says why they are not in their table. “over, not seen” marks a value that \
        the author had not seen: a conflict. The command reads the whole log of the record's zone.

        A record that was moved from another share keeps the authors and times of its values. Only the device that moved it has \
        signed them here, so they are shown as “according to” that device.

        Write a key as the row shows it. In a TEXT column it is a text. In any other column it is a number, if it can be one. \
        If a column has both, use quotes: "'1'" is the text, 1 the number.

        Examples:
          mesh explain record notes n1
          mesh explain record prices 1.5
          mesh explain record photos "x'0a1b'" --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag
    @Argument(help: "The table.") var table: String
    @Argument(help: .key) var key: String

    func run() async throws {
      let report = try await home.access().perform(RecordRequest(table: table, key: key))
      if json.isOn { return try Output.json(report) }
      for (index, record) in report.records.enumerated() {
        if index > 0 { Output.print("") }
        Self.print(record, among: report.records)
      }
    }

    private static func print(_ record: RecordReport.Record, among all: [RecordReport.Record]) {
      var state = record.deleted ? "deleted" : record.hold.map { "held: \($0.reason)" } ?? "shown"
      if let zone = record.movedTo {
        state = "moved to \(Output.named(zone, all.first { $0.zone == zone }?.zoneName))"
      }
      Output.facts(
        [
          ("record", "\(record.table) \(record.key)"), ("zone", Output.named(record.zone, record.zoneName)),
          ("state", state),
        ] + (record.hold.map(Held.facts) ?? []) + [
          ("generation", "\(record.generation)"),
          (
            record.movedTo != nil ? "moved by" : record.deleted ? "deleted by" : "made by",
            record.by.map(signature) ?? "not known: it was there before"
          ),
        ])
      guard !record.columns.isEmpty else { return }
      var table = TextTable("COLUMN", "VALUE", "BY", "ACCOUNT", "WRITTEN")
      for column in record.columns {
        add(column.name, "\(column.value)", column.by, &table)
        if let beat = column.beat {
          add(beat.seen ? "  over" : "  over, not seen", "\(beat.value)", beat.by, &table)
        }
      }
      Output.print(table.text)
      Output.facts(
        record.columns.compactMap { column in
          column.withheld.map { ("\(column.name) is \($0.shown) in the table", "since \($0.wayOut)") }
        })
    }

    private static func add(_ name: String, _ value: String, _ by: RecordReport.Writer, _ table: inout TextTable) {
      table.add(
        name, value, named(by), by.account ?? "",
        (by.carried?.written ?? by.written).map(ControlJSON.text) ?? "before tracking, or by a migration")
    }

    /// Returns the device that signed, after the device that it names as the writer.
    private static func named(_ by: RecordReport.Writer) -> String {
      let signer = by.deviceName ?? by.device
      return by.carried.map { "\($0.deviceName ?? $0.device), according to \(signer)" } ?? signer
    }

    private static func signature(_ writer: RecordReport.Writer) -> String {
      [named(writer), (writer.carried?.written ?? writer.written).map(ControlJSON.text)].compactMap(\.self)
        .joined(separator: ", ")
    }
  }
}
