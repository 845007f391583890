import ArgumentParser
import FoundationEssentials
import MeshNode

extension Device {
  struct Promote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make another device an administrator, so that losing this machine does not lose the account.",
      discussion: """
        An administrator invites and revokes devices, as this machine does. It can't promote, demote or revoke an \
        administrator, nor replace the account's key. One promotion is good for 32 devices. Only the machine that holds the \
        account's key can promote.

        Example:
          mesh device promote laptop
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(
        device, .promote, home, json, next: "it can run mesh device invite and mesh device revoke now")
    }
  }

  struct Demote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "End an administrator's power; it stays a device of the account.",
      discussion: """
        The devices that it invited stay, and those that it revoked stay out, as far as this machine knows of them. What it \
        signs from now on counts nowhere. Only the machine that holds the account's key can demote.

        Example:
          mesh device demote laptop
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(device, .demote, home, json, next: "mesh device list shows who takes part")
    }
  }

  struct Confirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Let a device take part again that has been unconfirmed since the key was replaced.",
      discussion: """
        When the account's key is replaced, or an administrator demoted, devices that they invited without this machine's \
        knowing take no part any more: mesh device list shows them as unconfirmed. If such a device is yours, confirm it; if \
        it is not, revoke it.

        Example:
          mesh device confirm tablet
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(device, .confirm, home, json, next: "it takes part as soon as it connects")
    }
  }

  private static func change(
    _ device: String, _ act: DeviceChangeRequest.Act, _ home: HomeOption, _ json: JSONFlag, next: String
  ) async throws {
    let request = DeviceChangeRequest(device: device, act: act)
    let report = try await home.access().withNode(.home) { try await $0.deviceChange(request) }
    if json.isOn { return try Output.json(report) }
    Output.facts([
      ("device", Output.named(report.device, report.name)), ("state", state(report)), ("next", next),
    ])
  }

  /// What a device is to the account, in a few words.
  static func state(_ device: DevicesReport.Device) -> String {
    if let revoked = device.revoked { return "revoked \(revoked.ISO8601Format())" }
    if device.isUnconfirmed { return "unconfirmed: mesh device confirm, or mesh device revoke" }
    let role = device.isAdministrator ? "administrator" : "member"
    return device.isThis ? (device.isAdministrator ? "this device, administrator" : "this device") : role
  }
}
