import ArgumentParser
import MeshNode

extension Account {
  struct Recovery: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the account's recovery key, once.",
      discussion: """
        With the recovery key, mesh account replace-key makes a new key for the account on any of its machines, so it \
        belongs on paper and not on this machine. It is shown, and erased here as soon as you confirm that it is written down.

        Examples:
          mesh account recovery
          mesh account recovery --yes
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Flag(help: "Erase the key without asking.")
    var yes = false

    func validate() throws {
      if json.isOn, !yes { throw ValidationError("--json asks no question: confirm the erasure with --yes.") }
    }

    func run() async throws {
      let home = try home.open()
      let key = try recoveryKey(in: home)
      if json.isOn {
        try Output.json(RecoveryReport(recovery: key, erased: true))
      } else {
        Output.print(key)
      }
      guard yes || isConfirmed() else {
        throw Refusal(
          code: "recovery.kept", message: "Not confirmed: the recovery key stays on this machine, to be shown again.",
          exit: .no)
      }
      try home.remove(.recoveryKey)
      Output.note("Erased here. It cannot be shown again.")
    }

    private func recoveryKey(in home: Home) throws -> String {
      guard try home.exists(.recoveryKey) else {
        let madeHere = try home.exists(.accountKey)
        throw Refusal(
          code: "recovery.gone",
          message: madeHere
            ? "The recovery key has been shown and erased; it is not on this machine any more."
            : "The recovery key is shown on the machine that made the account; this one never had it.")
      }
      let text = String(decoding: try home.read(.recoveryKey), as: UTF8.self)
      return text.split(whereSeparator: \.isNewline).joined(separator: "\n")
    }

    private func isConfirmed() -> Bool {
      Output.note("Write it down. Then type “written” to erase it from this machine:")
      return readLine().map { $0.split(separator: " ") == [Self.confirmation] } ?? false
    }

    private static let confirmation: Substring = "written"
  }
}

private struct RecoveryReport: Encodable {
  let recovery: String
  let erased: Bool
}
