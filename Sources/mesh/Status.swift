import ArgumentParser
import FoundationEssentials
import MeshControl
import MeshNode

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the state of this node.",
    discussion: """
      Works with and without a daemon, and says whether one runs, even if the database can't be used.

      Examples:
        mesh status
        mesh status --json | jq .pending
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag

  func run() async throws {
    let access = try home.access()
    let report: StatusReport
    do {
      report = try await access.perform(StatusRequest())
    } catch let error as any Refusing where error.refusal.code.hasPrefix("database.") && !json.isOn {
      Output.facts([("node", Self.state(isRunning: UnixSocket.isListening(at: access.home.path(of: .controlSocket))))])
      throw error
    }
    if json.isOn { return try Output.json(report) }
    show(report)
  }

  private static func state(isRunning: Bool) -> String {
    isRunning ? "running" : "not running (start it: mesh serve)"
  }

  private func show(_ report: StatusReport) {
    var facts = [
      ("node", Self.state(isRunning: report.running)),
      ("account", Output.named(report.account, report.accountName)),
      ("device", Output.named(report.device, report.deviceName)),
      ("database", report.database),
      (
        "tables",
        report.tables.isEmpty
          ? "none (mesh track TABLE; those of other devices: mesh schema --apply)"
          : report.tables.joined(separator: ", ")
      ),
      ("pending", report.pending.counted("row", "rows")),
    ]
    if let listen = report.listen { facts.append(("listening", listen)) }
    for work in report.work { facts.append(("working", ProgressLine.text(work))) }
    for (reason, count) in report.held.sorted(by: { $0.key < $1.key }) {
      facts.append(("held", "\(count): \(reason)"))
    }
    if !report.held.isEmpty { facts.append(("", "mesh held lists the records and their reasons")) }
    facts += Self.blobs(report)
    for quota in report.quotas {
      let share = quota.shareName.map { " in \($0)" } ?? ""
      facts.append(
        (
          "quota",
          "\(quota.accountName ?? quota.account)\(share): \(quota.used) of \(quota.limit) (\(quota.what.rawValue))"
        ))
    }
    if !report.quotas.isEmpty { facts.append(("", "mesh doctor says how to free space")) }
    for alarm in report.alarms { facts.append(("alarm", alarm)) }
    for warning in report.warnings { facts.append(("warning", warning)) }
    if !report.held.isEmpty || !report.alarms.isEmpty || !report.warnings.isEmpty {
      facts.append(("", "mesh doctor checks everything, and says what to do"))
    }
    for (share, count) in report.receipts.sorted(by: { $0.key < $1.key }) {
      facts.append(("receipts", Output.receipts(count, of: share)))
    }
    for (share, reason) in report.ended.sorted(by: { $0.key < $1.key }) {
      facts.append(("share ended", "\(reason) (mesh share show \(share))"))
    }
    Output.facts(facts)
    if !report.zones.isEmpty { Output.print("\n" + ZonesCommand.table(report.zones).text) }
    if !report.peers.isEmpty { Output.print("\n" + Peers.table(report.peers).text) }
  }

  private static func blobs(_ report: StatusReport) -> [(String, String)] {
    var facts: [(String, String)] = []
    let fetching = report.fetching
    if fetching.assets > 0 {
      let sources = fetching.sources.map { Output.named($0.device, $0.name) }.joined(separator: ", ")
      facts.append(
        (
          "BLOBs",
          "\(fetching.assets) to fetch, \(fetching.here.asBytes) of \(fetching.size.asBytes) here"
            + (sources.isEmpty ? "" : ", from \(sources)")
        ))
    }
    for stuck in fetching.stuck {
      facts.append(
        (
          stuck.state.rawValue,
          "\(stuck.assets.counted("BLOB", "BLOBs")) (\(stuck.size.asBytes)): \(stuck.reason)"
        ))
    }
    if !fetching.stuck.isEmpty { facts.append(("", "mesh asset list names their rows")) }
    if report.keptBlobs.bytes > 0 {
      let (bytes, limit) = (report.keptBlobs.bytes.asBytes, report.keptBlobs.limit.asBytes)
      facts.append(("kept BLOBs", "\(bytes) of \(limit): others overwrote or deleted them (mesh restore)"))
    }
    return facts
  }
}
