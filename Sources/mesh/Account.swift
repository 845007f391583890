import ArgumentParser
import MeshNode

struct Account: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the account, and its recovery key once.",
    discussion: """
      Examples:
        mesh account show
        mesh account recovery
      """,
    subcommands: [Show.self, Recovery.self])

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show whose node this is.",
      discussion: """
        Example:
          mesh account show --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().withNode(.home) { try await $0.accountShow() }
      if json.isOn { return try Output.json(report) }
      let key =
        report.holdsAccountKey ? "here" : report.keyHolder.map { "on \($0)" } ?? "on the machine that made the account"
      Output.facts([
        ("account", Output.named(report.account, report.name)),
        ("this device", Output.named(report.device, report.deviceName)),
        ("devices", "\(report.devices)"),
        ("account key", key),
        ("recovery key", report.recoveryWaiting ? "not shown yet: mesh account recovery" : "not on this machine"),
      ])
    }
  }
}
