import ArgumentParser
import MeshControl

extension Account {
  struct ReplaceKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "replace-key",
      abstract: "Put a new account key on this machine, with the recovery key.",
      discussion: """
        Use it if the machine that holds the account's key is lost or stolen, or if somebody else may have the key. The \
        recovery key is read from standard input. From then on this machine invites, promotes and revokes devices. No device \
        accepts what the former key signs. Devices, administrators and shares stay as this machine knows them. Revoke the \
        lost machine afterwards. The recovery key stays the same, so keep it.

        If somebody who had the key has revoked your devices, name them with --readmit. This machine is always readmitted.

        Examples:
          mesh account replace-key
          mesh account replace-key --readmit phone --readmit tablet < recovery.txt
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Option(help: ArgumentHelp("A revoked device to readmit. Repeatable.", valueName: "device"))
    var readmit: [String] = []

    func run() async throws {
      let access = try home.access()
      Output.note("Type or paste the recovery key (mesh-recovery-…), then an empty line:")
      var lines: [String] = []
      while let line = readLine(), !line.isEmpty { lines.append(line) }
      guard !lines.isEmpty else { throw ValidationError("No recovery key came on standard input.") }
      let request = ReplaceKeyRequest(recovery: lines.joined(separator: " "), readmit: readmit)
      let report = try await access.perform(request)
      if json.isOn { return try Output.json(report) }
      Output.print("This machine holds the account's key now. No device accepts the former key any more.")
      Output.print(Device.table(report.devices))
      Output.print("If a machine in this list is lost, run: mesh device revoke NAME")
    }
  }
}
