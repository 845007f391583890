import ArgumentParser
import MeshControl

struct Account: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the account and its recovery key, or replace the account's key.",
    discussion: """
      Examples:
        mesh account show
        mesh account recovery
        mesh account replace-key
      """,
    subcommands: [Show.self, Recovery.self, ReplaceKey.self])

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the account, and where its keys are.",
      discussion: """
        Example:
          mesh account show --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().perform(AccountRequest())
      if json.isOn { return try Output.json(report) }
      let key =
        report.holdsAccountKey ? "here" : report.keyHolder.map { "on \($0)" } ?? "on the machine that replaced it last"
      Output.facts([
        ("account", Output.named(report.account, report.name)),
        ("this device", Output.named(report.device, report.deviceName)),
        ("devices", "\(report.devices)"),
        ("account key", key),
        (
          "administrators",
          report.administrators.isEmpty ? "none: mesh device promote" : report.administrators.joined(separator: ", ")
        ),
        ("recovery key", report.recoveryWaiting ? "not shown yet: mesh account recovery" : "not on this machine"),
      ])
    }
  }
}
