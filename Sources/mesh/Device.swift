import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshNode

struct Device: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Invite, list, promote and revoke the account's devices.",
    discussion: """
      Examples:
        mesh device invite --expires 1h
        mesh device list
        mesh device promote laptop
        mesh device revoke phone
      """,
    subcommands: [
      Invite.self, List.self, Revoke.self, Promote.self, Demote.self, Confirm.self, Restamp.self,
    ])

  struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print an invite with which one device can join this account.",
      discussion: """
        The last line printed is the invite. It works once, for the time given, and only while this daemon runs: the new \
        device dials this daemon's addresses. Keep the invite secret until it is used. Only the machine that holds the \
        account's key, and administrators (mesh device promote), can invite.

        Examples:
          mesh device invite
          mesh device invite --expires 2h
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("How long the invite works: 90s, 15m, 2h, 7d. (default: 15m)", valueName: "duration"),
      transform: ArgumentRule.expiry)
    var expires = Duration.inviteExpires

    func run() async throws {
      let need = NodeAccess.Need.daemon(
        because: "an invite contains the addresses of the running daemon, and the new device dials them.")
      let report = try await home.access().perform(InviteRequest(expires: expires), need)
      if json.isOn { return try Output.json(report) }
      Output.facts([
        ("works until", report.expires.ISO8601Format()), ("dials", report.addresses.joined(separator: ", ")),
      ])
      Output.print("On the new device run: mesh init --database PATH --adopt-schema --link -, and paste this line:")
      Output.print(report.link)
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the devices of this account.",
      discussion: """
        Example:
          mesh device list --json
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let report = try await home.access().perform(DevicesRequest())
      if json.isOn { return try Output.json(report) }
      Output.print(Device.table(report.devices))
    }
  }

  static func table(_ devices: [DevicesReport.Device]) -> String {
    var table = TextTable("DEVICE", "NAME", "CERTIFIED", "STATE")
    for device in devices {
      table.add(device.device, device.name, device.certified.ISO8601Format(), state(device))
    }
    return table.text
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Exclude a device permanently.",
      discussion: """
        Every other device rejects what the device writes from now on. Its connections end, and the zones get keys that it \
        doesn't have. It keeps what it has read. Only the machine that holds the account's key, and administrators, can revoke. \
        An administrator can't revoke another one.

        If other devices of the account have changes by the device that this one lacks, they undo them and list them in \
        mesh conflicts.

        Examples:
          mesh device revoke laptop
          mesh device revoke device-…
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    @Argument(help: "The device's id or the beginning of it, or its name if only one device has it.")
    var device: String

    func run() async throws {
      let need = NodeAccess.Need.daemon(because: "only a running daemon can tell the other devices.")
      let report = try await home.access().perform(RevokeRequest(device: device), need)
      if json.isOn { return try Output.json(report) }
      Output.facts([
        ("revoked", Output.named(report.device, report.name)),
        ("excluded from", report.zones.count.counted("zone", "zones")),
      ])
    }
  }
  struct Restamp: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write again what this device signed while its clock was ahead.",
      discussion: """
        If a change set is signed more than 5 minutes ahead of a device's clock, the device keeps it and merges it only when \
        that time has come. Once this machine's clock is right, this command reverts such change sets on every device and writes \
        their rows again, with the current time. Values that were overwritten since stay as they are. It refuses if nothing is \
        ahead, and while the clock is wrong.

        Example:
          mesh device restamp
        """)

    @OptionGroup var home: HomeOption
    @OptionGroup var json: JSONFlag

    func run() async throws {
      let need = NodeAccess.Need.daemon(because: "only a running daemon can tell the other devices.")
      let report = try await home.access().perform(RestampRequest(), need)
      if json.isOn { return try Output.json(report) }
      Output.facts(
        report.zones.map { zone in
          ("reverted in \(zone.name)", zone.changeSets.counted("change set", "change sets"))
        } + [("next", "mesh status shows when the rows are written again")])
    }
  }
}
