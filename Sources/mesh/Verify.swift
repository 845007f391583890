import ArgumentParser
import MeshControl
import MeshCore
import MeshNode

struct Verify: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check that every connected device has the same rows.",
    discussion: """
      Waits until both sides have sent what programs wrote and have merged the same change sets. Then compares digests. Exit \
      code 0: all equal; 1: unequal, not in time, or rows that can't be sent; 4: no device is connected.

      A digest covers what is merged. If a table here refuses a merged version, its row is the last one that the table \
      accepted; verify names these records, and they don't change the exit code. Neither do records that are held here.

      Examples:
        mesh verify
        mesh verify --timeout 5m --json
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag
  @OptionGroup var timeout: TimeoutOption

  func run() async throws {
    let timeout = timeout.duration
    let need = NodeAccess.Need.daemon(because: "only a running daemon is connected to the devices to compare with.")
    let report = try await home.access().withNode(need) { node in
      try await ProgressLine.during("waiting for equal vectors", detail: { await ProgressLine.behind(node) }) {
        try await node.perform(VerifyRequest(timeout: timeout))
      }
    }
    if json.isOn { try Output.json(report) } else { show(report) }
    if !report.equal { throw ExitCode(ExitStatus.no.rawValue) }
  }

  private static let olderNamed = 5
  /// The reason of the records in `VerifyReport.older`.
  private static let older = "edit-refused"

  private func show(_ report: VerifyReport) {
    var table = TextTable("ZONE", "DEVICE", "ANSWER", "HERE", "THERE")
    for comparison in report.comparisons {
      let answer =
        switch comparison.outcome {
        case .equal: "equal"
        case .unequal: "UNEQUAL"
        case .notInTime: "not in time"
        case .unsentHere: "rows here are not sent"
        case .unsentThere: "rows there are not sent"
        }
      table.add(
        comparison.zone, comparison.name ?? comparison.device, answer, String(comparison.here.prefix(16)),
        String((comparison.there ?? "").prefix(16)))
    }
    Output.print(table.text)
    if let locked = report.locked { Output.print(printable(locked)) }
    if report.olderCount > 0 {
      let named = report.older.prefix(Self.olderNamed).map { "\($0.table) \(Output.shortened($0.key))" }
      Output.print(
        "\(report.olderCount.counted("row is", "rows are")) older here than the merged version, which the table refuses: "
          + named.joined(separator: ", ") + (report.olderCount > named.count ? ", …" : "")
          + ". mesh held shows both versions.")
    }
    let held = report.held.filter { $0.key != Self.older }
    if !held.isEmpty { Output.print("\(Output.held(held)): mesh held lists them.") }
    if report.comparisons.contains(where: { $0.outcome == .unsentHere || $0.outcome == .unsentThere }) {
      Output.print(
        "On the machine whose rows are not sent, mesh status shows what is pending, and mesh doctor what can't be sent."
      )
    }
  }
}
