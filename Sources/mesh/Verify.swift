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

struct Wait: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until every connected device has everything.",
    discussion: """
      Waits for the rows, and for the BLOBs of more than 16 KiB that travel beside them. Then you can switch this machine off. \
      Also waits until this machine's own tables show what was merged. If no device is connected yet, waits for one as long as \
      the node dials an address, or has just started.

      Skips BLOBs that the other device is set not to download, or that no device connected to it has, and lists them. Also \
      says how many records are held on this machine: they are merged, and not in their tables.

      Exit code 0: nothing is pending, and every connected device has everything; 1: not in time, with what is missing; 4: no \
      device has connected, with what was tried.

      Examples:
        sqlite3 notes.db "insert into notes values ('n1', 'milk')" && mesh wait
        mesh wait --timeout 10m
      """)

  @OptionGroup var home: HomeOption
  @OptionGroup var json: JSONFlag
  @OptionGroup var timeout: TimeoutOption

  func run() async throws {
    let timeout = timeout.duration
    let need = NodeAccess.Need.daemon(because: "only a running daemon sends and receives.")
    let report = try await home.access().withNode(need) { node in
      try await ProgressLine.during("waiting", detail: { await ProgressLine.behind(node) }) {
        try await node.perform(WaitRequest(timeout: timeout))
      }
    }
    if json.isOn { try Output.json(report) } else { show(report) }
    if !report.complete { throw ExitCode(ExitStatus.no.rawValue) }
  }

  private func show(_ report: WaitReport) {
    if report.complete {
      let here = report.assets.absent
      Output.print(
        "Every connected device has everything"
          + (report.without.isEmpty && here.assets == 0 && report.held.isEmpty ? "." : ", but:"))
      for one in report.without {
        guard let absent = one.assets?.absent else { continue }
        // The other device could download the BLOBs that are here.
        let reason =
          here.assets == 0
          ? "it does not download them (they are on demand there, or evicted, or held), or can't store them"
          : "no device connected to it has them, or it does not download or can't store them"
        Output.print(
          "  \(one.name ?? one.device) is without \(Output.blobs(absent)): \(reason); run mesh asset list on it."
        )
      }
      if here.assets > 0 {
        Output.print("  this machine is without \(Output.blobs(here)): mesh asset list says why.")
      }
      if !report.held.isEmpty { Output.print("  \(Output.held(report.held)): mesh held says why.") }
      return
    }
    if let locked = report.locked { Output.print(printable(locked)) }
    if report.working {
      Output.print("This machine still merges rows or fills its tables: mesh status shows how far it is.")
    }
    if report.pending > 0 {
      let reason = report.clock.map { ", because \(printable($0))" } ?? ""
      Output.print("\(report.pending.counted("row", "rows")) captured and not sent yet\(reason).")
    }
    if report.tooLong > 0 {
      Output.print(
        "\(report.tooLong.counted("row has", "rows have")) a value that is too long, or a key that is no valid text, and can't be sent: mesh held lists them."
      )
    }
    if report.assets.coming.assets > 0 {
      Output.print("\(Output.blobs(report.assets.coming)) not here yet: mesh asset list shows them.")
    }
    guard !report.missing.isEmpty else { return }
    var table = TextTable("DEVICE", "ZONE", "TO RECEIVE", "TO SEND", "BLOBS IT FETCHES")
    for missing in report.missing {
      table.add(
        missing.name ?? missing.device, missing.zone, "\(missing.behind.here)", "\(missing.behind.there)",
        missing.assets.map { $0.coming.assets == 0 ? "0" : Output.blobs($0.coming) } ?? "not said")
    }
    Output.print(table.text)
  }
}
