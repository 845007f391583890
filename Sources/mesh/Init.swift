import ArgumentParser
import FoundationEssentials
import Glibc
import MeshControl
import MeshCore
import MeshNode

struct Init: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a node: its home, its keys, and the tables of mesh in the database.",
    discussion: """
      Without --link, makes a new account, whose key this machine keeps. With --link, joins the account of the device that \
      printed the invite: the command dials that device and returns when this one is certified.

      Examples:
        mesh init --database notes.db --account alice
        mesh init --database notes.db --adopt-schema --link -
        ssh tower mesh device invite | tail -1 | mesh init --database n.db --adopt-schema --link -
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  @Option(help: ArgumentHelp("The SQLite file; created if missing.", valueName: "path"))
  var database: String

  @Option(help: ArgumentHelp("A name for the new account. (default: the user's name)", valueName: "name"))
  var account: String?

  @Option(help: ArgumentHelp("A name for this device. (default: the host's name)", valueName: "name"))
  var device: String?

  @Option(
    help: ArgumentHelp("Join an account with this invite; - reads it from standard input.", valueName: "invite"))
  var link: String?

  @Flag(help: "With --link: create and track the account's tables that the database lacks.")
  var adoptSchema = false

  func validate() throws {
    if link != nil, account != nil {
      throw ValidationError("--account makes an account, and --link joins one: give one of them.")
    }
    if adoptSchema, link == nil {
      throw ValidationError("--adopt-schema needs --link: a new account has no tables yet.")
    }
    for (option, name) in [("--account", account), ("--device", device)] {
      if let name, !Self.isName(name) {
        throw ValidationError("\(option) takes 1 to \(Self.nameLimit) bytes without control characters.")
      }
    }
  }

  func run() async throws {
    let options = try options()
    let path = try home.path()
    let isNew = access(path, F_OK) != 0
    let home = try Home.create(at: path)
    let lock = try home.lock(as: .verb)
    defer { lock.release() }
    let report: InitReport
    do {
      report = try await ProgressLine.during(options.invite == nil ? "making the node" : "joining") {
        try await NodeOpener().initialize(options, home: home, lock: lock) { Output.note(printable($0)) }
      }
    } catch {
      if isNew { try home.discard() }
      throw error
    }
    if json.isOn { return try Output.json(report) }
    show(report)
  }

  private func options() throws -> InitOptions {
    InitOptions(
      database: try Home.absolute(database, of: "database"),
      accountName: account ?? Self.name(ProcessInfo.processInfo.environment["USER"], else: "account"),
      deviceName: device ?? Self.name(ProcessInfo.processInfo.hostName, else: "device"),
      invite: try link.map { try Input.invite($0, printedBy: "mesh device invite") },
      adoptSchema: adoptSchema)
  }

  private func show(_ report: InitReport) {
    var facts = [
      ("home", report.home),
      ("account", Output.named(report.account, report.accountName)),
      ("device", Output.named(report.device, report.deviceName)),
      ("database", report.database + (report.created ? " (created)" : "")),
    ]
    let tables = report.adopted + report.tables.map { "\($0) (already here)" }
    if !tables.isEmpty { facts.append(("tables", tables.joined(separator: ", "))) }
    if !report.peers.isEmpty { facts.append(("peers", report.peers.joined(separator: ", "))) }
    Output.facts(facts)
    Schema.showLeftOut(report.leftOut)
    for namesake in report.namesakes {
      Output.note(
        "Another device of the account is called “\(printable(report.deviceName))” too: \(namesake). mesh shows the beginning of "
          + "the id behind the name. To give this machine another name, revoke it (mesh device revoke \(report.device)) and join "
          + "again with a new home: mesh init --home DIR --device NAME …")
    }
    if report.joined {
      Output.note(
        report.missing.isEmpty
          ? "Joined. Next: mesh serve"
          : "Joined. Next: mesh serve, and mesh schema for tables of the account that are missing here or not tracked: "
            + "\(printable(report.missing.joined(separator: ", ")))")
    } else {
      Output.note("Next: mesh track TABLE…, then mesh serve. Write down the recovery key: mesh account recovery")
    }
  }

  /// The maximum size of a name in bytes, as in a certificate.
  private static let nameLimit = 64

  private static func isName(_ text: String) -> Bool {
    (1...nameLimit).contains(text.utf8.count) && text.unicodeScalars.allSatisfy(isPrintable)
  }

  private static func name(_ text: String?, else fallback: String) -> String {
    text.flatMap { isName($0) ? $0 : nil } ?? fallback
  }
}
