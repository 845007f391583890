import ArgumentParser
import MeshControl
import MeshNode

extension Account {
  struct Recovery: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the account's recovery key, once.",
      discussion: """
        With the recovery key, mesh account replace-key makes a new key for the account on any of its machines. Write it on \
        paper: mesh shows it once, and erases it from this machine when you confirm that you have written it down.

        Examples:
          mesh account recovery
          mesh account recovery --yes
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Flag(help: "Erase the key without asking.")
    var yes = false

    func validate() throws {
      if json.isOn, !yes { throw ValidationError("--json can't ask: add --yes.") }
    }

    func run() async throws {
      let home = try home.open()
      let key = try recoveryKey(in: home)
      if json.isOn {
        try Output.json(RecoveryReport(recovery: key, erased: true))
      } else {
        Output.print(key)
      }
      // A key that nobody could read stays.
      try Output.requirePrinted()
      guard yes || askForConfirmation() else {
        throw Refusal(
          code: "recovery.kept",
          message: "not confirmed: the recovery key stays on this machine. Show it again: mesh account recovery",
          exit: .no)
      }
      try home.remove(.recoveryKey)
      Output.note("Erased from this machine. mesh can't show it again.")
    }

    private func recoveryKey(in home: Home) throws -> String {
      guard try home.exists(.recoveryKey) else {
        let madeHere = try home.exists(.accountKey)
        throw Refusal(
          code: "recovery.gone",
          message: madeHere
            ? "the recovery key has been shown and erased: it is on no machine. If you don't have it on paper, make another "
              + "device an administrator, so that losing this machine doesn't lose the account: mesh device promote DEVICE"
            : "this machine never had the recovery key. Run mesh account recovery on the machine that made the account")
      }
      let text = String(decoding: try home.read(.recoveryKey), as: UTF8.self)
      return text.split(whereSeparator: \.isNewline).joined(separator: "\n")
    }

    private func askForConfirmation() -> Bool {
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
