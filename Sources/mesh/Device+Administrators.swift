import ArgumentParser
import FoundationEssentials
import MeshControl

extension Device {
  struct Promote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make another device an administrator, so that losing this machine does not lose the account.",
      discussion: """
        An administrator can invite and revoke devices, as this machine can. It can't promote, demote or revoke an \
        administrator, and it can't replace the account's key. Each promotion allows 32 invites and 32 revocations. Only the \
        machine that holds the account's key can promote.

        Example:
          mesh device promote laptop
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(
        device, .promote, home, json,
        next: "as soon as it has met this machine (mesh wait), it can run mesh device invite and revoke")
    }
  }

  struct Demote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make an administrator an ordinary device of the account again.",
      discussion: """
        The devices that it invited stay, and those that it revoked stay revoked, as far as this machine knows of them. No \
        device accepts its invites and revocations from now on. Only the machine that holds the account's key can demote.

        Example:
          mesh device demote laptop
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(device, .demote, home, json, next: "mesh device list shows the account's devices")
    }
  }

  struct Confirm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Readmit a device that is unconfirmed since the account's key was replaced.",
      discussion: """
        If you replace the account's key or demote an administrator, mesh excludes the devices that they invited without this \
        machine's knowledge. mesh device list shows them as unconfirmed. If such a device is yours, confirm it. If it isn't, \
        revoke it.

        Example:
          mesh device confirm tablet
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      try await Device.change(device, .confirm, home, json, next: "it synchronizes as soon as it connects")
    }
  }

  private static func change(
    _ device: String, _ act: DeviceChangeRequest.Act, _ home: HomeOption, _ json: JSONFlag, next: String
  ) async throws {
    let report = try await home.access().perform(DeviceChangeRequest(device: device, act: act))
    if json.isOn { return try Output.json(report) }
    Output.facts([
      ("device", Output.named(report.device, report.name)), ("state", state(report)), ("next", next),
    ])
  }

  /// Returns the role of a device in the account, in a few words.
  static func state(_ device: DevicesReport.Device) -> String {
    if let revoked = device.revoked { return "revoked \(revoked.ISO8601Format())" }
    if device.isUnconfirmed { return "unconfirmed: mesh device confirm, or mesh device revoke" }
    let role = device.isAdministrator ? "administrator" : "member"
    return device.isThis ? (device.isAdministrator ? "this device, administrator" : "this device") : role
  }
}
