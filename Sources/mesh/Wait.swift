import ArgumentParser
import MeshControl
import MeshCore
import MeshNode

struct Wait: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Wait until every connected device has everything.",
    discussion: """
      Waits for the rows, and for the BLOBs of more than 16 KiB that travel beside them. Then you can switch this machine off. \
      Also waits until this machine's own tables show what was merged. If no device is connected yet, waits for one as long as \
      the node dials an address, or has just started.

      Skips BLOBs that the other device is set not to download, or that no device connected to it gives it, and lists them. Also \
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

  private func showAbsent(_ report: WaitReport) {
    guard !report.absent.isEmpty else { return }
    let devices = report.absent.map {
      "\(printable($0.name ?? $0.device)) (\($0.changeSets.counted("change set", "change sets")))"
    }
    Output.print("Not connected: \(devices.joined(separator: ", ")).")
  }

  private func show(_ report: WaitReport) {
    if report.complete {
      let here = report.assets.absent
      Output.print(
        "Every connected device has everything"
          + (report.without.isEmpty && here.assets == 0 && report.held.isEmpty && report.receipts.isEmpty
            ? "." : ", but:"))
      for one in report.without {
        guard let absent = one.assets?.absent else { continue }
        // The other device could download the BLOBs that are here.
        let reason =
          here.assets == 0
          ? "which it does not download (on demand, evicted or held there), can't store, or requested in vain"
          : "which no device connected to it gives, or which it does not download or can't store"
        Output.print(
          "  \(one.name ?? one.device) is without \(Output.blobs(absent)), \(reason). Run mesh asset list on it.")
      }
      if here.assets > 0 {
        Output.print("  this machine is without \(Output.blobs(here)): mesh asset list says why.")
      }
      if !report.held.isEmpty { Output.print("  \(Output.held(report.held)): mesh held says why.") }
      for (share, count) in report.receipts.sorted(by: { $0.key < $1.key }) {
        Output.print("  \(Output.receipts(count, of: share)).")
      }
      showAbsent(report)
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
    for table in report.uncaptured {
      Output.print("This machine captures no writes to \(printable(table)): mesh doctor says why.")
    }
    for (table, rows) in report.vanished.sorted(by: { $0.key < $1.key }) {
      Output.print(
        "\(rows.counted("row has", "rows have")) vanished from \(printable(table)) unnoticed: see mesh doctor.")
    }
    if report.assets.coming.assets > 0 {
      Output.print("\(Output.blobs(report.assets.coming)) not here yet: mesh asset list shows them.")
    }
    defer { showAbsent(report) }
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
