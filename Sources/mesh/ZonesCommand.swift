import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshNode

struct ZonesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zones",
    abstract: "Show the zones of this node: the account's own, and shares.",
    discussion: """
      If two devices have the same vector of a zone, they have the same digest. --json prints both.

      Example:
        mesh zones --json
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  func run() async throws {
    let report = try await home.access().perform(ZonesRequest())
    if json.isOn { return try Output.json(report) }
    Output.print(report.zones.isEmpty ? "No zone yet." : Self.table(report.zones).text)
  }

  static func table(_ zones: [ZoneReport]) -> TextTable {
    var table = TextTable("ZONE", "NAME", "ROLE", "RECORDS", "CHANGE SETS", "DIGEST")
    for zone in zones {
      let changeSets = zone.vector.values.reduce(0) { $0 &+ $1 }
      table.add(
        zone.id, zone.name, zone.role.rawValue, "\(zone.records)", "\(changeSets)", String(zone.digest.prefix(16)))
    }
    return table
  }
}
