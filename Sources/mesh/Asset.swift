import ArgumentParser
import MeshNode

struct Asset: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the BLOBs that are on their way.",
    discussion: """
      A BLOB of more than 16 KiB travels beside the change sets, chunk by chunk, from whoever has it. Its row is there before, and \
      goes on showing what it showed in that column.

      Examples:
        mesh asset list
        mesh asset list --json | jq '.waiting[] | select(.reason)'
      """, subcommands: [List.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show what rows wait for, and how much of it is here.")

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().withNode(.home) { try await $0.assets() }
      if json.isOn { return try Output.json(report) }
      if report.waiting.isEmpty { return Output.print("Every row has its BLOBs.") }
      var table = TextTable("TABLE", "KEY", "COLUMN", "HERE", "BYTES", "DETAIL")
      for item in report.waiting {
        table.add(
          item.table, Output.shortened(item.key), item.column, "\(item.here * 100 / max(1, item.size)) %",
          "\(item.size)",
          item.reason ?? "")
      }
      Output.print(table.text + "\n")
      if !report.complete { Output.print("There are more than these \(report.waiting.count).") }
    }
  }
}
